"""Pieces of streams: the messages between two offsets, shared among tasks, and read as rows. Knows nothing of Spark.

A piece depends on two offsets and nothing else, so a batch that was begun and never finished is read again exactly.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema

from reconciler.fleet.accounts.lookout import Entry, Offsets
from reconciler.fleet.accounts.reading import SharedWindow
from reconciler.fleet.accounts.targets import FleetTarget
from reconciler.fleet.tables.tables import MESSAGES
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import CannotContinue
from reconciler.server.connect.connection import session
from reconciler.server.read.messages import Gone, Message, Range, Unreadable, pages
from reconciler.server.wire.api import Pauses

PIECE = 50_000
"""The most sequences that one task reads of a stream, so that others can read the rest."""
WINDOW = 32
"""Requests under way for one piece."""
SURE = 8
"""How many times in a row, over some seconds, a server has to say that messages are gone: a restarted one may say so at
first."""
_SCHEMA = to_arrow_schema(MESSAGES, timezone="UTC")


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamPiece:
    """What is read at once: messages of one stream, or what there is to report instead."""

    target: FleetTarget
    stream: str
    after: int = 0
    upto: int = 0
    matching: str = ">"
    error: str | None = None
    at: str = ""
    """When that was noticed."""


def pieces_between(
    targets: Iterable[FleetTarget], start: Offsets, end: Offsets, matching: str = ">", *, is_exact: bool = True
) -> Iterator[StreamPiece]:
    """Return what lies between two offsets. An `is_exact` start was noted message by message; for any other, repeated
    messages cannot be detected."""
    for target in targets:
        for stream, entry in end.get(target.name, {}).items():
            was = start.get(target.name, {}).get(stream, {})
            entry_to_read = entry if is_exact else {**entry, "restarted": False}
            yield from _pieces_of_entry(
                StreamPiece(target=target, stream=stream, matching=matching), was, entry_to_read
            )


def _pieces_of_entry(bare: StreamPiece, was: Entry, entry: Entry) -> Iterator[StreamPiece]:
    if _extent(entry) != _extent(was):
        first, last = int(entry["after"]), int(entry["sequence"])
        if entry.get("restarted"):
            why = f"stream {bare.stream} was recreated or set back: it continues with another message {first + 1}"
            yield replace(bare, error=why, at=str(entry["time"]))
        for after in range(first, last, PIECE):
            yield replace(bare, after=after, upto=min(after + PIECE, last))
    if "error" in entry and entry["at"] != was.get("at"):
        yield replace(bare, error=str(entry["error"]), at=str(entry["at"]))


def _extent(entry: Entry) -> tuple[Any, ...]:
    return tuple(entry.get(key) for key in ("after", "sequence", "time"))


async def batches(piece: StreamPiece, total: asyncio.Semaphore, *, must: bool) -> AsyncIterator[pa.RecordBatch]:
    """Read, and resume where a read was cut off, as long as that helps within the target's deadline. After that a row
    says why there is no more. Where all of it `must` be read, raise Unreadable instead, unless the server says that the
    rest is gone, because then nobody could ever get beyond that."""
    if piece.error is not None:
        yield problem_row(piece, piece.error)
        return
    left, pauses, gone, why = piece, Pauses(piece.target.deadline), 0, ""
    while left.after < piece.upto and gone < SURE:
        try:
            async for page in _messages(left, total):
                yield message_rows(piece, page)
                left, pauses = replace(left, after=page[-1].sequence), Pauses(piece.target.deadline)
            left = replace(left, after=piece.upto)
        except Exception as error:  # noqa: BLE001 - whatever a stranger answers, the other targets are read
            gone = gone + 1 if isinstance(error, Gone) else 0
            why = f"{_reason(piece, error)} (after message {left.after})"
            if not await pauses.rest():
                break
    if left.after < piece.upto and must and not gone:
        raise Unreadable(f"{piece.target.name}: {why}; start the query again, and it resumes from its checkpoint")
    if left.after < piece.upto:
        yield problem_row(piece, why, after=left.after)


def _reason(piece: StreamPiece, error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return f"nothing within {piece.target.deadline:g} s"
    return str(error) if isinstance(error, CannotContinue | Unreadable) else f"{type(error).__name__}: {error}"


async def _messages(piece: StreamPiece, total: asyncio.Semaphore) -> AsyncIterator[list[Message]]:
    wanted = Range(stream=piece.stream, after=piece.after, upto=piece.upto, matching=piece.matching)
    async with session(piece.target.options(), window=SharedWindow(total, WINDOW)) as js:
        async for page in _with_deadline_per_page(pages(js, wanted), piece.target.deadline):
            yield page


async def _with_deadline_per_page(
    source: AsyncIterator[list[Message]], deadline: float
) -> AsyncIterator[list[Message]]:
    """Limit the seconds of each page; the time that its consumer takes does not count."""
    while True:
        try:
            async with asyncio.timeout(deadline):
                page = await anext(source)
        except StopAsyncIteration:
            return
        yield page


def message_rows(piece: StreamPiece, page: Sequence[Message]) -> pa.RecordBatch:
    """Return a page in the form for Spark."""
    times = pa.array([message.time for message in page]).cast(pa.timestamp("ns", "UTC"))
    columns = {
        "target": [piece.target.name] * len(page),
        "stream": [piece.stream] * len(page),
        "sequence": [message.sequence for message in page],
        "time": times.cast(_SCHEMA.field("time").type, safe=False),  # without the nanoseconds
        "subject": [message.subject for message in page],
        "headers": [[*message.headers.items()] for message in page],
        "data": [message.data for message in page],
        "error": [None] * len(page),
    }
    return pa.RecordBatch.from_pydict(columns, schema=_SCHEMA)


def problem_row(piece: StreamPiece, why: str, after: int | None = None) -> pa.RecordBatch:
    """Return the row of a problem; `after` is the last message there is, where others cannot be read."""
    time = datetime.fromisoformat(piece.at) if piece.at else datetime.now(UTC)
    row = {"target": piece.target.name, "stream": piece.stream or None, "sequence": after, "time": time, "error": why}
    return pa.RecordBatch.from_pylist([row], schema=_SCHEMA)
