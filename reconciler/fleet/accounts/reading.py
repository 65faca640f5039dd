"""Reads many targets at once: what each holds, column by column, or one row with the reason why that is unknown.

Knows nothing of Spark. A failure of one target becomes a row of that target, and never ends the others.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from types import TracebackType
from typing import Any, TypeVar

from reconciler.fleet.accounts.rows import Row, rows_of
from reconciler.fleet.accounts.targets import FleetTarget
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import CannotContinue
from reconciler.model.ledger.records import RESERVED
from reconciler.model.wire.snapshot import Scope, Snapshot
from reconciler.server.connect.connection import session
from reconciler.server.read.observe import observe
from reconciler.server.read.read_kv import subject_pages
from reconciler.server.wire.answers import Refusal
from reconciler.server.wire.api import JetStream
from reconciler.server.wire.pipeline import NoAnswer

REQUESTS = 960
"""Requests under way in all tasks together, so that no cluster gets more, whichever targets it holds: at 10,000 a
server drops its whole queue, and others send requests too."""
WINDOW = 64
"""Requests under way to one target."""
AT_ONCE = 100
"""Targets under way in one task: each waits for its server most of the time, and is held in memory until it is read."""
MOST_TASKS = 240
"""With more, each would have less than a few requests."""

PASSING = frozenset({"NA101", "NA102", "NA103", "NA104"})
"""Codes of failures that may pass when a machine has less to do."""

T = TypeVar("T")
Columns = Mapping[str, Sequence[Any]]
"""Some rows of a table, column by column and of equal length; a left-out column is null."""
Emit = Callable[[Columns], Awaitable[None]]
"""The consumer may take its time, which does not count as the target's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetPart:
    """What one task reads of one target: all of it, or its share of the streams."""

    target: FleetTarget
    number: int = 0
    of: int = 1
    stream: str | None = None
    """The stream in question, which also gets the errors. None: all of them."""

    def __contains__(self, stream: object) -> bool:
        return self.number == (0 if stream in _FIRST else zlib.crc32(str(stream).encode()) % self.of)

    @property
    def is_first(self) -> bool:
        """Does this part also read what exists once, besides the streams?"""
        return self.number == 0


_FIRST = frozenset(f"KV_{bucket}" for bucket in RESERVED)
"""Names the streams that read the bucket themselves: such a stream without its entries would look empty."""
_STREAM = Scope.stream("")
Ask = Callable[[JetStream, TargetPart], AsyncGenerator[Columns, None]]
"""Reads what is wanted of a target that answers; it may come in pieces."""


class SharedWindow:
    """A window for each target, and one around all of them, because their servers may be the same."""

    def __init__(self, total: asyncio.Semaphore, own: int = WINDOW) -> None:
        self._total, self._own = total, asyncio.Semaphore(own)
        self._waiting = self._entered = 0
        self._waited, self._noted = 0.0, 0.0

    async def __aenter__(self) -> None:
        await self._own.acquire()
        if not self._total.locked():  # nobody is in its way, which is most often so: no clock is read
            await self._total.acquire()
            self._note(entered=1)
            return
        self._note(waiting=1)
        try:
            await self._total.acquire()
        except BaseException:  # interrupted while it waited: it must not leave what it has not entered
            self._own.release()
            raise
        else:
            self._note(entered=1)
        finally:
            self._note(waiting=-1)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._note(entered=-1)
        self._total.release()
        self._own.release()

    def seconds_waited(self) -> float:
        """Return the seconds that others cost this target: all of the time in which others kept every request of it
        waiting, and half of the time in which they kept half of its requests waiting."""
        self._note()
        return self._waited

    def _note(self, *, waiting: int = 0, entered: int = 0) -> None:
        """Note the time only while somebody waits."""
        if self._waiting or waiting:
            now = asyncio.get_running_loop().time()
            if self._waiting:
                self._waited += (now - self._noted) * self._waiting / (self._waiting + self._entered)
            self._noted = now
        self._waiting, self._entered = self._waiting + waiting, self._entered + entered


@dataclass(slots=True)
class Stopwatch:
    """Measures how long a target takes, without the time of the consumer, and without the time that others keep it
    waiting."""

    window: SharedWindow
    before: float = 0.0
    """Seconds that an earlier attempt took."""
    since: float | None = None
    """None: it does not run."""

    def start(self) -> None:
        """Start counting the target's time."""
        self.since = asyncio.get_running_loop().time()

    def stop(self) -> None:
        """Stop counting, and keep the time so far in `before`; do nothing if it does not run."""
        if self.since is not None:
            self.before, self.since = self.before + asyncio.get_running_loop().time() - self.since, None

    def seconds(self) -> float:
        """Return the seconds that the target itself took in all attempts; never below 0."""
        running = 0.0 if self.since is None else asyncio.get_running_loop().time() - self.since
        return max(0.0, self.before + running - self.window.seconds_waited())

    @asynccontextmanager
    async def within(self, deadline: float) -> AsyncGenerator[None, None]:
        """Run meanwhile, and interrupt what takes longer."""
        loop = asyncio.get_running_loop()
        timer: asyncio.TimerHandle
        async with asyncio.timeout(None) as limit:

            def look() -> None:
                nonlocal timer
                left = deadline - self.seconds()
                if left <= 0 and self.since is not None:
                    limit.reschedule(loop.time())
                else:
                    timer = loop.call_later(max(left, _MOMENT), look)

            timer = loop.call_later(max(deadline - self.seconds(), 0.0), look)
            self.start()
            try:
                yield
            finally:
                timer.cancel()
                self.stop()


_MOMENT = 0.05


