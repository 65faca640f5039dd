"""What servers reported about themselves, from a stream that captured it: advisories, metrics and API audit events.

Every pipeline about events starts from this table, which has each event once even if two streams captured it.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, DataType, LongType, StringType, StructField, StructType

from reconciler.fleet.accounts.lookout import Offsets
from reconciler.fleet.tables.tables import EVENTS


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
        *(_or_null(F.regexp_extract("it.subject", _ASKED, number)).alias(name)
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
        *(_or_null(F.col(f"it.client.{theirs}")).alias(ours) for ours, theirs in _WHO.items()),
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


def _or_null(text: Column) -> Column:
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
    name = _or_null(F.col("it.client.name"))
    language = _or_null(F.concat_ws(" ", _or_null(F.col("it.client.lang")), _or_null(F.col("it.client.ver"))))
    leaf = F.concat(F.lit("somebody behind leaf node "), F.coalesce(name, F.lit("")))
    return F.when(F.col("it.client.kind") == "Leafnode", leaf).otherwise(F.coalesce(name, language))


def _refusal_text() -> Column:
    error = F.col("answer.error")
    words = F.format_string("%s (%d)", error["description"], error["err_code"])
    return F.when(error.isNotNull(), words)
