"""What a consumer is: how it is recognised, settled, changed and written down. Reconciler never manages ephemeral
ones.

How a consumer changes: pins are released around changes that touch them, and positions move where an update would
not move them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from reconciler.changes.amount import Amount
from reconciler.changes.change import Action, Change, Consequence
from reconciler.changes.kind import Bound, Context, FilePlace, Kind, Raw, declared_config
from reconciler.changes.view import SubjectsRead, View
from reconciler.engine.replacement import chained_steps
from reconciler.kinds.consumer import deletion, filter_counts, replacement
from reconciler.kinds.consumer.clients import may_hold_a_pin, removed_groups
from reconciler.kinds.consumer.effects import EFFECTS
from reconciler.kinds.consumer.handovers import gates_after_taking, gates_before_giving
from reconciler.kinds.consumer.renaming import recipe
from reconciler.kinds.consumer.rules import RULES
from reconciler.kinds.consumer.spelling import REFUSED, spelling_consequences
from reconciler.kinds.consumer_config.consumer_config import (
    FIELD_INFOS,
    ConsumerConfig,
    canonical,
    settle,
    stock_values,
)
from reconciler.kinds.consumer_position import (
    lost_position,
    position,
    recreation_offer,
    removed_consumer,
    start_position,
)
from reconciler.kinds.fields.known import NAME, PAUSE_END, V2_14
from reconciler.kinds.fields.words import few
from reconciler.kinds.stream_config import advisories, calls
from reconciler.kinds.subjects.filters import (
    FILTERS,
    filters_of,
    handed_over_subjects,
    in_flight,
    is_consumer_parked,
    is_parked_afterwards,
    is_work_queue,
    longest_in_flight,
    lost_subjects,
    starting_over_text,
    wait_for_some_acks_text,
)
from reconciler.model.resource import Address, Declared, Resource
from reconciler.model.wire.snapshot import Snapshot
from reconciler.model.wire.steps import Call, Step


def steps(change: Change, view: View) -> Sequence[Step]:
    """Steps that create, update or delete a consumer, each after the one before. Waits, pins and pauses are among
    them."""
    stream, name = change.address.names
    if change.action is Action.CREATE and change.desired:
        creation = calls.create_consumer(change, stream, name, change.desired.sent)
        return chained_steps((creation, *gates_after_taking(change, view)))
    if change.action is Action.UPDATE:
        return chained_steps(
            (
                *gates_before_giving(change, view),
                *_update_unpin_and_pause_steps(change, view, stream, name),
                *gates_after_taking(change, view),
            )
        )
    if change.action is Action.DELETE:
        return chained_steps((*gates_before_giving(change, view), calls.delete_consumer(change, stream, name)))
    return ()


def _update_unpin_and_pause_steps(change: Change, view: View, stream: str, name: str) -> Iterator[Step]:
    """The update, between two releases of the pin if it touches one: the old pin outlives the update and blocks every
    other client."""
    live_group = next(iter(change.was("priority_groups") or ()), "")
    touches_pin = change.touches("priority_policy") or bool(removed_groups(change))
    unpins = bool(live_group) and touches_pin and may_hold_a_pin(change)
    if unpins:
        yield _unpin_step(change, stream, name, live_group, "before")
    update_steps = list(_update_steps(change, view, stream, name))
    yield from update_steps
    new_group = next(iter(change.becomes("priority_groups") or ()), "")
    if unpins and new_group:
        yield _unpin_step(change, stream, name, new_group, "after")
    if change.touches("pause_until") and not any(step.call is Call.CONSUMER_PAUSE for step in update_steps):
        yield _pause_step(change, stream, name)


def _update_steps(change: Change, view: View, stream: str, name: str) -> Iterator[Step]:
    if is_work_queue(stream, view) and is_consumer_parked(change) and not is_parked_afterwards(change):
        yield from _move_to_first_message_steps(change, view, stream, name)
    elif any(item.top != "pause_until" for item in change.fields):
        subjects = handed_over_subjects(change, view) if is_work_queue(stream, view) else []
        if subjects and change.touches("max_deliver") and not is_parked_afterwards(change):
            yield from _filter_first_steps(change, stream, name, subjects)
            return
        yield calls.update_consumer(change, stream, name)
        if is_work_queue(stream, view) and lost_subjects(change) and is_parked_afterwards(change):
            yield _wait_step(change, stream, name)
        elif subjects:
            yield _wait_step(change, stream, name, subjects)


def _filter_first_steps(change: Change, stream: str, name: str, subjects: Sequence[str]) -> Iterator[Step]:
    """With a lower `max_deliver`, a server gives up what is in flight, and nobody could wait for it any more. So the
    filter changes alone, then apply waits, then the rest changes."""
    of_filter, rest = (
        [field_change for field_change in change.fields if (field_change.top in FILTERS) is is_filter]
        for is_filter in (True, False)
    )
    first = calls.update_consumer(replace(change, fields=tuple(of_filter)), stream, name)
    yield replace(first, id=f"narrow consumer/{stream}/{name}")
    yield _wait_step(change, stream, name, subjects)
    yield calls.update_consumer(replace(change, fields=tuple(rest)), stream, name)


def wait_consequences(change: Change, view: View) -> Iterator[Consequence]:
    """What apply waits for before another consumer of the work queue takes what this one gives up."""
    if (
        change.action is not Action.UPDATE
        or is_parked_afterwards(change)
        or not is_work_queue(change.address.stream, view)
    ):
        return
    if is_consumer_parked(change):
        yield Consequence(
            message=f"An interrupted apply left it where it delivers nothing. This {starting_over_text(change)}",
            quantities={"unacknowledged": in_flight(change)},
        )
    elif in_flight(change) and handed_over_subjects(change, view):
        yield Consequence(
            message=f"Another consumer takes what it gives up, so apply {wait_for_some_acks_text(change)}; what a client holds longer is "
            "delivered to clients of both",
            quantities={"unacknowledged": in_flight(change)},
            bounds={"unacknowledged": Amount(0, in_flight(change))},
        )


def filter_consequences(change: Change, view: View) -> Iterator[Consequence]:
    """What the server shows of a consumer whose filter apply takes away, and whom it refuses for that. A consumer that is
    recreated has none."""
    starts_anew = is_work_queue(change.address.stream, view) and not _server_can_reset(view)
    if change.action is Action.UPDATE and calls.loses_its_filter(change) and not starts_anew:
        yield Consequence(
            message="The server then shows filter `>`, which counts as none here; an application that creates this consumer at start-up "
            f"without a filter {REFUSED}"
        )


def _move_to_first_message_steps(change: Change, view: View, stream: str, name: str) -> Iterator[Step]:
    """Steps that move it to the first message still stored. After an interruption the live consumer still shows what is
    missing: it is parked, or paused, or deleted and will be created."""
    if in_flight(change):
        yield _wait_step(change, stream, name)
    if not _server_can_reset(view):
        yield calls.delete_consumer(change, stream, name)
        yield calls.create_consumer(change, stream, name, change.desired.sent if change.desired else {})
        return
    # A running consumer would move past messages that its parking subject does not match, or deliver some twice.
    yield Step(
        id=f"hold consumer/{stream}/{name}",
        call=Call.CONSUMER_PAUSE,
        on=(stream, name),
        address=str(change.address),
        body={"pause_until": PAUSE_END},
        effect=f"pause consumer {name} on {stream} while it moves",
    )
    yield Step(
        id=f"see consumer/{stream}/{name} held",
        call=Call.CONSUMER_READ,
        on=(stream, name),
        address=str(change.address),
        body={"paused": True},
        effect=f"check that consumer {name} on {stream} is paused",
    )
    yield Step(
        id=f"reset consumer/{stream}/{name}",
        call=Call.CONSUMER_RESET,
        on=(stream, name),
        address=str(change.address),
        body={"seq": 1},
        effect=f"reset consumer {name} on {stream} to the first message that is still stored",
    )
    yield calls.update_consumer(change, stream, name)
    yield _pause_step(change, stream, name)


def _server_can_reset(view: View) -> bool:
    """Can this server move a consumer at all? Where it cannot, the consumer is recreated."""
    return view.target.version >= V2_14


def _wait_step(change: Change, stream: str, name: str, subjects: Sequence[str] = ()) -> Step:
    """Wait for what is in flight on these subjects; without any, for everything."""
    part = f" on {few(subjects, 3)}" if subjects else ""
    return Step(
        id=f"wait for consumer/{stream}/{name}",
        call=Call.GATE_IN_FLIGHT_DONE,
        on=(stream, name),
        address=str(change.address),
        body={"timeout": longest_in_flight(change), **({"subjects": [*subjects]} if subjects else {})},
        effect=f"wait until clients acknowledge what consumer {name} of {stream} has delivered{part}, at most its ack_wait",
    )


def _unpin_step(change: Change, stream: str, name: str, group: str, when: str) -> Step:
    return Step(
        id=f"unpin consumer/{stream}/{name} {when}",
        call=Call.CONSUMER_UNPIN,
        on=(stream, name),
        address=str(change.address),
        body={"group": group},
        effect=f"unpin the client of group {group}, so that the old pin blocks nobody",
    )


def _pause_step(change: Change, stream: str, name: str) -> Step:
    until = change.becomes("pause_until")
    return Step(
        id=f"pause consumer/{stream}/{name}",
        call=Call.CONSUMER_PAUSE,
        on=(stream, name),
        address=str(change.address),
        body={"pause_until": until} if until else {},
        effect=f"pause consumer {name} until {until}" if until else f"resume consumer {name}",
    )


class ConsumerSpec(ConsumerConfig):
    """A durable consumer delivers a stream's messages to clients, and remembers how far they have come."""


