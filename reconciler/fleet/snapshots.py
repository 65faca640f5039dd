"""Configs as one run of the fleet found them: what the data source read, with the run and its day."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from pyspark.sql import functions as f

from reconciler.fleet.tables import CONFIGS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def snapshots(configs: DataFrame, *, run: str, day: date) -> DataFrame:
    """CONFIGS → SNAPSHOTS."""
    columns = [f.col(field.name).cast(field.dataType) for field in CONFIGS]
    return configs.select(*columns, f.lit(run).alias("run"), f.lit(day).alias("day"))
