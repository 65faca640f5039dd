"""What an account holds: the server's own answers as plain mappings, and what could not be read.

What an INFO answer shows of a stream, a copy or a consumer: moving, current, heard.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import field
from datetime import date
from typing import Annotated

from reconciler.model.dataclass import dataclass
from reconciler.model.resource import Json
from reconciler.model.shape import ALWAYS, UNWRITTEN, Count, Position
from reconciler.model.wire.permissions import Granted
from reconciler.model.wire.version import Version

SOME_CLUSTER = "(offline)"
"""The cluster of an imagined target whose files name none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where we work: identified by URL or server id only where nothing better is known, since those change while the
    account stays the same."""

    version: Version
    """The lowest version of nats-server among those that answered."""
    newest: Annotated[Version | None, UNWRITTEN] = None
    """The highest of them, if it is of another minor version."""
    level: Annotated[Count, ALWAYS] = 0
    """JetStream API level of the server, from `$JS.API.INFO`."""
    account: str | None = None
    """Name or public key of the account."""
    account_name: str | None = None
    """Name of an account that is known by its public key, where the server tells it: from 2.12 on."""
    user: str | None = None
    """Name of the user; never in a saved plan."""
    domain: str | None = None
    """JetStream domain."""
    cluster: str | None = None
    """Name of the cluster; absent for a single server."""
    peers: Position | None = None
    """How many servers take part in JetStream, where that is known; 1 for a single server."""
    server: Annotated[str | None, UNWRITTEN] = None
    """Id of the server we are connected to: another one after each of its starts."""
    is_all: Annotated[bool, UNWRITTEN] = False
    """That server holds all there is: it stands in no cluster, and nothing passes through it to another one."""
    is_imagined: Annotated[bool, UNWRITTEN] = False
    """Files and records tell what may be there; no server was asked."""
    is_throwaway: Annotated[bool, UNWRITTEN] = False
    """A throw-away server that stands for the account, and reaches no other account or domain."""
    at: Annotated[str | None, UNWRITTEN] = None
    """When that server was asked, by its own clock."""
    limits: Annotated[Mapping[str, Json], ALWAYS] = field(default_factory=dict)
    """Limits of the account, as the server reports them in `$JS.API.INFO`."""
    usage: Annotated[Mapping[str, Json], ALWAYS] = field(default_factory=dict)
    """What the account uses, as the server reports it in `$JS.API.INFO`."""

    @property
    def day(self) -> date | None:
        """Today, by that server's clock and in UTC, so that whoever works on one account agrees on it."""
        with suppress(TypeError, ValueError):
            return date.fromisoformat(str(self.at)[:10])
        return None

    @property
    def is_clustered(self) -> bool:
        """The server belongs to a cluster, so that streams can have replicas and be moved."""
        return self.cluster is not None


@dataclass(frozen=True, slots=True)
class Entry:
    """The last message of one key in a KV bucket."""

    value: bytes
    revision: int
    deleted: bool = False
    """The last message is a delete or purge marker; its revision is the one to expect in a compare-and-set."""
    stored: str = field(default="", compare=False)
    """When the server stored it, by its own clock; empty where nobody said."""


