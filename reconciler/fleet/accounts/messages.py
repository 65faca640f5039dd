"""Messages of streams as rows: all stored ones, or followed as they come, with the stream sequence as offset.

A sink with a checkpoint gets each message once, however often the query is interrupted and restarted.

Pieces of streams: the messages between two offsets, shared among tasks, and read as rows. Knows nothing of Spark.

A piece depends on two offsets and nothing else, so a batch that was begun and never finished is read again exactly.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from reconciler.fleet.accounts.background_loop import BackgroundLoop, merge_sources
from reconciler.fleet.accounts.lookout import EVENTS, EVERYTHING, Ends, Entry, Lookout, MessageQuery, Offsets
from reconciler.fleet.accounts.reading import SharedWindow, share_among_tasks
from reconciler.fleet.accounts.targets import FleetTarget
from reconciler.fleet.tables.tables import MESSAGES
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import CannotContinue
from reconciler.server.connect.connection import session
from reconciler.server.read.messages import Gone, Message, Range, Unreadable, pages
from reconciler.server.wire.api import Pauses

if TYPE_CHECKING:
    from pyarrow import RecordBatch

AT_ONCE = 8
"""Pieces under way in one task."""
EVERY = 1.0
"""Seconds between two looks for more."""


class Pieces(InputPartition):
    """What one task reads."""

    def __init__(self, pieces: tuple[StreamPiece, ...], requests: int, *, is_followed: bool) -> None:
        super().__init__(pieces)
        self.requests = requests
        """Requests under way for all of them together."""
        self.is_followed = is_followed
        """What cannot be read ends the batch, and is read again by the next start; otherwise a row says so."""


def wanted_of_options(options: Mapping[str, str]) -> MessageQuery:
    """Read the options `stream` (without it: all that capture events), `filter`, `first` and `last` sequence."""
    stream = options.get("stream")
    return MessageQuery(
        stream=stream,
        matching=options.get("filter", EVENTS if stream is None else ">"),
        first=int(options.get("first", 1)),
        last=int(options["last"]) if "last" in options else None,
    )


class MessagesReader(DataSourceReader):
    """Reads every stored message, or what came `since` certain messages, given by target and stream as offsets are.
    Their times may be approximate: a few messages may be read twice then, and none is left out."""

    def __init__(self, targets: Iterable[FleetTarget], options: Mapping[str, str]) -> None:
        self._targets, self._wanted, self._tasks = tuple(targets), wanted_of_options(options), _number_of_tasks(options)
        self._since: Offsets = json.loads(options.get("since", "{}"))

    def partitions(self) -> Sequence[InputPartition]:
        """Look once at every target and share what is found among the tasks; the driver runs this."""
        with BackgroundLoop() as loop:
            lookout = Lookout(self._targets, self._wanted, patient=True)
            ends = loop.run(lookout.look(self._since))
            loop.run(lookout.close())
        pieces = pieces_between(self._targets, self._since, ends, self._wanted.matching, is_exact=False)
        return share_pieces(pieces, self._tasks, is_followed=False)

    def read(self, partition: InputPartition) -> Iterator[RecordBatch]:
        """Yield the messages of one task; a piece that cannot be read becomes a row with the reason."""
        return read_pieces(partition)


class MessagesFollower(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Follows streams from look to look, with at most `most` messages each, if that option is given."""

    def __init__(self, targets: Iterable[FleetTarget], options: Mapping[str, str]) -> None:
        self._targets, self._wanted, self._tasks = tuple(targets), wanted_of_options(options), _number_of_tasks(options)
        self._most = int(options["most"]) if "most" in options else None
        self._looking: tuple[BackgroundLoop, Lookout] | None = None
        self._ends: Ends | None = None
        self._looked = float("-inf")

    def __getstate__(self) -> dict[str, Any]:
        """The state that travels to the executors, which only read."""
        return {**self.__dict__, "_looking": None, "_ends": None}

    def initialOffset(self) -> Offsets:
        """Return no offsets yet, so every stream begins at the option `first`."""
        return {}

    def getDefaultReadLimit(self) -> ReadLimit:
        """Return the option `most`, in messages; without it a batch takes all there are."""
        return ReadAllAvailable() if self._most is None else ReadMaxRows(self._most)

    def prepareForTriggerAvailableNow(self) -> None:
        """Note where every stream ends now; the query stops there."""
        loop, lookout = self._lookout()
        self._ends = loop.run(lookout.ends())

    def latestOffset(self, start: Offsets, limit: ReadLimit) -> Offsets:
        """Return where the next batch ends. `limit` is shared evenly among the streams, which get at least one message
        each."""
        loop, lookout = self._lookout()
        self._wait()
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else EVERYTHING
        streams = max(len(self._targets), sum(map(len, start.values())))
        return loop.run(lookout.look(start, most=max(1, most // max(1, streams)), ends=self._ends))

    def partitions(self, start: Offsets, end: Offsets) -> Sequence[InputPartition]:
        """Share the messages after `start` and up to `end` among the tasks."""
        return share_pieces(
            pieces_between(self._targets, start, end, self._wanted.matching), self._tasks, is_followed=True
        )

    def read(self, partition: InputPartition) -> Iterator[RecordBatch]:
        """Yield the messages of one task; a piece that cannot be read ends the batch, and the next start reads it
        again."""
        return read_pieces(partition)

    def stop(self) -> None:
        """Close the connections and end their thread; do nothing where the query never looked."""
        if self._looking is not None:
            loop, lookout = self._looking
            self._looking = None
            loop.run(lookout.close())
            loop.close()

    def _lookout(self) -> tuple[BackgroundLoop, Lookout]:
        if self._looking is None:
            self._looking = BackgroundLoop().start(), Lookout(self._targets, self._wanted)
        return self._looking

    def _wait(self) -> None:
        """Wait a little: Spark asks again at once when there was nothing, and servers are spared that."""
        if self._ends is None:
            time.sleep(max(0.0, self._looked + EVERY - time.monotonic()))
        self._looked = time.monotonic()


def _number_of_tasks(options: Mapping[str, str]) -> int:
    return max(1, int(options.get("tasks", 2 * (os.cpu_count() or 1))))


def share_pieces(pieces: Iterable[StreamPiece], tasks: int, *, is_followed: bool) -> list[Pieces]:
    """Share the pieces among this many tasks."""
    return [Pieces(*share, is_followed=is_followed) for share in share_among_tasks([*pieces], tasks)]


def read_pieces(partition: InputPartition) -> Iterator[RecordBatch]:
    """Read on an executor."""
    assert isinstance(partition, Pieces)
    with BackgroundLoop() as loop:
        total = asyncio.Semaphore(partition.requests)
        sources = (batches(piece, total, must=partition.is_followed) for piece in partition.value)
        yield from loop.each(merge_sources(sources, AT_ONCE))


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
            if not await pauses.wait():
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