def share_among_tasks(things: Sequence[T], tasks: int) -> Iterator[tuple[tuple[T, ...], int]]:
    """Deal the reading out to this many tasks, one by one, with the number of requests that each may have under way, so
    that all together stay within REQUESTS. At least one task is made: without any, Spark makes up one of its own."""
    tasks = max(1, min(tasks, len(things), MOST_TASKS))
    return ((tuple(things[number::tasks]), REQUESTS // tasks) for number in range(tasks))


async def read_all(parts: Iterable[TargetPart], ask: Ask, emit: Emit, *, requests: int, at_once: int = AT_ONCE) -> None:
    """Read all targets, `at_once` of them side by side, with at most `requests` under way. A target that did not answer
    is asked once more when all others are done: so many connections are a load, and servers have a deadline too."""
    total = asyncio.Semaphore(requests)

    async def one_after_another(left: Iterator[Reading]) -> list[Reading]:
        return [reading for reading in left if not await reading.read_once(ask, total)]

    async def side_by_side(readings: Iterable[Reading]) -> list[Reading]:
        left = iter(readings)
        failed = await asyncio.gather(*(one_after_another(left) for _ in range(at_once)))
        return [reading for some in failed for reading in some]

    once = await side_by_side(Reading(part, emit) for part in parts)
    lasting = [reading for reading in once if not reading.is_worth_retrying]
    twice = await side_by_side(reading for reading in once if reading.is_worth_retrying)
    for reading in (*lasting, *twice):
        await reading.emit_failure_row()


@dataclass(slots=True)
class Reading:
    """Reads one part until it is read, or given up. Any failure is kept, and never raised."""

    part: TargetPart
    emit: Emit
    seconds: float = 0.0
    """Time spent on it so far, without what others cost it."""
    told: bool = False
    error: Exception | None = None

    async def read_once(self, ask: Ask, total: asyncio.Semaphore) -> bool:
        """Read the part once and hand its rows over. False: it failed, and `error` says how."""
        target, time, self.error = self.part.target, datetime.now(UTC), None
        watch = Stopwatch(SharedWindow(total), self.seconds)
        try:
            async with (
                watch.within(target.deadline),
                session(target.options(), window=watch.window) as js,
                aclosing(ask(js, self.part)) as parts,
            ):
                async for columns in parts:
                    watch.stop()
                    self.seconds = watch.seconds()
                    await self.emit_rows(columns, time)
                    watch.start()
        except Exception as error:  # noqa: BLE001 - whatever a stranger answers, the other targets are read
            self.error = error
        self.seconds = watch.seconds()
        return self.error is None

    async def emit_rows(self, columns: Columns, time: datetime) -> None:
        """Hand the rows over, each with the target, its labels, the time and the seconds it took."""
        target, rows = self.part.target, len(next(iter(columns.values()), ()))
        same = {
            "target": target.name,
            "labels": dict(target.labels),
            "at": time,
            "seconds": self.seconds,
            "stream": self.part.stream,
        }
        await self.emit({**columns, **{name: [value] * rows for name, value in same.items()}})
        self.told = True

    @property
    def is_worth_retrying(self) -> bool:
        """May another attempt help? Not where files are wrong, nor where some rows were handed over already."""
        lasting = isinstance(self.error, CannotContinue) and self.error.diagnostics[0].code not in PASSING
        return not (lasting or self.told or self.seconds >= self.part.target.deadline)

    async def emit_failure_row(self) -> None:
        """Hand over one row, which says why the part could not be read."""
        await self.emit_rows({"row": ["error"], "error": [why_unread(self.part.target, self.error)]}, datetime.now(UTC))


def why_unread(target: FleetTarget, error: BaseException | None) -> str:
    """Return the reason as a sentence."""
    if isinstance(error, CannotContinue):
        return " ".join(finding.message.removesuffix(" Nothing was changed.") for finding in error.diagnostics)
    if isinstance(error, TimeoutError):
        return f"It could not be read within {target.deadline:g} s."
    return f"It could not be read ({type(error).__name__}: {error})."


async def configs(js: JetStream, part: TargetPart) -> AsyncGenerator[Columns, None]:
    """Read the account as rows of CONFIGS."""
    snapshot = await observe(js, buckets=RESERVED if part.is_first else (), consumers_of=part)
    yield as_columns(rows_of_part(snapshot, part))


def rows_of_part(snapshot: Snapshot, part: TargetPart) -> list[Row]:
    """Read its share of the account, with what is unknown of that: each part listed the streams itself, and one may
    know what another does not."""
    streams = {name: item for name, item in snapshot.streams.items() if name in part}
    unknown = {
        scope: why for scope, why in snapshot.unknown.items()
        if not scope.startswith(_STREAM) or scope.removeprefix(_STREAM) in part
    }  # fmt: skip
    own = replace(snapshot, streams=streams, unknown=unknown)
    return [row for row in rows_of(own) if part.is_first or row["row"] != "target"]


def as_columns(rows: Sequence[Row]) -> Columns:
    """Turn rows into columns."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def subjects(matching: str) -> Ask:
    """Count the messages that the stream of a part holds per subject, as rows of SUBJECTS."""
    return partial(_read_subjects, matching)


async def _read_subjects(matching: str, js: JetStream, part: TargetPart) -> AsyncGenerator[Columns, None]:
    assert part.stream is not None
    async for page in subject_pages(js, part.stream, matching):
        if isinstance(page, Refusal | NoAnswer):
            yield {"error": [f"STREAM.INFO.{part.stream}: {page}"]}
        else:
            yield {"subject": list(page), "messages": list(page.values())}
