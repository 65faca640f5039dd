"""How full streams are, how fast they grow, and when they reach a limit: their own, or the account's.

Growth is the straight line through successive snapshots of the same stream; a recreated stream begins again, and a
deleted one is left out. The server's own bytes besides the payload count, because limits include them; their least
number is known without reading any message.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from reconciler.fleet.tables.frames import with_columns_of
from reconciler.fleet.tables.tables import CAPACITY
from reconciler.model.wire.snapshot import Scope

RECORD = {"file": 30, "memory": 16}
"""Bytes of a record besides subject, headers and payload; with headers, on file, 4 more."""
CONFIG = (
    "storage:string,num_replicas:int,max_bytes:bigint,max_msgs:bigint,discard:string,"
    "subjects:array<string>,subject_transform:string,sources:string,mirror:string"
)
STREAM = f"created string, config struct<{CONFIG}>"
USE = "storage:bigint,memory:bigint"
LIMITS = "max_storage:bigint,max_memory:bigint"
ACCOUNT = f"limits struct<{LIMITS}>, usage struct<{USE},tiers:map<string,struct<{USE},limits:struct<{LIMITS}>>>>"
DAY = 86_400.0


def capacity(snapshots: DataFrame, *, days: int = 30) -> DataFrame:
    """SNAPSHOTS of several runs → CAPACITY as of the newest look that could list the streams of a target, from what the
    `days` before it show."""
    streams = _existing_streams(_with_growth(_stream_rows(snapshots), ("target", "stream"), days), snapshots)
    accounts = _with_growth(_account_rows(snapshots), ("target", "tier", "storage"), days)
    limited = _with_account_limits(_with_record_bytes(streams), accounts).select(
        "*",
        _days_to_limit("messages", "max_messages", "messages_per_day", F.lit(1)).alias("days_to_max_messages"),
        _days_to_limit("bytes", "max_bytes", "bytes_per_day", _average_message_bytes()).alias("days_to_max_bytes"),
        _days_to_limit(
            "account_bytes", "account_limit", "account_per_day", _average_message_bytes() * F.col("replicas")
        ).alias("days_to_account_limit"),
    )
    first = F.least("days_to_max_messages", "days_to_max_bytes", "days_to_account_limit")  # skips nulls
    return with_columns_of(limited.withColumn("days", first), CAPACITY)


def _existing_streams(streams: DataFrame, snapshots: DataFrame) -> DataFrame:
    """What that look saw or could not read, and what was seen since. Where part of an account could not be read, its
    other contents are unknown."""
    looks = snapshots.where("row in ('target', 'unknown', 'error')").groupBy("target", "run").agg(
        F.max(F.when(F.col("row") == "target", F.col("at"))).alias("at"),
        F.count_if(F.col("row") == "error").alias("unread"),
        F.collect_set(F.when(F.col("row") == "unknown", F.col("scope"))).alias("unknown"),
    )  # fmt: skip
    listed = looks.where("at is not null and unread = 0").where(~F.array_contains("unknown", Scope.STREAMS))
    newest = listed.groupBy("target").agg(F.max(F.struct("at", "run", "unknown")).alias("newest"))
    hidden = F.array_contains("newest.unknown", F.concat(F.lit(Scope.stream("")), "stream"))
    seen = (F.col("run") == F.col("newest.run")) | (F.col("at") > F.col("newest.at"))
    return streams.join(newest, "target", "left").where(F.col("newest").isNull() | seen | hidden).drop("newest")


def _stream_rows(snapshots: DataFrame) -> DataFrame:
    """Before `created`, it was another stream."""
    rows = snapshots.where("row = 'stream'").withColumn("said", F.from_json("json", STREAM))
    config = F.col("said.config")
    return rows.select(
        "target", "labels", F.col("scope").alias("stream"), "run", "day", "at", "messages", "bytes",
        F.col("said.created").alias("same"),
        config.storage.alias("storage"),
        config.num_replicas.alias("replicas"),
        config.discard.alias("when_full"),
        _limit_or_null(config.max_msgs).alias("max_messages"),
        _limit_or_null(config.max_bytes).alias("max_bytes"),
        config.subjects.alias("subjects"),
        (config.subject_transform.isNull() & config.sources.isNull() & config.mirror.isNull()).alias("as_published"),
    )  # fmt: skip


def _account_rows(snapshots: DataFrame) -> DataFrame:
    """Use and limit of each storage, per tier where the account has them (`R1`, `R3`), otherwise of the whole
    account."""
    rows = snapshots.where("row = 'target'").withColumn("said", F.from_json("json", ACCOUNT))
    use, limits = F.col("said.usage"), F.col("said.limits")
    untiered = _tier_uses(F.lit(""), use.storage, use.memory, limits)
    tiers = F.transform(
        F.map_entries("said.usage.tiers"),
        lambda tier: _tier_uses(tier.key, tier.value.storage, tier.value.memory, tier.value.limits),
    )
    parts = F.when(F.size(tiers) > 0, tiers).otherwise(F.array(untiered))
    each = rows.select("target", "run", "day", "at", F.explode(parts).alias("part"))
    uses = each.select(
        "target", "run", "day", "at", F.col("part.tier").alias("tier"), F.explode("part.uses").alias("of")
    )
    unused = {"messages": F.lit(0).cast("bigint"), "same": F.lit("")}
    return uses.select("target", "run", "day", "at", "tier", "of.*").withColumns(unused)


def _tier_uses(tier: Column, file: Column, memory: Column, limits: Column) -> Column:
    uses = (("file", file, limits.max_storage), ("memory", memory, limits.max_memory))
    named = [
        F.struct(F.lit(storage).alias("storage"), used.alias("bytes"), _limit_or_null(most).alias("account_limit"))
        for storage, used, most in uses
    ]
    return F.struct(tier.alias("tier"), F.array(*named).alias("uses"))


def _limit_or_null(number: Column) -> Column:
    """-1 and 0 mean no limit."""
    return F.when(number > 0, number)


def _with_growth(seen: DataFrame, thing: Sequence[str], days: int) -> DataFrame:
    """The newest look at each, with its growth per day from this and earlier looks; null after only one."""
    each = Window.partitionBy(*thing)
    latest = F.max_by(F.struct("at", "run", "same"), F.struct("at", "run")).over(each)
    dated = seen.withColumn("latest", latest).withColumn("time", F.col("at").cast("double") / DAY)
    is_recent = F.col("time") >= F.col("latest.at").cast("double") / DAY - days
    recent = dated.where(F.col("same").eqNullSafe(F.col("latest.same")) & is_recent)
    growing = recent.select(
        "*",
        F.regr_slope("messages", "time").over(each).alias("messages_per_day"),
        F.regr_slope("bytes", "time").over(each).alias("bytes_per_day"),
        F.count("*").over(each).alias("looks"),
        F.min("at").over(each).alias("since"),
    )
    return growing.where("run = latest.run and at = latest.at").drop("latest", "time", "same")


def _with_record_bytes(streams: DataFrame) -> DataFrame:
    """The least bytes stored besides the payload: no subject is shorter than the shortest that the stream takes (a
    wildcard counts as one byte), and headers come on top."""
    shortest = F.array_min(F.transform("subjects", F.octet_length))
    length = F.when(F.col("as_published"), F.coalesce(shortest, F.lit(0))).otherwise(0)
    cost = F.when(F.col("storage") == "memory", RECORD["memory"]).otherwise(RECORD["file"]) + length
    return streams.withColumns({"record_cost": cost.cast("double"), "records": cost * F.col("messages")})


def _with_account_limits(streams: DataFrame, accounts: DataFrame) -> DataFrame:
    """An account with tiers counts its contents by them: a stream's tier is its number of replicas. Every message
    counts with all of its replicas, and a tier allows a number of each."""
    account = accounts.select(
        F.col("target").alias("its_target"), F.col("storage").alias("its_storage"), "tier", "account_limit",
        F.col("bytes").alias("account_bytes"), F.col("bytes_per_day").alias("account_per_day"),
    )  # fmt: skip
    same = (F.col("target") == F.col("its_target")) & (F.col("storage") == F.col("its_storage"))
    held = streams.join(account, same & F.col("tier").isin(F.lit(""), F.concat(F.lit("R"), "replicas")), "left")
    scale = F.when(F.col("tier") == "", 1).otherwise(F.col("replicas"))
    return held.withColumn("account_limit", F.col("account_limit") * scale)


def _average_message_bytes() -> Column:
    """The bytes of one more message of average size. A limit in bytes is hardly ever met exactly: a stream that refuses
    messages stays a little below it, and so does one that drops the oldest."""
    return F.coalesce(F.try_divide("bytes", "messages"), F.lit(1))


def _days_to_limit(now: str, most: str, per_day: str, another: Column) -> Column:
    """0: there is no room for another one; null: there is no limit, or no growth towards it."""
    left = F.col(most) - F.col(now)
    return F.when(left < another, 0.0).when(F.col(per_day) > 0, left / F.col(per_day))
