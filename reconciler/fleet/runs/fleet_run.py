"""What a fleet command works with: Spark, the fleet, the stored tables, and its run.

What was read is written before anything is computed from it: a DataFrame that is used twice would ask all targets
twice.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from datetime import UTC, date, datetime
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Protocol

from pyspark.sql import functions as F

from reconciler.fleet.accounts.source import read_live
from reconciler.fleet.report.findings import FleetFindings, Rows
from reconciler.fleet.tables.frames import frame_of
from reconciler.fleet.tables.tables import SNAPSHOTS
from reconciler.model.dataclass import dataclass

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from reconciler.fleet.accounts.targets import Fleet, FleetTarget
    from reconciler.fleet.tables.store import Store

MOST = 20_000
"""Rows of one table that a report takes up; the tables hold all of them."""


FIRST: Mapping[str, Callable[[], Sequence[Column | str]]] = {
    "trend": lambda: ("at", "run"),
    "history": lambda: (
        F.col("state") == "watched",
        F.desc_nulls_first("closed"),
        "opened",
        "target",
        "address",
        "path",
    ),
    "repairs": lambda: (F.col("dimension") != "all", F.desc("open"), F.desc("episodes"), "dimension", "value"),
    "outliers": lambda: (F.desc(F.col("holders") / F.col("among")), "target", "address", "path"),
    "capacity": lambda: (
        F.asc_nulls_last(F.when(F.col("when_full") == "old", F.col("days_to_account_limit")).otherwise(F.col("days"))),
        F.asc_nulls_last("days"),
        F.desc_nulls_last("bytes_per_day"),
        "target",
        "stream",
    ),
    "skew": lambda: (F.col("error").isNull(), "target", "stream", "choice", "partitions"),
    **dict.fromkeys(("falls", "moves"), lambda: ("target", "stream", "choice", "partitions")),
    "pins": lambda: (F.desc("flapping"), F.desc("most_switches"), F.desc("switches"), "target", "stream", "consumer"),
    "acks": lambda: (F.desc("day"), F.desc_nulls_last("p99_seconds"), "target", "stream", "consumer"),
    "actors": lambda: (F.desc("at"), "target", "id"),
}
"""What of each table a report takes up first: the newest, the worst; of candidates for keys, whole streams, and before
them what could not be read."""


class ProgressListener(Protocol):
    """Hears what takes its time."""

    def __call__(self, text: str, /) -> None: ...

    def clear(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetRun:
    """One run of a command."""

    spark: SparkSession
    fleet: Fleet
    store: Store
    run: str
    day: date
    say: ProgressListener
    is_named: bool = False
    """The user named the run."""
    began: float = field(default_factory=time.monotonic)

    def live(self, table: str = "configs", **options: str) -> DataFrame:
        """Read the selected targets when the result is written somewhere, and again each time it is used."""
        names = json.dumps([target.name for target in self.fleet.targets])
        return read_live(self.spark, self.fleet.file, table, targets=names, **options)

    def store_look(self, table: str, rows: DataFrame) -> DataFrame:
        """Write what this look found on its targets in place of the run's rows of them; of the whole run, where all
        targets were looked at."""
        self.store.write(
            table, rows, self.run, [target.name for target in self.fleet.targets] if self.fleet.others else None
        )
        return self.rows_of_selected(self.rows_of_run(table))

    def store_run(self, table: str, rows: DataFrame) -> DataFrame:
        """Write the rows of this run, and read them back."""
        self.store.write(table, rows, self.run)
        return self.rows_of_run(table)

    def store_whole(self, table: str, rows: DataFrame) -> DataFrame:
        """Write the rows in place of all there were, and read them back: for a table that is not kept run by run."""
        self.store.write(table, rows)
        return self.store.read(table)

    def rows_of_run(self, table: str) -> DataFrame:
        """Return the rows of this run alone, of all targets."""
        return self.store.read(table).where(F.col("run") == self.run)

    def newest_runs(self, table: str) -> Rows:
        """Return for each target of the fleet the run that looked at it last, and when; only the named run, where one
        is named."""
        rows = self.rows_in_fleet(self.rows_of_run(table) if self.is_named else self.store.read(table))
        if "row" in rows.columns:  # every look at a target leaves one of these, besides all that it found
            rows = rows.where("row in ('target', 'error')")
        last = rows.groupBy("target").agg(F.max(F.struct("at", "run", "day")).alias("last"))
        return tuple(sorted(collect_rows(last.select("target", "last.*"), most=None), key=itemgetter("target")))

    def rows_of_runs(self, table: str, newest: Rows) -> DataFrame:
        """Return what these runs found of these targets: the newest run may be about a few."""
        rows = self.store.read(table).where(F.col("run").isin([*{row["run"] for row in newest}]))
        chosen = frame_of(self.spark, newest, SNAPSHOTS).select("target", "run")
        return rows.join(F.broadcast(chosen), ["target", "run"], "leftsemi")

    def rows_in_fleet(self, rows: DataFrame) -> DataFrame:
        """Keep rows of targets that are still in the fleet."""
        return _rows_of_targets(rows, (*self.fleet.targets, *self.fleet.others))

    def rows_of_selected(self, rows: DataFrame) -> DataFrame:
        """Keep rows of the selected targets, which is all that is shown. Stored tables are made of all targets."""
        return _rows_of_targets(rows, self.fleet.targets)

    def report_rows(self, **tables: DataFrame) -> dict[str, Any]:
        """Return as many rows of each table as a report takes up, those that matter first, and how many there are
        beyond."""
        rows = {name: collect_rows(table.orderBy(*FIRST[name]()), most=MOST + 1) for name, table in tables.items()}
        more = {name: tables[name].count() - MOST for name, some in rows.items() if len(some) > MOST}
        return {**{name: some[:MOST] for name, some in rows.items()}, "left_out": more}

    def make_findings(self, command: str, *several: Mapping[str, Any], **parts: Any) -> FleetFindings:
        """Return what the command found, with the time it took. Each of `several` holds rows by table, and may say under
        `left_out` how many more there are."""
        took = time.monotonic() - self.began
        for some in several:
            parts = {**parts, **some, "left_out": {**parts.get("left_out", {}), **some.get("left_out", {})}}
        return FleetFindings(command=command, fleet=self.fleet.name, run=self.run, seconds=took, **parts)


def _rows_of_targets(rows: DataFrame, targets: Iterable[FleetTarget]) -> DataFrame:
    return rows.where(F.col("target").isin([target.name for target in targets]))


def collect_rows(rows: DataFrame, *, most: int | None = MOST) -> Rows:
    """Collect the first rows: as many as a report takes up. Their times are in UTC, wherever this machine is."""
    some = rows if most is None else rows.limit(most)
    return tuple(_in_utc(row.asDict(recursive=True)) for row in some.collect())


def _in_utc(value: Any) -> Any:
    """Convert times: Spark gives them by this machine's local clock, and does not say so."""
    if isinstance(value, datetime):
        return value.astimezone(UTC)
    if isinstance(value, Mapping):
        return {name: _in_utc(item) for name, item in value.items()}
    return [*map(_in_utc, value)] if isinstance(value, list) else value
