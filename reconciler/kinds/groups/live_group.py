"""A live group: its record, the stream its members read from, the consumer of each member, and which implementation wrote
it: each spells its record and its work-queue stream in its own way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Literal, NamedTuple

from reconciler.kinds.elastic_group.queue_stream import GO, NET, maker, other_record, stream_name
from reconciler.kinds.fields.times import ZERO, nanoseconds_between
from reconciler.kinds.group_records import group_record
from reconciler.kinds.group_records.group_record import ELASTIC_BUCKET, PRIORITY_GROUP, STATIC_BUCKET, Record
from reconciler.kinds.group_records.member_subjects import owned_partitions, owners
from reconciler.model.dataclass import dataclass
from reconciler.model.resource import Address, Config, Json
from reconciler.model.wire.snapshot import Scope, Snapshot

JAVA, PYTHON = "orbit.java", "natsio-pcgroups"

DIFFERENTLY = "nobody known"


def record_writer(group: Group) -> str:
    """The likely writer of the record's spelling."""
    raw = group.record.raw
    if any("-" in name for name in group.record.legacy):
        return "nobody released: the spelling of the design document"
    if group.record.legacy:
        return JAVA if set(group.record.legacy) == {"filter"} and not group.is_elastic else f"{GO} v0.1"
    if '": ' in group.text:
        return PYTHON
    if raw.get("max_buffered_msg") == 0 or raw.get("max_buffered_bytes") == 0:
        return JAVA
    if any(raw.get(name) == [] for name in ("filters", "partitioning_filters", "members", "member_mappings")):
        return NET
    return GO


def queue_writer(group: Group) -> str | None:
    """The likely writer of the work-queue stream; `nobody known` if it fits no implementation. None: there is no
    stream."""
    if not group.is_elastic or group.queue is None or group.record.broken:
        return None
    return maker(group.queue["config"], group.stream, group.config) or DIFFERENTLY


Info = Mapping[str, Json]
"""An item of STREAM.LIST or CONSUMER.LIST."""
Type = Literal["elastic", "static"]

BUCKETS: Mapping[Type, str] = {"elastic": ELASTIC_BUCKET, "static": STATIC_BUCKET}


