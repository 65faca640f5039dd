"""Many targets at once: what each holds, column by column, or one row with the reason why nobody knows.

Knows nothing of Spark. Whatever goes wrong with one target is a row of that target, and never ends the others'.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from types import TracebackType
from typing import Any, TypeVar

from reconciler.fleet.accounts.rows import Row, rows_of
from reconciler.fleet.accounts.targets import FleetTarget
from reconciler.model.diagnostic import CannotContinue
from reconciler.model.wire.snapshot import Scope, Snapshot
from reconciler.server.connect.session import session
from reconciler.server.read.observe import RESERVED, observe
from reconciler.server.read.read_kv import subject_pages
from reconciler.server.wire.api import JetStream, NoAnswer, Refusal

REQUESTS = 960
"""Under way in all tasks together, so that no cluster gets more, whichever targets it holds: at 10,000 a server drops its
whole queue, and others ask too."""
WINDOW = 64
"""Requests under way to one target."""
AT_ONCE = 100
"""Targets under way in one task: each waits for its server most of the time, and is held in memory until it is read."""
MOST_TASKS = 240
"""More would have less than a few requests each."""

PASSING = frozenset({"NA101", "NA102", "NA103", "NA104"})
"""Codes of what may go away when a machine has less to do."""

T = TypeVar("T")
Columns = Mapping[str, Sequence[Any]]
"""Some rows of a table, column by column and of equal length; a column that is left out is null."""
Emit = Callable[[Columns], Awaitable[None]]
"""Whoever takes them may take their time; that is none of the target's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetPart:
    """What one task reads of one target: all of it, or its share of the streams."""

    target: FleetTarget
    number: int = 0
    of: int = 1
    stream: str | None = None
    """The one that is asked about; what goes wrong is told of it. None: all of them."""

    def __contains__(self, stream: object) -> bool:
        return self.number == (0 if stream in _FIRST else zlib.crc32(str(stream).encode()) % self.of)

    @property
    def is_first(self) -> bool:
        """Reads what is there once, beside the streams."""
        return self.number == 0


_FIRST = frozenset(f"KV_{bucket}" for bucket in RESERVED)
"""Streams of whoever reads what is in them: one that is there without its entries would look empty."""
_STREAM = Scope.stream("")
Ask = Callable[[JetStream, TargetPart], AsyncGenerator[Columns, None]]
"""What is wanted of a target that answers; it may come in pieces."""


class SharedWindow:
    """A window for each target, and one around all of them: their servers may be the same."""

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
        except BaseException:  # interrupted while it waited: nobody leaves what nobody entered
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

    def waited(self) -> float:
        """Seconds that others cost this target: all of the time in which none of its requests was under way because of
        them, and half of that in which half of them were not."""
        self._note()
        return self._waited

    def _note(self, *, waiting: int = 0, entered: int = 0) -> None:
        """While nobody waits, time is of no interest."""
        if self._waiting or waiting:
            now = asyncio.get_running_loop().time()
            if self._waiting:
                self._waited += (now - self._noted) * self._waiting / (self._waiting + self._entered)
            self._noted = now
        self._waiting, self._entered = self._waiting + waiting, self._entered + entered


@dataclass(slots=True)
class Stopwatch:
    """How long a target takes: neither while whoever takes its rows does, nor while others keep it waiting."""

    window: SharedWindow
    before: float = 0.0
    """Seconds that an earlier attempt took."""
    since: float | None = None
    """None: it does not run."""

    def start(self) -> None:
        """The target's time counts from now on."""
        self.since = asyncio.get_running_loop().time()

    def stop(self) -> None:
        """The target's time stops, and what it took so far is kept in `before`; does nothing if it does not run."""
        if self.since is not None:
            self.before, self.since = self.before + asyncio.get_running_loop().time() - self.since, None

    def seconds(self) -> float:
        """Seconds that the target itself took in all attempts; never below 0."""
        running = 0.0 if self.since is None else asyncio.get_running_loop().time() - self.since
        return max(0.0, self.before + running - self.window.waited())

    @asynccontextmanager
    async def within(self, deadline: float) -> AsyncGenerator[None, None]:
        """Runs meanwhile; interrupts what takes longer."""
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


