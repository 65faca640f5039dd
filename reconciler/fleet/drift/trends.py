"""What the history of drift amounts to: run by run over time, and how long repairs take, from every side."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from reconciler.fleet.drift.history import PAIR, counts, looks_of, lost, spot
from reconciler.fleet.tables.frames import fitted
from reconciler.fleet.tables.tables import REPAIRS, TREND


def repairs(history: DataFrame) -> DataFrame:
    """DRIFT_HISTORY → REPAIRS: once for all of it, and for each target, kind, field and team. A field is that of a
    kind; a thing without a team belongs to none."""
    whole = F.coalesce("field", F.lit("(the object)"))
    sides = {
        "all": F.lit(""), "target": F.col("target"), "kind": F.col("kind"),
        "field": F.concat_ws(" ", "kind", whole), "team": F.coalesce("team", F.lit("")),
    }  # fmt: skip
    each = [F.struct(F.lit(name).alias("dimension"), value.alias("value")) for name, value in sides.items()]
    seen = history.where("state != 'watched'").withColumn("side", F.explode(F.array(*each)))
    told = seen.groupBy("side.dimension", "side.value").agg(
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
    return fitted(told, REPAIRS)


def trend(drift: DataFrame, history: DataFrame) -> DataFrame:
    """DRIFT and DRIFT_HISTORY of all runs → TREND. What a run could not find out stays open in it, and is counted
    apart."""
    compared, strayed = F.col("standing") == "compared", counts() & F.col("address").isNotNull()
    target = F.struct("target", "topology")
    runs = drift.groupBy("run").agg(
        F.max("day").alias("day"),
        F.min("at").alias("at"),
        F.count_if(compared).alias("compared"),
        F.count_distinct(F.when(F.col("standing") == "unreachable", target)).alias("unreachable"),
        F.count_distinct(F.when(strayed, F.struct("target", "address"))).alias("objects"),
    )
    runs = runs.join(_seen(drift, history), "run", "left")
    for what in ("opened", "closed"):
        episodes = history.where(f"state != 'watched' and {what}_run is not null")
        runs = runs.join(
            episodes.groupBy(F.col(f"{what}_run").alias("run")).agg(F.count("*").alias(what)), "run", "left"
        )
    runs = runs.fillna(0, ["seen", "opened", "closed"])
    so_far = Window.orderBy("at", "run")
    open_then = F.sum(F.col("opened") - F.col("closed")).over(so_far)
    return fitted(
        runs.withColumn("open", open_then).withColumn("unseen", F.greatest(F.col("open") - F.col("seen"), F.lit(0))),
        TREND,
    )


def _seen(drift: DataFrame, history: DataFrame) -> DataFrame:
    """How much of the open drift a run could see: the drift it found, and what is hidden by an object that is gone,
    unfinished, or owned by someone else."""
    sure = drift.where("address is not null").join(looks_of(drift).select("run", *PAIR), ["run", *PAIR], "leftsemi")
    told = sure.join(lost(drift), ["run", *PAIR, "address"], "leftanti")
    found = told.where(counts()).select("run", *PAIR, "address", spot().alias("spot"))
    whole = told.where(F.col("path").isNull() & F.col("standing").isin("missing", "foreign", "pending"))
    open_ = history.where("state != 'watched'").select(*PAIR, "address", spot().alias("spot"), "opened", "closed")
    hidden = whole.join(open_, [*PAIR, "address"]).where("opened < at and (closed is null or closed > at)")
    both = found.unionByName(hidden.select(*found.columns))
    return both.groupBy("run").agg(F.count_distinct(F.struct(*PAIR, "address", "spot")).alias("seen"))
