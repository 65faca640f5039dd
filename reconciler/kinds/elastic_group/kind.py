"""What an elastic group is: record and work-queue stream as one resource. Its membership, and what the queue
needs, change in place; for anything else the group is made again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Annotated

from reconciler.changes.change import Action, Change
from reconciler.changes.kind import Bound, Context, FilePlace, Kind, Raw, declared_config
from reconciler.changes.view import SubjectsRead, View
from reconciler.kinds.elastic_group import (
    filters,
    movement,
    queue_rules,
    queue_stream,
    recreation_cost,
    recreation_steps,
    refilling,
    removal,
)
from reconciler.kinds.elastic_group.effects import MADE_ANEW, MEMBERS, OTHER_MESSAGES
from reconciler.kinds.elastic_group.immutable import (
    AS_NEEDED,
    OF_THE_QUEUE,
    QUEUE,
    REPLICAS,
    RESUMED,
    live_replicas,
    replica_consequences,
    replica_steps,
    wanted_replicas,
)
from reconciler.kinds.elastic_group.members import leaving_consequences, members_back_gate, waiting_consequences
from reconciler.kinds.elastic_group.rules import RULES
from reconciler.kinds.fields.known import Known, Update, field_infos
from reconciler.kinds.group_records import group_record, group_steps
from reconciler.kinds.group_records.another_name import recipe
from reconciler.kinds.group_records.group_record import (
    GroupSpec,
    Member,
    MemberMapping,
    render_mappings,
    with_membership_left,
)
from reconciler.kinds.group_records.group_start import start_consequences
from reconciler.kinds.losses.made_again import is_made_again
from reconciler.kinds.stream_config import calls
from reconciler.kinds.stream_config.new_copies import with_waits_for_copies
from reconciler.model.fields import FieldInfo
from reconciler.model.ledger.intents import intents
from reconciler.model.resource import Declared, Resource, Spec, text_like
from reconciler.model.units import Bytes, Count
from reconciler.model.wire.snapshot import Snapshot
from reconciler.model.wire.steps import Call, Step

BUCKET = group_record.ELASTIC_BUCKET


PARTITIONED = r"^([^.]+\.)*(\*(\.[^.]+)*|>)$"
"""Subjects with a `*`, or `>` at their end."""


class PartitioningFilter(Spec):
    """Which subjects are partitioned, and which of their tokens decide."""

    filter: Annotated[str, text_like(PARTITIONED, "subjects with a `*`, or with `>` at the end"), Known()]
    """Subjects of the stream that are partitioned, for example `orders.*.*`."""
    partitioning_wildcards: Annotated[tuple[Count, ...], Known(unit="list")] = ()
    """Which `*` of the filter decide the partition, counted from 1. Left out: the whole subject decides, which
    needs nats-server 2.12."""


class ElasticGroupSpec(GroupSpec):
    """An elastic partitioned consumer group divides a stream among members that may come and go."""

    max_members: Annotated[Count, Known(unit="count", update=Update.FIXED, felt=MADE_ANEW)]
    """Number of partitions, and the maximum number of members that can work."""
    members: Annotated[tuple[Member, ...] | None, Known(unit="list", ordered=False, felt=MEMBERS)] = None
    """Names of the members, among whom the partitions are spread evenly. Excludes `member_mappings`. Left out: as
    `member_mappings` says; without them, the file does not manage the membership."""
    member_mappings: Annotated[tuple[MemberMapping, ...] | None, Known(unit="mapping", felt=MEMBERS)] = None
    """Which member owns which partitions, each partition exactly once. Excludes `members`. Left out: as `members`
    says."""
    partitioning_filters: Annotated[
        tuple[PartitioningFilter, ...] | None,
        Known(unit="list", ordered=False, left_out="all subjects", update=Update.FIXED, felt=OTHER_MESSAGES),
    ] = None
    """What is partitioned, and by which tokens. Left out: all subjects, by the whole subject, which needs
    nats-server 2.12."""
    max_buffered_msg: Annotated[Count | None, Known(unit="count", default=-1, update=Update.FIXED, felt=MADE_ANEW)] = (
        None
    )
    """How many messages the work queue may hold."""
    max_buffered_bytes: Annotated[
        Bytes | None, Known(unit="bytes", default=-1, update=Update.FIXED, felt=MADE_ANEW)
    ] = None
    """How many bytes the work queue may hold."""


def _recognise(snapshot: Snapshot) -> Iterable[Resource]:
    for resource in group_steps.recognise("elastic_group", BUCKET, snapshot):
        group = replace(resource, config={**resource.config, **live_replicas(resource.address, snapshot)})
        if state := _queue_state(group, snapshot):
            yield replace(group, config={**group.config, QUEUE: state})
        else:
            yield group


def _queue_state(group: Resource, snapshot: Snapshot) -> str | None:
    """A missing queue can be created, under a record of today's form (EG509), and a resumed one can be settled. Any other
    difference is only reported, never edited (EG320)."""
    if group.state["broken"]:
        return None  # nobody knows what such a record wants
    name = queue_stream.stream_name(*group.address.names)
    if (info := snapshot.streams.get(name)) is None:
        return None if snapshot.why_stream_unknown(name) else "missing"
    if group.state["legacy"]:
        return None  # whoever wrote it gave its queue no start sequence
    return RESUMED if queue_stream.has_resumed(info, group.address.stream, group.config) else None


def _claims(snapshot: Snapshot) -> Iterable[Raw]:
    live = (group.address for group in group_steps.recognise("elastic_group", BUCKET, snapshot))
    begun = (address for address in intents(snapshot) if (address.kind, len(address.names)) == ("elastic_group", 2))
    return (Raw("stream", (queue_stream.stream_name(*address.names),)) for address in (*live, *begun))


FOLLOWS = {QUEUE: AS_NEEDED, REPLICAS: "from its stream"}


def _settle(declared: Declared, context: Context) -> Resource:
    config = dict(declared_config(declared.spec))
    filters = config.get("partitioning_filters") or []
    config["partitioning_filters"] = [{"partitioning_wildcards": [], **item} for item in filters]
    return Resource(
        address=declared.address,
        config={**group_record.canonical(config), **wanted_replicas(declared.address, context)},
        follows=FOLLOWS,
        terms=with_membership_left(declared.spec),
        where=declared.where,
    )


def _steps(change: Change, view: View) -> Sequence[Step]:
    if change.action is Action.CREATE and change.intent:
        return recreation_steps.remaining_steps(change, view)
    if change.action is Action.CREATE:
        return with_waits_for_copies(
            (*group_steps.bucket_creation(change, BUCKET, view), *_create(change, view)), change, view
        )
    if change.action is Action.UPDATE:
        return _with_catch_up_gate(change, view, tuple(_update_steps(change, view)))
    if change.action is Action.KEEP:  # the rest of a replacement, whose queue may not have everything yet
        return _with_catch_up_gate(change, view, ())
    return removal.steps(change, view) if change.action is Action.DELETE else ()


def _with_catch_up_gate(change: Change, view: View, steps: tuple[Step, ...]) -> tuple[Step, ...]:
    gates = refilling.catch_up_gate(change, view, change.wanted)
    return (*steps, *(replace(gate, after=tuple(step.id for step in steps)) for gate in gates))


def _create(change: Change, view: View) -> Sequence[Step]:
    """The record first, as the reference does it. If the server then refuses the stream, the record is deleted again:
    it would block every corrected create."""
    config = change.wanted
    put = group_steps.record_creation(change, BUCKET, group_record.new_record_text(config, elastic=True), view)
    queue = _create_queue(change, view, after=(put.id,))
    undo = Step(
        id=f"undo {put.id}",
        call=Call.ENTRY_DELETE,
        on=put.on,
        address=put.address,
        undoes=queue.id,
        after=(put.id,),
        effect="delete the record again, since the server refused its stream",
    )
    return (put, queue, undo)


def _create_queue(change: Change, view: View, after: tuple[str, ...]) -> Step:
    stream, group = change.address.names
    config = change.wanted
    body = queue_stream.queue_config(stream, config, queue_stream.source(stream, view))
    return replace(calls.create_stream(change, queue_stream.stream_name(stream, group), body), after=after)


def _update_steps(change: Change, view: View) -> Iterable[Step]:
    if change.was(QUEUE) == "missing":
        yield (
            recreation_steps.queue_creation(change, view)
            if recreation_steps.noted_start(change)
            else _create_queue(change, view, after=())
        )
    if change.was(QUEUE) == RESUMED:
        yield recreation_steps.settle_step(change)
    yield from replica_steps(change, view)
    if change.touches(*group_record.MEMBERSHIP) and change.live and change.desired:
        record = group_record.Record(
            config=change.live.config, raw=change.live.state["record"], revision=change.live.state["revision"]
        )
        written = group_steps.rewrite(change, BUCKET, group_record.patched_record_text(record, change.desired.config))
        yield written
        if gate := members_back_gate(change, view, written):
            yield gate


ELASTIC_GROUP = Kind(
    name="elastic_group",
    family="EG",
    title="Elastic groups",
    recipe=recipe,
    reserves="max_buffered_bytes",
    bound=Bound(floor=5, percent=20),
    place=FilePlace("groups", within="stream", tag=("type", "elastic"), names=group_record.NAME.pattern),
    spec=ElasticGroupSpec,
    fields={
        **field_infos(ElasticGroupSpec),
        QUEUE: FieldInfo(left_out="in order", passing=(RESUMED,)),
        REPLICAS: FieldInfo(unit="count", default=1),
    },
    recognise=_recognise,
    claims=_claims,
    settle=_settle,
    steps=_steps,
    render=lambda resource: render_mappings({k: v for k, v in resource.config.items() if k not in OF_THE_QUEUE}),
    reads=lambda address, config: (
        SubjectsRead(
            address.stream, tuple(subject["filter"] for subject in config.get("partitioning_filters") or ()) or (">",)
        ),
    ),
    derived=lambda address: (Raw("stream", (queue_stream.stream_name(*address.names),)),),
    primary=lambda address: Raw("entry", (BUCKET, group_record.key(*address.names))),
    questions=lambda change, view: (
        *movement.questions(change),
        *refilling.questions(change),
        *filters.unmatched_questions(change),
        *recreation_cost.questions(change, view),
        *recreation_steps.questions(change),
    ),
    consequences=lambda change, view: (
        *start_consequences(change, view, is_told=is_made_again(change)),
        *movement.consequences(change, view),
        *waiting_consequences(change, view),
        *(leaving_consequences(change, view) if recreation_steps.deletes_queue(change, view) else ()),
        *recreation_cost.consequences(change, view),
        *refilling.consequences(change, view),
        *replica_consequences(change, view),
    ),
    adrift=lambda change, view: (*group_steps.broken_record(change, view), *queue_rules.drifted_queue(change, view)),
    replace=recreation_steps.planned_replacement,
    stands=recreation_steps.has_old_queue,
    remains=removal.has_leftover_queue,
    unknown=lambda _address, snapshot: snapshot.why_bucket_unknown(BUCKET),
    rules=RULES,
)