def dealt(things: Sequence[T], tasks: int) -> Iterator[tuple[tuple[T, ...], int]]:
    """What each of so many tasks reads, dealt out one by one, and how many requests it may have under way, so that all of
    them together stay within REQUESTS. At least one task: without any, Spark makes up one of its own."""
    tasks = max(1, min(tasks, len(things), MOST_TASKS))
    return ((tuple(things[number::tasks]), REQUESTS // tasks) for number in range(tasks))


async def read_all(parts: Iterable[TargetPart], ask: Ask, emit: Emit, *, requests: int, at_once: int = AT_ONCE) -> None:
    """`requests` may be under way to all of them together, `at_once` of them are read side by side. Whoever did not
    answer is asked once more when all others are done: so many connections are a load, and servers have a deadline too."""
    total = asyncio.Semaphore(requests)

    async def one_after_another(left: Iterator[Reading]) -> list[Reading]:
        return [reading for reading in left if not await reading.succeeds(ask, total)]

    async def side_by_side(readings: Iterable[Reading]) -> list[Reading]:
        left = iter(readings)
        failed = await asyncio.gather(*(one_after_another(left) for _ in range(at_once)))
        return [reading for some in failed for reading in some]

    once = await side_by_side(Reading(part, emit) for part in parts)
    lasting = [reading for reading in once if not reading.may_help_again]
    twice = await side_by_side(reading for reading in once if reading.may_help_again)
    for reading in (*lasting, *twice):
        await reading.give_up()


@dataclass(slots=True)
class Reading:
    """One part until it is read, or given up. Whatever goes wrong is kept, and raised nowhere."""

    part: TargetPart
    emit: Emit
    seconds: float = 0.0
    """Spent on it so far, without what others cost it."""
    told: bool = False
    error: Exception | None = None

    async def succeeds(self, ask: Ask, total: asyncio.Semaphore) -> bool:
        """Reads the part once and hands its rows over. False: it failed, and `error` says how."""
        target, at, self.error = self.part.target, datetime.now(UTC), None
        watch = Stopwatch(SharedWindow(total), self.seconds)
        try:
            async with (
                watch.within(target.deadline),
                session(target.options(), window=watch.window) as js,
                aclosing(ask(js, self.part)) as found,
            ):
                async for columns in found:
                    watch.stop()
                    self.seconds = watch.seconds()
                    await self.tell(columns, at)
                    watch.start()
        except Exception as error:  # noqa: BLE001 - whatever a stranger answers, the other targets are read
            self.error = error
        self.seconds = watch.seconds()
        return self.error is None

    async def tell(self, columns: Columns, at: datetime) -> None:
        """Hands the rows over, each with the target, its labels, the time and the seconds it took."""
        target, rows = self.part.target, len(next(iter(columns.values()), ()))
        about = {
            "target": target.name,
            "labels": dict(target.labels),
            "at": at,
            "seconds": self.seconds,
            "stream": self.part.stream,
        }
        await self.emit({**columns, **{name: [value] * rows for name, value in about.items()}})
        self.told = True

    @property
    def may_help_again(self) -> bool:
        """Not where files say nonsense; nor where a part of it is told already."""
        lasting = isinstance(self.error, CannotContinue) and self.error.diagnostics[0].code not in PASSING
        return not (lasting or self.told or self.seconds >= self.part.target.deadline)

    async def give_up(self) -> None:
        """Hands over one row, which says why the part could not be read."""
        await self.tell({"row": ["error"], "error": [why_unread(self.part.target, self.error)]}, datetime.now(UTC))


def why_unread(target: FleetTarget, error: BaseException | None) -> str:
    """As a sentence."""
    if isinstance(error, CannotContinue):
        return " ".join(one.message.removesuffix(" Nothing was changed.") for one in error.diagnostics)
    if isinstance(error, TimeoutError):
        return f"It could not be read within {target.deadline:g} s."
    return f"It could not be read ({type(error).__name__}: {error})."


async def configs(js: JetStream, part: TargetPart) -> AsyncGenerator[Columns, None]:
    """The account, as rows of CONFIGS."""
    snapshot = await observe(js, buckets=RESERVED if part.is_first else (), consumers_of=part)
    yield across(rows_of_part(snapshot, part))


def rows_of_part(snapshot: Snapshot, part: TargetPart) -> list[Row]:
    """Its share of the account, with what is unknown of that: each part asked for itself which streams there are, and one
    may know what another does not."""
    streams = {name: item for name, item in snapshot.streams.items() if name in part}
    unknown = {
        scope: why for scope, why in snapshot.unknown.items()
        if not scope.startswith(_STREAM) or scope.removeprefix(_STREAM) in part
    }  # fmt: skip
    own = replace(snapshot, streams=streams, unknown=unknown)
    return [row for row in rows_of(own) if part.is_first or row["row"] != "target"]


def across(rows: Sequence[Row]) -> Columns:
    """From rows to columns."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def subjects(matching: str) -> Ask:
    """How many messages the stream of a part holds per subject, as rows of SUBJECTS."""
    return partial(_subjects, matching)


async def _subjects(matching: str, js: JetStream, part: TargetPart) -> AsyncGenerator[Columns, None]:
    assert part.stream is not None
    async for page in subject_pages(js, part.stream, matching):
        if isinstance(page, Refusal | NoAnswer):
            yield {"error": [f"STREAM.INFO.{part.stream}: {page}"]}
        else:
            yield {"subject": list(page), "messages": list(page.values())}
