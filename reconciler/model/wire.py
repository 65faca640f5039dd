"""What a server holds (Snapshot), what it can be asked (Question) and what it can be told (Step), as plain data."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from typing import NamedTuple

from reconciler.model.permissions import Granted
from reconciler.model.resource import Config, Json


class Version(NamedTuple):
    """A nats-server version; pre-release suffixes are ignored, since the rules change with releases."""

    major: int
    minor: int
    patch: int = 0

    @classmethod
    def parse(cls, text: str) -> Version:
        """`2.12`, `2.12.8`, `v2.14.0-RC.1`."""
        numbers = text.strip().removeprefix("v").split("-")[0].split("+")[0].split(".")
        try:
            major, minor, patch = [*(int(n) for n in numbers), 0, 0][:3]
        except ValueError:
            raise ValueError(f'`{text}` is not a server version; write for example 2.12.8 or "2.12"') from None
        return cls(major, minor, patch)

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"

    @property
    def short(self) -> str:
        """`2.12`, and `2.12.5` where the patch says something: neither the first one nor the newest to come."""
        return str(self) if 0 < self.patch < 999 else f"{self.major}.{self.minor}"


SUPPORTED = (Version(2, 11), Version(2, 12), Version(2, 14), Version(2, 15))
"""First patch of each supported minor; newer minors are judged by the newest rules we know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where we work: identified by URL or server id only where nothing better is known, since those change while the
    account stays the same."""

    version: Version
    """The lowest version among the servers that answered."""
    level: int = 0
    """JetStream API level, from `$JS.API.INFO`."""
    account: str | None = None
    user: str | None = None
    domain: str | None = None
    cluster: str | None = None
    """Cluster name; None for a single server."""
    peers: int | None = None
    """How many servers take part in JetStream, where known; 1 for a single server."""
    server: str | None = None
    """Id of the server we are connected to: another one after each of its starts."""
    at: str | None = None
    """When that server was asked, by its own clock."""
    limits: Mapping[str, Json] = field(default_factory=dict)
    """`$JS.API.INFO` → `limits`, raw."""
    usage: Mapping[str, Json] = field(default_factory=dict)
    """`$JS.API.INFO` without its limits, raw."""

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
    """The same of consumers that servers keep for themselves, to feed mirrors and sourcing streams: they are nobody's."""
    entries: Mapping[str, Mapping[str, Entry]] = field(default_factory=dict)
    """Entries of the reserved buckets (`reconciler`, `static-consumer-groups`, `elastic-consumer-groups`) by key."""
    unknown: Mapping[str, str] = field(default_factory=dict)
    """Scope → why it could not be read."""
    denied: Collection[str] = ()
    """Those of them that this user may not read. The others may be readable in a moment."""
    may: Granted | None = None
    """What we may publish to; None: the server does not tell."""

    def unknown_stream(self, name: str) -> str | None:
        """Why nobody can say whether this stream exists; None when the snapshot can."""
        if name in self.streams:
            return None
        return self.unknown.get(Scope.stream(name)) or self.unknown.get(Scope.STREAMS)

    def unknown_consumer(self, stream: str, name: str) -> str | None:
        """Why nobody can say whether this consumer exists; None when the snapshot can."""
        if name in self.consumers.get(stream, {}):
            return None
        return (
            self.unknown.get(Scope.consumer(stream, name))
            or self.unknown.get(Scope.consumers(stream))
            or self.unknown_stream(stream)
        )

    def unknown_bucket(self, name: str) -> str | None:
        """Why nobody can say what stands in this KV bucket; None when the snapshot can."""
        return self.unknown.get(Scope.bucket(name)) or self.unknown_stream(f"KV_{name}")

    def denied_bucket(self, name: str) -> bool:
        """This user may not read the bucket, so that trying again is no use."""
        return not {Scope.bucket(name), Scope.STREAMS}.isdisjoint(self.denied)


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectCounts:
    """Question: how many messages does `stream` hold per subject matching `filter`? Answer: {subject: count}."""

    stream: str
    filter: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagesFrom:
    """Question: which is the first message on `filter` at or after `start`, and how many are there from it on?
    Answer: {"first": sequence or None, "messages": number}, without `messages` where nobody can count them."""

    stream: str
    start: int | str
    """A sequence, or a time as the server writes it."""
    filter: str = ">"


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagesSince:
    """Question: which is the first message of `stream` that was stored at `since` or later, by the time of each message, and
    how many are there from it on? Answer: as of MessagesFrom. Servers that search by time among deleted messages may find
    another one, and start a consumer there."""

    stream: str
    since: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedFrom:
    """Question: of what `stream` took in from `source` and still holds, how many messages does the source not hold any more,
    at most? Answer: {"gone": number}."""

    stream: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Peers:
    """Question: which servers take part in JetStream? Answer: {"servers": [{"cluster": name, "tags": [tag]}]}, not
    necessarily more than `least` of one cluster, where any will do."""

    least: int
    placement: tuple[str, tuple[str, ...]] = ("", ())
    """The cluster, where one is named, and the tags they must have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Holes:
    """Question: which sequences between the first and the last message of `stream` hold none?
    Answer: {"deleted": [sequence, …]}, in order."""

    stream: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Oldest:
    """Question: which of the oldest messages of `stream` have these bytes, or just more, together?
    Answer: {"first": sequence of the next one, "messages": number, "bytes": number}; `first` is null where they are too many to
    be read."""

    stream: str
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Largest:
    """Question: of the `newest` messages of `stream`, how many are larger than `above` bytes, as the server compares them with
    max_msg_size? Answer: {"read": number, "larger": number, "largest": bytes}."""

    stream: str
    above: int
    newest: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CopiedUpTo:
    """Question: which message of an origin is the last one that `stream` copied through a source and still stores? Messages
    say their source: the origin's name, what is copied of it, and under which subjects. Answer: {"seq": sequence in the
    origin, 0 for none, "others": did it copy the same origin through other sources, by what was read}; without `seq`, and
    with a bound `least` at most, where too many messages would have to be read."""

    stream: str
    source: tuple[str, str, str]
    subjects: tuple[str, ...]
    """Where its copies lie."""


Question = SubjectCounts | MessagesFrom | MessagesSince | QueuedFrom | Peers | Holes | Oldest | Largest | CopiedUpTo


@dataclass(frozen=True, slots=True)
class Unanswered:
    """The question could not be answered; nobody guesses."""

    reason: str


Facts = Mapping[Question, Json | Unanswered]


def is_moving(info: Mapping[str, Json], replicas: int) -> bool:
    """Does an INFO reply show a stream whose servers are being changed? Where it says nothing of them, it may be."""
    cluster = info.get("cluster")
    if not cluster:
        return True
    return "desired" in cluster or len(cluster.get("replicas") or ()) != replicas - 1


def stands_still(info: Mapping[str, Json], replicas: int) -> bool:
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
    return not away(info, within)


def away(info: Mapping[str, Json], within: float = HEARD) -> list[str]:
    """Servers whose replicas are behind, or were not heard."""
    replicas = (info.get("cluster") or {}).get("replicas") or ()
    return [peer["name"] for peer in replicas if not peer.get("current") or peer.get("active", 0) >= within]


def copies(info: Mapping[str, Json]) -> bool:
    """Does a mirror hear from its origin?"""
    return hears(info.get("mirror") or {})


def hears(told: Mapping[str, Json]) -> bool:
    """The same of a mirror or a source, by what a server tells of it."""
    return not told.get("error") and 0 <= told.get("active", -1) < HEARD


def partitions_of(consumer: Mapping[str, Json]) -> list[int]:
    """Which ones a member's consumer is for: the first token of its filters."""
    filters = consumer.get("filter_subjects") or [consumer.get("filter_subject") or ""]
    return sorted({int(token) for one in filters if (token := one.partition(".")[0]).isdecimal()})


