"""Whose clock counts: the server's, wherever anything depends on the time. Ours may be hours off, or stand in 1986."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.cli.running import Ran, Shell
from tests.e2e.someone import Someone, login
from tests.size.clocks import DAY, HOUR, with_clock
from tests.support.accounts import Account
from tests.support.jetstream import done

OFF = {"5 h behind": -5 * HOUR, "5 h ahead": 5 * HOUR, "in 1986": -40 * 365 * DAY}


@pytest.fixture
def someone(tmp_path: Path, account: Account) -> Someone:
    return Someone(Shell(tmp_path), account, login(account))


def off_by(someone: Someone, by: float, *arguments: str) -> Ran:
    return with_clock(someone.shell, by, *arguments, *someone.login)


def day(later: int = 0) -> str:
    return (datetime.now(UTC) + timedelta(days=later)).date().isoformat()


@pytest.mark.parametrize("by", OFF.values(), ids=[*OFF])
def test_an_apply_by_a_wrong_clock_is_as_any_other(someone: Someone, by: float) -> None:
    file = someone.write("streams: {A: {subjects: [a], max_age: 1h, consumers: {c: {}}}}\n")
    began = datetime.now(UTC).replace(microsecond=0)
    assert off_by(someone, by, "apply", file, "--yes").code == 0
    assert off_by(someone, by, "drift", file).code == 0
    assert someone.has_nothing_to_do(file)
    (run,) = json.loads(off_by(someone, by, "history", "--format", "json").out)["runs"]
    assert run["outcome"] == "applied"
    assert began <= datetime.fromisoformat(run["began"]) <= datetime.now(UTC)


def test_a_removal_that_is_over_is_not_done_by_whose_clock_is_behind(someone: Someone) -> None:
    someone.applied("streams: {A: {subjects: [a]}, B: {subjects: [b]}}\n")
    removed = "streams: {{A: {{subjects: [a]}}}}\nremoved: [{{address: stream/B, reason: old, until: {day}}}]\n"
    file = someone.write(removed.format(day=day(-1)))
    ran = off_by(someone, -10 * DAY, "apply", file, "--yes")
    assert (ran.code, f"Its entry in `removed` ended on {day(-1)}" in ran.out) == (0, True)
    assert "B" in done(someone.ask(lambda js: js.request("STREAM.NAMES")))["streams"]
    file = someone.write(removed.format(day=day(1)))
    assert off_by(someone, 10 * DAY, "apply", file, "--yes").code == 0
    assert "B" not in done(someone.ask(lambda js: js.request("STREAM.NAMES")))["streams"]


def test_a_plan_is_applied_by_whose_clock_stands_before_it_was_made(someone: Someone) -> None:
    file = someone.write("streams: {A: {subjects: [a]}}\n")
    assert off_by(someone, DAY, "plan", file, "--out", "plan.json").code == 0
    ran = off_by(someone, -DAY, "apply", "plan.json", "--yes")
    assert (ran.code, "Applied 1 step" in ran.out) == (0, True)
