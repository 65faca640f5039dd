"""What is applied when its turn comes is never more than what was shown before the first stage."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from reconciler.changes.change import Action
from reconciler.changes.plan import PlannedChange
from reconciler.changes.verdict import Outcome
from reconciler.journeys.stages.stage_checks import addresses_beyond, check_as_shown
from reconciler.model.diagnostic import CannotContinue
from tests.report.plans import create, delete, field, plan, planned, update, verdict

AGE = field("max_age", 7, 30)
LOSES = verdict("ST301", "drops-messages", Outcome.ALLOWED, "12 messages are lost")
REFUSED = verdict("ST101", "storage", Outcome.REFUSED, "storage is fixed")
ORDERS = "stream/ORDERS"


@pytest.mark.parametrize(
    ("shown", "now"),
    [
        ([create(ORDERS)], [create(ORDERS)]),
        ([create(ORDERS)], []),
        ([update(ORDERS, AGE), delete("stream/OLD")], [update(ORDERS, AGE)]),
        ([planned(ORDERS, Action.ADOPT)], [planned(ORDERS, Action.ADOPT)]),
        ([], [planned(ORDERS, Action.ORPHAN)]),
        ([], [update(ORDERS, AGE, verdicts=(REFUSED,))]),
        ([update(ORDERS, AGE, verdicts=(LOSES,))], [update(ORDERS, AGE)]),
    ],
    ids=["as shown", "done by now", "part is done", "adopted", "kept", "refused by now", "harms less"],
)
def test_what_was_shown_or_less_is_applied(shown: Sequence[PlannedChange], now: Sequence[PlannedChange]) -> None:
    assert addresses_beyond(plan(*shown), plan(*now)) == []


@pytest.mark.parametrize(
    ("shown", "now"),
    [
        ([], [create(ORDERS)]),
        ([create(ORDERS)], [update(ORDERS, AGE)]),
        ([update(ORDERS, AGE)], [update(ORDERS, AGE, field("max_msgs", 5, 1))]),
        ([update(ORDERS, AGE)], [update(ORDERS, field("max_age", 8, 30))]),
        ([update(ORDERS, AGE)], [update(ORDERS, AGE, verdicts=(LOSES,))]),
        ([update(ORDERS, AGE, verdicts=(REFUSED,))], [update(ORDERS, AGE)]),
        ([], [planned(ORDERS, Action.ADOPT)]),
    ],
    ids=["anew", "otherwise", "more fields", "from another value", "harms more", "refused before", "taken over"],
)
def test_what_goes_beyond_is_not_applied(shown: Sequence[PlannedChange], now: Sequence[PlannedChange]) -> None:
    assert addresses_beyond(plan(*shown), plan(*now)) == [ORDERS]
    with pytest.raises(
        CannotContinue, match="no longer the one that was shown before the first stage: `stream/ORDERS`"
    ):
        check_as_shown(plan(*shown), plan(*now))


def test_a_topology_that_was_not_shown_is_not_applied() -> None:
    assert addresses_beyond(None, plan(create(ORDERS))) == [ORDERS]
