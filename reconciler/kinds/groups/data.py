"""Groups as plain data: what `--format json` prints, and what the text reports are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Annotated, Any, Literal, Self

from reconciler.kinds.elastic_group.queue_stream import start_sequence
from reconciler.kinds.groups.live_group import Group, Member, queue_writer, record_writer
from reconciler.kinds.groups.places import Depths, Located, patterns
from reconciler.model.dataclass import dataclass
from reconciler.model.resource import Address, Config
from reconciler.model.shape import Count, Like

Partitions = tuple[int, ...]
"""Numbers of partitions; a record broken by hand may name some below 0."""
GroupAddress = Annotated[Address, Like(description="The group.")]
PartitionCount = Annotated[Count, Like(description="How many partitions it has.")]
WhyUnread = Annotated[str, Like(description="Why the live state is unknown.")]
WhyBroken = Annotated[str, Like(description="What is wrong with its record.")]
Wildcards = Annotated[
    Partitions, Like(description="The `*` of the filter that decide, from 1. A missing key: the whole subject.")
]
Queued = Annotated[tuple[Count, ...], Like(description="Queued messages, by partition.")]
Owners = Annotated[tuple[str | None, ...], Like(description="The owner of each partition; null: no owner.")]
Outside = Annotated[
    Mapping[str, int],
    Like(description="Messages that are in no partition, by the beginning of their subjects."),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueState:
    stream: str
    """The stream of the queue."""
    missing: bool = False
    """True: the stream does not exist."""
    messages: Count | None = None
    """Messages in it."""
    bytes: Count | None = None
    """Bytes in it."""
    consumers: Count | None = None
    """Its consumers."""
    lag: Count | None = None
    """Messages of the stream that it has not copied yet."""
    resuming: Count | None = None
    """Sequence of the stream at which it was created to resume."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberState:
    member: str
    """Its name."""
    partitions: Partitions
    """Partitions that it owns."""
    consumer: str
    """Its consumer."""
    state: Literal["absent", "unpinned", "pinned"]
    """`absent`: it has no consumer; `pinned`: a client of it works."""
    client: str | None = None
    """Id of the pinned client."""
    since: str | None = None
    """Since when that client is pinned."""
    pinned_for: Count | None = None
    """For how long, in nanoseconds."""
    waiting: Count | None = None
    """Pull requests that wait on its consumer."""
    in_flight: Count | None = None
    """Messages that were delivered but not acknowledged yet."""
    pending: Count | None = None
    """Messages that its consumer has still to deliver."""
    queued: Count | None = None
    """Messages queued in its partitions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternState:
    filter: str
    """Subjects."""
    wildcards: Wildcards = ()
    partitions: Count
    """How many partitions they fall on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenBy:
    record: str | None = None
    """The tool that wrote the record."""
    queue: str | None = None
    """The tool that created the work queue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupState:
    """What can be told without reading consumers."""

    address: GroupAddress
    type: Literal["elastic", "static"]
    """Which sort it is."""
    stream: str
    """The stream that it divides."""
    group: str
    """Its name."""
    revision: Count
    """Revision of its record."""
    broken: WhyBroken | None = None
    legacy: tuple[str, ...] = ()
    """Earlier forms that its record is written in."""
    unread: WhyUnread | None = None
    partitions: PartitionCount = 0
    surplus: tuple[str, ...] = ()
    """Members beyond the number of partitions, which get no messages."""
    queue: QueueState | None = None
    """The work queue of an elastic group."""

    @classmethod
    def of(cls, group: Group, **more: Any) -> Self:
        """Return the state of this group; `more` is what a larger document holds."""
        return cls(
            address=group.address, type=group.type, stream=group.stream, group=group.name,
            revision=group.record.revision, broken=group.record.broken, legacy=tuple(group.record.legacy),
            unread=group.unread, partitions=group.partitions, surplus=tuple(group.surplus_members), queue=_queue(group),
            **more,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSummary(GroupState):
    members: tuple[str, ...] = ()
    """Names of the members that own partitions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupDetail(GroupState):
    """Everything about one group."""

    members: tuple[MemberState, ...] = ()
    """Its members."""
    filters: tuple[str, ...] = ()
    """Filters of its record. With mappings, members of the reference apply those of an elastic group alone."""
    pattern: tuple[PatternState, ...]
    """How subjects are partitioned."""
    record: Config = field(default_factory=dict)
    """The record, as it is stored."""
    text: str | None = None
    """The record as it is stored, where it cannot be read."""
    written_by: WrittenBy
    """The tools that created it, as far as that shows."""
    owners: Owners = ()
    unassigned: Partitions = ()
    """Partitions without an owner."""
    stalled: Partitions = ()
    """Partitions with queued messages but without a client."""
    queued: Queued | None = None
    outside: Outside = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveGroup:
    """Only the members and their consumers."""

    address: GroupAddress
    unread: WhyUnread | None = None
    broken: WhyBroken | None = None
    members: tuple[MemberState, ...]
    """Its members."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPlace:
    """Where a key goes, and which member works there."""

    key: str
    """The key in question."""
    hashed: str
    """The text that decides."""
    partition: Count
    """The partition, from 0."""
    partitions: Count
    """How many there are."""
    filter: str
    """The filter that the key was read by."""
    wildcards: Wildcards = ()
    address: GroupAddress | None = None
    queued: Count | None = None
    """Messages queued in the partition."""
    member: MemberState | None = None
    """The member that owns the partition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSpread:
    """How much each partition holds, in messages and in distinct subjects, both queued and in the source."""

    address: GroupAddress
    partitions: PartitionCount
    owners: Owners
    queued: Queued | None = None
    queued_subjects: tuple[Count, ...] | None = None
    """Distinct subjects that are queued, by partition."""
    stored: tuple[Count, ...] | None = None
    """Messages that the stream holds, by partition."""
    stored_subjects: tuple[Count, ...] | None = None
    """Distinct subjects that the stream holds, by partition."""
    outside: Outside = field(default_factory=dict)


