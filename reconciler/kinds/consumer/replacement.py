"""Deletes a consumer and recreates it at its position. After an interruption between any two steps another run can
finish.

A pause limits redelivery to messages that were already delivered. An interest stream deletes what its last consumer has
not acknowledged, so there a placeholder consumer wants the same messages until the new consumer does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from reconciler.changes.change import Change
from reconciler.changes.kind import Replacement
from reconciler.changes.view import View
from reconciler.engine.replacement import with_start
from reconciler.kinds.consumer.handovers import everywhere_gate, gates_before_giving
from reconciler.kinds.consumer_config.consumer_config import placeholder_name
from reconciler.kinds.consumer_position import position, retention
from reconciler.kinds.losses import lost_tail
from reconciler.kinds.stream_config import calls
from reconciler.kinds.subjects.filters import FILTERS
from reconciler.model.diagnostic import Diagnostic, Severity
from reconciler.model.ledger.intents import Intent, intents
from reconciler.model.ledger.records import BUCKET
from reconciler.model.resource import Config, Json
from reconciler.model.wire.snapshot import Snapshot
from reconciler.model.wire.steps import Bind, Call, Step

PLACEHOLDER_DESCRIPTION = "keeps the messages of consumer NAME while reconciler replaces it"
"""How a placeholder is described."""


def placeholders(snapshot: Snapshot) -> set[tuple[str, str]]:
    """Placeholders of unfinished replacements. They are reconciler's, and nobody consumes from them."""
    entries = intents(snapshot).items()
    addresses = (
        address for address, intent in entries if isinstance(intent, Intent) and intent.notes.get("placeholder")
    )
    return {(address.stream, placeholder_name(address.name)) for address in addresses}


def leftover_placeholder_warnings(snapshot: Snapshot) -> Iterator[Diagnostic]:
    """Placeholders of replacements that nobody remembers: bucket reconciler, or the stream, is older than the other."""
    if snapshot.why_bucket_unknown(BUCKET):
        return
    expected = placeholders(snapshot)
    for stream, consumers in snapshot.consumers.items():
        for name, info in consumers.items():
            consumer = _consumer_of_placeholder(info["config"])
            if consumer and name == placeholder_name(consumer) and (stream, name) not in expected:
                yield _leftover_placeholder_warning(stream, name, consumer, consumer in consumers)


def _consumer_of_placeholder(config: Config) -> str | None:
    text = config.get("description")
    if not text:
        return None
    before, _, after = PLACEHOLDER_DESCRIPTION.partition("NAME")
    fits = text.startswith(before) and text.endswith(after)
    return text[len(before) : len(text) - len(after)] if fits else None


def _leftover_placeholder_warning(stream: str, name: str, consumer: str, is_present: bool) -> Diagnostic:
    remove = f"nats consumer rm {stream} {name}"
    removal = (
        f"{consumer} exists and keeps its own messages: {remove}"
        if is_present
        else f"recreate {consumer} first, then: {remove}"
    )
    return Diagnostic(
        severity=Severity.WARNING, code="LE107", name="placeholder-left", address=f"consumer/{stream}/{consumer}",
        message=f"placeholder {name} keeps the messages of consumer {consumer} for a replacement, but bucket {BUCKET} knows of none in "
        f"progress: the bucket or {stream} has lost its last entries, as after a power cut. Apply leaves the placeholder alone",
        fix=f"while no apply runs: {removal}",
    )  # fmt: skip


def planned_replacement(change: Change, view: View) -> Replacement:
    """The steps of a replacement; wherever they end, the position noted before tells where to continue."""
    name, start = change.address.name, position.start(change, view)
    placeholder_steps = [*_placeholder_steps(change, view)] if retention.is_interest(change, view) else []
    is_by_record = position.start_by_record(change, view) is not None
    position_steps = (
        [*_position_steps(change)] if start and not (is_by_record or position.is_position_noted(change)) else []
    )
    bound = {"opt_start_seq": position_steps[-1].id} if position_steps else {}  # the one field that only a step knows
    notes: dict[str, Json] = {"placeholder": placeholder_name(name)} if placeholder_steps else {}
    if is_by_record:
        notes[position.BY_RECORD] = True
    if start:
        stream = view.snapshot.streams.get(change.address.stream)
        notes |= lost_tail.tail_note(stream)
    return Replacement(
        before=(*placeholder_steps, *position_steps),
        swap=(_deletion_step(change), _creation_step(change, start, bound)),
        back=_recreation_step(change, view, start, bound),
        start=start,
        bound={f"start.{field}": step for field, step in bound.items()},
        notes={**(change.intent.notes if change.intent else {}), **notes},
    )


