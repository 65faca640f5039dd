"""`ignore_drift`: what a rule covers, until when, and what is said of one that covers nothing."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from reconciler.changes.change import Action, FieldChange, FieldClass
from reconciler.changes.plan import PlannedChange
from reconciler.engine.ignoring import IgnoredDrift
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
    assert bool(IgnoredDrift([rule(path=wanted)], TODAY).why_ignored("stream/S", path)) is is_covered


def test_a_rule_is_about_its_address_alone() -> None:
    rules = IgnoredDrift([rule("stream/A")], TODAY)
    assert (rules.why_ignored("stream/A", "max_age"), rules.why_ignored("stream/B", "max_age")) == ("tuned by hand", "")


@pytest.mark.parametrize(("until", "is_covered"), [(date(2026, 6, 1), True), (date(2026, 5, 31), False)])
def test_a_rule_counts_on_its_last_day(until: date, is_covered: bool) -> None:
    assert bool(IgnoredDrift([rule(until=until)], TODAY).why_ignored("stream/S", "max_age")) is is_covered


def changed(path: str, since: FieldClass, address: str = "stream/S", action: Action = Action.UPDATE) -> PlannedChange:
    return PlannedChange(address=address, action=action, fields=(FieldChange(path=path, field_class=since),))


def test_a_plan_that_puts_back_what_drift_ignores_says_so() -> None:
    entries = IgnoredDrift([rule(path="max_age"), rule("stream/OTHER")], TODAY)
    (told,) = entries.reverted_drift_warnings(
        [changed("max_age", FieldClass.DRIFTED), changed("max_msgs", FieldClass.DRIFTED)]
    )
    assert (told.code, told.span) == ("DR103", PLACE)
    assert told.message.startswith("ignore_drift covers max_age of stream/S, and an apply puts back")


@pytest.mark.parametrize(
    "change",
    [
        changed("max_age", FieldClass.CONFIG), changed("max_age", FieldClass.DRIFTED, action=Action.KEEP),
        changed("max_age", FieldClass.BOTH, "kv_bucket/B"),
    ],
    ids=["the file changes it", "nothing is written", "another object"],
)  # fmt: skip
def test_what_no_plan_puts_back_is_not_said_to_be(change: PlannedChange) -> None:
    assert not [*IgnoredDrift([rule(path="max_age")], TODAY).reverted_drift_warnings([change])]


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
    (one,) = IgnoredDrift([useless], TODAY).unused_entry_warnings(complete=True)
    assert (one.code, one.name, one.message, one.fix) == said
    assert (one.severity, one.span) == (Severity.WARNING, PLACE)


def test_in_part_of_a_topology_nobody_can_tell_what_is_of_no_use() -> None:
    assert [
        one.code for one in IgnoredDrift([rule(), rule(until=OVER)], TODAY).unused_entry_warnings(complete=False)
    ] == ["DR102"]


def test_a_rule_that_covered_something_is_of_use() -> None:
    rules = IgnoredDrift([rule("stream/A"), rule("stream/B")], TODAY)
    assert rules.why_ignored("stream/B", "max_age")
    assert [one.message for one in rules.unused_entry_warnings(complete=True)] == [
        "the entry that ignores drift of stream/A covers nothing now"
    ]