class Pin(NamedTuple):
    """The one client that a member's consumer serves."""

    client: str
    since: str
    age: int
    """Nanoseconds, by the server's clock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A name in the record, the partitions it owns, and its consumer, if it has one."""

    name: str
    partitions: tuple[int, ...]
    consumer: str
    info: Info | None

    @property
    def pin(self) -> Pin | None:
        """The one client that its consumer serves; None if nobody is pinned, or if it has no consumer."""
        return pin_of(self.info) if self.info else None

    @property
    def waiting_pulls(self) -> int:
        """Pull requests that wait on its consumer, from the pinned client and from standbys."""
        return int(self.info["num_waiting"]) if self.info else 0

    @property
    def in_flight(self) -> int:
        """Messages that were delivered and not acknowledged yet; 0 without a consumer."""
        return int(self.info["num_ack_pending"]) if self.info else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """One record and everything that belongs to it."""

    type: Type
    stream: str
    name: str
    record: Record
    text: str
    """The record as it is stored."""
    source: Info | None
    """The stream it divides."""
    queue: Info | None
    """What members read from: the group's own work queue, or the stream itself for a static group."""
    consumers: Mapping[str, Info]
    """Consumers of `queue`, by name; on a static group's stream others may have consumers too."""
    unread: str | None = None
    """Why the group's live state is unknown."""
    owned: Mapping[str, list[int]] = field(init=False)
    """Which member owns which partitions. Members win if a record holds both. Members beyond the number of partitions
    are left out."""
    members: tuple[Member, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "owned", owned_partitions(self.config))
        object.__setattr__(self, "members", tuple(self._member(name, own) for name, own in self.owned.items()))

    @property
    def address(self) -> Address:
        """`elastic_group/ORDERS/workers`: its kind, the stream it divides, and its name."""
        return Address.of(f"{self.type}_group", self.stream, self.name)

    @property
    def config(self) -> Config:
        """What the record means, in canonical form; empty if nobody can understand it."""
        return self.record.config

    @property
    def is_elastic(self) -> bool:
        """It has a work queue of its own; the members of a static group read the stream itself."""
        return self.type == "elastic"

    @property
    def queue_name(self) -> str:
        """The stream that members read from, whether or not it exists."""
        return stream_name(self.stream, self.name) if self.is_elastic else self.stream

    @property
    def other_record(self) -> Config:
        """What the record would say for which its queue was made, where its own says something else."""
        if not self.is_elastic or self.queue is None or self.record.broken or self.record.legacy:
            return {}
        return other_record(self.queue["config"], self.stream, self.config)

    @property
    def partitions(self) -> int:
        """How many partitions the record divides the stream into; 0 if it does not say that."""
        return int(self.config.get("max_members", 0))

    @property
    def owners(self) -> list[str | None]:
        """The owner of each partition; None: nobody."""
        return owners(self.config)

    @property
    def surplus_members(self) -> list[str]:
        """Members beyond the number of partitions, which always idle."""
        return sorted(set(self.config.get("members") or ()) - self.owned.keys())

    @property
    def filters(self) -> list[str]:
        """What members consume after the partition number, in the record's order."""
        partitioned = [item["filter"] for item in self.config.get("partitioning_filters") or ()]
        return partitioned if self.is_elastic else list(self.config.get("filters") or ())

    def _member(self, name: str, numbers: Sequence[int]) -> Member:
        consumer = name if self.is_elastic else group_record.durable_name(self.name, name)
        return Member(
            name=name, partitions=tuple(sorted(numbers)), consumer=consumer, info=self.consumers.get(consumer)
        )

    @property
    def queued_messages(self) -> int | None:
        """Messages in its own queue; None if it has no queue of its own."""
        return int(self.queue["state"]["messages"]) if self.is_elastic and self.queue else None


def pin_of(info: Info) -> Pin | None:
    """The pinned client, as CONSUMER.INFO and CONSUMER.LIST report it."""
    for group in info.get("priority_groups") or ():
        client, since = group.get("pinned_client_id"), group.get("pinned_ts", ZERO)
        if client and group.get("group") == PRIORITY_GROUP:
            return Pin(client, since, max(nanoseconds_between(since, info.get("ts", since)), 0))
    return None


def groups(snapshot: Snapshot) -> list[Group]:
    """Every group with a record, by address. Broken records are included, since they are shown and explained."""
    return sorted(_groups(snapshot), key=lambda group: group.address)


def _groups(snapshot: Snapshot) -> Iterator[Group]:
    for type_, bucket in BUCKETS.items():
        for text, entry in snapshot.entries.get(bucket, {}).items():
            names = group_record.split_key(text)
            if names is None or entry.deleted:
                continue
            yield _group(
                snapshot, type_, names, group_record.record_of(names, entry), entry.value.decode(errors="replace")
            )


def refreshed_group(group: Group, snapshot: Snapshot) -> Group:
    """The same record, with streams and consumers that were read later."""
    return _group(snapshot, group.type, (group.stream, group.name), group.record, group.text)


def _group(snapshot: Snapshot, type_: Type, names: tuple[str, str], record: Record, text: str) -> Group:
    stream, name = names
    queue = stream_name(stream, name) if type_ == "elastic" else stream
    unread = snapshot.why_stream_unknown(stream) or snapshot.why_stream_unknown(queue)
    return Group(
        type=type_, stream=stream, name=name, record=record, text=text,
        source=snapshot.streams.get(stream), queue=snapshot.streams.get(queue),
        consumers=snapshot.consumers.get(queue, {}), unread=unread or snapshot.unknown.get(Scope.consumers(queue)),
    )  # fmt: skip
