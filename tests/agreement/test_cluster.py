"""The rows that only a cluster answers: the oldest and the newest version, three nodes each."""

from __future__ import annotations

import time

import pytest

from reconciler.server.wire.pipeline import NoAnswer
from tests.agreement.case import Case
from tests.agreement.judging import NOBODY_KNOWS
from tests.agreement.report import problems
from tests.agreement.rooms import Borrowed, Ground
from tests.agreement.row import Row
from tests.agreement.rows_cluster import ROWS
from tests.agreement.running import Outcome, run
from tests.agreement.tally import Tally
from tests.support.accounts import Account

SIDES = [(row, side) for row in ROWS for side in ("refused", "allowed") if row.cases(side)]


@pytest.fixture(scope="module", params=["2.11", "2.15"])
def tally(pool, request: pytest.FixtureRequest) -> Tally:  # type: ignore[no-untyped-def]
    account: Account = pool.clustered(request.param)
    with Borrowed(account) as ground:
        found = Tally(str(ground.version), rows=ROWS)
        for outcome in patiently(account, ground, [case for row, side in SIDES for case in row.cases(side)]):
            found.add(outcome)
        return found


PATIENCE = 90
"""Seconds for all cases of a version."""


def is_untold(one: Outcome) -> bool:
    """Also where servers that are busy are not yet known to have room for what is allowed."""
    has_no_room = one.drawn.meant == "allowed" and one.err_code in NOBODY_KNOWS
    return bool(one.unborn) or isinstance(one.answer, NoAnswer) or has_no_room


def patiently(account: Account, ground: Ground, cases: list[Case]) -> list[Outcome]:
    """Clusters of 2.11 now and then know nothing yet of what they just made, or never answer what they refuse."""
    assert account.cluster is not None
    told: list[Outcome] = []
    silent: list[Outcome] = []
    until = time.monotonic() + PATIENCE
    while cases and time.monotonic() < until:
        account.cluster.wait_until_ready()
        outcomes = run(ground, cases)
        silent = [one for one in outcomes if is_untold(one)]
        cases = [one.drawn for one in silent]
        told += [one for one in outcomes if one not in silent]
    assert not silent, "never answered:\n" + "\n".join(f"{one.drawn}\n  {one.unborn or one.answer}" for one in silent)
    return told


def test_a_cluster_says_what_we_say(tally: Tally) -> None:
    assert not (found := problems([tally], 1, every_version=False)), "\n\n".join(found)


@pytest.mark.parametrize(("row", "side"), SIDES, ids=lambda one: one.id if isinstance(one, Row) else one)
def test_both_sides_of_a_row_are_seen(tally: Tally, row: Row, side: str) -> None:
    assert tally.hits[row.id, side]
