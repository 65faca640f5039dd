"""Groups in words and columns."""

from __future__ import annotations

from typing import Any

import pytest

from reconciler.journeys.groups.text import active_text, age_text, group_text, groups_text, place_text, spread_text
from reconciler.report.document.partitions import ranges_text
from reconciler.report.words.paper import Paper

SECOND = 1_000_000_000
GROUP: dict[str, Any] = {
    "address": "elastic_group/S/g",
    "type": "elastic",
    "revision": 3,
    "pattern": [],
    "written_by": {},
}


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0, "0s"), (59, "59s"), (60, "1m"), (3_725, "1h2m"), (86_400 * 3 + 5, "3d"), (86_400 + 3_600 * 5 + 7, "1d5h")],
)
def test_an_age_has_two_units_at_most(seconds: int, said: str) -> None:
    assert age_text(seconds * SECOND) == said


@pytest.mark.parametrize(("numbers", "said"), [([], ""), ([3], "3"), ([0, 1, 2, 7, 9, 10], "0-2 7 9-10")])
def test_numbers_in_a_row_are_one_range(numbers: list[int], said: str) -> None:
    assert ranges_text(numbers) == said


def test_a_broken_record_stands_in_the_list_with_its_reason() -> None:
    said = groups_text([{**GROUP, "broken": "its text is not JSON"}], Paper())
    assert "S/g" in said and "record broken: its text is not JSON" in said
    assert said.endswith("1 group, 1 with a record that is not current\n")


def test_a_hostile_name_is_made_harmless_everywhere() -> None:
    hostile = {**GROUP, "address": "elastic_group/S/\x1b[31m", "broken": "\x1b", "text": "\x07", "members": []}
    place = {"key": "\x1b", "hashed": "x", "partition": 0, "partitions": 1, "filter": ">"}
    texts = (
        groups_text([hostile], Paper()), group_text(hostile, Paper()), active_text([hostile], Paper()),
        place_text([place], Paper()),
    )  # fmt: skip
    assert not any("\x1b" in text or "\x07" in text for text in texts)


def test_what_is_in_flight_is_queued_in_both_types_of_group() -> None:
    at_work = {"member": "m", "partitions": [0], "consumer": "g-m", "state": "unpinned", "waiting": 0, "in_flight": 4}
    elastic = group_text({**GROUP, "members": [{**at_work, "pending": 6, "queued": 10}]}, Paper())
    static = {**GROUP, "address": "static_group/S/g", "type": "static", "members": [{**at_work, "pending": 6}]}
    rows = [
        next(line for line in text.splitlines() if line.startswith("  m "))
        for text in (elastic, group_text(static, Paper()))
    ]
    assert [row.split()[2:4] for row in rows] == [["10", "4"], ["10", "4"]]


def test_wide_groups_are_cut_into_pieces_that_fit() -> None:
    group = {**GROUP, "owners": ["member"] * 40, "queued": [7] * 40}
    said = spread_text([group], Paper(width=60))
    assert max(map(len, said.splitlines())) <= 60
    assert said.count("partition ") >= 5


def test_a_group_of_a_thousand_partitions_is_not_drawn_whole() -> None:
    assert "  and 872 more" in spread_text([{**GROUP, "owners": [None] * 1000, "stored": [0] * 1000}], Paper())
