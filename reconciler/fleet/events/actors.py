"""Who did what: API audit events, as the requests that changed something, and what they changed.

A server reports every request with its answer, and the answer to a change holds the whole configuration. The change is
the difference from the previous answer; for the first one it is unknown. Writes to KV buckets are no API requests, so
they leave no trace.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from reconciler.fleet.tables.tables import ACTORS
from reconciler.kinds import REGISTRY

_TEXTS = "map<string,string>"
_TELLING = ("create", "update", "delete", "restore")
"""Deeds after which the state of the object is known."""


def actors(events: DataFrame) -> DataFrame:
    """EVENTS → ACTORS."""
    done = events.where((F.col("type") == "api_audit") & F.col("deed").isNotNull() & F.col("refused").isNull())
    seen = _with_state_before(
        done.withColumn("address", _address_column()).withColumn("fields", _config_by_path_column())
    )
    deed = F.when((F.col("deed") == "create") & F.col("was_there") & ~_is_stream(), "update").otherwise(F.col("deed"))
    return seen.select(
        "target", "at", "day", "client", "user", "account", "host", "request", deed.alias("deed"), "address",
        F.substring_index("address", "/", 1).alias("kind"), _changed_paths().alias("changed"), "id",
    ).select(*ACTORS.names)  # fmt: skip


def _is_stream() -> Column:
    return F.col("consumer").isNull()


def _address_column() -> Column:
    """The address that reconciler uses: buckets are streams of a certain name."""
    stream = F.col("stream")
    held: Column = F.lit(None)
    for prefix, kind in sorted((kind.backing, kind.name) for kind in REGISTRY.kinds if kind.backing is not None):
        rest = F.substring(stream, len(prefix) + 1, 10_000)
        held = F.when(stream.startswith(prefix), F.concat(F.lit(f"{kind}/"), rest)).otherwise(held)
    return F.when(_is_stream(), held).otherwise(F.concat_ws("/", F.lit("consumer"), "stream", "consumer"))


def _config_by_path_column() -> Column:
    """The configuration as texts by path, without the server's own notes. A pause has its own requests."""
    top = F.from_json("config", _TEXTS)
    own = F.map_filter(top, lambda name, _: ~name.isin("metadata", "pause_until"))
    notes = F.map_filter(F.from_json(top["metadata"], _TEXTS), lambda name, _: ~name.startswith("_nats."))
    written = F.transform_keys(notes, lambda name, _: F.concat(F.lit("metadata."), name))
    return F.map_concat(own, F.coalesce(written, F.create_map().cast(_TEXTS)))


def _with_state_before(done: DataFrame) -> DataFrame:
    """Add to each request the object's state before it; of what went with its stream, nothing is left."""
    tells = F.col("deed").isin(*_TELLING)
    of_object = (
        Window.partitionBy("target", "address").orderBy("at", "sequence").rowsBetween(Window.unboundedPreceding, -1)
    )
    of_stream = (
        Window.partitionBy("target", "stream").orderBy("at", "sequence").rowsBetween(Window.unboundedPreceding, -1)
    )
    state = F.when(tells, F.struct("at", "deed", "fields"))
    went = F.when(_is_stream() & (F.col("deed") == "delete"), F.col("at"))
    seen = done.select(
        "*", F.last(state, ignorenulls=True).over(of_object).alias("before"), F.max(went).over(of_stream).alias("went")
    )
    is_left = (F.col("before.deed") != "delete") & F.coalesce(F.col("before.at") > F.col("went"), F.lit(True))
    return seen.withColumn("was_there", F.coalesce(is_left, F.lit(False)))


def _changed_paths() -> Column:
    """The changed paths; empty where nothing changed; null where the state before is unknown, or no fields were
    changed."""
    now, before = F.col("fields"), F.col("before.fields")
    names = F.array_distinct(F.concat(F.map_keys(now), F.map_keys(before)))
    differing = F.sort_array(F.filter(names, lambda name: ~now[name].eqNullSafe(before[name])))
    nothing = F.array().cast("array<string>")
    return (
        F.when(F.col("deed").isin("pause", "resume"), F.array(F.lit("pause_until")))
        .when(_is_stream() & (F.col("deed") == "create") & ~F.coalesce("made", F.lit(False)), nothing)
        .when(F.col("was_there"), differing)
    )
