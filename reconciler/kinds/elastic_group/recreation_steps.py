"""Recreates an elastic group at its position when anything but its membership changes; its queue is never edited.

The record is marked deleted first, which ends the members. What the queue then holds tells which message of the source
comes next, and a new queue starts there. The members' owners restart them. The start sequence is removed as soon as the
new queue has stored a message; until then the group is resuming.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from reconciler.changes.change import Action, Change
from reconciler.changes.kind import Replacement
from reconciler.changes.view import View
from reconciler.kinds.elastic_group import queue_stream
from reconciler.kinds.elastic_group.immutable import fixed_fields
from reconciler.kinds.elastic_group.members import members_gone_gate
from reconciler.kinds.elastic_group.refilling import catch_up_gate, messages_gone
from reconciler.kinds.group_records import group_record, group_steps
from reconciler.kinds.losses import lost_tail
from reconciler.kinds.stream_config import calls
from reconciler.model.resource import Config, Json
from reconciler.model.wire.questions import Question
from reconciler.model.wire.steps import Bind, Call, Step

BUCKET = group_record.ELASTIC_BUCKET
SHORT_WAIT = 2_000_000_000
PATIENCE = 30_000_000_000
"""How long it may take until the next message is known: the queue catches up, or its source comes to rest."""
FIRST_MESSAGE = 5_000_000_000
"""How long to wait for the first message of a new queue, if the source has one for it."""
STARTS_AT = "sources.0.opt_start_seq"


def planned_replacement(change: Change, view: View) -> Replacement:
    """The replacement, or the rest of one that was interrupted before the old queue was deleted."""
    marker = (group_steps.delete_record(change, BUCKET),) if change.live else ()
    if queue_info(change, view) is None:
        notes = {**(change.intent.notes if change.intent else {}), "resume": resume_start(change, view)}
        return Replacement(before=marker, swap=_creation_steps(change, view), notes=notes)
    point = _resume_point_step(change, view)
    gate = members_gone_gate(change, view)
    delete_step = replace(deletion(change, view), effect=f"delete stream {queue_of(change)}")
    return Replacement(
        before=(_source_check(change, view), *marker, gate, point),
        swap=(delete_step, *_creation_steps(change, view, point.id)),
        bound={"notes.resume": point.id},
        notes=lost_tail.tail_note(view.snapshot.streams.get(change.address.stream)),
    )


def deletion(change: Change, view: View, *, after: tuple[str, ...] = ()) -> Step:
    """Deletes the queue if it is still as planned. The record is an object of its own, and says nothing about the
    queue."""
    return replace(
        calls.delete_stream(change, queue_of(change), after=after), before=_queue_config_as_read(change, view)
    )


def remaining_steps(change: Change, view: View) -> Sequence[Step]:
    """What is left to do when the old queue is deleted: the new queue, unless it exists, and the record."""
    if queue_info(change, view) is None:
        return _creation_steps(change, view)
    return (_record_step(change, view), settle_step(change), *catch_up_gate(change, view, wanted_group(change)))


def has_old_queue(change: Change, view: View) -> bool:
    """Does a queue exist that is not the new one?"""
    info = queue_info(change, view)
    return info is not None and not queue_stream.is_queue_of(
        info["config"], change.address.stream, wanted_group(change)
    )


def deletes_queue(change: Change, view: View) -> bool:
    """Does apply delete the queue, with the group or for a new one? A replacement that was interrupted may have made the new
    one already, and written its record."""
    if change.action is Action.REPLACE:
        return bool(fixed_fields(change)) if change.live else has_old_queue(change, view)
    return change.action is Action.DELETE


def queue_creation(change: Change, view: View, bound: str = "") -> Step:
    """The new queue, starting where an earlier run noted, or where this run will find."""
    stream, point = change.address.stream, resume_start(change, view)
    config = queue_stream.queue_config(stream, wanted_group(change), queue_stream.source(stream, view))
    if point and not bound:
        config["sources"] = [{**config["sources"][0], "opt_start_seq": point}]
    step = calls.create_stream(change, queue_of(change), config)
    where = f"at the noted message of {stream}" if bound else f"at message {point} of {stream}"
    return replace(step, uses={STARTS_AT: bound} if bound else {}, effect=f"{step.effect} again, starting {where}")


def _creation_steps(change: Change, view: View, bound: str = "") -> tuple[Step, ...]:
    filled = catch_up_gate(change, view, wanted_group(change))
    return (queue_creation(change, view, bound), _record_step(change, view), settle_step(change), *filled)


def _record_step(change: Change, view: View) -> Step:
    return group_steps.record_creation(
        change, BUCKET, group_record.new_record_text(wanted_group(change), elastic=True), view
    )


def settle_step(change: Change) -> Step:
    """Sets the queue back to the exact form of the reference, whose own create the server refuses before."""
    stream, queue_name = change.address.stream, queue_of(change)
    return Step(
        id=f"settle stream/{queue_name}",
        call=Call.QUEUE_SETTLE,
        on=(queue_name,),
        address=str(change.address),
        set={"sources": queue_stream.queue_config(stream, wanted_group(change), {})["sources"]},
        body={"from": stream, "timeout": FIRST_MESSAGE},
        effect=f"remove the start sequence from stream {queue_name} once it has stored a message; if none arrives within 5 s, "
        "the next apply does it",
    )


def _source_check(change: Change, view: View) -> Step:
    """Checked before any member ends in vain."""
    stream, queue_name = change.address.stream, queue_of(change)
    effect = f"check that stream {queue_name} was filled from the stream {stream} that exists now"
    return _read_step(change, view, f"read the source of stream/{queue_name}", Bind.SAME_SOURCE, SHORT_WAIT, effect)


def _resume_point_step(change: Change, view: View) -> Step:
    stream, queue_name = change.address.stream, queue_of(change)
    effect = (
        f"find the message of {stream} to continue with: the lowest one still queued in {queue_name}, or the next one"
    )
    return _read_step(change, view, f"read the position of stream/{queue_name}", Bind.RESUME_POINT, PATIENCE, effect)


def _read_step(change: Change, view: View, step_id: str, bind: Bind, timeout: int, effect: str) -> Step:
    return Step(
        id=step_id,
        call=Call.QUEUE_READ,
        on=(queue_of(change),),
        address=str(change.address),
        body={"from": change.address.stream, "timeout": timeout, "gone": _accepted_losses(change, view)},
        bind=bind,
        before=_queue_config_as_read(change, view),
        effect=effect,
    )


def _accepted_losses(change: Change, view: View) -> int:
    """How many messages the source may lack, as the plan said. If nobody could tell, the consent was to all of them."""
    losses = messages_gone(change, view)
    state = (queue_info(change, view) or {}).get("state") or {}
    return int(state.get("messages", 0)) if losses is None else losses


def queue_of(change: Change) -> str:
    """The stream that is the group's queue; a new queue gets the name of the old one."""
    return queue_stream.stream_name(*change.address.names)


