"""Finds a stream of the account that captures API audit events, says since when, and reads it.

It reads without a consumer, in direct batches: those leave no audit event of their own, so looking does not add any.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from reconciler.model.dataclass import dataclass
from reconciler.model.resource import Json
from reconciler.model.wire.snapshot import Snapshot
from reconciler.server.read.direct import batch
from reconciler.server.read.read_kv import STALL, is_unbroken
from reconciler.server.wire.api import JetStream
from reconciler.server.wire.audit import SUBJECT, Event, event_of
from reconciler.server.wire.pipeline import NoAnswer, Reply

BATCH = 2_000
MOST = 50_000
"""The most events to read, the newest ones; every request of every client leaves one."""


def capturing_stream(snapshot: Snapshot) -> str | None:
    """Return the stream with the longest memory among those that capture the events."""
    capturing = [
        name for name, info in snapshot.streams.items() if captures_audit_events(info["config"].get("subjects") or ())
    ]
    return min(capturing, key=lambda name: (_complete_since(snapshot.streams[name]) or _NEVER, name), default=None)


def captures_audit_events(subjects: Iterable[str]) -> bool:
    """Does a stream with these subjects store the audit events of the JetStream API?"""
    return any(_matches(subject.split("."), SUBJECT.split(".")) for subject in subjects)


def _matches(pattern: list[str], subject: list[str]) -> bool:
    if pattern and pattern[-1] == ">":
        return len(subject) >= len(pattern) and _matches(pattern[:-1], subject[: len(pattern) - 1])
    return len(pattern) == len(subject) and all(a in ("*", b) for a, b in zip(pattern, subject, strict=True))


_NEVER = datetime.max.replace(tzinfo=UTC)


def _complete_since(info: Mapping[str, Json]) -> datetime | None:
    """The time from which it has every event."""
    state = info.get("state") or {}
    begins = info.get("created") if state.get("first_seq", 0) <= 1 else state.get("first_ts")
    return moment(str(begins or ""))


def moment(text: str) -> datetime | None:
    """Parse a time as the server writes it, to the microsecond."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def reaches_back_to(info: Mapping[str, Json], when: datetime) -> bool:
    """Does the stream hold every event since then? False also where its beginning is unknown."""
    since = _complete_since(info)
    return since is not None and since <= when


@dataclass(frozen=True, slots=True)
class Captured:
    events: list[Event]
    """In order."""
    is_cut: bool
    """Too many events happened: these are the newest."""


async def events_since(js: JetStream, stream: str, when: datetime, *, last: int) -> Captured | str:
    """Return every change from then on, or why they cannot be read. `last` is the newest message."""
    messages = await _read_events(js, stream, {"start_time": when.isoformat().replace("+00:00", "Z")}, 1)
    if isinstance(messages, str):
        return messages
    first = _sequence(messages[0]) if messages else last + 1
    start, events = max(first, last - MOST), list[Event]()
    while start <= last:
        messages = await _read_events(js, stream, {"seq": start}, BATCH)
        if isinstance(messages, str):
            return messages
        events += [change for message in messages if (change := event_of(message.data)) is not None]
        start = _sequence(messages[-1]) + 1 if messages else last + 1
    return Captured(events, is_cut=first < last - MOST)


async def _read_events(js: JetStream, stream: str, begin: Mapping[str, Json], number: int) -> list[Reply] | str:
    """Read this many events from there on; fewer only where there are no more."""
    replies = await batch(js, stream, {**begin, "batch": number, "next_by_subj": SUBJECT}, within=STALL)
    if isinstance(replies, NoAnswer):
        return f"stream {stream} could not be read ({replies}); reading it needs allow_direct: true, and permission"
    *messages, end = replies
    if end.status not in ("204", "404") or not is_unbroken(messages):
        return f"stream {stream} could not be read to its end"
    return messages


def _sequence(message: Reply) -> int:
    return int(message.headers["Nats-Sequence"])
