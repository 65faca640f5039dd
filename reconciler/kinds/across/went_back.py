"""Streams that came back without their last messages, after a power cut or from the memory of a server that restarted.
A consumer, a copy or the record knows a later message. Consumers and copies skip new messages up to there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta

from reconciler.changes.view import View
from reconciler.engine.bindings import age_and_progress
from reconciler.kinds.fields.times import moment
from reconciler.kinds.fields.words import some
from reconciler.kinds.losses.made_again import purge_advice
from reconciler.model.diagnostic import Diagnostic, Severity
from reconciler.model.resource import Address, Json
from reconciler.model.wire.snapshot import Snapshot

QUIET = timedelta(seconds=2)
"""Streams are read before consumers, so a message that was delivered in between has a number that the stream did not
have yet."""
FAR = 1 << 63
"""Nobody gets here by publishing. A stream that starts near the last possible number continues from 0."""


def went_back_warnings(view: View) -> Iterator[Diagnostic]:
    """A warning for each consumer, copy and record that knows a later message than its stream."""
    yield from consumer_beyond_end_warnings(view.snapshot)
    yield from _copies_beyond_end(view)
    yield from _records_beyond_end(view)


def consumer_beyond_end_warnings(snapshot: Snapshot) -> Iterator[Diagnostic]:
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
                and _has_no_recent_delivery(consumer, stream_info)
            ):
                yield _consumer_beyond_end_warning(stream, name, reached, last)


def _waits_for_its_start(consumer: Mapping[str, Json], reached: int) -> bool:
    """Has it delivered nothing since it was created to start at a sequence that the stream has yet to reach?"""
    return reached < ((consumer.get("config") or {}).get("opt_start_seq") or 0)


def _has_no_recent_delivery(consumer: Mapping[str, Json], stream: Mapping[str, Json]) -> bool:
    last_delivery, read_at = (consumer.get("delivered") or {}).get("last_active"), stream.get("ts")
    return not last_delivery or bool(read_at and moment(last_delivery) + QUIET < moment(read_at))


def _consumer_beyond_end_warning(stream: str, name: str, reached: int, last: int) -> Diagnostic:
    return Diagnostic(
        severity=Severity.WARNING, code="LE109", name="stream-went-back", address=f"consumer/{stream}/{name}",
        message=f"it continues after sequence {reached}, but {stream} ends at {last}: the stream has lost its last messages, "
        f"as after a power cut, and this consumer may skip the next {some(reached - last, 'message')}",
        fix=f"before more is published, delete it (nats consumer rm {stream} {name}), and recreate it with deliver_policy: "
        f"by_start_sequence and opt_start_seq: {last + 1}",
    )  # fmt: skip


def _copies_beyond_end(view: View) -> Iterator[Diagnostic]:
    """Mirrors, and sources of servers that say how far these have come. Groups say it of their queues (XX557)."""
    for address in view.live:
        name = view.stream_of(address) if view.is_stream(address) else None
        for origin, reached in _last_copied_by_origin(view.snapshot.streams.get(name or "") or {}):
            stream, copy = view.snapshot.streams.get(origin), view.snapshot.streams[name or ""]
            last = (stream or {}).get("state", {}).get("last_seq")
            if stream and last is not None and FAR > reached > last and _has_no_recent_copy(copy, stream):
                yield _copy_beyond_end_warning(address, origin, reached, stream)


def _last_copied_by_origin(info: Mapping[str, Json]) -> Iterator[tuple[str, int]]:
    """The last message of each origin in this account that a copy has."""
    config, last = info.get("config") or {}, (info.get("state") or {}).get("last_seq", 0)
    mirror = config.get("mirror")
    if mirror and "external" not in mirror and last >= (mirror.get("opt_start_seq") or 0):
        yield mirror["name"], last
    for reported in info.get("sources") or ():
        if reported.get("seq") and "external" not in reported:
            yield reported["name"], reported["seq"]


def _has_no_recent_copy(copy: Mapping[str, Json], origin: Mapping[str, Json]) -> bool:
    """Was the newest copy stored well before its origin was read, and after that was created? Of a stream that was recreated,
    a server that tells how far sources have come copies all."""
    stored, read_at, created = (copy.get("state") or {}).get("last_ts"), origin.get("ts"), origin.get("created")
    if not stored or not read_at or moment(stored) + QUIET >= moment(read_at):
        return False
    return bool(copy["config"].get("mirror") or not created or moment(created) < moment(stored))


def _copy_beyond_end_warning(address: Address, origin: str, reached: int, stream: Mapping[str, Json]) -> Diagnostic:
    last, is_empty = stream["state"]["last_seq"], not stream["state"].get("messages")
    advice = (
        f"{purge_advice(origin, reached + 1).removeprefix('right after the apply, ')}, so that it skips nothing"
        if is_empty
        else f"copy {origin} to a second stream, and read from that what this one skips"
    )
    return Diagnostic(
        severity=Severity.WARNING, code="LE109", name="stream-went-back", address=str(address),
        message=f"it has copied {origin} up to sequence {reached}, but {origin} ends at {last}: {_cause(origin, stream)}, and this "
        f"copy may skip the next {some(reached - last, 'message')}",
        fix=advice,
    )  # fmt: skip


def _cause(stream: str, info: Mapping[str, Json]) -> str:
    if info["config"].get("storage") == "memory":
        return f"{stream} has lost its messages, as a stream in memory does when its server restarts"
    return f"{stream} has lost its last messages, as after a power cut, or was recreated"


def _records_beyond_end(view: View) -> Iterator[Diagnostic]:
    """Streams, and consumers in memory, that had come further when they were recorded, and are the same still."""
    for address, owned in view.ledger.items():
        at = owned.seen.get("at") or 0
        change, info = view.changes.get(address), _info_of(address, view) if at else None
        if not info or owned.seen.get("created") != info.get("created") or (change and change.made_anew):
            continue
        now = age_and_progress(info)["at"]
        if FAR > at > now:
            day = f" on {owned.written[:10]}" if owned.written else ""
            yield (_recorded_consumer_warning if address.kind == "consumer" else _recorded_stream_warning)(
                address, f"when it was recorded{day}", at, now, info
            )


def _info_of(address: Address, view: View) -> Mapping[str, Json] | None:
    """What the server says of a stream, or of a consumer in memory. One on disk that went back delivers again, and skips
    nothing."""
    if address.kind != "consumer":
        return view.snapshot.streams.get(view.stream_of(address) or "") if view.is_stream(address) else None
    stream, name = address.names
    info = view.snapshot.consumers.get(stream, {}).get(name)
    is_in_memory = info and (
        info["config"].get("mem_storage") or view.snapshot.config_of(stream).get("storage") == "memory"
    )
    return info if is_in_memory else None


def _recorded_stream_warning(address: Address, when: str, at: int, now: int, info: Mapping[str, Json]) -> Diagnostic:
    return Diagnostic(
        severity=Severity.WARNING, code="LE109", name="stream-went-back", address=str(address),
        message=f"it ended at sequence {at} {when}, and ends at {now} now: {_cause(info['config']['name'], info)}",
        fix="restore a backup, if there is one (nats stream restore); what reads or copies it may skip what comes up to the old end",
    )  # fmt: skip


def _recorded_consumer_warning(address: Address, when: str, at: int, now: int, _info: Mapping[str, Json]) -> Diagnostic:
    return Diagnostic(
        severity=Severity.WARNING, code="LE109", name="stream-went-back", address=str(address),
        message=f"it had delivered {some(at, 'message')} {when}, and has delivered {now:_} now: it has lost its position, as a "
        "consumer in memory does when its server restarts, or was reset",
        fix="let its clients expect messages that they have processed already; copies on several servers (num_replicas) keep its position",
    )  # fmt: skip
