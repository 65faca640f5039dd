"""What the JetStream API answered: what was asked for, a refusal by err_code, or why there was no answer. Nothing is sent
here."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic_core import from_json

from reconciler.model.dataclass import dataclass
from reconciler.model.resource import Json
from reconciler.server.wire.pipeline import ForNow, NoAnswer, Reply, Silence

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
    def is_for_want_of_a_server(self) -> bool:
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


def lasts(why: str | None) -> bool:
    """Is a write forbidden, and not only for now?"""
    return why is not None and not isinstance(why, ForNow)


def passes(answer: Refusal | NoAnswer) -> bool:
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
