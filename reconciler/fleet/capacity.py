"""How full streams are, how fast they grow, and when they reach a limit: their own, or the account's.

Growth is the straight line through what successive snapshots saw of one and the same stream; one that was deleted and
made anew begins again. What the server stores beside the payload counts, since limits are about all of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from reconciler.fleet.tables import CAPACITY, MESSAGES, SUBJECTS, fitted

RECORD = {"file": 30, "memory": 16}
"""Bytes of a record beside subject, headers and payload."""
HEADED = {"file": 4, "memory": 0}
"""More of them where a message has headers, beside those themselves."""
CONFIG = (
    "storage:string,num_replicas:int,max_bytes:bigint,max_msgs:bigint,discard:string,"
    "subjects:array<string>,subject_transform:string,sources:string,mirror:string"
)
STREAM = f"created string, config struct<{CONFIG}>"
USE = "storage:bigint,memory:bigint"
LIMITS = "max_storage:bigint,max_memory:bigint"
ACCOUNT = f"limits struct<{LIMITS}>, usage struct<{USE},tiers:map<string,struct<{USE},limits:struct<{LIMITS}>>>>"
DAY = 86_400.0


def capacity(
    snapshots: DataFrame, subjects: DataFrame | None = None, messages: DataFrame | None = None, *, days: int = 30
) -> DataFrame:
    """SNAPSHOTS of several runs → CAPACITY as of the newest look at each stream, by what the `days` before it show.
    SUBJECTS tell exactly what records cost, and a sample of MESSAGES what headers add to that."""
    streams = _grown(_streams(snapshots), ("target", "stream"), days)
    accounts = _grown(_accounts(snapshots), ("target", "tier", "storage"), days)
    costs = _with_records(
        streams,
        fitted(snapshots.limit(0).select("target"), SUBJECTS) if subjects is None else subjects,
        fitted(snapshots.limit(0).select("target"), MESSAGES) if messages is None else messages,
    )
    limited = _in_account(costs, accounts).select(
        "*",
        _days("messages", "max_messages", "messages_per_day").alias("days_to_max_messages"),
        _days("bytes", "max_bytes", "bytes_per_day").alias("days_to_max_bytes"),
        _days("account_bytes", "account_limit", "account_per_day").alias("days_to_account_limit"),
    )
    first = F.least("days_to_max_messages", "days_to_max_bytes", "days_to_account_limit")  # passes over nulls
    return fitted(limited.withColumn("days", first), CAPACITY)


def _streams(snapshots: DataFrame) -> DataFrame:
    """A stream was another one before it was `created`."""
    said = snapshots.where("row = 'stream'").withColumn("said", F.from_json("json", STREAM))
    config = F.col("said.config")
    return said.select(
        "target", "labels", F.col("scope").alias("stream"), "run", "day", "at", "messages", "bytes",
        F.col("said.created").alias("same"),
        config.storage.alias("storage"),
        config.num_replicas.alias("replicas"),
        config.discard.alias("when_full"),
        _limit(config.max_msgs).alias("max_messages"),
        _limit(config.max_bytes).alias("max_bytes"),
        config.subjects.alias("subjects"),
        (config.subject_transform.isNull() & config.sources.isNull() & config.mirror.isNull()).alias("as_published"),
    )  # fmt: skip


def _accounts(snapshots: DataFrame) -> DataFrame:
    """Use and limit of each storage, per tier where the account has them (`R1`, `R3`), else of the account as a whole."""
    said = snapshots.where("row = 'target'").withColumn("said", F.from_json("json", ACCOUNT))
    use, limits = F.col("said.usage"), F.col("said.limits")
    whole = _part(F.lit(""), use.storage, use.memory, limits)
    tiers = F.transform(
        F.map_entries("said.usage.tiers"),
        lambda tier: _part(tier.key, tier.value.storage, tier.value.memory, tier.value.limits),
    )
    parts = F.when(F.size(tiers) > 0, tiers).otherwise(F.array(whole))
    each = said.select("target", "run", "day", "at", F.explode(parts).alias("part"))
    told = each.select(
        "target", "run", "day", "at", F.col("part.tier").alias("tier"), F.explode("part.uses").alias("of")
    )
    unused = {"messages": F.lit(0).cast("bigint"), "same": F.lit("")}
    return told.select("target", "run", "day", "at", "tier", "of.*").withColumns(unused)


def _part(tier: Column, file: Column, memory: Column, limits: Column) -> Column:
    uses = (("file", file, limits.max_storage), ("memory", memory, limits.max_memory))
    named = [
        F.struct(F.lit(storage).alias("storage"), used.alias("bytes"), _limit(most).alias("account_limit"))
        for storage, used, most in uses
    ]
    return F.struct(tier.alias("tier"), F.array(*named).alias("uses"))


def _limit(said: Column) -> Column:
    """-1 and 0 are no limit."""
    return F.when(said > 0, said)


def _grown(seen: DataFrame, thing: Sequence[str], days: int) -> DataFrame:
    """The newest look at each, with its growth per day as this one and those before it show; null after only one."""
    each = Window.partitionBy(*thing)
    latest = F.max_by(F.struct("at", "run", "same"), F.struct("at", "run")).over(each)
    dated = seen.withColumn("latest", latest).withColumn("time", F.col("at").cast("double") / DAY)
    is_recent = F.col("time") >= F.col("latest.at").cast("double") / DAY - days
    recent = dated.where(F.col("same").eqNullSafe(F.col("latest.same")) & is_recent)
    told = recent.select(
        "*",
        F.regr_slope("messages", "time").over(each).alias("messages_per_day"),
        F.regr_slope("bytes", "time").over(each).alias("bytes_per_day"),
        F.count("*").over(each).alias("looks"),
        F.min("at").over(each).alias("since"),
    )
    return told.where("run = latest.run and at = latest.at").drop("latest", "time", "same")


def _with_records(streams: DataFrame, subjects: DataFrame, messages: DataFrame) -> DataFrame:
    """What is stored beside the payload. Without a count of subjects that is exact only where there can be but one."""
    rows = streams.join(_subject_lengths(subjects), ["target", "stream"], "left")
    rows = rows.join(_header_lengths(messages), ["target", "stream"], "left")
    only = F.get("subjects", F.lit(0))
    is_one = F.col("as_published") & (F.size("subjects") == 1) & ~only.rlike(r"[*>]")
    length = F.coalesce("subject_length", F.when(is_one, F.octet_length(only)), F.lit(0))
    head = F.coalesce(F.col("header_length") + F.col("headed") * _of(HEADED), F.lit(0))
    by = F.when(F.col("subject_length").isNotNull(), "subjects").when(is_one, "config").otherwise("least")
    cost = _of(RECORD) + length + head
    return rows.withColumns(
        {
            "record_cost": cost.cast("double"),
            "records": F.round(cost * F.col("messages")).cast("bigint"),
            "records_by": by,
        }
    )


def _of(sizes: Mapping[str, int]) -> Column:
    return F.when(F.col("storage") == "memory", sizes["memory"]).otherwise(sizes["file"])


def _subject_lengths(subjects: DataFrame) -> DataFrame:
    """Of a message's subject, on average over all messages."""
    bytes_ = F.sum(F.col("messages") * F.octet_length("subject"))
    return subjects.groupBy("target", "stream").agg((bytes_ / F.sum("messages")).alias("subject_length"))


