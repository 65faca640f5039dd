"""Configs as one run of the fleet found them: what the data source read, with the run and its day."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from pyspark.sql import functions as f

from reconciler.fleet.accounts.targets import HEAVY
from reconciler.fleet.tables.frames import fitted
from reconciler.fleet.tables.tables import SNAPSHOTS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def snapshots(configs: DataFrame, *, run: str, day: date) -> DataFrame:
    """CONFIGS → SNAPSHOTS."""
    return fitted(configs.withColumns({"run": f.lit(run), "day": f.lit(day)}), SNAPSHOTS)


def heavy(snapshots: DataFrame, *, since: date) -> DataFrame:
    """SNAPSHOTS → targets large enough to be worth several tasks in the next look, with their sizes, as of their last
    complete look. An incomplete look shows nothing about a target's size."""
    recent = snapshots.where(f.col("day") >= f.lit(since))
    looks = recent.groupBy("target", "run").agg(
        f.count("*").alias("objects"), f.max("at").alias("at"), f.count_if(f.col("row") == "error").alias("unread")
    )
    whole = looks.where("unread = 0").groupBy("target").agg(f.max_by("objects", f.struct("at", "run")).alias("objects"))
    return whole.where(f.col("objects") >= HEAVY)
