"""A saved plan whose apply was cut off: what is left of its steps, where what stands is exactly what the others left.

That is known in three ways. What would be done now is the rest of what was planned, step by step and from the very same
values; or the intent of a replacement, which is written before anything is deleted, is the one the plan writes; or it is
the very entry the plan was made from, which nobody has written since.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from reconciler.changes.at_stake import removes
from reconciler.changes.plan import PlannedChange
from reconciler.model.intents import Intent, decode_intent, intent_key
from reconciler.model.records import BUCKET
from reconciler.model.resource import Address, Config, Json
from reconciler.model.wire.snapshot import Entry
from reconciler.model.wire.steps import Call, Step

Begun = Mapping[Address, Intent | str]


LEFT_TO_LATER = frozenset({Call.QUEUE_SETTLE})
"""What may wait for a later run while the steps after it go on."""


def is_rest(mine: Iterable[Step], needed: Sequence[Step]) -> bool:
    """Is what is needed now what was planned, without steps that come before it?"""
    planned = {step.id: step for step in mine}
    left = {step.id for step in needed}
    done = [step for id_, step in planned.items() if id_ not in left]
    if not (left and done) or not left <= planned.keys():
        return False
    awaited = {id_ for id_ in left if planned[id_].call not in LEFT_TO_LATER}
    if any(awaited.intersection(step.after) for step in done):
        return False
    written = {step.on for step in done}
    return all(_is_same(planned[step.id], step, written) for step in needed)


def _is_same(step: Step, now: Step, written: set[tuple[str, ...]]) -> bool:
    """From the same values to the same; a key that an earlier step wrote has another revision since."""
    then, there = step.before or {}, now.before or {}
    same = all(own(name, then.get(name)) == own(name, there.get(name)) for name in then.keys() | there.keys())
    return (
        same
        and not is_other(step, now)
        and step.body == now.body
        and (step.revision == now.revision or step.on in written)
    )


def is_resumed(change: PlannedChange, mine: Iterable[Step], begun: Begun) -> bool:
    """Is the replacement under way the one this plan begins?"""
    address = Address.parse(change.address)
    there, key = begun.get(address), intent_key(address)
    notes = (step.value for step in mine if step.call is Call.ENTRY_PUT and step.on == (BUCKET, key))
    ours = next((decode_intent(Entry(value.encode(), 0)) for value in notes if value), None)
    return isinstance(there, Intent) and isinstance(ours, Intent) and _deed(there) == _deed(ours)


def is_continued(change: PlannedChange, mine: Sequence[Step], needed: Iterable[Step], begun: Begun) -> bool:
    """Did the plan go on with the very replacement that is under way still, and are no more deletions needed now? What is
    left of it depends on the moment, such as whether a new queue has stored a message."""
    address = Address.parse(change.address)
    there, key = begun.get(address), intent_key(address)
    ends = (step for step in mine if step.call is Call.ENTRY_DELETE and step.on == (BUCKET, key))
    is_same = isinstance(there, Intent) and any(step.revision == there.revision for step in ends)
    planned = {step.id for step in mine}
    return is_same and not any(removes(step) for step in needed if step.id not in planned)


def kept_start(change: PlannedChange, begun: Begun) -> Config | None:
    """Where the replacement under way goes on, once that is kept; what is there by then may begin there, too."""
    there = begun.get(Address.parse(change.address))
    return there.start if isinstance(there, Intent) and there.ready else None


def _deed(intent: Intent) -> tuple[object, ...]:
    return (intent.topology, intent.source, intent.created, intent.old, intent.wanted, intent.fields)


def left_over(planned: Sequence[Step], rests: Mapping[str, Sequence[Step]]) -> tuple[Step, ...]:
    """The planned steps, with the rest of an address (`rests`) instead of all of its own."""
    running = tuple(_running(planned, rests))
    ids = {step.id for step in running}
    known = {step.id: step.address for step in planned}
    resumed = {address: rest[-1].id for address, rest in rests.items() if not ids.isdisjoint(_new(rest, known))}

    def after(step: Step) -> Iterator[str]:
        for one in step.after:
            if one in ids:
                yield one
            elif (last := resumed.get(known.get(one, ""))) and known[one] != step.address:
                yield last  # its steps have other names now; whoever waits for one of them waits for all

    return tuple(replace(step, after=tuple(dict.fromkeys(after(step)))) for step in running)


def _new(rest: Iterable[Step], known: Mapping[str, str]) -> set[str]:
    return {step.id for step in rest if step.id not in known}


def _running(planned: Iterable[Step], rests: Mapping[str, Sequence[Step]]) -> Iterator[Step]:
    begun: set[str] = set()
    for step in planned:
        if step.address not in rests:
            yield step
        elif step.address not in begun:
            begun.add(step.address)
            yield from rests[step.address]


def is_other(step: Step, now: Step) -> bool:
    """What our own bucket remembers holds positions, which move while consumers work."""
    is_memory = step.on[0] == BUCKET and step.call is Call.ENTRY_PUT
    same_value = is_memory or step.value == now.value
    return (step.call, step.on, step.set, set(step.unset)) != (
        now.call,
        now.on,
        now.set,
        set(now.unset),
    ) or not same_value


def own(name: str, value: Json) -> Json:
    """Metadata of the server's own says nothing about anybody's intent."""
    if name != "metadata" or not isinstance(value, Mapping):
        return value
    return {key: text for key, text in value.items() if not key.startswith("_nats.")} or None
