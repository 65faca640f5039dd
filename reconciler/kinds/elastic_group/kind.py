"""What an elastic group is: record and work-queue stream as one resource; its membership alone may change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated

from reconciler.core.diff import Action, Change
from reconciler.core.kind import Context, FieldInfo, Kind, Place, Raw, declared_config
from reconciler.core.resource import Address, Declared, Json, Resource, Spec
from reconciler.core.rule import View
from reconciler.core.wire import Call, Snapshot, Step
from reconciler.kinds.elastic_group import derived
from reconciler.kinds.elastic_group.movement import consequences, questions
from reconciler.kinds.elastic_group.rules import RULES
from reconciler.kinds.primitives import calls, group_record, group_steps
from reconciler.kinds.primitives.group_spec import FIELDS, OURS, GroupSpec, render_mappings, with_membership_left
from reconciler.kinds.primitives.known import Known
from reconciler.kinds.primitives.values import Bytes, Count

BUCKET = group_record.ELASTIC_BUCKET
QUEUE = "queue_stream"
"""Not a field of any file: `missing` when the record stands without its work-queue stream (an interrupted create)."""


class PartitioningFilter(Spec):
    """Which subjects are partitioned, and by which of their tokens."""

    filter: str
    """Subjects of the source stream, for example `orders.*.*`."""
    partitioning_wildcards: tuple[Count, ...] = ()
    """Numbers of the `*` in the filter, from 1, whose tokens decide the partition; none: the whole subject (from 2.12)."""


class ElasticGroupSpec(GroupSpec):
    """An elastic partitioned consumer group as written in a file."""

    partitioning_filters: Annotated[tuple[PartitioningFilter, ...] | None, Known(unit="list", ordered=False)] = None
    """What is partitioned and how. Left out: everything, by the whole subject (from 2.12)."""
    max_buffered_msg: Annotated[Count | None, Known(unit="count", default=-1)] = None
    """How many messages the work queue buffers. Left out: no limit."""
    max_buffered_bytes: Annotated[Bytes | None, Known(unit="bytes", default=-1)] = None
    """How many bytes the work queue buffers. Left out: no limit."""


def _recognise(snapshot: Snapshot) -> Iterable[Resource]:
    for group in group_steps.recognise("elastic_group", BUCKET, snapshot):
        if wrong := _wrong_queue(group, snapshot):
            yield replace(group, config={**group.config, QUEUE: wrong})
        else:
            yield group


def _wrong_queue(group: Resource, snapshot: Snapshot) -> str | None:
    """A queue that is missing can be made; one that differs is never edited, only reported (EG320)."""
    if group.state["broken"] or group.state["legacy"]:
        return None  # nothing can be said about what such a record wants
    name = derived.stream_name(*group.address.names)
    return "missing" if name not in snapshot.streams and not snapshot.unknown_stream(name) else None


def _claims(snapshot: Snapshot, declared: Sequence[Address]) -> Iterable[Raw]:
    live = (group.address for group in group_steps.recognise("elastic_group", BUCKET, snapshot))
    return (Raw("stream", (derived.stream_name(*address.names),)) for address in (*live, *declared))


def _settle(declared: Declared, _context: Context) -> Resource:
    said = dict(declared_config(declared.spec, OURS))
    filters = said.get("partitioning_filters") or []
    said["partitioning_filters"] = [{"partitioning_wildcards": [], **item} for item in filters]
    return Resource(
        address=declared.address,
        config=group_record.canonical(said),
        terms=with_membership_left(declared.spec),
        where=declared.where,
    )


def _steps(change: Change, view: View) -> Sequence[Step]:
    if change.action is Action.CREATE:
        return (*group_steps.bucket(change, BUCKET, view), *_create(change, view))
    if change.action is Action.UPDATE:
        return tuple(_update(change, view))
    return _delete(change, view) if change.action is Action.DELETE else ()


def _create(change: Change, view: View) -> Sequence[Step]:
    """Record first, as the reference does; if the stream is then refused, the record goes again: it would block a
    corrected create for ever."""
    config = change.desired.config if change.desired else {}
    put = group_steps.put(change, BUCKET, group_record.write(config, elastic=True), view)
    queue = _create_queue(change, view, after=(put.id,))
    undo = Step(
        id=f"undo {put.id}",
        call=Call.ENTRY_DELETE,
        on=put.on,
        address=put.address,
        undoes=queue.id,
        after=(put.id,),
        effect="take the record back, since its stream was refused",
    )
    return (put, queue, undo)


def _create_queue(change: Change, view: View, after: tuple[str, ...]) -> Step:
    stream, group = change.address.names
    source = view.desired.get(Address.of("stream", stream)) or view.live.get(Address.of("stream", stream))
    config = change.desired.config if change.desired else {}
    step = calls.create_stream(
        change, derived.stream_name(stream, group), derived.body(stream, config, _raw_source(source))
    )
    return replace(step, after=after)


def _raw_source(source: Resource | None) -> Mapping[str, Json]:
    """Storage and replicas the queue copies; an external source says them only live."""
    if source is None:
        return {}
    live: Mapping[str, Json] = source.state.get("config", {})
    return {**{field: live[field] for field in derived.FOLLOWED_AT_CREATION if field in live}, **source.config}


def _update(change: Change, view: View) -> Iterable[Step]:
    if change.was(QUEUE) == "missing":
        yield _create_queue(change, view, after=())
    if change.touches(*group_record.MEMBERSHIP) and change.live and change.desired:
        record = group_record.Record(
            config=change.live.config, raw=change.live.state["record"], revision=change.live.state["revision"]
        )
        yield group_steps.rewrite(change, BUCKET, group_record.patch(record, change.desired.config))


def _delete(change: Change, view: View) -> Sequence[Step]:
    """The marker ends the members; their consumers go when they let go; the queue goes last."""
    marker = group_steps.delete_record(change, BUCKET)
    name = derived.stream_name(*change.address.names)
    if view.snapshot and name not in view.snapshot.streams:
        return (marker,)
    consumers = sorted(view.snapshot.consumers.get(name, {})) if view.snapshot else []
    gate = Step(
        id=f"wait for members of {name}",
        call=Call.GATE_CONSUMERS_GONE,
        on=(name,),
        address=str(change.address),
        body={"names": consumers, "timeout": _patience(name, view)},
        after=(marker.id,),
        effect="wait until the members have let go",
    )
    return (marker, gate, calls.delete_stream(change, name, after=(gate.id,)))


def _patience(name: str, view: View) -> int:
    """Nanoseconds after which the longest idle member is gone: its inactivity threshold, and a second."""
    consumers = view.snapshot.consumers.get(name, {}).values() if view.snapshot else ()
    longest = max((info["config"].get("inactive_threshold", 0) for info in consumers), default=0)
    return int(longest) + 1_000_000_000


ELASTIC_GROUP = Kind(
    name="elastic_group",
    family="EG",
    place=Place("groups", within="stream", tag=("type", "elastic")),
    spec=ElasticGroupSpec,
    fields={**FIELDS, QUEUE: FieldInfo(unit="text")},
    recognise=_recognise,
    claims=_claims,
    settle=_settle,
    steps=_steps,
    render=lambda resource: render_mappings({k: v for k, v in resource.config.items() if k != QUEUE}),
    primary=lambda address: Raw("entry", (BUCKET, group_record.key(*address.names))),
    questions=questions,
    consequences=consequences,
    unknown=lambda _address, snapshot: snapshot.unknown_bucket(BUCKET),
    rules=RULES,
)
