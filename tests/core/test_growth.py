"""How much more than the plan said may be lost by the time it is applied."""

from __future__ import annotations

import pytest

from reconciler.core.diff import Action
from reconciler.core.growth import beyond, most
from reconciler.core.plan import Plan, PlannedChange
from reconciler.core.rule import Outcome, Verdict
from reconciler.core.saved import Place, Saved
from reconciler.core.topology import Topology
from reconciler.core.wire import SUPPORTED, Target


@pytest.mark.parametrize(
    ("name", "planned", "at_most"),
    [
        ("messages", 0, 0),
        ("messages", 5, 10),
        ("consumers", 2, 2),
        ("redelivered", 0, 1_000),
        ("queued", 0, 1_000),
        ("skipped", 3, 1_000),
        ("redelivered", 4_000, 8_000),
    ],
)
def test_what_is_lost_may_double_and_what_passes_through_may_come_and_go(name: str, planned: int, at_most: int) -> None:
    assert most(name, planned) == at_most


def planned(action: Action, **quantities: int) -> PlannedChange:
    verdict = Verdict(
        code="ST206", name="one-way-change", outcome=Outcome.NEEDS_CONSENT, message="", address="stream/M", path="mirror",
        consented="it takes over", quantities=quantities,
    )  # fmt: skip
    return PlannedChange(address="stream/M", action=action, verdicts=(verdict,))


KEPT = Saved(plan=Plan(topology="t", target=Target(version=SUPPORTED[-1])), place=Place(), topology=Topology(name="t"))


@pytest.mark.parametrize(
    ("action", "then", "now", "stops"),
    [
        (Action.UPDATE, {"messages": 0}, {}, True),
        (Action.UPDATE, {"messages": 0}, {"messages": 0}, False),
        (Action.UPDATE, {"waiting": 3}, {}, False),
        (Action.UPDATE, {}, {}, False),
        (Action.DELETE, {"messages": 5}, {}, False),
    ],
)
def test_messages_that_were_counted_and_cannot_be_any_more_stop_an_update(
    action: Action, then: dict[str, int], now: dict[str, int], stops: bool
) -> None:
    assert bool(list(beyond(planned(action, **then), planned(action, **now), KEPT))) is stops
