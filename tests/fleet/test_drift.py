"""The pipeline of drift on Spark: what the files want, what is live, and what differs, target by target."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from reconciler.fleet.accounts.rows import rows_of
from reconciler.fleet.accounts.source import snapshots
from reconciler.fleet.accounts.targets import FleetTarget
from reconciler.fleet.drift.desired import desired_rows, wanted_rows
from reconciler.fleet.drift.drift import drift
from reconciler.fleet.tables.frames import frame_of
from reconciler.fleet.tables.tables import CONFIGS, DESIRED, DRIFT, SNAPSHOTS, WANTED
from reconciler.server.connect.settings import Settings
from tests.support.topologies import account as account_of
from tests.support.topologies import from_files, overlaid
from tests.support.topologies import target as place

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DAY = date(2026, 6, 1)
TOPOLOGY = """\
reconciler: 1
topology: orders
parameters: {region: {}}
streams:
  ORDERS_${region}:
    subjects: [${region}.orders.>]
    max_age: 7d
    consumers:
      billing: {max_deliver: 5}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "orders.yaml"
    path.write_text(TOPOLOGY, encoding="utf-8")
    return path


def to(file: Path, name: str, **values: str) -> FleetTarget:
    return FleetTarget(name=name, settings=Settings(), topology=(file,), values=values, labels={"env": "prod"})


def wanted_by(spark: SparkSession, *targets: FleetTarget) -> DataFrame:
    rows, texts = wanted_rows(targets)
    return desired_rows(frame_of(spark, rows, WANTED), texts, run="r1", day=DAY)


def found_in(spark: SparkSession, tmp_path: Path, **outside: Mapping[str, Any] | str) -> DataFrame:
    """What each target holds: its topology as applied, with what somebody wrote over it; or why it could not be read."""
    rows: list[Mapping[str, Any]] = []
    for name, raw in outside.items():
        if isinstance(raw, str):
            rows.append({"target": name, "row": "error", "error": raw})
        else:
            applied = tmp_path / f"{name}.applied.yaml"
            applied.write_text(
                TOPOLOGY.replace("parameters: {region: {}}\n", "").replace("${region}", name), encoding="utf-8"
            )
            snapshot = overlaid(account_of(from_files(applied), place()), raw)
            rows += [{"target": name, **row} for row in rows_of(snapshot)]
    return snapshots(frame_of(spark, rows, CONFIGS), run="r1", day=DAY)


def test_each_target_gets_the_topology_with_its_own_values(spark: SparkSession, file: Path) -> None:
    frame = wanted_by(spark, to(file, "eu", region="eu"), to(file, "us", region="us"))
    assert frame.schema == DESIRED
    rows = frame.where("address is not null").orderBy("target", "address").collect()
    assert [(row.target, row.address, row.line, row.error) for row in rows] == [
        ("eu", "consumer/ORDERS_eu/billing", 9, None),
        ("eu", "stream/ORDERS_eu", 5, None),
        ("us", "consumer/ORDERS_us/billing", 9, None),
        ("us", "stream/ORDERS_us", 5, None),
    ]


def test_a_target_gets_what_its_files_include_and_no_policy_is_needed_for_that(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "company").mkdir()
    policy = '{code: ACME101, name: few-copies, on: [stream], forbid: "resource.num_replicas > 3", message: "too many"}'
    (tmp_path / "company" / "copies.yaml").write_text(f"reconciler: 1\npolicies: [{policy}]\n", encoding="utf-8")
    (tmp_path / "parts" / "more.yaml").write_text(
        "include: deeper.yaml\nstreams: {MORE: {subjects: [more]}}\n", encoding="utf-8"
    )
    (tmp_path / "parts" / "deeper.yaml").write_text("streams: {DEEPER: {subjects: [deeper]}}\n", encoding="utf-8")
    file = tmp_path / "main.yaml"
    file.write_text(
        "reconciler: 1\ntopology: main\ninclude: parts/more.yaml\npolicies: [{from: company}]\n"
        "streams: {MAIN: {subjects: [main]}}\n",
        encoding="utf-8",
    )
    rows = wanted_by(spark, to(file, "eu")).collect()
    assert {row.address for row in rows if row.address} == {"stream/MAIN", "stream/MORE", "stream/DEEPER"}
    assert [row.error for row in rows if row.error] == []


