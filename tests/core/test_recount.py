"""How much more than the plan said may be lost by the time it is applied."""

from __future__ import annotations

import pytest

from reconciler.changes.change import Action
from reconciler.changes.plan import PlannedChange
from reconciler.changes.recount import allowed_loss, changed_losses_sentences, losses, losses_beyond_consent_sentences
from reconciler.changes.verdict import Outcome, Verdict
from reconciler.model.resource import Consent


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
    assert allowed_loss(name, planned) == at_most


def planned(action: Action, **quantities: int) -> PlannedChange:
    verdict = Verdict(
        code="ST206", name="one-way-change", outcome=Outcome.NEEDS_CONSENT, message="", address="stream/M", path="mirror",
        consented="it takes over", quantities=quantities,
    )  # fmt: skip
    return PlannedChange(address="stream/M", action=action, verdicts=(verdict,))


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
    assert bool(list(losses_beyond_consent_sentences(planned(action, **then), planned(action, **now), ()))) is stops


@pytest.mark.parametrize(
    ("then", "now", "said"),
    [
        (
            {"messages": 5},
            {"messages": 11},
            ["the plan said 5 messages (ST206), and now it is 11, more than twice as many"],
        ),
        ({"messages": 5}, {"messages": 10}, []),
        ({"messages": 0}, {"messages": 1}, ["the plan said 0 messages (ST206), and now it is 1"]),
        ({"consumers": 2}, {"consumers": 3}, ["the plan said 2 consumers (ST206), and now it is 3"]),
        ({"messages": 5}, {"messages": 5, "readers": 1}, ["the plan said 0 readers (ST206), and now it is 1"]),
        ({"waiting": 3}, {"waiting": 9_000}, []),
        ({"instances": 5}, {"instances": 3_000}, []),
        ({"stored": 50}, {"stored": 1_110}, []),
        ({}, {"messages": 7}, []),
    ],
    ids=[
        "beyond",
        "twice",
        "from none",
        "another one",
        "of a new sort",
        "pulls",
        "instances",
        "staying",
        "never counted",
    ],
)
def test_what_grew_beyond_what_was_agreed_to_is_said_with_both_numbers(
    then: dict[str, int], now: dict[str, int], said: list[str]
) -> None:
    assert (
        list(losses_beyond_consent_sentences(planned(Action.DELETE, **then), planned(Action.DELETE, **now), ())) == said
    )


@pytest.mark.parametrize(("name", "is_news"), [("queued", True), ("instances", False), ("waiting", False)])
def test_clients_that_show_only_at_times_are_no_news(name: str, is_news: bool) -> None:
    then, now = planned(Action.REPLACE, **{name: 5}), planned(Action.REPLACE, **{name: 4})
    assert bool([*changed_losses_sentences(then, now)]) is is_news


def test_what_the_plan_did_not_judge_at_all_was_agreed_to_by_nobody() -> None:
    nothing = PlannedChange(address="stream/M", action=Action.DELETE)
    assert list(losses_beyond_consent_sentences(nothing, planned(Action.DELETE, messages=1), ())) == [
        "the plan said 0 messages (ST206), and now it is 1"
    ]


def test_what_a_consent_bounds_is_for_the_consent_to_judge() -> None:
    allow = Consent(code="ST206", to=None, reason="r", upto={"messages": 100})
    assert (
        list(
            losses_beyond_consent_sentences(
                planned(Action.DELETE, messages=5), planned(Action.DELETE, messages=90), [allow]
            )
        )
        == []
    )
    assert (
        list(
            losses_beyond_consent_sentences(
                planned(Action.DELETE, readers=5), planned(Action.DELETE, readers=6), [allow]
            )
        )
        != []
    )


def test_losses_of_one_sort_are_added_up() -> None:
    one = planned(Action.DELETE, messages=3)
    assert losses((*one.verdicts, *one.verdicts)) == {("ST206", "mirror", "messages"): 6}