def _old_names(change: Change) -> tuple[str, ...]:
    """Stream and name of the consumer to delete: its own, or the name it had until now."""
    return (change.origin or change.address).names


def _deletion_step(change: Change) -> Step:
    stream, name = _old_names(change)
    step = replace(calls.delete_consumer(change, stream, name), before=_planned_config(change))
    return replace(step, id=f"delete {change.origin}") if change.origin else step


def _creation_step(change: Change, start: Config, bound: Mapping[str, str]) -> Step:
    assert change.desired
    stream, name = change.address.names
    step = calls.create_consumer(change, stream, name, with_start(change.desired, start).sent)
    again = f"in place of {change.origin.name}" if change.origin else "again"
    where = f"at sequence {start['opt_start_seq']}" if start else "with everything that is left in the work queue"
    starts = f"starting {'after the noted ack floor' if bound else where}"
    return replace(step, uses=bound, effect=f"{step.effect} {again}, {starts}")


def _recreation_step(change: Change, view: View, start: Config, bound: Mapping[str, str]) -> Step:
    stream, name = _old_names(change)
    live = change.live or view.live[change.origin or change.address]
    old = calls.create_consumer(change, stream, name, with_start(live, start).config)
    effect = f"recreate consumer {name} as it was, at its position"
    return replace(old, id=f"make consumer/{stream}/{name} again", uses=bound, effect=effect)


def _placeholder_step(change: Change) -> Step:
    stream, name = change.address.names
    filters = {key: value for key in FILTERS if (value := change.raw.get(key))}
    description = PLACEHOLDER_DESCRIPTION.replace("NAME", name)
    config = {"ack_policy": "explicit", "description": description, **filters}
    step = calls.create_consumer(change, stream, placeholder_name(name), config)
    return replace(step, effect=f"create a placeholder that {description}")


def _placeholder_steps(change: Change, view: View) -> Iterator[Step]:
    placeholder = _placeholder_step(change)
    yield placeholder
    yield from everywhere_gate(change, view, placeholder.on[-1])


def _position_steps(change: Change) -> Iterator[Step]:
    """Steps that read the position once nothing more is delivered. The pause lasts seconds, so an interruption leaves
    nobody waiting."""
    name, label = _old_names(change)[-1], "/".join(("consumer", *_old_names(change)))
    clock = replace(_read_step(change, f"read the clock of {label}", "read the server's clock"), bind=Bind.SOON)
    pause = Step(
        id=f"pause {label} to replace it",
        call=Call.CONSUMER_PAUSE,
        on=_old_names(change),
        address=str(change.address),
        uses={"pause_until": clock.id},
        effect=f"pause consumer {name} for 10 s, so that nothing more is delivered",
    )
    if not change.info.get("paused"):
        yield from (clock, pause)
    effect = f"read the position of consumer {name}: after its ack floor"
    read = _read_step(change, f"read the position of {label}", effect)
    yield replace(read, bind=Bind.AFTER_ACK_FLOOR, body={"paused": True})


def _read_step(change: Change, step_id: str, effect: str) -> Step:
    return Step(
        id=step_id,
        call=Call.CONSUMER_READ,
        on=_old_names(change),
        address=str(change.address),
        before=_planned_config(change),
        effect=effect,
    )


def _planned_config(change: Change) -> Mapping[str, Json]:
    """What must not have changed since the plan; the pause is reconciler's own."""
    return {name: value for name, value in change.raw.items() if name != "pause_until"}


def tidy(change: Change, view: View) -> Sequence[Step]:
    """Steps that delete the placeholder, once nothing needs it any more."""
    if not (change.intent and change.intent.notes.get("placeholder")):
        return ()
    placeholder = placeholder_name(change.address.name)  # never a name that stands in the bucket: it is deleted
    step = calls.delete_consumer(change, change.address.stream, placeholder)
    removal = replace(step, before=None, effect="delete the placeholder, which nothing needs any more")
    gates = everywhere_gate(change, view, change.address.name) if change.desired else ()
    return (*gates, *gates_before_giving(change, view), removal)
