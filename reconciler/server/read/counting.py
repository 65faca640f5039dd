"""Locates a time or sequence in a stream, and counts the messages that follow: it asks the leader, without a consumer.

STREAM.MSG.GET with `start_time` finds the first message in one request. Where messages were deleted, nats-servers
before 2.12 skip it or stop short of it; the messages' own times tell on every version. A direct batch read tells how
many messages follow (`Nats-Num-Pending`), on streams with `allow_direct`; from the beginning on, so does STREAM.INFO by
its subjects.
"""

from __future__ import annotations

import asyncio
from base64 import b64decode
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from reconciler.model.wire.questions import Holes, Largest, MessagesFrom, MessagesSince, Oldest
from reconciler.server.read.direct import batch
from reconciler.server.wire.answers import NO_MESSAGE, Refusal
from reconciler.server.wire.api import JetStream
from reconciler.server.wire.pipeline import NoAnswer

PAGE = 100_000
"""Subjects in one answer of STREAM.INFO."""

READ = 256
"""How many messages are read at most to learn their sizes."""

AT_ONCE = 16
"""How many places are looked at together in the search for a time."""


async def messages_from(js: JetStream, question: MessagesFrom) -> dict[str, Any] | Refusal | NoAnswer:
    """Answer `MessagesFrom`, without a consumer; the answer has `most` for `messages` where they cannot be counted."""
    start = "seq" if isinstance(question.start, int) else "start_time"
    wanted = {start: question.start, "next_by_subj": question.filter}
    answer = await js.read(f"STREAM.MSG.GET.{question.stream}", wanted)
    if isinstance(answer, Refusal) and answer.err_code == NO_MESSAGE:
        return {"first": None, "messages": 0}
    if isinstance(answer, Refusal | NoAnswer):
        return answer
    first = int(answer["message"]["seq"])
    number = await _count_directly(js, question.stream, wanted, first)
    if number is None and question.start == 1:
        number = await _count_by_subjects(js, question)
    if number is None:
        return {"first": first, **await _bound_by_numbers(js, question.stream, first)}
    return {"first": first, "messages": number}


async def _bound_by_numbers(js: JetStream, stream: str, first: int) -> dict[str, int]:
    """How many messages have this number or a later one, at most."""
    info = await js.read(f"STREAM.INFO.{stream}")
    if isinstance(info, Refusal | NoAnswer):
        return {}
    return {"most": max(0, int(info["state"]["last_seq"]) - first + 1)}


