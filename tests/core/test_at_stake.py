"""Which streams lose something by a plan: whatever goes, and what takes consent to change."""

from __future__ import annotations

import pytest

from reconciler.changes.change import Action
from reconciler.changes.plan import Plan, PlannedChange, is_at_stake, removes, streams_at_stake
from reconciler.changes.verdict import Outcome, Verdict
from reconciler.model.ledger.records import BUCKET
from reconciler.model.wire.snapshot import Target
from reconciler.model.wire.steps import Call, Step
from reconciler.model.wire.version import SUPPORTED

ORDERS, WEST = "stream/ORDERS", "consumer/ORDERS/west"


def step(call: Call, *on: str, address: str = ORDERS, undoes: str | None = None) -> Step:
    return Step(id=f"{call.value} {'/'.join(on)}", call=call, on=on, address=address, undoes=undoes)


def plan(*steps: Step, consented: str = "") -> Plan:
    """With consent to the change of this address."""
    verdict = Verdict(
        code="ST301",
        name="limit-lowered",
        outcome=Outcome.NEEDS_CONSENT,
        message="",
        address=consented,
        consented="yes",
    )
    addresses = dict.fromkeys([*(one.address for one in steps), *([consented] if consented else [])])
    changes = tuple(
        PlannedChange(address=one, action=Action.UPDATE, verdicts=(verdict,) if one == consented else ())
        for one in addresses
    )
    return Plan(topology="t", target=Target(version=SUPPORTED[-1]), changes=changes, steps=steps)


@pytest.mark.parametrize(
    ("one", "streams"),
    [
        (step(Call.STREAM_DELETE, "ORDERS"), ["ORDERS"]),
        (step(Call.CONSUMER_DELETE, "ORDERS", "west", address=WEST), ["ORDERS"]),
        (step(Call.ENTRY_DELETE, "elastic-consumer-groups", "ORDERS.g"), ["KV_elastic-consumer-groups"]),
        (step(Call.ENTRY_DELETE, BUCKET, "owned.stream.ORDERS"), []),
        (step(Call.STREAM_UPDATE, "ORDERS"), []),
        (step(Call.CONSUMER_UPDATE, "ORDERS", "west", address=WEST), []),
        (step(Call.STREAM_DELETE, "ORDERS", undoes="another"), []),
    ],
)
def test_what_goes_is_at_stake_without_a_word_of_consent(one: Step, streams: list[str]) -> None:
    assert streams_at_stake(plan(one)) == streams
    assert is_at_stake(plan(one)) is bool(streams)


def test_an_update_is_at_stake_where_it_took_consent() -> None:
    both = (
        step(Call.STREAM_UPDATE, "ORDERS"),
        step(Call.CONSUMER_UPDATE, "PAID", "west", address="consumer/PAID/west"),
    )
    assert streams_at_stake(plan(*both, consented=ORDERS)) == ["ORDERS"]
    assert streams_at_stake(plan(*both, consented="consumer/PAID/west")) == ["PAID"]


def test_consent_alone_puts_something_at_stake() -> None:
    found = plan(consented=ORDERS)
    assert (streams_at_stake(found), is_at_stake(found)) == ([], True)


def test_a_record_of_a_group_is_removed_and_one_of_ours_is_not() -> None:
    assert removes(step(Call.ENTRY_DELETE, "static-consumer-groups", "S.g"))
    assert not removes(step(Call.ENTRY_DELETE, BUCKET, "intent.consumer.S.c"))
    assert not removes(step(Call.ENTRY_PUT, "static-consumer-groups", "S.g"))


def test_each_stream_is_named_once_and_in_order() -> None:
    many = [step(Call.CONSUMER_DELETE, stream, name) for stream in ("B", "A") for name in ("x", "y")]
    assert streams_at_stake(plan(*many)) == ["A", "B"]
