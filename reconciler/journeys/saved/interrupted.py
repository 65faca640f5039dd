"""Finds what is left of a saved plan whose apply was cut off, if the live state is exactly what its finished steps
left.

Any of three facts shows that. The steps needed now are the rest of the planned ones, with the same values. Or the
intent of the replacement, which is written before anything is deleted, is the one that the plan writes. Or the entry
that the plan was made from has not been written since.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from reconciler.changes.plan import PlannedChange, removes
from reconciler.engine.pairing.unfinished import Begun
from reconciler.model.ledger.intents import Intent, decode_intent, intent_key
from reconciler.model.ledger.records import BUCKET
from reconciler.model.resource import Address, Config, Json, users_metadata
from reconciler.model.wire.snapshot import Entry
from reconciler.model.wire.steps import Call, Step

LEFT_TO_LATER = frozenset({Call.QUEUE_SETTLE})
"""Steps that may wait for a later run while the steps after them go on."""


def is_rest(mine: Iterable[Step], needed: Sequence[Step]) -> bool:
    """Are the steps needed now the planned ones, less some at the beginning?"""
    planned = {step.id: step for step in mine}
    left = {step.id for step in needed}
    done = [step for id_, step in planned.items() if id_ not in left]
    if not (left and done) or not left <= planned.keys():
        return False
    awaited = {id_ for id_ in left if planned[id_].call not in LEFT_TO_LATER}
    if any(awaited.intersection(step.after) for step in done):
        return False
    written = {step.on for step in done}
    return all(_is_same_step(planned[step.id], step, written) for step in needed)


def only_later_steps_needed(mine: Iterable[Step], needed: Sequence[Step]) -> bool:
    """Is everything done that was planned, and only needed what any run may leave to a later one? A plan made while
    another apply was at work may not hold such a step, which became possible since."""
    planned = {step.id for step in mine}
    return bool(planned and needed) and all(step.call in LEFT_TO_LATER and step.id not in planned for step in needed)


def _is_same_step(step: Step, now: Step, written: set[tuple[str, ...]]) -> bool:
    """Does the step go from the same values to the same values? A key that an earlier step wrote has a newer revision."""
    before, after = step.before or {}, now.before or {}
    same = all(
        own_values(name, before.get(name)) == own_values(name, after.get(name)) for name in before.keys() | after.keys()
    )
    return (
        same
        and not is_different_step(step, now)
        and step.body == now.body
        and (step.revision == now.revision or step.on in written)
    )


def is_resumed(change: PlannedChange, mine: Iterable[Step], begun: Begun) -> bool:
    """Is the replacement under way the one that this plan begins?"""
    address = Address.parse(change.address)
    intent = begun.get(address)
    if not isinstance(intent, Intent):
        return False
    key = intent_key(address)
    notes = (step.value for step in mine if step.call is Call.ENTRY_PUT and step.on == (BUCKET, key))
    ours = next((decode_intent(Entry(value.encode(), 0)) for value in notes if value), None)
    return isinstance(ours, Intent) and _parts_compared(intent) == _parts_compared(ours)


def is_continued(change: PlannedChange, mine: Sequence[Step], needed: Iterable[Step], begun: Begun) -> bool:
    """Did the plan continue the replacement that is still under way, and does that need no more deletions now? The rest
    depends on the moment, for example on whether a new queue has stored a message."""
    address = Address.parse(change.address)
    intent = begun.get(address)
    if not isinstance(intent, Intent):
        return False
    key = intent_key(address)
    ends = (step for step in mine if step.call is Call.ENTRY_DELETE and step.on == (BUCKET, key))
    is_same = any(step.revision == intent.revision for step in ends)
    planned = {step.id for step in mine}
    return is_same and not any(removes(step) for step in needed if step.id not in planned)


def kept_start(change: PlannedChange, begun: Begun) -> Config | None:
    """Where the replacement under way resumes, once it has recorded that; the live object may start there as well."""
    intent = begun.get(Address.parse(change.address))
    return intent.start if isinstance(intent, Intent) and intent.ready else None


def _parts_compared(intent: Intent) -> tuple[object, ...]:
    return (intent.topology, intent.source, intent.created, intent.old, intent.wanted, intent.fields)


def steps_left(planned: Sequence[Step], rests: Mapping[str, Sequence[Step]]) -> tuple[Step, ...]:
    """Replace the planned steps of each address in `rests` with the rest of them."""
    running = tuple(_steps_with_rests(planned, rests))
    ids = {step.id for step in running}
    address_of = {step.id: step.address for step in planned}
    resumed = {
        address: rest[-1].id for address, rest in rests.items() if not ids.isdisjoint(_new_ids(rest, address_of))
    }

    def after(step: Step) -> Iterator[str]:
        for needed in step.after:
            if needed in ids:
                yield needed
            elif (last := resumed.get(address_of.get(needed, ""))) and address_of[needed] != step.address:
                yield last  # its steps have other names now: a step that waited for one of them waits for all

    def waiting(step: Step) -> Step:
        ties = tuple(dict.fromkeys(after(step)))
        return step if ties == step.after else replace(step, after=ties)

    return tuple(map(waiting, running))


def _new_ids(rest: Iterable[Step], address_of: Mapping[str, str]) -> set[str]:
    return {step.id for step in rest if step.id not in address_of}


def _steps_with_rests(planned: Iterable[Step], rests: Mapping[str, Sequence[Step]]) -> Iterator[Step]:
    begun: set[str] = set()
    for step in planned:
        if step.address not in rests:
            yield step
        elif step.address not in begun:
            begun.add(step.address)
            yield from rests[step.address]


def is_different_step(step: Step, now: Step) -> bool:
    """Records in our own bucket hold positions, which move while consumers work; their values are not compared."""
    is_memory = step.on[0] == BUCKET and step.call is Call.ENTRY_PUT
    same_value = is_memory or step.value == now.value
    return (step.call, step.on, step.set, set(step.unset)) != (
        now.call,
        now.on,
        now.set,
        set(now.unset),
    ) or not same_value


def own_values(name: str, value: Json) -> Json:
    """Leave out metadata that the server adds: it says nothing about what anybody wants."""
    if name != "metadata" or not isinstance(value, Mapping):
        return value
    return users_metadata(value) or None
