"""What servers reported about themselves, from a stream that captured it: advisories, metrics and API audit events.

Every pipeline about events starts from this table, which has each event once even if two streams captured it.

How consumers keep up, from the samples that `sample_freq` asks for: time to the ack, and repeated deliveries.

Who was pinned when: servers report every client that is pinned and every one that is unpinned.

No event says that a consumer gets another policy or group; then the last pin ends with the next one. A pin has an id
and no name; the same client gets a new id each time.

Who did what: API audit events, as the requests that changed something, and what they changed.

A server reports every request with its answer, and the answer to a change holds the whole configuration. The change is
the difference from the previous answer; for the first one it is unknown. Writes to KV buckets are no API requests, so
they leave no trace.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, DataType, LongType, StringType, StructField, StructType

from reconciler.fleet.accounts.lookout import Offsets
from reconciler.fleet.tables.tables import ACKS, ACTORS, EVENTS, PINNINGS, PINS
from reconciler.kinds import REGISTRY


def _struct(*text: str, **others: DataType) -> StructType:
    fields = {**dict.fromkeys(text, StringType()), **others}
    return StructType([StructField(name, kind) for name, kind in fields.items()])


_SAID = _struct(
    "type", "id", "timestamp", "stream", "consumer", "group", "pinned_id", "action", "reason", "subject", "request",
    "response", deliveries=LongType(), ack_time=LongType(),
    client=_struct("name", "lang", "ver", "user", "acc", "host", "kind"),
)  # fmt: skip
"""The relevant parts of any event, as servers from 2.11 to 2.15 write them."""
_ANSWER = _struct(
    "name", "config", did_create=BooleanType(), paused=BooleanType(), error=_struct("description", err_code=LongType())
)
_TYPE = r"^io\.nats\.jetstream\.(?:advisory|metric)\.v\d+\.(\w+)$"
_DEEDS = {
    "STREAM.CREATE": "create", "STREAM.UPDATE": "update", "STREAM.DELETE": "delete", "STREAM.RESTORE": "restore",
    "STREAM.PURGE": "purge", "STREAM.MSG.DELETE": "delete message", "STREAM.PEER.REMOVE": "remove peer",
    "STREAM.LEADER.STEPDOWN": "step down", "CONSUMER.CREATE": "create", "CONSUMER.DURABLE.CREATE": "create",
    "CONSUMER.DELETE": "delete", "CONSUMER.PAUSE": "pause", "CONSUMER.UNPIN": "unpin",
    "CONSUMER.LEADER.STEPDOWN": "step down",
}  # fmt: skip
"""Requests that do more than look. Servers report each but CONSUMER.RESET (neither 2.14 nor 2.15 does)."""
_ASKED = rf"^\$JS\.(?:[^.]+\.)?API\.({'|'.join(_DEEDS).replace('.', '[.]')})\.([^.]+)(?:\.([^.]+))?"
_ONCE = ("target", "id")
_OLDEST = "2020-01-01"
"""Earlier than any JetStream."""
_RFC3339 = "yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'"
_WHO = {"user": "user", "account": "acc", "host": "host"}


def events(messages: DataFrame) -> DataFrame:
    """MESSAGES → EVENTS. Messages that are no event of JetStream are left out."""
    parsed = F.from_json(F.col("data").cast("string"), _SAID)
    typed = messages.select("target", F.col("stream").alias("capture"), "sequence", "time", parsed.alias("it"))
    read = typed.select(
        "target", "capture", "sequence", "it",
        F.regexp_extract("it.type", _TYPE, 1).alias("type"),
        _event_time().alias("at"),
        F.from_json("it.response", _ANSWER).alias("answer"),
        *(_null_if_empty(F.regexp_extract("it.subject", _ASKED, number)).alias(name)
          for number, name in enumerate(("endpoint", "on", "of"), 1)),
    ).where("type != '' and at is not null")  # fmt: skip
    return read.select(
        "target", "capture", "sequence", "it.id", "type", "at", F.to_date("at").alias("day"),
        F.coalesce("it.stream", "on").alias("stream"),
        F.coalesce("it.consumer", F.when(_is_about_consumer(), F.coalesce("answer.name", "of"))).alias("consumer"),
        *(f"it.{name}" for name in ("group", "pinned_id", "action", "reason", "deliveries")),
        (F.col("it.ack_time") / 1e9).alias("ack_seconds"),
        F.col("it.subject").alias("request"),
        _client_name().alias("client"),
        *(_null_if_empty(F.col(f"it.client.{theirs}")).alias(ours) for ours, theirs in _WHO.items()),
        _deed_column().alias("deed"),
        _refusal_text().alias("refused"),
        F.col("answer.did_create").alias("made"),
        F.when(F.col("endpoint").isNotNull(), F.col("answer.config")).alias("config"),
    ).select(*EVENTS.names).dropDuplicates([*_ONCE])  # fmt: skip


def merged_events(before: DataFrame, new: DataFrame) -> DataFrame:
    """EVENTS of two looks, each once. Of requests that only looked, the newest stays: it shows how far was read."""
    merged = before.unionByName(new).dropDuplicates([*_ONCE])
    newest = F.max("at").over(Window.partitionBy("target", "capture"))
    is_look = (F.col("type") == "api_audit") & F.col("deed").isNull()
    return merged.withColumn("newest", newest).where(~is_look | (F.col("at") == F.col("newest"))).drop("newest")


def positions(stored: DataFrame) -> Offsets:
    """EVENTS → how far each capturing stream was read. An event happens before it is stored, so a few are read
    again."""
    newest = F.max_by(F.struct("sequence", F.date_format("at", _RFC3339).alias("time")), "at")
    rows = stored.where("at is not null").groupBy("target", "capture").agg(newest.alias("it")).collect()
    offsets: Offsets = {}
    for row in rows:
        offsets.setdefault(row["target"], {})[row["capture"]] = row["it"].asDict()
    return offsets


def up_to_gaps(messages: DataFrame) -> DataFrame:
    """MESSAGES without those after a gap: the last stored event of a stream says where to read on."""
    gaps = messages.where("error is not null").groupBy("target", "stream").agg(F.min("sequence").alias("gap"))
    return messages.join(gaps, ["target", "stream"], "left").where("gap is null or sequence <= gap").drop("gap")


def _event_time() -> Column:
    """Null for times that no server can have reported: whoever may publish to the stream can write any time into an
    event."""
    reported, stored = F.try_to_timestamp("it.timestamp"), F.coalesce("time", F.current_timestamp())
    return F.when((reported >= _OLDEST) & (reported <= stored + F.expr("interval 1 hour")), reported)


def _null_if_empty(text: Column) -> Column:
    """Null where it is empty."""
    return F.nullif(text, F.lit(""))


def _is_about_consumer() -> Column:
    return F.col("endpoint").startswith("CONSUMER.")


def _deed_column() -> Column:
    """By the endpoint; the one that creates consumers also changes them, and the one that pauses also resumes."""
    named = F.create_map(*(F.lit(word) for pair in _DEEDS.items() for word in pair))[F.col("endpoint")]
    updates = _is_about_consumer() & (F.get_json_object("it.request", "$.action") == "update")
    return F.when(updates, "update").when(~F.col("answer.paused"), "resume").otherwise(named)


def _client_name() -> Column:
    """The client as drift names it: the server knows a leaf node, and not the client behind it."""
    name = _null_if_empty(F.col("it.client.name"))
    language = _null_if_empty(
        F.concat_ws(" ", _null_if_empty(F.col("it.client.lang")), _null_if_empty(F.col("it.client.ver")))
    )
    leaf = F.concat(F.lit("somebody behind leaf node "), F.coalesce(name, F.lit("")))
    return F.when(F.col("it.client.kind") == "Leafnode", leaf).otherwise(F.coalesce(name, language))


def _refusal_text() -> Column:
    error = F.col("answer.error")
    words = F.format_string("%s (%d)", error["description"], error["err_code"])
    return F.when(error.isNotNull(), words)


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
            *(F.percentile_approx(seconds, share, _EXACT).alias(name) for name, share in _QUANTILES.items()),
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


_PINNED, _UNPINNED = "consumer_group_pinned", "consumer_group_unpinned"
_GROUP = ("target", "stream", "consumer", "group")
FLAPPING, WINDOW = 3, 600
"""This many switches within this many seconds are too many, unless the caller says otherwise."""


def pin_periods(events: DataFrame) -> DataFrame:
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


def pins_by_group(pin_periods: DataFrame, *, flapping: int = FLAPPING, window: int = WINDOW) -> DataFrame:
    """PINNINGS → PINS. `flapping`: this many switches within a `window` of seconds are too many."""
    is_pinned, is_idle = F.col("began") == "pinned", F.col("began") != "pinned"
    of_group = Window.partitionBy(*_GROUP).orderBy("since")
    within = Window.partitionBy(*_GROUP).orderBy(F.col("since").cast("double")).rangeBetween(-window, 0)
    counted = pin_periods.withColumn(
        "switch", is_pinned & (F.sum(is_pinned.cast("int")).over(of_group) > 1)
    ).withColumn("recent", F.sum(F.col("switch").cast("int")).over(within))
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
