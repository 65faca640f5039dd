"""Just before a change or deletion: the object is the one that was judged, and holds no more than twice what the plan said."""

from __future__ import annotations

from typing import Any

import pytest

from reconciler.changes.change import Action
from reconciler.changes.plan import Plan, PlannedChange
from reconciler.changes.verdict import Outcome, Reaction, Verdict
from reconciler.journeys.apply.apply import LastLook
from reconciler.model.wire.snapshot import Snapshot, Target
from reconciler.model.wire.steps import Call, Step
from reconciler.model.wire.version import Version
from reconciler.server.wire.answers import PLAN_AGAIN

SERVER = "NASERVER1"
DELETION = Step(id="delete stream/OLD", call=Call.STREAM_DELETE, on=("OLD",), address="stream/OLD")


def info(messages: int = 5, created: str = "then", last: int = 9) -> dict[str, Any]:
    return {"created": created, "state": {"messages": messages, "last_seq": last}}


def judged(
    version: str = "2.14",
    messages: int = 5,
    address: str = "stream/OLD",
    action: Action = Action.DELETE,
    *,
    is_all: bool = False,
) -> LastLook:
    """As a plan saw it that says so many messages go."""
    verdict = Verdict(
        code="ST310", name="stream-deletion", outcome=Outcome.WARNS, message="", address=address,
        reaction=Reaction.HARMS, quantities={"messages": messages, "bytes": 1000},
    )  # fmt: skip
    target = Target(version=Version.parse(version), server=SERVER, is_all=is_all)
    change = PlannedChange(address=address, action=action, verdicts=(verdict,))
    plan = Plan(topology="t", target=target, changes=(change,), steps=(DELETION,))
    return LastLook.of(plan, Snapshot(target=target, streams={"OLD": info()}))


@pytest.mark.parametrize(("messages", "code"), [(5, None), (10, None), (11, "AP202")])
def test_up_to_twice_as_many_messages_may_go(messages: int, code: str | None) -> None:
    why = judged().at(DELETION, info(messages), SERVER)
    assert (why.code if why else None) == code


def test_why_it_stays_is_said_with_the_numbers_and_what_to_do() -> None:
    why = judged().at(DELETION, info(11), SERVER)
    assert why is not None
    assert (why.name, why.address, why.fix) == ("more-than-consented", "stream/OLD", PLAN_AGAIN)
    assert why.is_error
    assert why.message == (
        "The plan said that 5 messages go with it, but now it holds 11; it was left alone."
    )  # fmt: skip


@pytest.mark.parametrize(
    ("version", "now", "code"),
    [
        ("2.14", info(created="later", last=2), "AP201"),
        ("2.14", info(created="later"), None),
        ("2.15", info(created="later"), "AP201"),
        ("2.15", info(), None),
    ],
)
def test_what_was_made_anew_stays(version: str, now: dict[str, Any], code: str | None) -> None:
    why = judged(version).at(DELETION, now, SERVER)
    told = (why.code, why.name, why.address, why.message) if why else None
    words = "Stream OLD was deleted and recreated after the plan was made; it was left alone."
    assert told == ((code, "recreated", "stream/OLD", words) if code else None)


@pytest.mark.parametrize(
    ("is_all", "server", "code"), [(True, SERVER, "AP201"), (True, "NASERVER2", None), (False, SERVER, None)]
)
def test_a_server_that_has_been_running_since_tells_what_was_made_anew(
    is_all: bool, server: str, code: str | None
) -> None:
    """Before 2.15 a restart moves the times of creation, and in a cluster a change of the leader does."""
    why = judged(is_all=is_all).at(DELETION, info(created="later", last=12), server)
    assert (why.code if why else None) == code


def test_what_a_group_queues_comes_and_goes_and_is_not_counted() -> None:
    group = "elastic_group/S/g"
    queue = Step(id=DELETION.id, call=Call.STREAM_DELETE, on=("OLD",), address=group)
    assert judged(address=group).at(queue, info(1_000), SERVER) is None


def test_only_a_removal_says_what_goes_and_only_a_stream_holds_messages() -> None:
    assert judged(action=Action.UPDATE).at(DELETION, info(1_000), SERVER) is None
    consumer = Step(id="delete consumer/OLD/c", call=Call.CONSUMER_DELETE, on=("OLD", "c"), address="stream/OLD")
    assert judged().at(consumer, info(1_000), SERVER) is None


def test_a_stream_that_says_nothing_of_its_messages_holds_none() -> None:
    assert judged(messages=0).at(DELETION, {"created": "then", "state": {"last_seq": 9}}, SERVER) is None


def test_a_consumer_that_was_made_anew_stays() -> None:
    gone = Step(id="delete consumer/OLD/c", call=Call.CONSUMER_DELETE, on=("OLD", "c"), address="consumer/OLD/c")
    target = Target(version=Version(2, 14))
    then, now = ({"created": when, "delivered": {"consumer_seq": at}} for when, at in (("then", 9), ("later", 3)))
    plan = Plan(topology="t", target=target, steps=(gone,))
    look = LastLook.of(plan, Snapshot(target=target, streams={"OLD": info()}, consumers={"OLD": {"c": then}}))
    why = look.at(gone, now, SERVER)
    assert why is not None
    assert (why.code, why.message.split(" was ")[0]) == ("AP201", "Consumer OLD/c")
    assert look.at(gone, then, SERVER) is None
