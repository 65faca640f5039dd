"""Rows of DRIFT as a sequence of looks leaves them, written short."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from reconciler.fleet.tables.frames import frame_of
from reconciler.fleet.tables.tables import DESIRED, DRIFT

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Row = dict[str, Any]
MIDNIGHT = datetime(2026, 11, 1, tzinfo=UTC)


def night(number: float) -> datetime:
    """So many days after the first look."""
    return MIDNIGHT + timedelta(days=number)


def look(run: str, at: datetime, *found: Row, target: str, topology: str = "orders") -> list[Row]:
    """One look that could compare, and what it found."""
    common = {"run": run, "at": at, "day": at.date(), "target": target, "topology": topology, "labels": {"env": "prod"}}
    return [{**common, "standing": "compared", "drifted": False}, *({**common, **one} for one in found)]


def undeclared(run: str, at: datetime, target: str) -> list[Row]:
    """A look at a target that is to hold nothing."""
    return [{"run": run, "at": at, "day": at.date(), "target": target, "standing": "undeclared"}]


def unreachable(run: str, at: datetime, target: str, topology: str | None = "orders") -> list[Row]:
    return [{"run": run, "at": at, "day": at.date(), "target": target, "topology": topology,
             "standing": "unreachable", "drifted": False, "error": "no answer within 5s"}]  # fmt: skip


def unremembered() -> Row:
    """What was applied could not be read, so that all of the look is against the file alone."""
    return {"standing": "unknown", "reason": "bucket reconciler could not be read"}


def field(address: str, path: str, live: str = "1", **more: Any) -> Row:
    """A field that somebody moved."""
    return {
        **_at(address),
        "path": path,
        "standing": "changed",
        "class": "drifted",
        "drifted": True,
        "live": live,
        **more,
    }


def whole(address: str, standing: str, **more: Any) -> Row:
    drifted = standing in ("missing", "foreign", "recreated")
    return {**_at(address), "standing": standing, "drifted": drifted, **more}


def _at(address: str) -> Row:
    return {"address": address, "kind": address.split("/", 1)[0], "team": "payments"}


def frame(spark: SparkSession, rows: Iterable[Row]) -> DataFrame:
    return frame_of(spark, rows, DRIFT)


def wanted(spark: SparkSession, looks: Iterable[tuple[str, str, Iterable[str]]]) -> DataFrame:
    """DESIRED: the addresses that a run knew of on a target."""
    rows = [
        {"run": run, "target": target, "topology": "orders", "address": address}
        for run, target, addresses in looks
        for address in (None, *addresses)
    ]
    return frame_of(spark, rows, DESIRED)
