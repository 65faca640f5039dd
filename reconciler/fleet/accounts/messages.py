"""Messages of streams as rows: all stored ones, or followed as they come, with the stream sequence as offset.

A sink with a checkpoint gets each message once, however often the query is interrupted and restarted.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from reconciler.fleet.accounts.background_loop import BackgroundLoop, merge_sources
from reconciler.fleet.accounts.lookout import EVENTS, EVERYTHING, Ends, Lookout, Offsets, Wanted
from reconciler.fleet.accounts.message_ranges import StreamPiece, batches, pieces_between
from reconciler.fleet.accounts.reading import deal_out
from reconciler.fleet.accounts.targets import FleetTarget

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


def wanted_of_options(options: Mapping[str, str]) -> Wanted:
    """Read the options `stream` (without it: all that capture events), `filter`, `first` and `last` sequence."""
    stream = options.get("stream")
    return Wanted(
        stream=stream,
        matching=options.get("filter", EVENTS if stream is None else ">"),
        first=int(options.get("first", 1)),
        last=int(options["last"]) if "last" in options else None,
    )


class Batch(DataSourceReader):
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


class Followed(DataSourceStreamReader, SupportsTriggerAvailableNow):
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
    return [Pieces(*share, is_followed=is_followed) for share in deal_out([*pieces], tasks)]


def read_pieces(partition: InputPartition) -> Iterator[RecordBatch]:
    """Read on an executor."""
    assert isinstance(partition, Pieces)
    with BackgroundLoop() as loop:
        total = asyncio.Semaphore(partition.requests)
        sources = (batches(piece, total, must=partition.is_followed) for piece in partition.value)
        yield from loop.each(merge_sources(sources, AT_ONCE))