def summary(group: Group) -> GroupSummary:
    """What can be told without reading consumers."""
    return GroupSummary.of(group, members=tuple(group.owned))


def detail(group: Group, depths: Depths | None) -> GroupDetail:
    """Everything about one group."""
    broken = group.record.broken
    return GroupDetail.of(
        group,
        members=tuple(_member(member, depths) for member in group.members),
        filters=tuple(group.filters),
        pattern=tuple(
            PatternState(filter=pattern.filter, wildcards=tuple(pattern.wildcards), partitions=pattern.partitions)
            for pattern in patterns(group)
        ),
        record=group.record.raw,
        text=group.text if broken else None,
        written_by=WrittenBy(record=None if broken else record_writer(group), queue=queue_writer(group)),
        owners=tuple(group.owners),
        unassigned=tuple(number for number, owner in enumerate(group.owners) if owner is None),
        stalled=_stalled_partitions(group, depths),
        queued=tuple(depths.messages) if depths else None,
        outside=depths.outside if depths else {},
    )


def _stalled_partitions(group: Group, depths: Depths | None) -> Partitions:
    """Partitions in which messages wait while their owner has no client, or while they have no owner."""
    working = {number for member in group.members if member.waiting_pulls or member.pin for number in member.partitions}
    return tuple(
        number for number, queued in enumerate(depths.messages if depths else ()) if queued and number not in working
    )


def active(group: Group) -> ActiveGroup:
    """Only the members and their consumers."""
    members = tuple(_member(member, None) for member in group.members)
    return ActiveGroup(address=group.address, unread=group.unread, broken=group.record.broken, members=members)


def _queue(group: Group) -> QueueState | None:
    if not group.is_elastic:
        return None
    state: Mapping[str, Any] = (group.queue or {}).get("state", {})
    lag = sum(int(item.get("lag") or 0) for item in (group.queue or {}).get("sources") or ())
    return QueueState(
        stream=group.queue_name, missing=group.queue is None and not group.unread, messages=state.get("messages"),
        bytes=state.get("bytes"), consumers=state.get("consumer_count"), lag=lag if group.queue else None,
        resuming=start_sequence(group.queue["config"]) if group.queue else None,
    )  # fmt: skip


def _member(member: Member, depths: Depths | None) -> MemberState:
    pin = member.pin
    return MemberState(
        member=member.name, partitions=tuple(member.partitions), consumer=member.consumer,
        state="absent" if member.info is None else "unpinned" if pin is None else "pinned",
        client=pin.client if pin else None, since=pin.since if pin else None, pinned_for=pin.age if pin else None,
        waiting=member.waiting_pulls if member.info else None, in_flight=member.in_flight if member.info else None,
        pending=int(member.info["num_pending"]) if member.info else None,
        queued=depths.of(member.partitions) if depths else None,
    )  # fmt: skip


def partition_and_member_of_key(located: Located, group: Group | None = None, queued: int | None = None) -> KeyPlace:
    """Where a key goes, and which member works there."""
    members = group.members if group else ()
    owner = next((member for member in members if located.partition in member.partitions), None)
    return KeyPlace(
        key=located.key, hashed=located.hashed, partition=located.partition, partitions=located.pattern.partitions,
        filter=located.pattern.filter, wildcards=tuple(located.pattern.wildcards),
        address=group.address if group else None, queued=queued, member=_member(owner, None) if owner else None,
    )  # fmt: skip


def spread(group: Group, queued: Depths | None, stored: Depths | None) -> GroupSpread:
    """How much each partition holds, in messages and in distinct subjects, both queued and in the source."""
    return GroupSpread(
        address=group.address, partitions=group.partitions, owners=tuple(group.owners),
        queued=tuple(queued.messages) if queued else None, queued_subjects=tuple(queued.subjects) if queued else None,
        stored=tuple(stored.messages) if stored else None, stored_subjects=tuple(stored.subjects) if stored else None,
        outside=queued.outside if queued else {},
    )  # fmt: skip
