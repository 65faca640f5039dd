"""A PySpark data source, `jetstream`: what many accounts hold, read in parallel on the executors.

    spark.read.format("jetstream").options(fleet="fleet.yaml", table="configs").load()

The driver reads fleet.yaml; what goes to the executors are references, and credentials are looked up where the
connection is made. So no plan, log or table can hold any.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import functions as f
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from reconciler.fleet.accounts import messages
from reconciler.fleet.accounts.background_loop import Put, items_of
from reconciler.fleet.accounts.fleet_file import load_fleet
from reconciler.fleet.accounts.reading import Ask, Columns, TargetPart, configs, read_all, share_among_tasks, subjects
from reconciler.fleet.accounts.targets import HEAVY, Fleet, FleetTarget
from reconciler.fleet.tables.frames import with_columns_of
from reconciler.fleet.tables.tables import CONFIGS, MESSAGES, SNAPSHOTS, SUBJECTS
from reconciler.model.dataclass import dataclass

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def snapshots(configs: DataFrame, *, run: str, day: date) -> DataFrame:
    """CONFIGS → SNAPSHOTS."""
    return with_columns_of(configs.withColumns({"run": f.lit(run), "day": f.lit(day)}), SNAPSHOTS)


def heavy_targets(snapshots: DataFrame, *, since: date) -> DataFrame:
    """SNAPSHOTS → targets large enough to be worth several tasks in the next look, with their sizes, as of their last
    complete look. An incomplete look shows nothing about a target's size."""
    recent = snapshots.where(f.col("day") >= f.lit(since))
    looks = recent.groupBy("target", "run").agg(
        f.count("*").alias("objects"), f.max("at").alias("at"), f.count_if(f.col("row") == "error").alias("unread")
    )
    complete = (
        looks.where("unread = 0").groupBy("target").agg(f.max_by("objects", f.struct("at", "run")).alias("objects"))
    )
    return complete.where(f.col("objects") >= HEAVY)


def read_live(spark: SparkSession, fleet: Path, table: str = "configs", **options: str) -> DataFrame:
    """Look once at all targets, shared by as many tasks as this Spark runs side by side."""
    tasks = max(2, spark.sparkContext.defaultParallelism)
    return (
        spark.read.format("jetstream")
        .options(fleet=str(fleet.absolute()), table=table, tasks=str(tasks), **options)
        .load()
    )


def follow_messages(spark: SparkSession, fleet: Path, **options: str) -> DataFrame:
    """Follow streams of all targets, as `messages`; each message once, for a sink with a checkpoint."""
    tasks = max(2, spark.sparkContext.defaultParallelism)
    all_options = {"fleet": str(fleet.absolute()), "table": "messages", "tasks": str(tasks), **options}
    return spark.readStream.format("jetstream").options(**all_options).load()


