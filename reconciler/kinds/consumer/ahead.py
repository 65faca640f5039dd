"""Consumers that stand behind the end of their stream, which came back without its last messages: they pass over new ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta

from reconciler.kinds.fields.times import moment
from reconciler.kinds.fields.words import some
from reconciler.model.diagnostic import Diagnostic, Severity
from reconciler.model.resource import Json
from reconciler.model.wire.snapshot import Snapshot

QUIET = timedelta(seconds=2)
"""Streams are read before consumers: what was delivered in between has numbers that the stream had not yet."""
FAR = 1 << 63
"""Nobody comes there by publishing; a stream that begins near the last number of all counts on from 0."""


def ahead(snapshot: Snapshot) -> Iterator[Diagnostic]:
    """A warning for each consumer that delivered beyond the end of its stream. One that was active just now is left out."""
    for stream, consumers in snapshot.consumers.items():
        info = snapshot.streams.get(stream) or {}
        last: int | None = (info.get("state") or {}).get("last_seq")
        for name, one in consumers.items():
            reached = (one.get("delivered") or {}).get("stream_seq", 0)
            if last is not None and FAR > reached > last and _was_quiet(one, info):
                yield _ahead(stream, name, reached, last)


def _was_quiet(consumer: Mapping[str, Json], stream: Mapping[str, Json]) -> bool:
    delivered, read = (consumer.get("delivered") or {}).get("last_active"), stream.get("ts")
    return not delivered or bool(read and moment(delivered) + QUIET < moment(read))


def _ahead(stream: str, name: str, reached: int, last: int) -> Diagnostic:
    return Diagnostic(
        severity=Severity.WARNING, code="LE109", name="consumer-ahead", address=f"consumer/{stream}/{name}",
        message=f"it has delivered up to sequence {reached}, and {stream} ends at {last}: the stream came back without its last "
        f"messages, as after a power cut, and of those that come now the first {some(reached - last, 'message')} may be passed over",
        fix=f"before more is published: delete it (nats consumer rm {stream} {name}), and make it again with deliver_policy: "
        f"by_start_sequence and opt_start_seq: {last + 1}",
    )  # fmt: skip
