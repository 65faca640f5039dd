"""Places for consumers under `max_consumers`: real servers accept every step of a plan that uses all of them, and of one that
changes their number, wherever the run is cut off."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.convergence.running import Real, blocked
from tests.convergence.test_exchanges_real import carried_out, left
from tests.support.accounts import Account
from tests.support.binaries import MINORS
from tests.support.topologies import read
from tests.support.versions import on_every_version


def interest(consumers: str, limit: int | None, retention: str = "interest") -> str:
    """A stream with these consumers, and room for so many."""
    most = "" if limit is None else f", max_consumers: {limit}"
    return f"streams: {{S: {{subjects: [s.>], retention: {retention}{most}, consumers: {{{consumers}}}}}}}\n"


def consumers(names: str, waiting: str = "") -> str:
    """Consumers of these names; no update gives those in `waiting` fewer waiting pulls."""
    fewer = dict.fromkeys(waiting.split(), ", max_waiting: 64")
    return ", ".join(f"{name}: {{ack_policy: explicit{fewer.get(name, '')}}}" for name in names.split())


RENAMED = "moved: [{from: consumer/S/b, to: consumer/S/new, reason: r}]\n"
REMOVED = "removed: [{address: consumer/S/c, reason: r}]\n"
FIXED = {
    "two are recreated one after the other in the one free place": (
        interest(consumers("a b c"), 4),
        interest(consumers("a b c", "a b"), 4),
    ),
    "one is recreated before another takes the last place": (
        interest(consumers("a b c"), 4),
        interest(consumers("a b c d", "a"), 4),
    ),
    "one is deleted before another is recreated": (
        interest(consumers("a b c"), 3),
        interest(consumers("a b", "a"), 3) + REMOVED,
    ),
    "one is deleted, two are recreated, and one comes": (
        interest(consumers("a b c"), 3),
        interest(consumers("a b d", "a b"), 3) + REMOVED,
    ),
    "one is renamed": (interest(consumers("a b"), 3), interest(consumers("a new"), 3) + RENAMED),
}
CHANGING = {
    "one is renamed before the stream allows no more than there are": (
        interest(consumers("a b c"), None),
        interest(consumers("a new c"), 3) + RENAMED,
    ),
    "one is renamed once the stream allows one more": (
        interest(consumers("a b c"), 3),
        interest(consumers("a new c"), 4) + RENAMED,
    ),
    "one is renamed once the stream allows any number": (
        interest(consumers("a b c"), 3),
        interest(consumers("a new c"), None) + RENAMED,
    ),
    "one is deleted and one recreated before the stream allows fewer": (
        interest(consumers("a b c"), 3),
        interest(consumers("a b", "a"), 2) + REMOVED,
    ),
    "one of a stream that keeps everything is recreated before it allows fewer": (
        interest(consumers("a b c"), None, "limits"),
        interest(consumers("a b c", "a"), 3, "limits"),
    ),
}


def finished_after_every_cut(account: Account, folder: Path, first: str, then: str) -> None:
    """Also in one run."""
    before, wanted = read(folder / "before", first), read(folder / "wanted", then)
    with Real(account) as real:
        carried_out(real, before)
        plan = real.plan(wanted).plan
        assert blocked(plan) == set(), [verdict.message for change in plan.changes for verdict in change.verdicts]
        for steps in range(1, len(plan.steps) + 1):
            carried_out(real, wanted, steps)
            carried_out(real, wanted)
            assert left(real, wanted) == [], f"cut off after {steps} steps"
            real.clean()
            carried_out(real, before)


@on_every_version
@pytest.mark.parametrize(("first", "then"), FIXED.values(), ids=FIXED)
def test_consumers_take_turns_in_the_places_there_are(account: Account, tmp_path: Path, first: str, then: str) -> None:
    finished_after_every_cut(account, tmp_path, first, then)


@pytest.mark.parametrize("account", MINORS[1:], indirect=True)
@pytest.mark.parametrize(("first", "then"), CHANGING.values(), ids=CHANGING)
def test_consumers_are_recreated_while_there_are_most_places(
    account: Account, tmp_path: Path, first: str, then: str
) -> None:
    finished_after_every_cut(account, tmp_path, first, then)