def test_two_topologies_of_a_target_are_told_by_their_names(spark: SparkSession, tmp_path: Path) -> None:
    for name in ("ta", "tb"):
        said = f"reconciler: 1\ntopology: {name}\nstreams: {{{name.upper()}: {{subjects: [{name}]}}}}\n"
        (tmp_path / f"{name}.yaml").write_text(said, encoding="utf-8")
    (row,) = wanted_by(spark, to(tmp_path, "eu")).collect()
    assert f": ta ({tmp_path}/ta.yaml), tb ({tmp_path}/tb.yaml)" in row.error


def test_a_value_that_is_missing_is_told_in_the_row_of_its_target_alone(spark: SparkSession, file: Path) -> None:
    rows = wanted_by(spark, to(file, "eu", region="eu"), to(file, "us", regoin="us")).collect()
    (told,) = (row for row in rows if row.error)
    assert (told.target, told.topology, told.address) == ("us", "orders", None)
    assert told.error.startswith(f"{file}:5:3 XX515 `${{region}}` has no value: parameter `region` at {file}:3:14 has")


def test_files_that_are_not_there_are_told_too(spark: SparkSession, tmp_path: Path) -> None:
    (row,) = wanted_by(spark, to(tmp_path / "nowhere.yaml", "eu")).collect()
    assert "does not exist" in row.error


def test_snapshots_are_configs_with_their_run(spark: SparkSession, tmp_path: Path) -> None:
    frame = found_in(spark, tmp_path, eu={})
    assert frame.schema.simpleString() == SNAPSHOTS.simpleString()
    assert {(row.run, row.day) for row in frame.collect()} == {("r1", DAY)}


def test_drift_of_many_targets_one_of_them_down(spark: SparkSession, tmp_path: Path, file: Path) -> None:
    found = found_in(
        spark, tmp_path, eu={"streams": {"ORDERS_eu": {"config": {"max_age": 1}}}}, us={}, ap="nobody answers", xx={}
    )
    frame = drift(found, wanted_by(spark, *(to(file, name, region=name) for name in ("eu", "us", "ap", "sa"))), parts=2)
    assert frame.schema == DRIFT
    rows = frame.orderBy("target", "standing").collect()
    assert [(row.target, row.standing, row.address, row.path, row.live, row.error) for row in rows] == [
        ("ap", "unreachable", None, None, None, "nobody answers"),
        ("eu", "changed", "stream/ORDERS_eu", "max_age", "1", None),
        ("eu", "compared", None, None, None, None),
        ("sa", "unreachable", None, None, None, "this run took no snapshot of it"),
        ("us", "compared", None, None, None, None),
    ]


def test_runs_are_compared_each_by_itself(spark: SparkSession, tmp_path: Path, file: Path) -> None:
    from pyspark.sql import functions as f

    found, want = found_in(spark, tmp_path, eu={}), wanted_by(spark, to(file, "eu", region="eu"))
    gone = found.where("row = 'target'").withColumn("run", f.lit("r2"))
    frame = drift(found.unionByName(gone), want.unionByName(want.withColumn("run", f.lit("r2"))), parts=2)
    rows = frame.orderBy("run", "address").collect()
    assert [(row.run, row.standing, row.address) for row in rows] == [
        ("r1", "compared", None),
        ("r2", "compared", None),
        ("r2", "missing", "consumer/ORDERS_eu/billing"),
        ("r2", "missing", "stream/ORDERS_eu"),
    ]
