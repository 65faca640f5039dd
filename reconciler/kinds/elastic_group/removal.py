"""Removes an elastic group: its members end, its queue stops copying, and when nobody reads the queue any more, it is deleted.

The marker ends the members, which takes them some seconds. Their consumers disappear when they end. The queue must not
take in messages meanwhile: on a work queue these would exist nowhere else, and go with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache, reduce

from reconciler.changes.change import Change
from reconciler.changes.stages import patched_config
from reconciler.changes.view import View
from reconciler.kinds.elastic_group import recreation_steps
from reconciler.kinds.elastic_group.members import members_gone_gate
from reconciler.kinds.elastic_group.queue_stream import stream_name
from reconciler.kinds.group_records import group_steps
from reconciler.kinds.stream_config.stream_settle import duplicate_window_after
from reconciler.kinds.subjects.subject_moves import is_parking_subject, parking_subject
from reconciler.kinds.subjects.subjects import collide
from reconciler.model.resource import Address, Config
from reconciler.model.wire.snapshot import Snapshot
from reconciler.model.wire.steps import Call, Step


def steps(change: Change, view: View) -> Sequence[Step]:
    """A group that was being recreated may already be without its record."""
    marker = (group_steps.delete_record(change, recreation_steps.BUCKET),) if change.live else ()
    queue = recreation_steps.queue_info(change, view)
    if queue is None:
        return marker
    before = (*marker, *_stop_copying_steps(change, queue["config"], view, after=tuple(step.id for step in marker)))
    gate = replace(members_gone_gate(change, view), after=tuple(step.id for step in before))
    deletion = recreation_steps.deletion(change, view, after=(gate.id,))
    return (*before, gate, replace(deletion, before=_patched_queue(queue["config"], before[len(marker) :])))


def has_leftover_queue(address: Address, snapshot: Snapshot) -> bool:
    """Does its queue still exist, because a run was interrupted after it deleted the record?"""
    info = snapshot.streams.get(stream_name(*address.names))
    config = info["config"] if info else {}
    origins = [origin["name"] for origin in config.get("sources") or ()]
    is_feeding = origins == [address.stream] and not config.get("subjects")
    return config.get("retention") == "workqueue" and (is_feeding or has_stopped_copying(config))


def has_stopped_copying(queue: Config) -> bool:
    """Has a removal stopped it from copying?"""
    subjects = queue.get("subjects") or ()
    return not queue.get("sources") and bool(subjects) and all(map(is_parking_subject, subjects))


def _stop_copying_steps(change: Change, queue: Config, view: View, after: tuple[str, ...]) -> tuple[Step, ...]:
    """What its source stores from then on stays there. A stream that copies nothing must have a subject of its own."""
    name = recreation_steps.queue_of(change)
    subject = parking_subject(name, lambda free: not any(collide(free, taken) for taken in _nearby_subjects(view)))
    if not queue.get("sources") or subject is None:
        return ()
    fields = {"subjects": [subject], "sources": None}
    return (
        Step(
            id=f"stop copying into stream/{name}",
            call=Call.STREAM_UPDATE,
            on=(name,),
            address=str(change.address),
            set={"subjects": [subject], **duplicate_window_after(queue, fields, view.target)},
            unset=("sources",),
            before=queue,
            after=after,
            effect=f"stop copying into stream {name}, so that nothing is deleted with it that comes in from now on",
        ),
    )


@lru_cache(maxsize=4)
def _nearby_subjects(view: View) -> tuple[str, ...]:
    """Subjects of streams that may be, or cover, a parking subject; computed once per view."""
    captured = (subject for info in view.snapshot.streams.values() for subject in info["config"].get("subjects") or ())
    return tuple(subject for subject in captured if subject.startswith(("*", ">")) or is_parking_subject(subject))


def _patched_queue(queue: Config, done: Sequence[Step]) -> Config:
    """The queue as these steps leave it."""
    return reduce(lambda config, step: patched_config(config, {**step.set, **dict.fromkeys(step.unset)}), done, queue)
