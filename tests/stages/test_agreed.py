"""What is applied when its turn comes is never more than what was shown before the first stage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from reconciler.changes.change import Action
from reconciler.changes.consent import DeclaredConsents
from reconciler.changes.plan import Plan, PlannedChange
from reconciler.changes.verdict import Outcome
from reconciler.journeys.rollout.stage_checks import addresses_beyond, check_as_shown
from reconciler.model.diagnostic import CannotContinue
from reconciler.model.resource import Consent, no_terms
from tests.report.plans import create, delete, field, plan, planned, update, verdict

AGE = field("max_age", 7, 30)
LOSES = verdict("ST301", "drops-messages", Outcome.ALLOWED, "12 messages are lost")
REFUSED = verdict("ST101", "storage", Outcome.REFUSED, "storage is fixed")
ORDERS = "stream/ORDERS"
NO_CONSENTS = DeclaredConsents({}, ())


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
        check_as_shown(plan(*shown), plan(*now), NO_CONSENTS)


def losing(messages: int) -> Plan:
    loss = replace(LOSES, consented="old", quantities={"messages": messages})
    return plan(update(ORDERS, AGE, verdicts=(loss,)))


@pytest.mark.parametrize(("messages", "upto"), [(12, 0), (24, 0), (5_000, 5_000)])
def test_twice_the_loss_that_was_shown_is_applied_and_what_the_files_allow(messages: int, upto: int) -> None:
    bound = (Consent(code="ST301", reason="old", upto={"messages": upto}),) if upto else ()
    terms = {ORDERS: no_terms().model_copy(update={"allow": bound})}
    check_as_shown(losing(12), losing(messages), DeclaredConsents(terms, ()))


def test_more_than_twice_the_loss_that_was_shown_is_not_applied() -> None:
    grown = (
        r"stream/ORDERS, the plan said 12 messages \(ST301\), and now it is 25, more than twice as many\. Nothing was"
    )
    with pytest.raises(CannotContinue, match=grown):
        check_as_shown(losing(12), losing(25), NO_CONSENTS)


def test_a_topology_that_was_not_shown_is_not_applied() -> None:
    assert addresses_beyond(None, plan(create(ORDERS))) == [ORDERS]
