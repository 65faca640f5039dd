"""Rows of SNAPSHOTS as looks at targets leave them, written short."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from reconciler.fleet.tables.frames import frame_of
from reconciler.fleet.tables.tables import SNAPSHOTS
from tests.fleet.drift_rows import Row

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def at(moment: datetime, target: str, *rows: Row) -> list[Row]:
    run = f"{moment:%Y-%m-%d}"
    return [{"target": target, "at": moment, "day": moment.date(), "run": run, **row} for row in rows]


def stream(name: str, messages: int, size: int, *, created: str = "2026", **config: Any) -> Row:
    said = {
        "created": created,
        "config": {"storage": "file", "num_replicas": 1, "max_bytes": -1, "max_msgs": -1, **config},
    }
    return {"row": "stream", "scope": name, "messages": messages, "bytes": size, "json": json.dumps(said)}


def account(used: int, most: int, **tiers: Any) -> Row:
    limits = {"max_storage": most, "max_memory": -1}
    usage = {"storage": used, "memory": 0, **({"tiers": tiers} if tiers else {})}
    return {"row": "target", "json": json.dumps({"limits": limits, "usage": usage})}


def frame(spark: SparkSession, rows: Iterable[Row]) -> DataFrame:
    return frame_of(spark, rows, SNAPSHOTS)