def _header_lengths(messages: DataFrame) -> DataFrame:
    """Of a message's headers, on average over all messages, and how many of them have any."""
    headed = F.coalesce(F.size("headers"), F.lit(0)) > 0
    lines = F.transform(F.map_entries("headers"), lambda one: F.octet_length(one.key) + F.octet_length(one.value) + 4)
    length = F.aggregate(lines, F.lit(len("NATS/1.0\r\n\r\n")), lambda total, line: total + line)
    return messages.where("sequence is not null").groupBy("target", "stream").agg(
        F.avg(F.when(headed, length).otherwise(0)).alias("header_length"),
        F.avg(headed.cast("int")).alias("headed"),
    )  # fmt: skip


def _in_account(streams: DataFrame, accounts: DataFrame) -> DataFrame:
    """An account that has tiers counts what it holds by them: a stream's is its number of replicas."""
    account = accounts.select(
        F.col("target").alias("its_target"), F.col("storage").alias("its_storage"), "tier", "account_limit",
        F.col("bytes").alias("account_bytes"), F.col("bytes_per_day").alias("account_per_day"),
    )  # fmt: skip
    same = (F.col("target") == F.col("its_target")) & (F.col("storage") == F.col("its_storage"))
    return streams.join(account, same & F.col("tier").isin(F.lit(""), F.concat(F.lit("R"), "replicas")), "left")


def _days(now: str, most: str, per_day: str) -> Column:
    """0: it is full; null: there is no limit, or it does not grow towards it."""
    left = F.col(most) - F.col(now)
    return F.when(left <= 0, 0.0).when(F.col(per_day) > 0, left / F.col(per_day))