def queue_info(change: Change, view: View) -> Mapping[str, Json] | None:
    """STREAM.INFO of the existing queue, old or new."""
    return view.snapshot.streams.get(queue_of(change))


def noted_start(change: Change) -> int | None:
    """The message at which a new queue must start, as an earlier run found it."""
    point = change.intent.notes.get("resume") if change.intent and change.intent.ready else None
    return point if isinstance(point, int) and point > 0 else None


def resume_start(change: Change, view: View) -> int | None:
    """The same message, or an earlier one if the source has since lost messages and given their numbers to others."""
    point = noted_start(change)
    return lost_tail.safe_start(point, change.address.stream, change.intent, view) if point and change.intent else None


def questions(change: Change) -> Iterable[Question]:
    """Whether the source is still the one it was then."""
    return lost_tail.questions(change.address.stream, change.intent) if change.intent and noted_start(change) else ()


def wanted_group(change: Change) -> Config:
    """The declared group. A membership that is not managed here is the old group's, even if that is deleted."""
    config = change.wanted
    if change.live or not change.intent or not change.desired:
        return config
    left = {field for field in group_record.MEMBERSHIP if field in change.desired.terms.unmanaged}
    return {**config, **{field: value for field, value in change.intent.wanted.items() if field in left}}


def _queue_config_as_read(change: Change, view: View) -> Config | None:
    info = queue_info(change, view)
    return info["config"] if info else None
