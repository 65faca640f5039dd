"""Reads the messages of a stream between two sequences, exactly: none is missing because a replica lags, none comes
twice.

Direct batches are fast, but any replica answers them. The leader has what a replica lacks, so it is asked
wherever a batch ends before the last wanted sequence. Neither request leaves an event in an audit trail, so a stream of
such events can be followed without feeding it.
"""

from __future__ import annotations

import asyncio
import base64
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import field

from reconciler.model.dataclass import dataclass
from reconciler.model.resource import Json
from reconciler.server.read.direct import batch
from reconciler.server.read.read_kv import STALL, is_unbroken
from reconciler.server.wire.answers import NO_MESSAGE, NO_STREAM, Refusal
from reconciler.server.wire.api import JetStream
from reconciler.server.wire.pipeline import NoAnswer, Reply, Silence

BATCH, BYTES = 2_000, 4 << 20
"""Messages in one direct batch."""
LANES, LANE = 32, 64
"""Requests at a time, and sequences that each goes through, where messages must be asked for one by one."""
_OURS = frozenset({"Nats-Stream", "Nats-Subject", "Nats-Sequence", "Nats-Time-Stamp", "Nats-Num-Pending",
                   "Nats-Last-Sequence", "Nats-UpTo-Sequence"})  # fmt: skip