class Call(StrEnum):
    """The primitive calls a server understands; nothing else is ever written."""

    STREAM_CREATE = "stream.create"
    STREAM_UPDATE = "stream.update"
    STREAM_DELETE = "stream.delete"
    CONSUMER_CREATE = "consumer.create"
    CONSUMER_UPDATE = "consumer.update"
    CONSUMER_DELETE = "consumer.delete"
    CONSUMER_PAUSE = "consumer.pause"
    CONSUMER_UNPIN = "consumer.unpin"
    CONSUMER_READ = "consumer.read"
    """Changes nothing: what it reads is bound for later steps."""
    CONSUMER_RESET = "consumer.reset"
    QUEUE_READ = "queue.read"
    """Changes nothing: reads how far a stream that another one feeds has come, and binds it for later steps."""
    QUEUE_SETTLE = "queue.settle"
    """Takes the start sequence off such a stream as soon as it has stored a message; where none comes, a later run does."""
    ENTRY_PUT = "entry.put"
    ENTRY_DELETE = "entry.delete"
    GATE_CONSUMERS_GONE = "gate.consumers_gone"
    GATE_REPLICAS_CURRENT = "gate.replicas_current"
    GATE_CONSUMER_EVERYWHERE = "gate.consumer_everywhere"
    GATE_IN_FLIGHT_DONE = "gate.in_flight_done"
    GATE_MIRROR_CAUGHT_UP = "gate.mirror_caught_up"
    GATE_MEMBERS_BACK = "gate.members_back"

    @property
    def waits(self) -> bool:
        """A gate: it only looks and waits."""
        return self.value.startswith("gate.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One primitive call as data. Updates say which fields to set and unset, never a whole body: the executor re-reads
    the raw object, checks that it still is what was planned from, patches, sends and verifies."""

    id: str
    """Unique in its plan and stable between plans; steps of several changes with one id are one step."""
    call: Call
    on: tuple[str, ...]
    """What it is done to, or read of: (stream,), (stream, consumer) or (bucket, key)."""
    address: str
    """The resource this serves."""
    body: Config = field(default_factory=dict)
    """create: the configuration to send. pause: {"pause_until": …}. unpin: {"group": …}. reset: {"seq": …}.
    read: {"paused": true} waits a moment until a pause is in effect. gates: {"timeout": ns} and what they wait for:
    {"names": […]} (without: all of them), {"replicas": …}, {"partitions": {member: […]}, "held": ns, "again": ns} or
    {"from": origin, "first": sequence, "subjects": […]}. queue.*: {"from": source, "timeout": ns}."""
    set: Config = field(default_factory=dict)
    """update: top-level fields to write, in the server's names and raw values. `metadata` is patched key by key."""
    unset: tuple[str, ...] = ()
    """update: top-level fields to leave out, which gives them the server's default; `metadata.KEY` removes one key."""
    value: str | None = None
    """entry.put: the record's text."""
    revision: int | None = None
    """entry.*: the revision to expect; 0: the key must not exist."""
    before: Config | None = None
    """update, delete, read: the planned-from values of what is touched, raw, absent fields as null; a live difference stops this branch."""
    level: int = 0
    """`Nats-Required-Api-Level` to send."""
    bind: str | None = None
    """Name of the function (`engine.bindings`) that makes a value of this step's answer, for later steps that use it."""
    uses: Mapping[str, str] = field(default_factory=dict)
    """Where such values belong, by the step that binds them: dotted path in `body` (lists by number), or in the record
    of entry.put."""
    after: tuple[str, ...] = ()
    """Ids of steps that must have succeeded before."""
    undoes: str | None = None
    """Runs only when the step with this id was refused by the server, and instead of the steps after it."""
    effect: str = ""
    """What this does, in words for people."""
