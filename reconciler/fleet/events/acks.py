"""How consumers keep up, from the samples that `sample_freq` asks for: time to the ack, and repeated deliveries."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from reconciler.fleet.tables.tables import ACKS

_SAMPLE, _COUNTED = "consumer_ack", {"naks": "nak", "terminated": "terminated", "given_up": "max_deliver"}
_EXACT = 10_000
"""Accuracy of the quantiles: exact up to this many different values, then within 1/10,000 of the rank."""


def acks(events: DataFrame) -> DataFrame:
    """EVENTS → ACKS."""
    concerned = events.where(F.col("type").isin(_SAMPLE, *_COUNTED.values()))
    seconds = F.when(F.col("type") == _SAMPLE, F.col("ack_seconds"))
    deliveries = F.when(F.col("type") == _SAMPLE, F.col("deliveries"))
    return (
        concerned.groupBy("target", "stream", "consumer", "day")
        .agg(
            _count_of(F.col("type") == _SAMPLE).alias("samples"),
            *(_quantile_of(seconds, share).alias(name) for name, share in _QUANTILES.items()),
            F.max(seconds).alias("longest_seconds"),
            _count_of(deliveries > 1).alias("redelivered"),
            F.max(deliveries).alias("most_deliveries"),
            *(_count_of(F.col("type") == kind).alias(name) for name, kind in _COUNTED.items()),
        )
        .select(*ACKS.names)
    )


_QUANTILES = {"median_seconds": 0.5, "p90_seconds": 0.9, "p99_seconds": 0.99}


def _count_of(condition: Column) -> Column:
    return F.count_if(F.coalesce(condition, F.lit(False)))


def _quantile_of(seconds: Column, share: float) -> Column:
    return F.percentile_approx(seconds, share, _EXACT)