"""Headers that the server adds to a message that it returns."""
_HEADER = re.compile(r"^([^:\r\n]+):[ \t]*([^\r\n]*)", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    sequence: int
    time: str
    """When the server stored it."""
    subject: str
    headers: Mapping[str, str] = field(default_factory=dict)
    data: bytes = b""


Problem = Refusal | NoAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """The wanted range of a stream: the messages after one sequence, up to and including another."""

    stream: str
    after: int
    upto: int
    matching: str = ">"


class Unreadable(Exception):
    """A range cannot be read to its end, so what came so far is incomplete."""


class Gone(Unreadable):
    """The server itself says that there is no more, now or later: the stream was deleted, recreated or set back."""


async def last_message(js: JetStream, stream: str, matching: str = ">") -> Message | Problem | None:
    """Return the newest message, as the leader knows it; None: there is none."""
    return await _from_leader(js, stream, {"last_by_subj": matching})


async def next_message_after(
    js: JetStream, stream: str, sequence: int, matching: str = ">"
) -> Message | Problem | None:
    """Return the first message after this sequence."""
    return await _from_leader(js, stream, {"seq": sequence + 1, "next_by_subj": matching})


async def message_at(js: JetStream, stream: str, sequence: int) -> Message | Problem | None:
    """Return the message with exactly this sequence, as the leader has it; None where there is none."""
    return await _from_leader(js, stream, {"seq": sequence})


async def first_message_since(js: JetStream, stream: str, time: str) -> Message | Problem | None:
    """Return the first message that was stored then or later."""
    return await _from_leader(js, stream, {"start_time": time})


async def _from_leader(js: JetStream, stream: str, body: Mapping[str, Json]) -> Message | Problem | None:
    answer = await js.read(f"STREAM.MSG.GET.{stream}", body)
    if isinstance(answer, Refusal) and answer.err_code == NO_MESSAGE:
        return None
    return answer if isinstance(answer, Refusal | NoAnswer) else _message_from_json(answer["message"])


def _message_from_json(message: Mapping[str, Json]) -> Message:
    lines = base64.b64decode(message.get("hdrs") or "").decode("utf-8", "replace")
    return Message(
        sequence=int(message["seq"]), time=str(message.get("time", "")), subject=str(message.get("subject", "")),
        headers=dict(_HEADER.findall(lines)), data=base64.b64decode(message.get("data") or ""),
    )  # fmt: skip


def _message_from_reply(reply: Reply) -> Message:
    headers = reply.headers
    return Message(
        sequence=int(headers["Nats-Sequence"]), time=headers.get("Nats-Time-Stamp", ""), subject=headers.get("Nats-Subject", ""),
        headers={key: value for key, value in headers.items() if key not in _OURS}, data=reply.data,
    )  # fmt: skip


async def pages(js: JetStream, wanted: Range) -> AsyncIterator[list[Message]]:
    """Yield all of them, in order. Raises Unreadable rather than leave any out."""
    ways = (
        _pages_by_batch if js.prefix.startswith("$JS.") else _pages_by_message
    )  # an import passes on one answer to a request
    async for page in ways(js, wanted):
        if page:
            yield page


async def _pages_by_batch(js: JetStream, wanted: Range) -> AsyncIterator[list[Message]]:
    done = wanted.after
    while done < wanted.upto:
        messages = await _batch(js, wanted, done)
        if messages is None:
            async for page in _pages_by_message(js, Range(stream=wanted.stream, after=done, upto=wanted.upto,
                                                    matching=wanted.matching)):  # fmt: skip
                yield page
            return
        if not messages:
            messages = await _rest_from_leader(js, wanted, done)
        yield [message for message in messages if message.sequence <= wanted.upto]
        done = messages[-1].sequence if messages else wanted.upto


async def _batch(js: JetStream, wanted: Range, after: int) -> list[Message] | None:
    """Read one batch. None: this way is closed. Empty: whoever answered has no more; a batch that was cut off counts as
    far as it goes."""
    body = {"seq": after + 1, "batch": BATCH, "max_bytes": BYTES, "next_by_subj": wanted.matching}
    replies = await batch(js, wanted.stream, body, within=STALL)
    if isinstance(replies, NoAnswer):
        if replies.why in (Silence.NO_RESPONDERS, Silence.DENIED, Silence.TIMEOUT):
            return None
        raise Unreadable(str(replies))
    *messages, end = replies
    if end.status not in ("204", "404") or not is_unbroken(messages):
        return None
    return [_message_from_reply(message) for message in messages]


async def _rest_from_leader(js: JetStream, wanted: Range, after: int) -> list[Message]:
    """Read from the leader what a replica did not have; empty: there is no more, and the stream did get as far as
    that."""
    message = await next_message_after(js, wanted.stream, after, wanted.matching)
    if isinstance(message, Message):
        return [message]
    end = await stream_end(js, wanted.stream) if message is None else message
    if not isinstance(end, Message):
        raise _unreadable(wanted.stream, end)
    if end.sequence < wanted.upto:
        raise Gone(f"stream {wanted.stream} ends at {end.sequence}, but message {wanted.upto} had been seen")
    return []


def _unreadable(stream: str, problem: Problem) -> Unreadable:
    is_gone = isinstance(problem, Refusal) and problem.err_code == NO_STREAM
    return Gone(f"stream {stream}: {problem}") if is_gone else Unreadable(str(problem))


async def stream_end(js: JetStream, stream: str) -> Message | Problem:
    """Find where a stream ends, whether that message still exists or not. This leaves an event in an audit trail, so it
    is asked only where nothing else tells."""
    answer = await js.read(f"STREAM.INFO.{stream}")
    if isinstance(answer, Refusal | NoAnswer):
        return answer
    state = answer["state"]
    return Message(sequence=int(state.get("last_seq", 0)), time=str(state.get("last_ts", "")), subject="")


async def _pages_by_message(js: JetStream, wanted: Range) -> AsyncIterator[list[Message]]:
    """Read from the leader, many at a time: where direct reading is off, refused, or broken off."""
    done = wanted.after
    for start in range(wanted.after, wanted.upto, LANES * LANE):
        starts = range(start, min(start + LANES * LANE, wanted.upto), LANE)
        lanes = [_lane(js, wanted, after, min(after + LANE, wanted.upto)) for after in starts]
        messages = [message for lane in await asyncio.gather(*lanes) for message in lane]
        yield messages
        done = messages[-1].sequence if messages else done
    if done < wanted.upto and any(
        message.sequence <= wanted.upto for message in await _rest_from_leader(js, wanted, done)
    ):
        raise Unreadable(f"stream {wanted.stream} was recreated or set back while it was read")


async def _lane(js: JetStream, wanted: Range, after: int, upto: int) -> list[Message]:
    messages: list[Message] = []
    while after < upto:
        message = await next_message_after(js, wanted.stream, after, wanted.matching)
        if isinstance(message, Refusal | NoAnswer):
            raise _unreadable(wanted.stream, message)
        if message is None or message.sequence > upto:
            break
        messages.append(message)
        after = message.sequence
    return messages
