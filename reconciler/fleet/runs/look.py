"""What a fleet command works with: Spark, the fleet, the tables that are kept, and the run it is part of.

What was read is written before anything is made of it: a DataFrame that is used twice would ask all targets twice.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any, Protocol

from pyspark.sql import functions as F

from reconciler.fleet.source import live
from reconciler.report.fleet.found import Found, Rows

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
    is_named: bool = False
    """Somebody said which run."""
    began: float = field(default_factory=time.monotonic)

    def live(self, table: str = "configs", **options: str) -> DataFrame:
        """Read from all targets when it is written somewhere, and again each time it is used."""
        names = json.dumps([one.name for one in self.fleet.targets])
        return live(self.spark, self.fleet.file, table, targets=names, **options)

    def seen(self, table: str, rows: DataFrame) -> DataFrame:
        """What this look found on its targets, written in place of what the run had of them; of the whole run, where all
        were looked at."""
        self.store.write(table, rows, self.run, [one.name for one in self.fleet.targets] if self.fleet.others else None)
        return self.mine(self.of_run(table))

    def kept(self, table: str, rows: DataFrame) -> DataFrame:
        """Written as this run's, and read back."""
        self.store.write(table, rows, self.run)
        return self.of_run(table)

    def whole(self, table: str, rows: DataFrame) -> DataFrame:
        """Written in place of all there was, and read back: a table that is not kept run by run."""
        self.store.write(table, rows)
        return self.store.read(table)

    def of_run(self, table: str) -> DataFrame:
        return self.store.read(table).where(F.col("run") == self.run)

    def mine(self, rows: DataFrame) -> DataFrame:
        """Of the targets that were asked for, and no others."""
        return rows.where(F.col("target").isin([one.name for one in self.fleet.targets]))

    def found(self, command: str, **parts: Any) -> Found:
        took = time.monotonic() - self.began
        return Found(command=command, fleet=self.fleet.name, run=self.run, seconds=took, **parts)


def collected(rows: DataFrame) -> Rows:
    """The first ones: as many as a report takes up. Their times are in UTC, wherever this machine is."""
    return tuple(_in_utc(row.asDict(recursive=True)) for row in rows.limit(MOST).collect())


def _in_utc(value: Any) -> Any:
    """Spark gives times as the clock on this machine's wall shows them, and does not say so."""
    if isinstance(value, datetime):
        return value.astimezone(UTC)
    if isinstance(value, Mapping):
        return {name: _in_utc(one) for name, one in value.items()}
    return [*map(_in_utc, value)] if isinstance(value, list) else value
