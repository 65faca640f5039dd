"""Messages that are kept: whatever came into the streams of all targets since the last time is added to Parquet.

Servers keep what they tell for a while only, and a target may be out of reach tonight; what was read once stays.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException

from reconciler.fleet.accounts.source import follow_messages
from reconciler.fleet.tables.frames import frame_of
from reconciler.fleet.tables.tables import MESSAGES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EVERY_EVENT = "all.events"
"""Where they come from all streams that capture events; no stream can have this name."""


def kept_up(spark: SparkSession, fleet: Path, folder: str, *, stream: str | None = None, **options: str) -> DataFrame:
    """MESSAGES: all that was kept in this folder before, and what there is by now. Broken off at any moment, the next
    time goes on where this one noted to have come."""
    place = f"{folder}/{stream or EVERY_EVENT}"
    found = follow_messages(spark, fleet, **({"stream": stream} if stream else {}), **options)
    sink = found.writeStream.format("parquet").option("checkpointLocation", f"{place}/checkpoint")
    sink.trigger(availableNow=True).start(f"{place}/messages").awaitTermination()
    return _there(spark, f"{place}/messages")


def _there(spark: SparkSession, path: str) -> DataFrame:
    try:
        return spark.read.schema(MESSAGES).parquet(path)
    except AnalysisException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise
        return frame_of(spark, (), MESSAGES)  # nothing came yet
