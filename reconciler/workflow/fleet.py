"""The fleet commands on Spark: what each reads, which tables it writes, and what it found. Their sense is in `fleet`.

What was read is written before anything is made of it: a DataFrame that is used twice would ask all targets twice.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any, Protocol

from pyspark.sql import functions as F

from reconciler.fleet import summary
from reconciler.fleet.desired import desired, wanted
from reconciler.fleet.drift import drift
from reconciler.fleet.snapshots import snapshots
from reconciler.fleet.source import live
from reconciler.fleet.tables import WANTED
from reconciler.report.fleet.found import Found, Rows
from reconciler.report.values import counted
from reconciler.workflow import fleet_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from reconciler.fleet.store import Store
    from reconciler.fleet.targets import Fleet

MOST = 20_000
"""Rows of one table that a report takes up; the tables hold all of them."""


class Say(Protocol):
    """Hears what takes its time."""

    def __call__(self, text: str, /) -> None: ...

    def clear(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One run of a command."""

    spark: SparkSession
    fleet: Fleet
    store: Store
    run: str
    day: date
    say: Say
    began: float = field(default_factory=time.monotonic)

    def live(self, table: str = "configs", **options: str) -> DataFrame:
        """Read from all targets when it is written somewhere, and again each time it is used."""
        names = json.dumps([one.name for one in self.fleet.targets])
        return live(self.spark, self.fleet.file, table, targets=names, **options)

    def kept(self, table: str, rows: DataFrame) -> DataFrame:
        """Written as part of this run, and read back."""
        self.store.write(table, rows, self.run)
        return self.of_run(table)

    def whole(self, table: str, rows: DataFrame) -> DataFrame:
        """Written in place of all there was, and read back: a table that is not kept run by run."""
        self.store.write(table, rows)
        return self.store.read(table)

    def of_run(self, table: str) -> DataFrame:
        return self.store.read(table).where(F.col("run") == self.run)

    def found(self, command: str, **parts: Any) -> Found:
        took = time.monotonic() - self.began
        return Found(command=command, fleet=self.fleet.name, run=self.run, seconds=took, **parts)


def snapshot(look: Look) -> Found:
    """What each target holds, kept as this run's."""
    return look.found("snapshot", targets=_targets(_seen(look)))


def _seen(look: Look) -> DataFrame:
    look.say(f"Reading {counted(len(look.fleet.targets), 'target')} …")
    return look.kept("snapshots", snapshots(look.live(), run=look.run, day=look.day))


def _targets(seen: DataFrame) -> tuple[Any, ...]:
    return tuple(fleet_rows.target(row.asDict()) for row in summary.targets(seen).orderBy("target").collect())


def compare(look: Look) -> Found:
    """What strayed on each target since it was applied; what is live, what is wanted and what differs is kept."""
    seen = _seen(look)
    look.say("Comparing …")
    rows, texts = wanted(look.fleet.targets)
    named = look.spark.createDataFrame([tuple(row[name] for name in WANTED.names) for row in rows], WANTED)
    meant = look.kept("desired", desired(named, texts, run=look.run, day=look.day))
    strayed = look.kept("drift", drift(seen, meant))
    return look.found("drift", targets=_targets(seen), **_drift(strayed))


def _drift(rows: DataFrame) -> dict[str, Any]:
    """Rows of one run."""
    worst = collected(summary.worst(rows, MOST + 1))
    compared = rows.where("standing = 'compared'").select("target").distinct().collect()
    return {
        "strayed": fleet_rows.strayed(worst[:MOST]),
        "left_out": max(0, rows.where("standing != 'compared'").count() - MOST) if len(worst) > MOST else 0,
        "compared": frozenset(row["target"] for row in compared),
    }


def collected(rows: DataFrame) -> Rows:
    return tuple(row.asDict(recursive=True) for row in rows.collect())
