"""`history diff`: what changed from one applied run to another, field by field, from the journal alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.here import somebody
from tests.e2e.someone import Someone
from tests.support.accounts import Account
from tests.support.jetstream import make_stream

DAY = 86_400_000_000_000


@pytest.fixture
def someone(tmp_path: Path, account: Account, monkeypatch: pytest.MonkeyPatch) -> Someone:
    return somebody(tmp_path, account, monkeypatch)


def runs(someone: Someone) -> list[int]:
    """Oldest first."""
    return [one["run"] for one in json.loads(someone("history", "--format", "json").out)["runs"]][::-1]


def difference(someone: Someone, *numbers: int) -> dict[str, Any]:
    ran = someone("history", "diff", *map(str, numbers), "--format", "json")
    assert ran.code == 0, ran
    data: dict[str, Any] = json.loads(ran.out)
    return data


def became(found: dict[str, Any]) -> dict[str, str]:
    return {one["address"]: one["became"] for one in found["resources"]}


@pytest.fixture
def thrice(someone: Someone) -> Someone:
    """A goes 7d, 5d, 3d; B comes and goes; C comes."""
    someone.applied("streams: {A: {subjects: [a], max_age: 7d}}\n")
    someone.applied("streams: {A: {subjects: [a], max_age: 5d}, B: {subjects: [b]}}\n")
    someone.applied(
        "streams: {A: {subjects: [a], max_age: 3d}, C: {subjects: [c]}}\nremoved: [{address: stream/B, reason: old}]\n"
    )
    return someone


def test_by_default_it_is_what_the_newest_changed(thrice: Someone) -> None:
    found = difference(thrice)
    assert became(found) == {"stream/A": "updated", "stream/B": "deleted", "stream/C": "created"}
    assert found["resources"][0]["fields"] == [{"path": "max_age", "from": 5 * DAY, "to": 3 * DAY, "unit": "duration"}]


def test_several_runs_are_summed_up(thrice: Someone) -> None:
    first, *_ = runs(thrice)
    found = difference(thrice, first)
    assert became(found) == {"stream/A": "updated", "stream/C": "created"}
    assert found["resources"][0]["fields"] == [{"path": "max_age", "from": 7 * DAY, "to": 3 * DAY, "unit": "duration"}]


def test_two_numbers_choose_both_ends(thrice: Someone) -> None:
    first, second, _ = runs(thrice)
    assert became(difference(thrice, first, second)) == {"stream/A": "updated", "stream/B": "created"}


def test_people_read_it_as_in_a_plan(thrice: Someone) -> None:
    lines = thrice("history", "diff").out.splitlines()
    assert lines[1:] == ["~ stream/A  updated", "    max_age  5d → 3d", "- stream/B  deleted", "+ stream/C  created"]


def test_what_came_to_nothing_is_no_difference(someone: Someone) -> None:
    for age in (7, 3, 7):
        someone.applied(f"streams: {{A: {{subjects: [a], max_age: {age}d}}}}\n")
    first, *_ = runs(someone)
    assert someone("history", "diff", str(first)).out.splitlines()[1:] == ["Nothing differs."]


def test_what_failed_is_no_difference(someone: Someone) -> None:
    someone.applied("streams: {A: {subjects: [a], max_age: 7d}}\n")
    assert someone.plan("streams: {B: {subjects: [b]}, D: {subjects: [d]}}\n", "--out", "plan.json").code == 0
    someone.ask(lambda js: make_stream(js, "B", subjects=["elsewhere"]))
    assert someone("apply", "plan.json", "--yes").code == 1
    assert became(difference(someone)) == {"stream/D": "created"}


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("diff", "x"), 64, "history x: write `history`"),
        (("diff", "1", "2", "3"), 64, "with numbers"),
        (("1", "2"), 64, "with numbers"),
        (("diff", "4711"), 1, "There is no run 4711"),
        (("diff",), 1, "is the first remembered run of topology t"),
    ],
)
def test_what_cannot_be_shown_is_said(someone: Someone, arguments: tuple[str, ...], code: int, said: str) -> None:
    someone.applied("streams: {A: {subjects: [a]}}\n")
    ran = someone("history", *arguments)
    assert (ran.code, said in " ".join(ran.err.split())) == (code, True), ran
