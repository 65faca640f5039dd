"""Comparing two records, without any server."""

from __future__ import annotations

import pytest

from reconciler.changes.effect import Side
from reconciler.report.document.partitions import ranges_text
from reconciler.testbed.probes.record import Difference, Record, RecordLine, differences, sides


def line(experience: str, *given: str, side: Side = Side.READERS) -> RecordLine:
    return RecordLine(side, experience, given)


BEFORE: Record = {
    "publish small": line("stored", side=Side.PUBLISHERS),
    "stored": line("5 messages", "publish ", side=Side.STORED),
    "read 100": line("5 messages"),
}


def test_equal_records_have_no_differences() -> None:
    assert differences(BEFORE, dict(BEFORE)) == ()


def test_a_difference_names_operation_side_and_both_experiences() -> None:
    after = {**BEFORE, "read 100": line("refused")}
    assert differences(BEFORE, after) == (Difference("read 100", Side.READERS, "5 messages", "refused"),)


FEWER = {**BEFORE, "stored": line("4 messages", "publish ", side=Side.STORED)}


def test_a_difference_that_another_one_explains_follows() -> None:
    after = {**FEWER, "publish small": line("refused", side=Side.PUBLISHERS)}
    assert {one.operation: one.follows for one in differences(BEFORE, after)} == {
        "publish small": False,
        "stored": True,
    }


def test_the_same_difference_does_not_follow_where_nothing_explains_it() -> None:
    found = differences(BEFORE, FEWER)
    assert sides(found) == {Side.STORED}
    assert not any(one.follows for one in found)


@pytest.mark.parametrize("missing_before", [True, False])
def test_an_operation_that_one_record_lacks_is_a_difference(missing_before: bool) -> None:
    less = {name: one for name, one in BEFORE.items() if name != "read 100"}
    found = differences(less, BEFORE) if missing_before else differences(BEFORE, less)
    assert [one.operation for one in found] == ["read 100"]


def test_sequences_read_as_ranges_in_the_order_of_delivery() -> None:
    assert ranges_text([1, 2, 3, 7, 9, 10, 4]) == "1-3 7 9-10 4"
    assert ranges_text([]) == ""
