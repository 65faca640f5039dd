"""`ignore_drift`: what a rule covers, until when, and what is said of one that covers nothing."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from reconciler.journeys.drift.look import Rules
from reconciler.model.diagnostic import Severity, SourceSpan
from reconciler.model.topology import IgnoreRule

TODAY = date(2026, 6, 1)
PLACE = SourceSpan("t.yaml", 3, 1, 3, 9)


def rule(address: str = "stream/*", path: str | None = None, until: date | None = None) -> IgnoreRule:
    return IgnoreRule(
        address=address, path=path, reason="tuned by hand", until=until, where=lambda at: PLACE if at == "" else None
    )


@pytest.mark.parametrize(
    ("wanted", "path", "is_covered"),
    [
        ("placement", "placement", True),
        ("placement", "placement.tags", True),
        ("sources", "sources[0].name", True),
        ("placement", "placements", False),
        ("placement.tags", "placement", False),
        ("max_*", "max_age", True),
        ("max_*", "subjects", False),
        (None, "max_age", True),
        (None, None, True),
        ("max_age", None, False),
    ],
)
def test_a_rule_covers_its_path_and_what_lies_in_it(wanted: str | None, path: str | None, is_covered: bool) -> None:
    assert bool(Rules([rule(path=wanted)], TODAY).why("stream/S", path)) is is_covered


def test_a_rule_is_about_its_address_alone() -> None:
    rules = Rules([rule("stream/A")], TODAY)
    assert (rules.why("stream/A", "max_age"), rules.why("stream/B", "max_age")) == ("tuned by hand", "")


@pytest.mark.parametrize(("until", "is_covered"), [(date(2026, 6, 1), True), (date(2026, 5, 31), False)])
def test_a_rule_counts_on_its_last_day(until: date, is_covered: bool) -> None:
    assert bool(Rules([rule(until=until)], TODAY).why("stream/S", "max_age")) is is_covered


OVER = date(2026, 5, 31)
USELESS: dict[str, tuple[IgnoreRule, tuple[Any, ...]]] = {
    "over": (
        rule(path="max_age", until=OVER),
        ("DR102", "ignore-expired", "the entry that ignores drift of stream/* max_age ended on 2026-05-31",
         "remove it, or judge the drift again and give it a new date"),
    ),
    "unused": (
        rule(),
        ("DR101", "ignore-unused", "the entry that ignores drift of stream/* covers nothing now",
         "remove it if it is no longer needed"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("how", USELESS)
def test_a_rule_of_no_use_is_told_at_its_place(how: str) -> None:
    useless, said = USELESS[how]
    (one,) = Rules([useless], TODAY).leftovers(complete=True)
    assert (one.code, one.name, one.message, one.fix) == said
    assert (one.severity, one.span) == (Severity.WARNING, PLACE)


def test_in_part_of_a_topology_nobody_can_tell_what_is_of_no_use() -> None:
    assert [one.code for one in Rules([rule(), rule(until=OVER)], TODAY).leftovers(complete=False)] == ["DR102"]


def test_a_rule_that_covered_something_is_of_use() -> None:
    rules = Rules([rule("stream/A"), rule("stream/B")], TODAY)
    assert rules.why("stream/B", "max_age")
    assert [one.message for one in rules.leftovers(complete=True)] == [
        "the entry that ignores drift of stream/A covers nothing now"
    ]
