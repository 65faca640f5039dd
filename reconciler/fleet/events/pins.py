"""Who was pinned when: servers report every client that is pinned and every one that is unpinned.

No event says that a consumer gets another policy or group; then the last pin ends with the next one. A pin has an id
and no name; the same client gets a new id each time.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from reconciler.fleet.tables.tables import PINNINGS, PINS

_PINNED, _UNPINNED = "consumer_group_pinned", "consumer_group_unpinned"
_GROUP = ("target", "stream", "consumer", "group")
FLAPPING, WINDOW = 3, 600
"""This many switches within this many seconds are too many, unless the caller says otherwise."""


def pinnings(events: DataFrame) -> DataFrame:
    """EVENTS → PINNINGS. A pin that still lasts is counted up to the last event of any kind from the target."""
    now = F.max("at").over(Window.partitionBy("target"))
    of_consumer = Window.partitionBy("target", "stream", "consumer").orderBy("at", "sequence")
    of_stream = Window.partitionBy("target", "stream").orderBy("at", "sequence")
    relevant = events.withColumn("now", now).where(_is_pin() | _is_deletion())
    stretches = relevant.select(
        "*",
        F.lead("at").over(of_consumer).alias("next"),
        F.lead(_kind_of_change()).over(of_consumer).alias("then"),
        F.min(F.when(F.col("consumer").isNull(), F.col("at")))
        .over(of_stream.rowsBetween(Window.currentRow, Window.unboundedFollowing))
        .alias("gone"),
    ).where(_is_pin())
    went_first = F.coalesce(F.col("gone") < F.col("next"), F.col("gone").isNotNull())
    ended = stretches.withColumn("until", F.least("next", "gone")).withColumn(
        "ended", F.when(went_first, F.lit("deleted")).otherwise(F.col("then"))
    )
    return ended.select(
        *_GROUP,
        "pinned_id",
        F.col("at").alias("since"),
        "until",
        _seconds_between("at", F.coalesce("until", "now")).alias("seconds"),
        _kind_of_change().alias("began"),
        "ended",
    ).select(*PINNINGS.names)


def pins(pinnings: DataFrame, *, flapping: int = FLAPPING, window: int = WINDOW) -> DataFrame:
    """PINNINGS → PINS. `flapping`: this many switches within a `window` of seconds are too many."""
    is_pinned, is_idle = F.col("began") == "pinned", F.col("began") != "pinned"
    of_group = Window.partitionBy(*_GROUP).orderBy("since")
    within = Window.partitionBy(*_GROUP).orderBy(F.col("since").cast("double")).rangeBetween(-window, 0)
    counted = pinnings.withColumn("switch", is_pinned & (F.sum(is_pinned.cast("int")).over(of_group) > 1)).withColumn(
        "recent", F.sum(F.col("switch").cast("int")).over(within)
    )
    idle = F.when(is_idle, F.col("seconds"))
    return (
        counted.groupBy(*_GROUP)
        .agg(
            F.min("since").alias("since"),
            F.max(F.coalesce("until", F.timestamp_seconds(F.col("since").cast("double") + F.col("seconds")))).alias(
                "until"
            ),
            F.max(F.when(F.col("until").isNull(), F.col("pinned_id"))).alias("pinned_id"),
            F.count_if("switch").alias("switches"),
            F.count_if(is_idle).alias("unpinned"),
            F.count_if(F.col("began") == "admin").alias("by_admin"),
            F.count_if(F.col("began") == "timeout").alias("by_timeout"),
            F.coalesce(F.sum(idle), F.lit(0.0)).alias("unpinned_seconds"),
            F.coalesce(F.max(idle), F.lit(0.0)).alias("longest_unpinned_seconds"),
            F.max("recent").alias("most_switches"),
        )
        .withColumn("flapping", F.col("most_switches") >= flapping)
        .select(*PINS.names)
    )


def _is_pin() -> Column:
    return F.col("type").isin(_PINNED, _UNPINNED)


def _is_deletion() -> Column:
    return F.col("type").isin("consumer_action", "stream_action") & (F.col("action") == "delete")


def _kind_of_change() -> Column:
    return (
        F.when(F.col("type") == _PINNED, F.lit("pinned"))
        .when(F.col("type") == _UNPINNED, F.col("reason"))
        .otherwise(F.lit("deleted"))
    )


def _seconds_between(since: str, until: Column) -> Column:
    """Seconds, to the microsecond."""
    return (F.unix_micros(until) - F.unix_micros(since)) / 1e6
