"""Figures for people: what each target holds, and how many objects strayed where, run by run."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

WORST = ("unreachable", "unknown", "foreign", "missing", "recreated", "changed", "pending", "orphaned")
"""The order in which drift is taken up by a report that cannot hold all of it."""


def targets(snapshots: DataFrame) -> DataFrame:
    """SNAPSHOTS of one run → a row per target. What was not read is no zero: then there is an error beside it."""
    is_stream = F.col("row") == "stream"
    account = F.when(F.col("row") == "target", F.get_json_object("json", "$.version"))
    return snapshots.groupBy("target").agg(
        F.first("labels", ignorenulls=True).alias("labels"),
        F.max(account).alias("version"),
        F.count_if(is_stream).alias("streams"),
        F.count_if(F.col("row") == "consumer").alias("consumers"),
        F.sum(F.when(is_stream, F.col("messages"))).alias("messages"),
        F.sum(F.when(is_stream, F.col("bytes"))).alias("bytes"),
        F.count_if(F.col("row") == "unknown").alias("unknown"),
        F.max("seconds").alias("seconds"),
        F.min(F.when(F.col("row") == "error", F.col("error"))).alias("error"),
    )


def worst(drift: DataFrame, most: int) -> DataFrame:
    """DRIFT of one run → its rows that are about something, worst first, at most so many."""
    rank = F.array_position(F.array(*map(F.lit, WORST)), F.col("standing"))
    return drift.where("standing != 'compared'").orderBy(rank, "target", "address", "path").limit(most)


def objects(drift: DataFrame) -> DataFrame:
    """DRIFT → run, target, standing and how many objects: strayed ones, and targets that were compared or not."""
    strayed = F.coalesce("drifted", F.lit(False)) & (F.coalesce("ignored", F.lit("")) == "")
    counts = drift.where(strayed | F.col("standing").isin("compared", "unreachable", "unknown"))
    return counts.groupBy("run", "target", "standing").agg(F.countDistinct(_thing()).alias("objects"))


def _thing() -> Column:
    return F.struct("topology", F.coalesce("address", F.lit("")))