def _recognise(snapshot: Snapshot) -> Iterable[Resource]:
    placeholders = replacement.placeholders(snapshot)
    for stream, consumers in snapshot.consumers.items():
        for name, info in consumers.items():
            if info["config"].get("durable_name") and (stream, name) not in placeholders:
                config = canonical(info["config"])
                yield Resource(
                    address=Address("consumer", (stream, name)), config=config, stock=stock_values(config), state=info
                )


def _settle(declared: Declared, context: Context) -> Resource:
    parent = context.parent.config if context.parent else None
    settled = settle(declared_config(declared.spec), context.target, parent=parent)
    return settled.resource(declared, stock_values(settled.config))


CONSUMER = Kind(
    name="consumer",
    family="CO",
    title="Consumers",
    recipe=recipe,
    bound=Bound(floor=20, percent=25),
    place=FilePlace("consumers", within="stream", names=NAME),
    spec=ConsumerSpec,
    fields=FIELD_INFOS,
    recognise=_recognise,
    claims=lambda _snapshot: (),
    settle=_settle,
    steps=steps,
    primary=lambda address: Raw("consumer", address.names),
    reads=lambda address, config: (SubjectsRead(address.stream, filters_of(config)),),
    inherits=("consumer_limits", "retention"),
    questions=lambda change, view: (
        *filter_counts.questions(change, view),
        *deletion.questions(change, view),
        *start_position.questions(change, view),
        *removed_consumer.questions(change, view),
        *position.questions(change, view),
    ),
    unknown=lambda address, snapshot: snapshot.why_consumer_unknown(*address.names),
    rules=RULES,
    consequences=lambda change, view: (
        *recreation_offer.consequences(change, view),
        *lost_position.consequences(change, view),
        *wait_consequences(change, view),
        *filter_consequences(change, view),
        *spelling_consequences(change),
        *advisories.consequences(change, view),
        *EFFECTS.consequences(change, view),
    ),
    replace=replacement.planned_replacement,
    renames=True,
    starts=start_position.BEGINS,
    begins=start_position.obsolete_start_fields,
    resume=position.resumed_start,
    tidy=replacement.tidy,
)
