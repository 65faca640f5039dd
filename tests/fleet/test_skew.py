"""What becomes of subjects in the pipelines of skew, on a small session, with every expected row written out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from reconciler.fleet.skew.candidates import Candidates, Choice, Membership, Partitioning, all_choices

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BY_FIRST = Choice((Partitioning(filter="o.*.*", wildcards=(1,)),))
SUBJECTS = [
    ("eu", "ORDERS", "o.a.new", 10, None, None),
    ("eu", "ORDERS", "o.b.new", 1, None, None),
    ("eu", "ORDERS", "o.a.old", 20, None, None),
    ("eu", "ORDERS", "o.2.new", 5, None, None),
    ("eu", "ORDERS", "audit", 7, None, None),
    ("down", None, None, None, "nobody answers", None),
]
"""Of `partition.json`: with 4 partitions `a` is in 0, `b` and `2` are in 1."""


@pytest.fixture(scope="module")
def subjects(spark: SparkSession) -> DataFrame:
    from reconciler.fleet.tables.tables import SUBJECTS as TABLE

    return spark.createDataFrame(SUBJECTS, TABLE)


@pytest.fixture(scope="module")
def fallen(subjects: DataFrame) -> DataFrame:
    """Who the members are changes nothing in it."""
    from reconciler.fleet.skew.skew import falls

    return falls(subjects, candidates()).localCheckpoint()


def rows(frame: DataFrame, *columns: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in frame.select(*columns).collect()), key=str)


def candidates(*members: int) -> Candidates:
    return Candidates(choices=(BY_FIRST,), partitions=(4,), memberships=tuple(map(Membership.of, members)))


def test_subjects_fall_where_servers_put_them(fallen: DataFrame) -> None:
    assert rows(fallen, "target", "stream", "partition", "subjects", "messages", "error") == [
        ("down", None, None, None, None, "nobody answers"),
        ("eu", "ORDERS", 0, 2, 30, None),
        ("eu", "ORDERS", 1, 2, 6, None),
        ("eu", "ORDERS", 2, 0, 0, None),
        ("eu", "ORDERS", 3, 0, 0, None),
        ("eu", "ORDERS", None, 1, 7, None),
    ]


def test_members_get_what_falls_on_their_partitions(spark: SparkSession, fallen: DataFrame) -> None:
    from reconciler.fleet.skew.skew import loads, ownership_frame

    found = loads(fallen, ownership_frame(spark, candidates(3, 5)))
    assert rows(found, "membership", "member", "owned", "subjects", "messages") == [
        ("3", "m1", 2, 2, 30),
        ("3", "m2", 1, 2, 6),
        ("3", "m3", 1, 0, 0),
        ("5", "m1", 1, 2, 30),
        ("5", "m2", 1, 2, 6),
        ("5", "m3", 1, 0, 0),
        ("5", "m4", 1, 0, 0),
        ("5", "m5", 0, 0, 0),
    ]


def test_skew_is_the_largest_by_the_mean(spark: SparkSession, fallen: DataFrame) -> None:
    from reconciler.fleet.skew.skew import loads, ownership_frame, skew

    found = skew(fallen, loads(fallen, ownership_frame(spark, candidates(3))))
    columns = "membership", "of", "total", "missed", "unowned", "mean", "largest", "where", "ratio", "p99", "empty"
    assert rows(found, "target", *columns, "error") == [
        ("down", *[None] * 11, "nobody answers"),
        ("eu", "3", "messages", 36, None, 0, 12.0, 30, "m1", 2.5, 30, 1, None),
        ("eu", "3", "subjects", 4, None, 0, 4 / 3, 2, "m2", 1.5, 2, 1, None),
        ("eu", None, "messages", 36, 7, None, 9.0, 30, "0", 30 / 9, 30, 2, None),
        ("eu", None, "subjects", 4, 1, None, 1.0, 2, "1", 2.0, 2, 2, None),
    ]


def test_figures_of_a_part_of_the_subjects_say_why_they_are(spark: SparkSession, subjects: DataFrame) -> None:
    from reconciler.fleet.skew.skew import falls, loads, ownership_frame, skew
    from reconciler.fleet.tables.tables import SUBJECTS as TABLE

    cut = spark.createDataFrame(
        [("eu", "ORDERS", None, None, "timeout", None), ("us", "O", "o.a.b", 1, None, None)], TABLE
    )
    fallen = falls(subjects.union(cut), candidates())
    found = skew(fallen, loads(fallen, ownership_frame(spark, candidates()))).where("of is null or of = 'subjects'")
    assert rows(found, "target", "stream", "total", "error") == [
        ("down", None, None, "nobody answers"),
        ("eu", "ORDERS", 4, "timeout"),
        ("eu", "ORDERS", None, "timeout"),
        ("us", "O", 1, None),
    ]


def test_what_nobody_owns_is_no_members_load(spark: SparkSession, fallen: DataFrame) -> None:
    from reconciler.fleet.skew.skew import loads, ownership_frame, skew

    mapped = Membership(mappings=(("a", (1,)), ("b", (2, 3))))
    wanted = Candidates(choices=(BY_FIRST,), partitions=(4,), memberships=(mapped,))
    found = skew(fallen, loads(fallen, ownership_frame(spark, wanted))).where("membership is not null")
    assert rows(found, "of", "total", "unowned", "mean") == [("messages", 6, 30, 3.0), ("subjects", 2, 2, 1.0)]


def test_a_filter_that_matches_nothing_says_so(subjects: DataFrame, spark: SparkSession) -> None:
    from reconciler.fleet.skew.skew import falls, loads, ownership_frame, skew

    wanted = Candidates(choices=all_choices("x.*")[:1], partitions=(2,), memberships=(Membership.of(2),))
    fallen = falls(subjects, wanted)
    found = skew(fallen, loads(fallen, ownership_frame(spark, wanted))).where("error is null")
    assert rows(found, "membership", "of", "total", "missed", "ratio") == [
        (None, "messages", 0, 43, None),
        (None, "subjects", 0, 5, None),
    ]


def test_what_changes_hands_is_what_falls_on_partitions_that_do(spark: SparkSession, fallen: DataFrame) -> None:
    """From two members to three, of `0 1 | 2 3`: partition 1 goes to m2, 2 to m3, 3 to m1; two would be enough."""
    from reconciler.fleet.skew.skew import handovers_frame, moves

    found = moves(fallen, handovers_frame(spark, candidates(2, 3)))
    columns = "before", "after", "manner", "partitions_moved", "subjects_moved", "messages_moved", "share"
    assert rows(found.where("choice is not null"), *columns) == [
        ("2", "3", "declared", 3, 2, 6, 0.5),
        ("2", "3", "fewest", 1, 0, 0, 0.0),
    ]
    assert rows(found.where("choice is null"), "target", "before", "error") == [("down", None, "nobody answers")]


def test_keys_from_anywhere_can_be_tried(spark: SparkSession) -> None:
    from reconciler.fleet.skew.skew import as_subjects, falls

    keys = spark.createDataFrame([("o.a.new",), ("o.b.new",), ("o.2.new",)], "subject string")
    found = falls(as_subjects(keys, target="planned", stream="ORDERS"), candidates()).where("messages > 0")
    assert rows(found, "target", "stream", "partition", "messages") == [
        ("planned", "ORDERS", 0, 1),
        ("planned", "ORDERS", 1, 2),
    ]
