"""Subjects are counted as they come by, batch after batch, without Spark."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.fleet.skew import counting as falling
from reconciler.fleet.skew.candidates import Choice, Partitioning, all_choices
from reconciler.kinds.subjects.partitions import partition

BY_CUSTOMER = Choice((Partitioning(filter="orders.*.*", wildcards=(1,)),))


def batch(*rows: tuple[str, str | None, int, str | None]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(
        [dict(zip(("place", "subject", "messages", "error"), row, strict=True)) for row in rows],
        schema=pa.schema(
            [("place", pa.string()), ("subject", pa.string()), ("messages", pa.int64()), ("error", pa.string())]
        ),
    )


def counted(
    batches: list[pa.RecordBatch], choices: tuple[Choice, ...], partitions: tuple[int, ...]
) -> Counter[tuple[Any, ...]]:
    """Messages by everything they are counted by."""
    found: Counter[tuple[Any, ...]] = Counter()
    for one in falling.falls_counter(choices, partitions)(iter(batches)):
        for row in one.to_pylist():
            key = row["target"], row["stream"], row["choice"], row["partitions"], row["partition"]
            found[key] += row["messages"] or 0
    return found


def test_every_partition_has_its_row_and_what_matched_nothing_has_one_too() -> None:
    rows = batch(("eu\nORDERS", "orders.ann.new", 3, None), ("eu\nORDERS", "audit.ann", 4, None))
    name = "orders.*.* by 1"
    at = partition("orders.ann.new", "orders.*.*", 3, [1])
    wanted: dict[tuple[Any, ...], int] = {
        ("eu", "ORDERS", name, 3, None): 4,
        **{("eu", "ORDERS", name, 3, number): 3 * (number == at) for number in range(3)},
    }
    assert counted([rows], (BY_CUSTOMER,), (3,)) == wanted


def test_subjects_of_several_places_in_one_batch_are_kept_apart() -> None:
    rows = batch(("eu\nA", "orders.x.y", 1, None), ("us\nA", "orders.x.y", 2, None), ("eu\nA", "orders.x.z", 4, None))
    found = counted([rows], (BY_CUSTOMER,), (1,))
    assert (found["eu", "A", "orders.*.* by 1", 1, 0], found["us", "A", "orders.*.* by 1", 1, 0]) == (5, 2)


def test_an_error_is_handed_on_and_counts_for_nothing() -> None:
    rows = batch(("eu\nA", "orders.x.y", 1, None), ("down\n", None, 0, "nobody answers"))
    errors = [
        (row["target"], row["stream"], row["error"])
        for one in falling.falls_counter((BY_CUSTOMER,), (2,))(iter([rows]))
        for row in one.to_pylist()
        if row["error"]
    ]
    assert errors == [("down", None, "nobody answers")]


def test_targets_that_all_failed_are_errors_and_nothing_else() -> None:
    rows = batch(("a\n", None, 0, "timeout"), ("b\n", None, 0, "refused"))
    found = [one.to_pylist() for one in falling.falls_counter((BY_CUSTOMER,), (2,))(iter([rows]))]
    assert [(row["target"], row["error"]) for row in found[0]] == [("a", "timeout"), ("b", "refused")]
    assert len(found) == 1


def test_a_subject_is_partitioned_by_the_filter_it_matches() -> None:
    choice = Choice((Partitioning(filter="a.*", wildcards=(1,)), Partitioning(filter="b.>")))
    rows = batch(("t\nS", "a.7", 1, None), ("t\nS", "b.7.8", 2, None), ("t\nS", "c.7", 4, None))
    found = counted([rows], (choice,), (5,))
    name = "a.* by 1; b.> by whole subject"
    assert found["t", "S", name, 5, partition("a.7", "a.*", 5, [1])] == 1
    assert found["t", "S", name, 5, partition("b.7.8", "b.>", 5)] == 2
    assert found["t", "S", name, 5, None] == 4


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["e\nA", "e\nB", "u\nA"]), st.integers(0, 99), st.integers(0, 9)), max_size=20),
    st.sets(st.integers(1, 40), min_size=1, max_size=3),
    st.integers(1, 7),
)
def test_however_rows_are_cut_into_batches_the_counts_are_those_of_one_by_one(
    rows: list[tuple[str, int, int]], partitions: set[int], size: int
) -> None:
    choices = all_choices("o.*.*")
    subjects = [(place, f"o.{number % 7}.{number}", messages, None) for place, number, messages in rows]
    batches = [batch(*subjects[start : start + size]) for start in range(0, len(subjects), size)]
    expected: Counter[tuple[Any, ...]] = Counter()
    for place, subject, messages, _ in subjects:
        for choice in choices:
            for number in partitions:
                at = partition(subject, "o.*.*", number, choice.filters[0].wildcards)
                expected[*place.split("\n"), str(choice), number, at] += messages
    assert +counted(batches, choices, tuple(partitions)) == +expected


def test_pieces_are_of_about_the_size_wanted() -> None:
    batches = [batch(*[("p", "a", 1, None)] * rows) for rows in (2, 9, 1, 1)]
    assert [len(piece) for piece in falling.tables_of(batches, 4)] == [6, 4, 3]


def test_what_is_counted_is_handed_on_before_it_becomes_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(falling, "MOST_COUNTS", 1)
    monkeypatch.setattr(falling, "AT_ONCE", 1)
    rows = batch(*[("t\nS", f"orders.{number}.x", 1, None) for number in range(5)])
    assert sum(counted([rows], (BY_CUSTOMER,), (2, 3)).values()) == 2 * 5


@pytest.mark.parametrize(
    ("numbers", "multiples"),
    [
        ((6, 8, 10, 12, 16), {240: [16, 12, 10, 8, 6]}),
        ((65_536, 1024, 3), {65_536: [65_536, 1024], 3: [3]}),
        ((4093, 4091, 2), {4093: [4093], 4091: [4091], 2: [2]}),
        ((7, 7), {7: [7]}),
    ],
)
def test_one_histogram_serves_all_numbers_that_divide_it(
    numbers: tuple[int, ...], multiples: dict[int, list[int]]
) -> None:
    assert falling.common_multiples(numbers) == multiples
