"""A stream of the account that captures API audit events: which one does, since when, and what it holds.

Read without a consumer, in direct batches: those leave no audit event of their own, so looking does not add to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from reconciler.core.audit import SUBJECT, Event, event
from reconciler.core.resource import Json
from reconciler.core.wire import Snapshot
from reconciler.server.api import JetStream, NoAnswer, encoded
from reconciler.server.read_kv import STALL, ends, is_unbroken

BATCH = 2_000
MOST = 200_000
"""Events that are read at most; every request of every client leaves one."""


def capture(snapshot: Snapshot) -> str | None:
    """The stream with the longest memory among those that capture the events."""
    found = [name for name, info in snapshot.streams.items() if _captures(info["config"])]
    return min(found, key=lambda name: (_since(snapshot.streams[name]) or _NEVER, name), default=None)


def _captures(config: Mapping[str, Json]) -> bool:
    return any(_matches(subject.split("."), SUBJECT.split(".")) for subject in config.get("subjects") or ())


def _matches(pattern: list[str], subject: list[str]) -> bool:
    if pattern and pattern[-1] == ">":
        return len(subject) >= len(pattern) and _matches(pattern[:-1], subject[: len(pattern) - 1])
    return len(pattern) == len(subject) and all(a in ("*", b) for a, b in zip(pattern, subject, strict=True))


_NEVER = datetime.max.replace(tzinfo=UTC)


def _since(info: Mapping[str, Json]) -> datetime | None:
    """From when on it has every event."""
    state = info.get("state") or {}
    begins = info.get("created") if state.get("first_seq", 0) <= 1 else state.get("first_ts")
    return moment(str(begins or ""))


def moment(text: str) -> datetime | None:
    """A time as the server writes it, to the microsecond."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def reaches_back_to(info: Mapping[str, Json], when: datetime) -> bool:
    since = _since(info)
    return since is not None and since <= when


async def events_since(js: JetStream, stream: str, when: datetime, margin: timedelta) -> list[Event] | str:
    """Everything that was changed from a little before then on, in order; or why that cannot be told."""
    found: list[Event] = []
    wanted: dict[str, Json] = {"start_time": (when - margin).isoformat().replace("+00:00", "Z")}
    subject, read = f"{js.prefix}DIRECT.GET.{stream}", 0
    while read < MOST:
        replies = await js.pipeline.stream(
            subject, encoded({**wanted, "batch": BATCH, "next_by_subj": SUBJECT}), within=STALL, ends=ends
        )
        if isinstance(replies, NoAnswer):
            return f"stream {stream} could not be read ({replies}); it needs allow_direct: true"
        *messages, end = replies
        if end.status not in ("204", "404") or not is_unbroken(messages):
            return f"stream {stream} could not be read to its end"
        found += [one for message in messages if (one := event(message.data)) is not None]
        if end.status == "404" or not messages or end.headers.get("Nats-Num-Pending", "0") == "0":
            return found
        read += len(messages)
        wanted = {"seq": int(messages[-1].headers["Nats-Sequence"]) + 1}
    return f"stream {stream} holds more than {MOST:_} events since then"
