"""Recreates an elastic group at its position when anything but its membership changes; its queue is never edited.

The record is marked deleted first, which ends the members. What the queue then holds tells which message of the source
comes next, and a new queue starts there. The members' owners restart them. The start sequence is removed as soon as the
new queue has stored a message; until then the group is resuming.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from reconciler.changes.change import Change
from reconciler.changes.kind import Replacement
from reconciler.changes.view import View
from reconciler.kinds.effects import lost_tail
from reconciler.kinds.elastic_group import queue_stream
from reconciler.kinds.elastic_group.members import members_gone
from reconciler.kinds.elastic_group.refilling import caught_up
from reconciler.kinds.elastic_group.still_stored import gone
from reconciler.kinds.group_records import group_record, group_steps
from reconciler.kinds.stream_config import calls
from reconciler.model.resource import Config, Json
from reconciler.model.wire.questions import Question
from reconciler.model.wire.steps import Bind, Call, Step

BUCKET = group_record.ELASTIC_BUCKET
MOMENT = 2_000_000_000
PATIENCE = 30_000_000_000
"""How long it may take until the next message is known: the queue catches up, or its source comes to rest."""
FIRST_MESSAGE = 5_000_000_000
"""How long to wait for the first message of a new queue, if the source has one for it."""
STARTS_AT = "sources.0.opt_start_seq"


def how(change: Change, view: View) -> Replacement:
    """The replacement, or the rest of one that was interrupted before the old queue was deleted."""
    marker = (group_steps.delete_record(change, BUCKET),) if change.live else ()
    if queue(change, view) is None:
        notes = {**(change.intent.notes if change.intent else {}), "resume": resume_at(change, view)}
        return Replacement(before=marker, swap=_new(change, view), notes=notes)
    point = _resume_point(change, view)
    gate = members_gone(change, view)
    delete_step = replace(deletion(change, view), effect=f"delete stream {name(change)}")
    return Replacement(
        before=(_same_source(change, view), *marker, gate, point),
        swap=(delete_step, *_new(change, view, point.id)),
        bound={"notes.resume": point.id},
        notes=lost_tail.reached(view.snapshot.streams.get(change.address.stream)),
    )


def deletion(change: Change, view: View, *, after: tuple[str, ...] = ()) -> Step:
    """Deletes the queue if it is still as planned. The record is an object of its own, and says nothing about the
    queue."""
    return replace(calls.delete_stream(change, name(change), after=after), before=_as_planned(change, view))


def rest(change: Change, view: View) -> Sequence[Step]:
    """What is left to do when the old queue is deleted: the new queue, unless it exists, and the record."""
    if queue(change, view) is None:
        return _new(change, view)
    return (_record(change, view), settled(change), *caught_up(change, view, wanted(change)))


def stands(change: Change, view: View) -> bool:
    """Does a queue exist that is not the new one?"""
    info = queue(change, view)
    return info is not None and not queue_stream.fits(info["config"], change.address.stream, wanted(change))


def made(change: Change, view: View, bound: str = "") -> Step:
    """The new queue, starting where an earlier run noted, or where this run will find."""
    stream, point = change.address.stream, resume_at(change, view)
    config = queue_stream.body(stream, wanted(change), queue_stream.source(stream, view))
    if point and not bound:
        config["sources"] = [{**config["sources"][0], "opt_start_seq": point}]
    step = calls.create_stream(change, name(change), config)
    where = f"at the noted message of {stream}" if bound else f"at message {point} of {stream}"
    return replace(step, uses={STARTS_AT: bound} if bound else {}, effect=f"{step.effect} again, starting {where}")


def _new(change: Change, view: View, bound: str = "") -> tuple[Step, ...]:
    filled = caught_up(change, view, wanted(change))
    return (made(change, view, bound), _record(change, view), settled(change), *filled)


def _record(change: Change, view: View) -> Step:
    return group_steps.put(change, BUCKET, group_record.write(wanted(change), elastic=True), view)


def settled(change: Change) -> Step:
    """Sets the queue back to the exact form of the reference, whose own create the server refuses before."""
    stream, queue_name = change.address.stream, name(change)
    return Step(
        id=f"settle stream/{queue_name}",
        call=Call.QUEUE_SETTLE,
        on=(queue_name,),
        address=str(change.address),
        set={"sources": queue_stream.body(stream, wanted(change), {})["sources"]},
        body={"from": stream, "timeout": FIRST_MESSAGE},
        effect=f"remove the start sequence from stream {queue_name} once it has stored a message; if none arrives within 5 s, "
        "the next apply does it",
    )


def _same_source(change: Change, view: View) -> Step:
    """Checked before any member ends in vain."""
    stream, queue_name = change.address.stream, name(change)
    effect = f"check that stream {queue_name} was filled from the stream {stream} that exists now"
    return _read(change, view, f"read the source of stream/{queue_name}", Bind.SAME_SOURCE, MOMENT, effect)


def _resume_point(change: Change, view: View) -> Step:
    stream, queue_name = change.address.stream, name(change)
    effect = (
        f"find the message of {stream} to continue with: the lowest one still queued in {queue_name}, or the next one"
    )
    return _read(change, view, f"read the position of stream/{queue_name}", Bind.RESUME_POINT, PATIENCE, effect)


def _read(change: Change, view: View, step_id: str, bind: Bind, timeout: int, effect: str) -> Step:
    return Step(
        id=step_id,
        call=Call.QUEUE_READ,
        on=(name(change),),
        address=str(change.address),
        body={"from": change.address.stream, "timeout": timeout, "gone": _accepted(change, view)},
        bind=bind,
        before=_as_planned(change, view),
        effect=effect,
    )


def _accepted(change: Change, view: View) -> int:
    """How many messages the source may lack, as the plan said. If nobody could tell, the consent was to all of them."""
    losses = gone(change, view)
    state = (queue(change, view) or {}).get("state") or {}
    return int(state.get("messages", 0)) if losses is None else losses


def name(change: Change) -> str:
    """The stream that is the group's queue; a new queue gets the name of the old one."""
    return queue_stream.stream_name(*change.address.names)


def queue(change: Change, view: View) -> Mapping[str, Json] | None:
    """STREAM.INFO of the existing queue, old or new."""
    return view.snapshot.streams.get(name(change))


def noted(change: Change) -> int | None:
    """The message at which a new queue must start, as an earlier run found it."""
    point = change.intent.notes.get("resume") if change.intent and change.intent.ready else None
    return point if isinstance(point, int) and point > 0 else None


def resume_at(change: Change, view: View) -> int | None:
    """The same message, or an earlier one if the source has since lost messages and given their numbers to others."""
    point = noted(change)
    return lost_tail.where(point, change.address.stream, change.intent, view) if point and change.intent else None


def questions(change: Change) -> Iterable[Question]:
    """Whether the source is still the one it was then."""
    return lost_tail.questions(change.address.stream, change.intent) if change.intent and noted(change) else ()


def wanted(change: Change) -> Config:
    """The declared group. A membership that is not managed here is the old group's, even if that is deleted."""
    config = change.wanted
    if change.live or not change.intent or not change.desired:
        return config
    left = {field for field in group_record.MEMBERSHIP if field in change.desired.terms.unmanaged}
    return {**config, **{field: value for field, value in change.intent.wanted.items() if field in left}}


def _as_planned(change: Change, view: View) -> Config | None:
    info = queue(change, view)
    return info["config"] if info else None
