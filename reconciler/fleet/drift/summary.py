"""Figures for people: what each target holds, and how many objects drifted where, run by run."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from reconciler.fleet.drift.history import counts

WORST = ("unreachable", "foreign", "missing", "recreated", "changed", "unknown", "unremembered", "pending", "orphaned")
"""The order in which a report that cannot hold everything takes up drift: drift before what is unknown."""


def targets(snapshots: DataFrame) -> DataFrame:
    """SNAPSHOTS of one run → a row per target. An unread number is no zero, so the row has an error instead."""
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
    """DRIFT of one run → its rows about objects, worst first, at most this many."""
    rank = F.array_position(F.array(*map(F.lit, WORST)), F.col("standing"))
    return (
        drift.where("standing not in ('compared', 'undeclared')").orderBy(rank, "target", "address", "path").limit(most)
    )


def looked_at(drift: DataFrame) -> DataFrame:
    """DRIFT of one run → target, standing, number of objects, and how many of them drifted. An object whose only news
    is an unusable record counts as `unremembered`. The look itself is counted apart from what it could not find out."""
    known = F.max(F.when(F.col("standing") != "unremembered", F.col("standing")))
    is_look = (F.col("standing") == "compared").alias("is_look")
    objects = drift.where("standing != 'undeclared'").groupBy("target", "topology", "address", is_look).agg(
        F.coalesce(known, F.lit("unremembered")).alias("standing"), F.bool_or(counts()).alias("drifted")
    )  # fmt: skip
    return objects.groupBy("target", "standing").agg(
        F.count("*").alias("objects"), F.count_if("drifted").alias("drifted")
    )


def cells(drift: DataFrame, runs: Sequence[str], most: int) -> DataFrame:
    """DRIFT → run, target and number of drifted objects, null where not everything could be read: for these runs, and
    for the targets with most drift."""
    found = drift.where(F.col("run").isin([*runs])).groupBy("run", "target").agg(
        F.count_distinct(F.when(counts(), _thing())).alias("strayed"),
        F.bool_or(F.col("standing") == "unreachable").alias("unread"),
    )  # fmt: skip
    each = found.select("run", "target", F.when(~F.col("unread"), F.col("strayed")).alias("objects"))
    sums = each.groupBy("target").agg(F.sum("objects").alias("sum"), F.bool_or(F.col("objects").isNull()).alias("gaps"))
    worst = sums.where("sum > 0 or gaps").orderBy(F.desc_nulls_last("sum"), "target").limit(most)
    return each.join(F.broadcast(worst.select("target")), "target", "leftsemi")


def _thing() -> Column:
    return F.struct("topology", F.coalesce("address", F.lit("")))
