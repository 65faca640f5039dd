"""Consumers whose position lies beyond the end of their stream, which lost its last messages. They skip new
messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta

from reconciler.kinds.fields.times import moment
from reconciler.kinds.fields.words import some
from reconciler.model.diagnostic import Diagnostic, Severity
from reconciler.model.resource import Json
from reconciler.model.wire.snapshot import Snapshot

QUIET = timedelta(seconds=2)
"""Streams are read before consumers, so a message that was delivered in between has a number that the stream did not
have yet."""
FAR = 1 << 63
"""Nobody gets here by publishing. A stream that starts near the last possible number continues from 0."""


def consumers_beyond_end(snapshot: Snapshot) -> Iterator[Diagnostic]:
    """A warning for each consumer that continues beyond the end of its stream, unless it was active just now."""
    for stream, consumers in snapshot.consumers.items():
        stream_info = snapshot.streams.get(stream) or {}
        last: int | None = (stream_info.get("state") or {}).get("last_seq")
        for name, consumer in consumers.items():
            reached = (consumer.get("delivered") or {}).get("stream_seq", 0)
            if (
                last is not None
                and FAR > reached > last
                and not _waits_for_its_start(consumer, reached)
                and _was_quiet(consumer, stream_info)
            ):
                yield _warning_of(stream, name, reached, last)


def _waits_for_its_start(consumer: Mapping[str, Json], reached: int) -> bool:
    """Has it delivered nothing since it was created to start at a sequence that the stream has yet to reach?"""
    return reached < ((consumer.get("config") or {}).get("opt_start_seq") or 0)


def _was_quiet(consumer: Mapping[str, Json], stream: Mapping[str, Json]) -> bool:
    last_delivery, read_at = (consumer.get("delivered") or {}).get("last_active"), stream.get("ts")
    return not last_delivery or bool(read_at and moment(last_delivery) + QUIET < moment(read_at))


def _warning_of(stream: str, name: str, reached: int, last: int) -> Diagnostic:
    return Diagnostic(
        severity=Severity.WARNING, code="LE109", name="consumer-ahead", address=f"consumer/{stream}/{name}",
        message=f"it continues after sequence {reached}, but {stream} ends at {last}: the stream has lost its last messages, "
        f"as after a power cut, and this consumer may skip the next {some(reached - last, 'message')}",
        fix=f"before more is published, delete it (nats consumer rm {stream} {name}), and recreate it with deliver_policy: "
        f"by_start_sequence and opt_start_seq: {last + 1}",
    )  # fmt: skip
