"""What the JetStream API answered: what was asked for, a refusal by err_code, or why there was no answer. Nothing is sent
here.

What to do about a request that the server refused, by its cause.
"""

from __future__ import annotations

from collections.abc import Mapping

from pydantic_core import from_json

from reconciler.model.dataclass import dataclass
from reconciler.model.resource import Json
from reconciler.server.wire.pipeline import MomentaryReason, NoAnswer, Reply, Silence

TRANSIENT = frozenset({10004, 10008, 10118, 10119, 10124, 10167, 10202, 10210, 10211, 10226})
"""err_codes that may pass by themselves: no leader, incomplete, offline, too many requests, reconfiguring."""
NOTHING_DONE = frozenset({10008, 10124, 10167, 10210, 10211, 10226})
"""Transient err_codes that also say that a write did not happen, so that it may be sent again."""
NO_PEERS = 10005
"""No servers for so many replicas. It passes if the server says that one is offline, which only its text shows."""
WRONG_LAST_SEQUENCE = frozenset({10071, 10164})
IN_FLIGHT = 10164
"""Another write to that key is in flight on a replicated bucket: perhaps our own, whose answer was lost."""
PASSING = frozenset({Silence.NO_RESPONDERS, Silence.OFFLINE})
"""Nothing was done; a server that restarts or elects a leader will answer again."""
NO_STREAM, NO_CONSUMER, NO_MESSAGE = 10059, 10014, 10037
"""err_codes for objects that do not exist."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """The server understood and refused. Decide on `err_code` only; `code` says nothing about retrying."""

    err_code: int
    code: int
    description: str

    @property
    def is_peer_offline(self) -> bool:
        """Is a server offline that the replicas need? Then the request may succeed once it is back."""
        return self.err_code == NO_PEERS and "offline" in self.description

    @property
    def is_for_want_of_disk(self) -> bool:
        """Is the disk full? No err_code says so, and before 2.14 a server does not say why it could not create a
        consumer's store."""
        return "no space left on device" in self.description or self.description.startswith("error creating store")

    def __str__(self) -> str:
        return f"{self.description} ({self.err_code})"


@dataclass(frozen=True, slots=True)
class Conflict:
    """Somebody else wrote this key since the revision we expected."""

    expected: int
    description: str

    def __str__(self) -> str:
        return f"expected revision {self.expected}, but {self.description}"


@dataclass(frozen=True, slots=True)
class Stored:
    revision: int


NO_LEADER = Refusal(10008, 503, "there is no leader, and the copy that answered may be behind")
Answer = Mapping[str, Json] | Refusal | NoAnswer
Put = Stored | Conflict | Refusal | NoAnswer


def is_lasting(why: str | None) -> bool:
    """Is a write forbidden, and not only for now?"""
    return why is not None and not isinstance(why, MomentaryReason)


def is_passing(answer: Refusal | NoAnswer) -> bool:
    """May the answer be different in a moment? A missing permission or a permanent refusal stays."""
    return answer.err_code in TRANSIENT if isinstance(answer, Refusal) else answer.why is not Silence.DENIED


def answer_of(reply: Reply | NoAnswer) -> Answer:
    """Interpret a reply of the JSON API; `error` counts before everything else in it."""
    if isinstance(reply, NoAnswer):
        return reply
    try:
        body: Mapping[str, Json] | None = from_json(reply.data)  # twice as fast as the standard library's
    except ValueError:
        body = None
    if not isinstance(body, dict):
        return Refusal(0, 0, f"something other than JetStream answered: {reply.data[:80]!r}")
    error = body.get("error")
    if error is None:
        return body
    return Refusal(error.get("err_code", 0), error.get("code", 0), error.get("description", "no description"))


CORRECT = "Correct what the server names and plan again. The plan should have foretold this: please report it."
PLAN_AGAIN = "Run `reconciler plan` again and look at the live state."
FULL_DISK = (
    "make room on the server's disk, which is full (its log says more if it is not), and restart that server if it "
    "still stores nothing"
)
NOTHING_LEFT = 10047
"""The account or the server has no file storage left to reserve."""
TAKEN_ELSEWHERE = (
    "A mirror or source in another account or domain may take these messages. Before 2.14 a server does not list the "
    "consumer that feeds it; `nats stream report`, run there, shows it. If there is none, please report it."
)
FIXES = {
    10005: (
        "The cluster has no servers for so many replicas, or none that match the placement; lower "
        "num_replicas, or add servers."
    ),
    10008: "The cluster has no leader at the moment; apply again when it has one.",
    10023: "The server lacks resources; ask its operator, then apply again.",
    10025: "The server does not know a field of this configuration: it is older than the plan assumed. " + PLAN_AGAIN,
    10027: "The account's limit of streams is reached; raise it or delete streams.",
    NOTHING_LEFT: "The account or server has no storage left to reserve; lower max_bytes or raise the limit.",
    10028: "The account or server has no memory left to reserve; lower max_bytes or raise the limit.",
    10058: "Somebody created a stream of this name with another configuration. " + PLAN_AGAIN,
    10099: TAKEN_ELSEWHERE,
    10100: TAKEN_ELSEWHERE,
    10148: "Somebody created a consumer of this name with another configuration. " + PLAN_AGAIN,
    10185: "The server's API level is too low for this configuration. " + PLAN_AGAIN,
}


def advice_for(refusal: Refusal) -> str:
    """Return the way out of a refusal to make, change or delete an object."""
    return f"{FULL_DISK}; then apply again." if refusal.is_for_want_of_disk else FIXES.get(refusal.err_code, CORRECT)
