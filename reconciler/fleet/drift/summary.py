"""Figures for people: what each target holds, how many objects drifted where, run by run, and how long repairs take."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from reconciler.fleet.drift.history import (
    PAIR,
    is_drift,
    is_recorded_drift,
    looks_of,
    place_in_object,
    unreadable_objects,
)
from reconciler.fleet.tables.frames import with_columns_of
from reconciler.fleet.tables.tables import REPAIRS, TREND


def repairs(history: DataFrame) -> DataFrame:
    """DRIFT_HISTORY → REPAIRS: once for all of it, and for each target, kind, field and team. A field is that of a
    kind; a thing without a team belongs to none."""
    field_or_object = F.coalesce("field", F.lit("(the object)"))
    sides = {
        "all": F.lit(""), "target": F.col("target"), "kind": F.col("kind"),
        "field": F.concat_ws(" ", "kind", field_or_object), "team": F.coalesce("team", F.lit("")),
    }  # fmt: skip
    each = [F.struct(F.lit(name).alias("dimension"), value.alias("value")) for name, value in sides.items()]
    seen = history.where("state != 'watched'").withColumn("side", F.explode(F.array(*each)))
    counted = seen.groupBy("side.dimension", "side.value").agg(
        F.count("*").alias("episodes"),
        F.count_if(F.col("state") == "open").alias("open"),
        F.count_if(F.col("state") == "unseen").alias("unseen"),
        F.count_if(F.col("ended") == "repaired").alias("repaired"),
        F.count_if(F.col("occurrence") > 1).alias("came_back"),
        F.avg("seconds").alias("mean_seconds"),
        F.percentile("seconds", F.lit(0.5)).alias("median_seconds"),
        F.percentile("seconds", F.lit(0.95)).alias("p95_seconds"),
        F.max("seconds").alias("longest_seconds"),
    )
    return with_columns_of(counted, REPAIRS)


def trend(drift: DataFrame, history: DataFrame) -> DataFrame:
    """DRIFT and DRIFT_HISTORY of all runs → TREND. What a run could not find out stays open in it, and is counted
    apart."""
    compared, drifted = F.col("standing") == "compared", is_recorded_drift() & F.col("address").isNotNull()
    target = F.struct("target", "topology")
    runs = drift.groupBy("run").agg(
        F.max("day").alias("day"),
        F.min("at").alias("at"),
        F.count_if(compared).alias("compared"),
        *(
            F.count_distinct(F.when(F.col("standing") == name, target)).alias(name)
            for name in ("unreachable", "uncompared")
        ),
        F.count_distinct(F.when(drifted, F.struct("target", "address"))).alias("objects"),
    )
    runs = runs.join(_readable_drift_by_run(drift, history), "run", "left")
    for event in ("opened", "closed"):
        episodes = history.where(f"state != 'watched' and {event}_run is not null")
        runs = runs.join(
            episodes.groupBy(F.col(f"{event}_run").alias("run")).agg(F.count("*").alias(event)), "run", "left"
        )
    runs = runs.fillna(0, ["seen", "opened", "closed"])
    so_far = Window.orderBy("at", "run")
    open_then = F.sum(F.col("opened") - F.col("closed")).over(so_far)
    return with_columns_of(
        runs.withColumn("open", open_then).withColumn("unseen", F.greatest(F.col("open") - F.col("seen"), F.lit(0))),
        TREND,
    )


def _readable_drift_by_run(drift: DataFrame, history: DataFrame) -> DataFrame:
    """How much of the open drift a run could see: the drift it found, and what is hidden by an object that is gone,
    unfinished, or owned by someone else."""
    sure = drift.where("address is not null").join(looks_of(drift).select("run", *PAIR), ["run", *PAIR], "leftsemi")
    readable = sure.join(unreadable_objects(drift), ["run", *PAIR, "address"], "leftanti")
    drifted = readable.where(is_recorded_drift()).select("run", *PAIR, "address", place_in_object().alias("spot"))
    gone_or_unfinished = readable.where(
        F.col("path").isNull() & F.col("standing").isin("missing", "foreign", "pending")
    )
    open_ = history.where("state != 'watched'").select(
        *PAIR, "address", place_in_object().alias("spot"), "opened", "closed"
    )
    hidden = gone_or_unfinished.join(open_, [*PAIR, "address"]).where("opened < at and (closed is null or closed > at)")
    both = drifted.unionByName(hidden.select(*drifted.columns))
    return both.groupBy("run").agg(F.count_distinct(F.struct(*PAIR, "address", "spot")).alias("seen"))


WORST = (
    "unreachable", "uncompared", "foreign", "missing", "recreated", "changed", "unknown", "unremembered", "pending", "orphaned",
)  # fmt: skip
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


def worst_rows(drift: DataFrame, most: int) -> DataFrame:
    """DRIFT of one run → its rows about objects, worst first, at most this many."""
    rank = F.array_position(F.array(*map(F.lit, WORST)), F.col("standing"))
    return (
        drift.where("standing not in ('compared', 'undeclared')").orderBy(rank, "target", "address", "path").limit(most)
    )


def objects_by_standing(drift: DataFrame) -> DataFrame:
    """DRIFT of one run → target, standing, number of objects, and how many of them drifted, or did so by the file alone.
    An object whose only news is an unusable record counts as `unremembered`. The look itself is counted apart from what
    it could not find out; of it, `unrecorded` is what is as declared without a record."""
    standing = F.max(F.when(F.col("standing") != "unremembered", F.col("standing")))
    is_compared = F.col("standing") == "compared"
    is_look = is_compared.alias("is_look")
    objects = drift.where("standing != 'undeclared'").groupBy("target", "topology", "address", is_look).agg(
        F.coalesce(standing, F.lit("unremembered")).alias("standing"), F.bool_or(is_drift()).alias("drifted"),
        F.bool_and(F.when(is_drift(), F.coalesce(F.col("class") == "plain", F.lit(False)))).alias("by_file"),
        F.max(F.when(is_compared, F.try_element_at("quantities", F.lit("without_record")))).alias("unrecorded"),
    )  # fmt: skip
    return objects.groupBy("target", "standing").agg(
        F.count("*").alias("objects"), F.count_if("drifted").alias("drifted"),
        F.sum(F.coalesce("unrecorded", F.coalesce("by_file", F.lit(False)).cast("long"))).alias("unrecorded"),
    )  # fmt: skip


def drift_by_run_and_target(drift: DataFrame, runs: Sequence[str], most: int) -> DataFrame:
    """DRIFT → run, target and number of drifted objects, null where not everything could be read: for these runs, and
    for the targets with most drift."""
    counted = drift.where(F.col("run").isin([*runs])).groupBy("run", "target").agg(
        F.count_distinct(F.when(is_recorded_drift(), F.struct("topology", F.coalesce("address", F.lit(""))))).alias("drifted"),
        F.bool_or(F.col("standing").isin("unreachable", "uncompared")).alias("unread"),
    )  # fmt: skip
    each = counted.select("run", "target", F.when(~F.col("unread"), F.col("drifted")).alias("objects"))
    sums = each.groupBy("target").agg(F.sum("objects").alias("sum"), F.bool_or(F.col("objects").isNull()).alias("gaps"))
    worst_targets = sums.where("sum > 0 or gaps").orderBy(F.desc_nulls_last("sum"), "target").limit(most)
    return each.join(F.broadcast(worst_targets.select("target")), "target", "leftsemi")


def findings(drift: DataFrame, most: int) -> DataFrame:
    """DRIFT of one run → target, and the columns of FINDING: what the looks at these targets say besides drift, errors
    first."""
    found_rows = drift.select("target", F.explode("diagnostics").alias("finding")).select("target", "finding.*")
    return found_rows.orderBy("severity", "code", "address", "message", "target").limit(most)
