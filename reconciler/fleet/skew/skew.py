"""How subjects would spread over partitions and members, for every candidate: what is even, what is not, and what
moves.

`falls` reads the subjects once; everything else adds up its few rows, so keep those.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType
from pyspark.sql.window import Window

from reconciler.fleet.skew.candidates import Candidates, handovers, ownership
from reconciler.fleet.skew.counting import falls_counter
from reconciler.fleet.tables.frames import frame_of
from reconciler.fleet.tables.tables import FALLS, HANDOVERS, LOADS, MOVES, OWNERSHIP, SKEW, SUBJECTS

CANDIDATE = ("target", "stream", "choice", "since", "partitions")
AMONG = (*CANDIDATE, "membership", "members")


def as_subjects(keys: DataFrame, *, target: str, stream: str) -> DataFrame:
    """Any table with a column `subject` → SUBJECTS, to try keys that no stream holds yet; without a column `messages`
    each counts once."""
    given = {
        "target": F.lit(target),
        "stream": F.lit(stream),
        "messages": F.lit(1),
        **{n: F.col(n) for n in keys.columns},
    }
    columns = [given.get(field.name, F.lit(None)).cast(field.dataType).alias(field.name) for field in SUBJECTS]
    return keys.select(*columns)


def falls(subjects: DataFrame, candidates: Candidates) -> DataFrame:
    """SUBJECTS → FALLS: how many fall on each partition, with these filters and numbers of partitions."""
    place = F.concat_ws("\n", "target", "stream").alias("place")  # one column to hand over, not two
    return (
        subjects.select(place, "subject", F.coalesce("messages", F.lit(0)).alias("messages"), "error")
        .mapInArrow(falls_counter(candidates.choices, candidates.partitions), FALLS)
        .groupBy(*CANDIDATE, "partition", "error")
        .agg(_sum("subjects"), _sum("messages"))
        .select(*FALLS.names)
    )


def ownership_frame(session: SparkSession, candidates: Candidates) -> DataFrame:
    """OWNERSHIP: who owns which partition."""
    return frame_of(session, _named_rows(ownership(candidates), OWNERSHIP), OWNERSHIP)


def handovers_frame(session: SparkSession, candidates: Candidates) -> DataFrame:
    """HANDOVERS: which partitions change their owner."""
    return frame_of(session, _named_rows(handovers(candidates), HANDOVERS), HANDOVERS)


def _named_rows(rows: Iterable[tuple[Any, ...]], table: StructType) -> Iterator[dict[str, Any]]:
    return (dict(zip(table.names, row, strict=True)) for row in rows)


def loads(falls: DataFrame, ownership: DataFrame) -> DataFrame:
    """LOADS from FALLS and OWNERSHIP: the load of each member."""
    return (
        falls.join(ownership, ["partitions", "partition"], "inner")
        .groupBy(*AMONG, "member")
        .agg(
            F.count_if("owns").alias("owned"),
            _sum("subjects", only=F.col("owns")),
            _sum("messages", only=F.col("owns")),
        )
        .select(*LOADS.names)
    )


def skew(falls: DataFrame, loads: DataFrame) -> DataFrame:
    """FALLS, LOADS → SKEW: one row for the partitions of a candidate, one for the members of each membership. Where not
    all subjects could be read, every row says why, with figures or without."""
    nothing = F.lit(None).cast("string")
    partitions = falls.where("error is null").withColumns(
        {
            "membership": nothing,
            "members": nothing.cast("int"),
            "place": F.col("partition").cast("string"),
            "counts": F.col("partition").isNotNull(),
        }
    )
    members = loads.withColumns({"place": F.col("member"), "counts": F.col("member").isNotNull()})
    same = [*AMONG, "place", "counts", "subjects", "messages"]
    rows = (
        partitions.select(same)
        .union(members.select(same))
        .unpivot([*AMONG, "place", "counts"], ["subjects", "messages"], "of", "load")
        .groupBy(*AMONG, "of")
        .agg(*_evenness_columns())
        .withColumn("ratio", F.try_divide("largest", "mean"))
    )
    return _with_unreadable_streams(rows, falls, SKEW)


def _evenness_columns() -> list[Column]:
    counts, place, load = F.col("counts"), F.col("place"), F.col("load")
    mine, left = F.when(counts, load), F.coalesce(F.sum(F.when(~counts, load)), F.lit(0))
    among_partitions = F.col("membership").isNull()
    return [
        F.coalesce(F.sum(mine), F.lit(0)).alias("total"),
        F.when(among_partitions, left).alias("missed"),
        F.when(~among_partitions, left).alias("unowned"),
        F.avg(mine).alias("mean"),
        F.max(mine).alias("largest"),
        F.max_by(place, F.when(counts, F.struct(load, place))).alias("where"),  # of equals the same one every time
        F.expr("percentile_disc(0.99) within group (order by if(counts, load, null))").alias("p99"),
        F.count_if(mine == 0).alias("empty"),
    ]


def _with_unreadable_streams(rows: DataFrame, falls: DataFrame, table: StructType) -> DataFrame:
    """Add a row for each reason why subjects could not be read, and the reason in every row of the stream."""
    kept = {name: F.col(name) for name in ("target", "stream", "error")}
    columns = [kept.get(field.name, F.lit(None).cast(field.dataType)).alias(field.name) for field in table]
    read_rows = rows.withColumn("error", F.lit(None).cast("string")).select(*table.names)
    of_stream = Window.partitionBy("target", "stream")
    all_rows = read_rows.union(falls.where("error is not null").select(*columns))
    return all_rows.withColumn("error", F.coalesce("error", F.max("error").over(of_stream)))


def moves(falls: DataFrame, handovers: DataFrame) -> DataFrame:
    """FALLS, HANDOVERS → MOVES: what changes its owner from one membership to the next. Errors as in SKEW."""
    moved = F.col("moves")
    rows = (
        falls.join(handovers, ["partitions", "partition"], "inner")
        .groupBy(*CANDIDATE, "before", "after", "manner")
        .agg(
            F.count_if(moved).alias("partitions_moved"),
            _sum("subjects", only=moved, as_="subjects_moved"),
            _sum("messages", only=moved, as_="messages_moved"),
            F.sum("subjects").alias("all"),
        )
        .withColumn("share", F.try_divide("subjects_moved", "all"))
    )
    return _with_unreadable_streams(rows, falls, MOVES)


def _sum(name: str, *, only: Column | None = None, as_: str | None = None) -> Column:
    column = F.col(name) if only is None else F.when(only, F.col(name)).otherwise(0)
    return F.sum(column).alias(as_ or name)