class JetStreamSource(DataSource):
    """Reads one `table` of the `fleet` (the path of fleet.yaml), of these `targets` (a JSON list of names), in so many
    `tasks`. `sizes` is JSON: the number of objects by target, as the last look found them.

    The table is `configs`, `subjects` (with `stream` and `filter`) or `messages` (with `stream` and `filter`). Messages
    are bounded by `first` and `last`, or by `since` in JSON. They can also be followed, `most` at a time."""

    @classmethod
    def name(cls) -> str:
        """Return the name for `spark.read.format`: `jetstream`."""
        return "jetstream"

    def schema(self) -> StructType:
        """Return the columns of the table that the options name."""
        return _TABLES[self.table]

    @property
    def table(self) -> str:
        """Return the option `table`, or `configs` without it. Raises ValueError where there is no such table."""
        table = self.options.get("table", "configs")
        if table not in _TABLES:
            raise ValueError(f"option table: `{table}` is not one of {', '.join(_TABLES)}")
        return table

    def reader(self, schema: StructType) -> DataSourceReader:
        """Read the table once: a `MessagesReader` for `messages`, a `TargetsReader` for any other table."""
        if self.table == "messages":
            return messages.MessagesReader(self._targets(), self.options)
        return TargetsReader(dict(self.options), schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: ARG002 - Spark names it
        """Follow `messages`. Raises ValueError for any other table."""
        if self.table != "messages":
            raise ValueError(f"option table: `{self.table}` cannot be followed, only `messages` can")
        return messages.MessagesFollower(self._targets(), self.options)

    def _targets(self) -> list[FleetTarget]:
        return [
            target.portable_copy() for target in chosen_targets(load_fleet(Path(self.options["fleet"])), self.options)
        ]


@dataclass(frozen=True, slots=True)
class TaskShare(InputPartition):
    """What one task reads."""

    parts: tuple[TargetPart, ...]
    requests: int


@dataclass(slots=True)
class TargetsReader(DataSourceReader):
    """Plans on the driver, and reads on the executors."""

    options: Mapping[str, str]
    wanted: StructType

    def partitions(self) -> list[InputPartition]:
        """Return the share of each task: whole accounts and parts of large ones, or for `subjects` one stream of every
        target."""
        fleet = load_fleet(Path(self.options["fleet"]))
        sizes: Mapping[str, int] = json.loads(self.options.get("sizes", "{}"))
        targets = chosen_targets(fleet, self.options)
        if self.options.get("table") == "subjects":  # a single stream is not divided
            parts = [TargetPart(target=target.portable_copy(), stream=self.options["stream"]) for target in targets]
        else:
            parts = [part for target in targets for part in target_parts(target, sizes.get(target.name, 0))]
        return [TaskShare(*share) for share in share_among_tasks(parts, int(self.options.get("tasks", "2")))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one share, in batches as they come; a target that cannot be read is a row with the
        reason."""
        assert isinstance(partition, TaskShare)
        schema, task = to_arrow_schema(self.wanted, timezone="UTC"), _task()
        if not gc.get_freeze_count():
            gc.freeze()  # otherwise Python looks for garbage in everything imported, again and again, as rows come in
        ask = _ask_of_options(self.options)

        async def feed(put: Put[pa.RecordBatch]) -> None:
            async def hand_over(columns: Columns) -> None:
                await put(columns_batch(columns, schema, task))

            await read_all(partition.parts, ask, hand_over, requests=partition.requests)

        return items_of(feed)


def chosen_targets(fleet: Fleet, options: Mapping[str, str]) -> Iterable[FleetTarget]:
    """Return the targets that the option `targets` names; without it, all of the fleet."""
    names = json.loads(options["targets"]) if "targets" in options else None
    return [target for target in fleet.targets if names is None or target.name in names]


def target_parts(target: FleetTarget, objects: int) -> Iterator[TargetPart]:
    """Divide large accounts among several tasks, but only a few, because each lists all streams again."""
    of = min(max(target.parts, objects // HEAVY), 16)
    portable_copy = target.portable_copy()
    return (TargetPart(target=portable_copy, number=number, of=of) for number in range(of))


def columns_batch(columns: Columns, schema: pa.Schema, task: int) -> pa.RecordBatch:
    """Return the table's columns, with nulls where there are no values."""
    rows = len(next(iter(columns.values()), ()))
    all_columns = {**columns, "task": [task] * rows}
    return pa.record_batch([_array(all_columns.get(field.name, [None] * rows), field.type) for field in schema], schema)


def _array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_map(kind):
        values = [value if value is None else list(value.items()) for value in values]
    return pa.array(values, kind)


def _task() -> int:
    context = TaskContext.get()
    return -1 if context is None else context.taskAttemptId()


def _ask_of_options(options: Mapping[str, str]) -> Ask:
    if options.get("table") == "subjects":
        return subjects(options.get("filter", ">"))
    return configs


_TABLES = {"configs": CONFIGS, "subjects": SUBJECTS, "messages": MESSAGES}
