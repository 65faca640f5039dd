"""What a server can be told: primitive calls, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum

from reconciler.model.dataclass import dataclass
from reconciler.model.resource import Config
from reconciler.model.shape import AddressText, Count


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
    GATE_COPY_LISTENS = "gate.copy_listens"
    GATE_MEMBERS_BACK = "gate.members_back"
    GATE_QUEUE_CAUGHT_UP = "gate.queue_caught_up"

    @property
    def waits(self) -> bool:
        """Is it a gate, which only looks and waits?"""
        return self.value.startswith("gate.")


DEEDS = {
    Call.STREAM_CREATE: "create stream {}",
    Call.STREAM_UPDATE: "update stream {}",
    Call.STREAM_DELETE: "delete stream {}",
    Call.CONSUMER_CREATE: "create consumer {}",
    Call.CONSUMER_UPDATE: "update consumer {}",
    Call.CONSUMER_DELETE: "delete consumer {}",
    Call.CONSUMER_PAUSE: "pause consumer {}",
    Call.CONSUMER_UNPIN: "unpin consumer {}",
    Call.CONSUMER_READ: "read consumer {}",
    Call.CONSUMER_RESET: "reset consumer {}",
    Call.QUEUE_READ: "read the position of stream {}",
    Call.QUEUE_SETTLE: "remove the start sequence of stream {}",
    Call.ENTRY_PUT: "write entry {}",
    Call.ENTRY_DELETE: "delete entry {}",
    Call.GATE_CONSUMERS_GONE: "wait until the consumers of {} are gone",
    Call.GATE_REPLICAS_CURRENT: "wait until the replicas of {} are current",
    Call.GATE_CONSUMER_EVERYWHERE: "wait until consumer {} is on every server",
    Call.GATE_IN_FLIGHT_DONE: "wait until what {} has delivered is acknowledged",
    Call.GATE_MIRROR_CAUGHT_UP: "wait until mirror {} has caught up",
    Call.GATE_COPY_LISTENS: "wait until stream {} listens to what it copies",
    Call.GATE_MEMBERS_BACK: "wait until the members of {} consume again",
    Call.GATE_QUEUE_CAUGHT_UP: "wait until queue {} has caught up",
}
"""What each is to do, as it follows `could not`; `{}` is what it is done to."""


class Bind(StrEnum):
    """What a step makes of the answer to it; `engine.bindings` has a function for each."""

    AFTER_ACK_FLOOR = "after_ack_floor"
    SOON = "soon"
    RESUME_POINT = "resume_point"
    SAME_SOURCE = "same_source"
    MADE = "made"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One primitive call as data. Updates say which fields to set and unset, never a whole body: the executor re-reads
    the raw object, checks that it still is what was planned from, patches, sends and verifies."""

    id: str
    """Unique in its plan and stable between plans; steps of several changes with one id are one step."""
    call: Call
    """The request; a `gate` only looks and waits."""
    on: tuple[str, ...]
    """What it is done to, or read of: (stream,), (stream, consumer) or (bucket, key)."""
    address: AddressText
    """The resource that needs it."""
    body: Config = field(default_factory=dict)
    """create: the configuration to send. pause: {"pause_until": …}. unpin: {"group": …}. reset: {"seq": …}.
    read: {"paused": true} waits a moment until a pause is in effect. queue.*: {"from": source, "timeout": ns}.

    Gates have a {"timeout": ns} and what they wait for: {"names": […]} (without: all of them), {"replicas": …},
    {"partitions": {member: […]}, "held": ns, "again": ns}, {"from": origin} or {"from": origin, "first": sequence,
    "subjects": […]}."""
    set: Config = field(default_factory=dict)
    """update: top-level fields to write, in the server's names and raw values. `metadata` is patched key by key."""
    unset: tuple[str, ...] = ()
    """update: top-level fields to leave out, which gives them the server's default; `metadata.KEY` removes one key."""
    value: str | None = None
    """entry.put: the record's text."""
    revision: Count | None = None
    """entry.*: the revision to expect; 0: the key must not exist."""
    undoes: str | None = None
    """Runs only when the step with this id was refused by the server, and instead of the steps after it."""
    bind: Bind | None = None
    """The function that makes a value of this step's answer, for later steps."""
    before: Config | None = None
    """update, delete, read: the planned-from values of what is touched, raw, absent fields as null; a live difference stops this branch."""
    level: Count = 0
    """`Nats-Required-Api-Level` to send."""
    uses: Mapping[str, str] = field(default_factory=dict)
    """Where such values belong, by the step that binds them: dotted path in `body` (lists by number), or in the record
    of entry.put."""
    after: tuple[str, ...] = ()
    """Ids of steps that must have succeeded before."""
    effect: str = ""
    """What this does, in words for people."""
