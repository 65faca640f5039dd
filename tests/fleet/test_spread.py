"""What keys of a known make do to partitions: the numbers a report about skew would show of them, without Spark."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from reconciler.fleet.skew.candidates import Choice, Partitioning
from reconciler.fleet.skew.counting import falls_counter

REGIONS = ["eu-west", "us-east-1", "ap", "sa", "africa"]
ROWS = 40_000


def orders(rows: int = ROWS, *, width: int = 0) -> pa.RecordBatch:
    """A customer each, in five regions; one customer in a thousand sends a thousand times as much."""
    subjects = [f"orders.{REGIONS[number % 5]}.{number:0{width}}" for number in range(rows)]
    return pa.RecordBatch.from_pydict(
        {
            "place": ["eu\nORDERS"] * rows,
            "subject": subjects,
            "messages": [1_000 if number % 1_000 == 0 else 1 for number in range(rows)],
            "error": pa.nulls(rows, pa.string()),
        }
    )


def by(*wildcards: int) -> Choice:
    return Choice((Partitioning(filter="orders.*.*", wildcards=wildcards),))


def loads(choice: Choice, partitions: int, of: str = "subjects") -> list[int]:
    found = falls_counter((choice,), (partitions,))(iter([orders()]))
    return [row[of] for batch in found for row in batch.to_pylist() if row["partition"] is not None]


@pytest.mark.parametrize("partitions", [3, 8, 10, 64])
@pytest.mark.parametrize("choice", [by(2), by(1, 2), by()], ids=str)
def test_many_keys_spread_evenly_over_any_number_of_partitions(choice: Choice, partitions: int) -> None:
    found = loads(choice, partitions)
    assert sum(found) == ROWS
    assert max(found) < 1.25 * ROWS / partitions


def test_five_keys_fill_no_more_than_five_partitions() -> None:
    found = loads(by(1), 16)
    assert sum(1 for one in found if one) <= len(REGIONS)
    assert max(found) >= ROWS // len(REGIONS)


def test_keys_that_spread_evenly_may_carry_messages_that_do_not() -> None:
    messages, subjects = loads(by(2), 64, "messages"), loads(by(2), 64)
    assert max(messages) / (sum(messages) / 64) > 2 * max(subjects) / (ROWS / 64)


def calls(batches: Iterator[pa.RecordBatch]) -> int:
    """Calls of functions, Python's and numpy's, while all of them are made; none by whoever hears of garbage collected."""
    count = 0

    def seen(_frame: Any, event: str, _of: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    gc.disable()
    sys.setprofile(seen)
    try:
        for _ in batches:
            pass
    finally:
        sys.setprofile(None)
        gc.enable()
    return count


def test_twenty_times_the_subjects_take_no_more_calls() -> None:
    """What is called for each piece of rows is numpy, whatever their number; what Python did for each would show here."""
    few, many = orders(1_000, width=6), orders(20_000, width=6)
    work = falls_counter((by(1), by(2), by(1, 2), by()), (6, 8, 64))
    calls(work(iter([few])))  # what is loaded at the first time
    assert calls(work(iter([many]))) == calls(work(iter([few])))
