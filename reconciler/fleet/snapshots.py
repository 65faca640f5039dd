"""Configs as one run of the fleet found them: what the data source read, with the run and its day."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from pyspark.sql import functions as f

from reconciler.fleet.tables import SNAPSHOTS, fitted
from reconciler.fleet.targets import HEAVY

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def snapshots(configs: DataFrame, *, run: str, day: date) -> DataFrame:
    """CONFIGS → SNAPSHOTS."""
    return fitted(configs.withColumns({"run": f.lit(run), "day": f.lit(day)}), SNAPSHOTS)


def heavy(snapshots: DataFrame, run: str) -> DataFrame:
    """SNAPSHOTS → targets that held enough in that run to be worth several tasks in the next, with how much it was."""
    counted = snapshots.where(f.col("run") == run).groupBy("target").agg(f.count("*").alias("objects"))
    return counted.where(f.col("objects") >= HEAVY).select("target", "objects")
