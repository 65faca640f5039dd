"""Which streams lose something by a plan's steps: deleted streams, and streams that lose consumers or messages."""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.changes.plan import Plan
from reconciler.model.ledger.records import BUCKET
from reconciler.model.resource import Address
from reconciler.model.wire.steps import Call, Step

REMOVES = frozenset({Call.STREAM_DELETE, Call.CONSUMER_DELETE})


def is_at_stake(plan: Plan) -> bool:
    """Does this plan delete or replace anything, or do something that needed consent?"""
    return bool(streams_at_stake(plan)) or any(
        verdict.consented is not None for change in plan.changes for verdict in change.verdicts
    )


def streams_at_stake(plan: Plan) -> list[str]:
    """In order, each once. A step that only recreates something after another was refused is no loss by itself."""
    consented = {
        change.address for change in plan.changes if any(verdict.consented is not None for verdict in change.verdicts)
    }
    steps = (step for step in plan.steps if step.undoes is None)
    return sorted({name for step in steps for name in _streams_of_step(step, is_consented=step.address in consented)})


def _streams_of_step(step: Step, *, is_consented: bool) -> Iterator[str]:
    if step.call in REMOVES or (is_consented and step.call is Call.STREAM_UPDATE):
        yield step.on[0]
    elif is_consented and step.call is Call.CONSUMER_UPDATE:
        yield Address.parse(step.address).stream
    elif removes(step):
        yield f"KV_{step.on[0]}"  # a group's record


def removes(step: Step) -> bool:
    """Does the step delete an object, or the record of a group? The records of reconciler's own bucket do not count."""
    return step.call in REMOVES or (step.call is Call.ENTRY_DELETE and step.on[0] != BUCKET)