async def messages_since(js: JetStream, question: MessagesSince) -> dict[str, Any] | Refusal | NoAnswer:
    """Find the first message since a time: times grow with sequences, so a few rounds narrow it down to one place."""
    info = await js.read(f"STREAM.INFO.{question.stream}")
    if isinstance(info, Refusal | NoAnswer):
        return info
    since, low, high = datetime.fromisoformat(question.since), info["state"]["first_seq"], info["state"]["last_seq"] + 1
    while low < high:
        places = range(low, high, -(-(high - low) // AT_ONCE))
        wanted = ({"seq": sequence, "next_by_subj": ">"} for sequence in places)
        answers = await asyncio.gather(*(js.read(f"STREAM.MSG.GET.{question.stream}", request) for request in wanted))
        for sequence, answer in zip(places, answers, strict=True):
            if isinstance(answer, NoAnswer) or (isinstance(answer, Refusal) and answer.err_code != NO_MESSAGE):
                return answer
            if isinstance(answer, Refusal) or datetime.fromisoformat(answer["message"]["time"]) >= since:
                high = sequence
                break
            low = int(answer["message"]["seq"]) + 1
    return await messages_from(js, MessagesFrom(stream=question.stream, start=low))


async def _count_directly(js: JetStream, stream: str, wanted: dict[str, Any], first: int) -> int | None:
    """Count by direct read; None: this way is closed, only mirrors answer, or a replica did that does not begin where the
    leader does."""
    if not js.prefix.startswith("$JS."):
        return None  # an import passes on one answer, and the count is in the second
    replies = await batch(js, stream, {**wanted, "batch": 1}, within=js.timeout, holds_some=True)
    if isinstance(replies, NoAnswer) or len(replies) != 2 or replies[-1].status != "204":
        return None
    if replies[0].headers.get("Nats-Sequence") != str(first):
        return None
    return int(replies[-1].headers["Nats-Num-Pending"]) + 1


async def _count_by_subjects(js: JetStream, question: MessagesFrom) -> int | None:
    """Count from the beginning, which is what the subjects hold; too many subjects are not listed."""
    body = {"subjects_filter": question.filter}
    answer = await js.read(f"STREAM.INFO.{question.stream}", body)
    if isinstance(answer, Refusal | NoAnswer) or answer.get("total", 0) > PAGE:
        return None
    subjects: dict[str, int] = answer["state"].get("subjects") or {}
    return sum(subjects.values())


async def holes(js: JetStream, question: Holes) -> dict[str, Any] | Refusal | NoAnswer:
    """Answer `Holes`: the sequences that the stream's leader lists as deleted."""
    answer = await js.read(f"STREAM.INFO.{question.stream}", {"deleted_details": True})
    if isinstance(answer, Refusal | NoAnswer):
        return answer
    return {"deleted": sorted(answer["state"].get("deleted") or ())}


async def oldest(js: JetStream, question: Oldest) -> dict[str, Any] | Refusal | NoAnswer:
    """Measure the oldest messages by reading a few: only the messages themselves show their sizes."""
    info = await js.read(f"STREAM.INFO.{question.stream}")
    if isinstance(info, Refusal | NoAnswer):
        return info
    first, last = int(info["state"]["first_seq"]), int(info["state"]["last_seq"])
    in_file, size, number = info["config"].get("storage") != "memory", 0, 0
    sequences = range(first, min(last + 1, first + READ))
    subject = f"STREAM.MSG.GET.{question.stream}"
    for answer in await asyncio.gather(*(js.read(subject, {"seq": sequence}) for sequence in sequences)):
        if isinstance(answer, Refusal) and answer.err_code == NO_MESSAGE:
            continue
        if isinstance(answer, Refusal | NoAnswer):
            return answer
        if size >= question.bytes:
            return {"first": int(answer["message"]["seq"]), "messages": number, "bytes": size}
        size, number = size + _stored_bytes(answer["message"], in_file=in_file), number + 1
    if size >= question.bytes:
        return {"first": sequences[-1] + 1, "messages": number, "bytes": size}
    return {"first": None}


LOOKS_BACK = 4
"""How many times as many sequences as messages are wanted are asked for, at most."""


async def largest(js: JetStream, question: Largest) -> dict[str, Any] | Refusal | NoAnswer:
    """Answer `Largest` from the newest messages; a size is that of headers and payload together. Where many were deleted or
    replaced since, it looks further back, but not to the first message of a long stream."""
    info = await js.read(f"STREAM.INFO.{question.stream}")
    if isinstance(info, Refusal | NoAnswer):
        return info
    last, first = int(info["state"]["last_seq"]), int(info["state"]["first_seq"])
    subject, sizes = f"STREAM.MSG.GET.{question.stream}", list[int]()
    for end in range(last, max(first, last - LOOKS_BACK * question.newest + 1) - 1, -question.newest):
        sequences = range(end, max(first, end - question.newest + 1) - 1, -1)
        for answer in await asyncio.gather(*(js.read(subject, {"seq": sequence}) for sequence in sequences)):
            if isinstance(answer, Refusal) and answer.err_code == NO_MESSAGE:
                continue
            if isinstance(answer, Refusal | NoAnswer):
                return answer
            sizes.append(sum(len(b64decode(answer["message"].get(part) or "")) for part in ("hdrs", "data")))
        if len(sizes) >= question.newest:
            break
    sizes = sizes[: question.newest]
    return {
        "read": len(sizes),
        "larger": sum(size > question.above for size in sizes),
        "largest": max(sizes, default=0),
    }


def _stored_bytes(message: Mapping[str, Any], *, in_file: bool) -> int:
    """The bytes that a server counts for a message beside its payload: 30 in a file and 4 for headers, 16 in memory."""
    headers, data = (len(b64decode(message.get(part) or "")) for part in ("hdrs", "data"))
    overhead = 30 + (4 if headers else 0) if in_file else 16
    return overhead + len(message["subject"].encode()) + headers + data
