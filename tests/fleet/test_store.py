"""What is kept between runs: each run once, whatever was written before, by whomever."""

from __future__ import annotations

import json
import os
import resource
import socket
import subprocess
import time
from dataclasses import field
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pytest
from pyspark.sql import functions as F

from reconciler.cli.fleet.options import fleet_folder_name
from reconciler.fleet.tables.store import FolderStore, Store, store, why_unfit
from reconciler.fleet.tables.tables import DRIFT
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import CannotContinue
from tests.fleet import drift_rows
from tests.fleet.drift_rows import frame, look, night

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture(scope="module", params=["folder", "catalog"])
def kept(request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Two runs, of which the first was made again after midnight, with less drift; by two releases."""
    where = _place(str(request.param), spark, tmp_path_factory.mktemp("store"))
    two = store(spark, where)
    two.write("drift", _run(spark, "a", 1, "max_age", "subjects").drop("verdicts", "codes"), "a")
    two.write("drift", _run(spark, "b", 2, "max_age"), "b")
    two.write("drift", _run(spark, "a", 1.5, "max_age"), "a")
    return store(spark, where)


def _place(kind: str, spark: SparkSession, folder: Path) -> str:
    if kind == "folder":
        return str(folder / "fleet")
    spark.sql(f"CREATE DATABASE IF NOT EXISTS fleet LOCATION '{folder}'")
    return "table:fleet"


def _run(spark: SparkSession, run: str, at: float, *paths: str) -> DataFrame:
    found = (drift_rows.field("stream/S", path, codes=["ST101"]) for path in paths)
    return frame(spark, look(run, night(at), *found, target="eu"))


def test_a_run_written_again_replaces_itself_though_on_another_day(kept: Store) -> None:
    rows = kept.read("drift").select("run", "path", F.col("day").cast("string")).collect()
    assert sorted(map(tuple, rows), key=str) == [
        ("a", "max_age", "2026-11-02"), ("a", None, "2026-11-02"),
        ("b", "max_age", "2026-11-03"), ("b", None, "2026-11-03"),
    ]  # fmt: skip


def test_a_run_that_finds_nothing_any_more_leaves_nothing(kept: Store, spark: SparkSession) -> None:
    kept.write("outliers", spark.createDataFrame([("eu", "a")], "target string, run string"), "a")
    kept.write("outliers", spark.createDataFrame([], "target string, run string"), "a")
    assert kept.read("outliers").count() == 0


def test_a_look_at_some_targets_takes_the_place_of_what_the_run_had_of_those(kept: Store, spark: SparkSession) -> None:
    def snapshots(run: str, **messages: int) -> DataFrame:
        rows = [(target, count, run) for target, count in messages.items()]
        return spark.createDataFrame(rows, "target string, messages bigint, run string")

    kept.write("snapshots", snapshots("a", eu=1, us=1), "a")
    kept.write("snapshots", snapshots("b", eu=1, us=1), "b")
    for _ in range(2):
        kept.write("snapshots", snapshots("b", eu=2), "b", ["eu"])
    rows = kept.read("snapshots").select("run", "target", "messages").collect()
    assert sorted(map(tuple, rows)) == [("a", "eu", 1), ("a", "us", 1), ("b", "eu", 2), ("b", "us", 1)]
    kept.write("snapshots", snapshots("b"), "b", ["eu", "new"])
    assert [row.target for row in kept.read("snapshots").where("run = 'b'").collect()] == ["us"]


def test_a_look_at_some_targets_may_be_the_first_of_its_run(kept: Store, spark: SparkSession) -> None:
    kept.write("desired", spark.createDataFrame([("eu", "new")], "target string, run string"), "new", ["eu"])
    assert [row.target for row in kept.read("desired").collect()] == ["eu"]


def test_what_was_never_written_is_empty(kept: Store) -> None:
    assert kept.read("capacity").count() == 0


def test_a_table_is_written_anew_from_itself(kept: Store, spark: SparkSession) -> None:
    for _ in range(2):
        more = spark.createDataFrame([("eu", 1)], "target string, looks int")
        kept.write("drift_history", kept.read("drift_history").unionByName(more, allowMissingColumns=True))
    assert kept.read("drift_history").count() == 2


def test_a_table_about_all_runs_is_written_as_a_whole(kept: Store, spark: SparkSession) -> None:
    for opened in (1, 2):
        kept.write("trend", spark.createDataFrame([("a", opened), ("b", opened)], "run string, opened int"))
    assert sorted((row.run, row.opened) for row in kept.read("trend").collect()) == [("a", 2), ("b", 2)]


def test_a_column_that_is_new_is_null_in_what_was_written_before(spark: SparkSession, tmp_path: Path) -> None:
    was = spark.createDataFrame([("eu", "max_age", 5)], "target string, path string, forgotten int")
    was.write.parquet(str(tmp_path / "drift" / "run=a"))
    two = store(spark, str(tmp_path))
    two.write("drift", _run(spark, "b", 2, "max_age"), "b")
    rows = two.read("drift").where("path is not null").orderBy("run")
    assert rows.schema == DRIFT
    assert [(row.run, row.target, row.codes) for row in rows.collect()] == [("a", "eu", None), ("b", "eu", ["ST101"])]


def test_a_table_of_a_catalog_gets_the_columns_that_are_new(spark: SparkSession, tmp_path: Path) -> None:
    spark.sql(f"CREATE DATABASE grown LOCATION '{tmp_path}'")
    spark.sql("CREATE TABLE grown.drift (target STRING, run STRING) USING parquet PARTITIONED BY (run)")
    spark.sql("INSERT INTO grown.drift VALUES ('eu', 'a')")
    two = store(spark, "table:grown")
    assert [row.codes for row in two.read("drift").collect()] == [None]
    two.write("drift", _run(spark, "b", 2), "b")
    assert sorted((row.run, row.standing) for row in two.read("drift").collect()) == [("a", None), ("b", "compared")]


def test_half_a_run_is_not_read(spark: SparkSession, tmp_path: Path) -> None:
    """A run is written beside its place; what a write that was cut off has left there is no run."""
    two = store(spark, str(tmp_path))
    _run(spark, "a", 1, "max_age").drop("run").write.parquet(str(tmp_path / "drift" / ".run=a"))
    assert two.read("drift").count() == 0
    two.write("drift", _run(spark, "a", 1), "a")
    assert two.read("drift").count() == 1


@pytest.mark.parametrize("name", ["shops {eu,us}: *?[a]", "../..", "..", "_a", "a/b", "Läden\n%41", "~"])
def test_the_name_of_a_fleet_makes_a_folder_whatever_it_is(spark: SparkSession, tmp_path: Path, name: str) -> None:
    folder = tmp_path / fleet_folder_name(name)
    assert folder.parent == tmp_path
    two = store(spark, str(folder))
    two.write("drift_history", spark.createDataFrame([("eu", 1)], "target string, looks bigint"))
    assert two.read("drift_history").count() == 1
    assert [one.name for one in tmp_path.iterdir()] == [folder.name]


def test_fleets_in_one_folder_are_kept_apart() -> None:
    names = ["shops", "Shops", "shops ", "a/b", "a%2Fb", ".a", "%2Ea"]
    assert len({fleet_folder_name(name) for name in names}) == len(names)


@pytest.mark.parametrize("run", [None, "a"], ids=["table", "run"])
@pytest.mark.parametrize("step", [1, 2, 3])
def test_a_write_that_is_cut_off_at_any_step_loses_nothing(
    spark: SparkSession, tmp_path: Path, run: str | None, step: int
) -> None:
    """The old rows or the new ones are there for whoever reads next, and the next write is as any other."""
    path = str(tmp_path / "fleet")

    def rows(group: str) -> DataFrame:
        return spark.createDataFrame([("eu", group, "a")], "target string, team string, run string")

    def there() -> list[str]:
        return [row.team for row in store(spark, path).read("drift" if run else "drift_history").collect()]

    def write(group: str, folder: Store) -> None:
        folder.write("drift" if run else "drift_history", rows(group), run)

    write("old", store(spark, path))
    with pytest.raises(InterruptedError):
        write("new", CutOff(spark=spark, path=path, step=step))
    assert there() == (["old"] if step == 1 else ["new"])
    write("newer", store(spark, path))
    assert there() == ["newer"]
    assert not [one.name for one in tmp_path.rglob(".*") if one.is_dir()]


@pytest.mark.parametrize("step", [1, 2, 3])
def test_what_a_write_that_was_cut_off_left_is_not_written_over(spark: SparkSession, tmp_path: Path, step: int) -> None:
    """A table that is made of what it was needs that to be there."""
    path, shape = str(tmp_path), "target string, looks bigint"
    store(spark, path).write("drift_history", spark.createDataFrame([("eu", 1)], shape))
    with pytest.raises(InterruptedError):
        CutOff(spark=spark, path=path, step=step).write("drift_history", spark.createDataFrame([("eu", 2)], shape))
    after = store(spark, path)
    after.write("drift_history", after.read("drift_history").withColumn("looks", F.col("looks") + 10))
    assert [row.looks for row in after.read("drift_history").collect()] == [11 if step == 1 else 12]


@dataclass(frozen=True, kw_only=True)
class CutOff(FolderStore):
    """Killed before it moves or deletes something for the `step`th time."""

    step: int
    taken: list[str] = field(default_factory=list)

    def _file_system(self) -> Any:
        return Steps(FolderStore._file_system(self), self)

    def take(self, what: str) -> None:
        self.taken.append(what)
        if len(self.taken) == self.step:
            raise InterruptedError(what)


@dataclass(frozen=True, slots=True)
class Steps:
    system: Any
    cut: CutOff

    def rename(self, old: Any, new: Any) -> bool:
        self.cut.take("rename")
        return bool(self.system.rename(old, new))

    def delete(self, place: Any, deeply: bool) -> None:
        self.cut.take("delete")
        self.system.delete(place, deeply)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.system, name)


@pytest.mark.parametrize("run", ["", "a/b", "../a", "a=b", ".a", "it's", "ä"])
def test_a_run_has_the_name_of_a_folder(spark: SparkSession, tmp_path: Path, run: str) -> None:
    with pytest.raises(CannotContinue, match="cannot be the name of a run"):
        store(spark, str(tmp_path)).write("drift", _run(spark, "a", 1), run)


@pytest.mark.parametrize(
    ("scheme", "master", "why"),
    [
        ("file", "local[2]", None),
        ("hdfs", "yarn", None),
        ("abfss", "k8s://x", None),
        ("file", "yarn", "each executor of yarn would write to a disk of its own"),
        (
            "s3a",
            "local[2]",
            "s3a:// moves a folder file by file, and an interrupted move leaves half a table",
        ),
    ],
)
def test_where_rows_would_be_lost_no_folder_is_accepted(scheme: str, master: str, why: str | None) -> None:
    assert why_unfit(scheme, master) == why


def test_what_kind_of_folder_it_is_shows_before_anything_is_read(spark: SparkSession) -> None:
    with pytest.raises(CannotContinue, match="Tables cannot be stored in s3a://lake/fleet"):
        store(spark, "s3a://lake/fleet/")


def test_one_command_at_a_time_writes(spark: SparkSession, tmp_path: Path) -> None:
    one, another = (store(spark, str(tmp_path / "fleet")) for _ in range(2))
    with (
        one.exclusive(),
        pytest.raises(CannotContinue, match=f"Another command writes .* process {os.getpid()}, since"),
        another.exclusive(),
    ):
        pass
    with another.exclusive():
        assert (tmp_path / "fleet" / ".lock").exists()
    assert [*(tmp_path / "fleet").iterdir()] == []


@pytest.mark.parametrize("host", ["this", "this with our number", "another"])
def test_one_that_was_killed_keeps_nobody_waiting(spark: SparkSession, tmp_path: Path, host: str) -> None:
    """Whose process is gone, also where a container began anew and we are what it was; or who left a file last night on a
    machine that nobody can look at."""
    gone = subprocess.Popen(["true"])
    gone.wait()
    lock = tmp_path / ".lock"
    if host.startswith("this"):
        pid = gone.pid if host == "this" else os.getpid()
        lock.write_text(json.dumps({"host": socket.gethostname(), "pid": pid}), encoding="utf-8")
    else:
        lock.write_text(json.dumps({"host": "another", "pid": 1}), encoding="utf-8")
        with pytest.raises(CannotContinue, match="somebody on another"), store(spark, str(tmp_path)).exclusive():
            pass
        os.utime(lock, (time.time() - 13 * 3600,) * 2)
    with store(spark, str(tmp_path)).exclusive():
        assert json.loads(lock.read_text(encoding="utf-8"))["pid"] == os.getpid()


def test_a_clock_of_ours_that_is_ahead_ends_nobody_else(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = tmp_path / ".lock"
    lock.write_text(json.dumps({"host": "another", "pid": 1}), encoding="utf-8")
    monkeypatch.setattr("reconciler.fleet.tables.lock.datetime", Ahead)
    monkeypatch.setattr(time, "time", lambda: Ahead.now(UTC).timestamp())
    with pytest.raises(CannotContinue, match="somebody on another"), store(spark, str(tmp_path)).exclusive():
        pass
    assert [one.name for one in tmp_path.iterdir()] == [".lock"]


class Ahead(datetime):
    """A clock that is a day ahead."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Self:
        return super().now(tz) + timedelta(days=1)


def test_what_a_killed_one_left_is_taken_over_by_one_at_a_time(spark: SparkSession, tmp_path: Path) -> None:
    """Both see that it was killed; the second would remove the lock that the first has made by then."""
    lock, turn = tmp_path / ".lock", tmp_path / ".lock.turn"
    lock.write_text(json.dumps({"host": socket.gethostname(), "pid": os.getpid()}), encoding="utf-8")
    turn.write_text(json.dumps({"host": "another", "pid": 1, "user": "ann", "since": "now"}), encoding="utf-8")
    with pytest.raises(CannotContinue, match=": ann on another, process 1"), store(spark, str(tmp_path)).exclusive():
        pass
    assert lock.exists()
    turn.unlink()
    with store(spark, str(tmp_path)).exclusive():
        assert [one.name for one in tmp_path.iterdir()] == [".lock"]


@pytest.mark.parametrize("left", [[".lock.turn"], [".lock.turn", ".lock.turn.turn"]], ids=["once", "twice"])
def test_whoever_was_killed_while_taking_over_keeps_nobody_waiting(
    spark: SparkSession, tmp_path: Path, left: list[str]
) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    for name in (".lock", *left):
        (tmp_path / name).write_text(json.dumps({"host": socket.gethostname(), "pid": gone.pid}), encoding="utf-8")
    with store(spark, str(tmp_path)).exclusive():
        assert [one.name for one in tmp_path.iterdir()] == [".lock"]


def test_what_another_is_about_to_move_in_is_left_to_it(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / ".was=drift_history").mkdir()
    (tmp_path / ".lock").write_text(json.dumps({"host": "another", "pid": 1}), encoding="utf-8")
    assert store(spark, str(tmp_path)).read("drift_history").count() == 0
    assert (tmp_path / ".was=drift_history").exists()


@pytest.mark.parametrize("whole", [True, False], ids=["new", "old"])
def test_a_table_of_a_catalog_is_there_though_writing_it_anew_was_cut_off(
    spark: SparkSession, tmp_path: Path, whole: bool
) -> None:
    """Between one name and the other; the next one to come ends what was begun."""
    schema = f"cut_{whole}"
    spark.sql(f"CREATE DATABASE {schema} LOCATION '{tmp_path}'")
    two = store(spark, f"table:{schema}")
    for target, aside in (("east", "__was"), ("west", "__new"))[: 1 + whole]:
        store(spark, f"table:{schema}").write("pins", spark.createDataFrame([(target,)], "target string"))
        spark.sql(f"ALTER TABLE {schema}.pins RENAME TO {schema}.drift_history{aside}")
    assert two.read("drift_history").count() == 1
    assert [row.target for row in spark.table(f"{schema}.drift_history").collect()] == ["west" if whole else "east"]
    assert [row.tableName for row in spark.sql(f"SHOW TABLES IN {schema}").collect()] == ["drift_history"]


def test_a_lock_that_found_no_room_keeps_nobody_waiting(spark: SparkSession, tmp_path: Path) -> None:
    """A disk that is full takes the name of a file, and nothing into it."""
    folder = FolderStore(spark=spark, path=str(tmp_path / "fleet"))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        with pytest.raises(CannotContinue) as full, folder.exclusive():
            pass
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert (full.value.diagnostics[0].fix or "").startswith("Make room there, or name with --store")
    with folder.exclusive():
        assert [path.name for path in (tmp_path / "fleet").iterdir() if path.suffix != ".crc"] == [".lock"]