class Scope:
    """Names of things that can be unknown: unknown is never absent (an answer with `missing`, a timeout, no permission)."""

    STREAMS = "streams"

    @staticmethod
    def stream(name: str) -> str:
        """One stream: whether it exists, and what it is like."""
        return f"stream/{name}"

    @staticmethod
    def consumers(stream: str) -> str:
        """All consumers of one stream, where nobody could list them."""
        return f"consumers/{stream}"

    @staticmethod
    def consumer(stream: str, name: str) -> str:
        """One consumer that stands in the list, and of which no more is known."""
        return f"consumer/{stream}/{name}"

    @staticmethod
    def bucket(name: str) -> str:
        """The entries of one KV bucket; its stream may be known all the same."""
        return f"bucket/{name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """What one account holds, raw: the JSON API's own answers as plain mappings."""

    target: Target
    streams: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    """STREAM.LIST items by stream name."""
    consumers: Mapping[str, Mapping[str, Mapping[str, Json]]] = field(default_factory=dict)
    """CONSUMER.LIST items by stream and consumer name; a stream known to have none may be missing here."""
    copiers: Mapping[str, Mapping[str, Mapping[str, Json]]] = field(default_factory=dict)
    """The same of consumers that servers keep for themselves, to feed mirrors and sourcing streams: they have no
    owner."""
    entries: Mapping[str, Mapping[str, Entry]] = field(default_factory=dict)
    """Entries of the reserved buckets (`reconciler`, `static-consumer-groups`, `elastic-consumer-groups`) by key."""
    unknown: Mapping[str, str] = field(default_factory=dict)
    """Scope → why it could not be read."""
    denied: Collection[str] = ()
    """Those of them that this user may not read. The others may be readable in a moment."""
    may: Granted | None = None
    """What we may publish to; None: the server does not tell."""

    def config_of(self, name: str) -> Mapping[str, Json]:
        """Configuration of a live stream; empty if there is none."""
        return (self.streams.get(name) or {}).get("config") or {}

    def state_of(self, name: str) -> Mapping[str, Json]:
        """What the server says of the messages of a live stream; empty if there is none."""
        return (self.streams.get(name) or {}).get("state") or {}

    def why_stream_unknown(self, name: str) -> str | None:
        """Say why nobody can tell whether this stream exists; None when the snapshot can."""
        if name in self.streams:
            return None
        return self.unknown.get(Scope.stream(name)) or self.unknown.get(Scope.STREAMS)

    def why_consumer_unknown(self, stream: str, name: str) -> str | None:
        """Say why nobody can tell whether this consumer exists; None when the snapshot can."""
        if name in self.consumers.get(stream, {}):
            return None
        return (
            self.unknown.get(Scope.consumer(stream, name))
            or self.unknown.get(Scope.consumers(stream))
            or self.why_stream_unknown(stream)
        )

    def why_bucket_unknown(self, name: str) -> str | None:
        """Say why nobody can tell what stands in this KV bucket; None when the snapshot can."""
        return self.unknown.get(Scope.bucket(name)) or self.why_stream_unknown(f"KV_{name}")

    def is_bucket_denied(self, name: str) -> bool:
        """May this user not read the bucket, so that trying again is no use?"""
        return not {Scope.bucket(name), Scope.STREAMS}.isdisjoint(self.denied)


def is_moving(info: Mapping[str, Json], replicas: int) -> bool:
    """Does an INFO reply show a stream whose servers are being changed? Where it says nothing of them, it may be."""
    cluster = info.get("cluster")
    if not cluster:
        return True
    return "desired" in cluster or len(cluster.get("replicas") or ()) != replicas - 1


def is_stable(info: Mapping[str, Json], replicas: int) -> bool:
    """Does it show all replicas there and current, and nothing being changed?"""
    cluster = info.get("cluster") or {}
    current = all(peer.get("current") for peer in cluster.get("replicas") or ())
    return bool(cluster.get("leader")) and current and not is_moving(info, replicas)


def is_copier(consumer: Mapping[str, Json]) -> bool:
    """Does a server keep this consumer for itself, to feed a copy of the stream? From 2.14 on it lists some of them."""
    return bool(consumer["config"].get("sourcing") or consumer["config"].get("direct"))


HEARD = 3_000_000_000
"""Nanoseconds. An origin or a replica that is there speaks once a second."""


def is_heard(info: Mapping[str, Json], within: float = HEARD) -> bool:
    """Has its leader heard all replicas so short a time ago? For ten seconds one that is away counts as current."""
    return not lagging_servers(info, within)


def lagging_servers(info: Mapping[str, Json], within: float = HEARD) -> list[str]:
    """Servers whose replicas are behind, or were not heard."""
    replicas = (info.get("cluster") or {}).get("replicas") or ()
    return [peer["name"] for peer in replicas if not peer.get("current") or peer.get("active", 0) >= within]


def mirror_hears_origin(info: Mapping[str, Json]) -> bool:
    """Does a mirror hear from its origin?"""
    return hears_origin(info.get("mirror") or {})


def hears_origin(origin: Mapping[str, Json]) -> bool:
    """Does a mirror or a source hear from its origin, by what a server tells of it?"""
    return not origin.get("error") and 0 <= origin.get("active", -1) < HEARD


def partitions_of(consumer: Mapping[str, Json]) -> list[int]:
    """Return which partitions a member's consumer is for: the first token of its filters."""
    filters = consumer.get("filter_subjects") or [consumer.get("filter_subject") or ""]
    return sorted({int(token) for subject in filters if (token := subject.partition(".")[0]).isdecimal()})
