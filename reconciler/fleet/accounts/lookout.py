"""Finds new messages in the streams of many targets: connections stay open from look to look, and each target has a
deadline.

A look finds an entry per stream, as Spark keeps it in its checkpoint: from which sequence to which, and when the last
message was stored. A target that does not answer keeps its entries, with the reason.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import field
from datetime import UTC, datetime
from typing import TypeAlias, TypeVar

from reconciler.fleet.accounts.reading import why_unread
from reconciler.fleet.accounts.targets import FleetTarget
from reconciler.model.dataclass import dataclass
from reconciler.server.connect.connection import session
from reconciler.server.read.following import Onward, Position, newest, onward
from reconciler.server.read.messages import Message, Problem
from reconciler.server.wire.answers import Refusal
from reconciler.server.wire.api import JetStream
from reconciler.server.wire.pipeline import NoAnswer

EVENTS = "$JS.EVENT.>"
NOT_KEPT = f"No stream captures {EVENTS}, so it is unknown what happened."
EVERYTHING = 1 << 60
LARGEST = (1 << 63) - 1
"""The largest number that a column of Spark holds."""
SEARCH = 60.0
"""Seconds after which the list of streams is read again. That leaves an audit event each time."""
WINDOW = 4
"""Requests under way to one target."""
AT_ONCE = 64
"""Targets under way."""
KEPT = 256
"""Connections that stay open; in a larger fleet, the others are dialled again for each look."""
T = TypeVar("T")

Entry: TypeAlias = dict[str, int | str | bool]
"""`after`, `sequence` and `time` of a piece; `restarted` where its sequences had been used before; `error`,
noticed `at`."""
Entries: TypeAlias = dict[str, Entry]
"""By stream; the empty name has what is wrong with the whole target."""
Offsets: TypeAlias = dict[str, Entries]
"""By target."""
End: TypeAlias = Message | Problem
Ends: TypeAlias = Mapping[str, Mapping[str, End] | str]
"""By target: where its streams ended at some time, or why that is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageQuery:
    """The question to each target."""

    stream: str | None = None
    """None: every stream that captures events of JetStream."""
    matching: str = ">"
    first: int = 1
    last: int | None = None


@dataclass(slots=True)
class _TargetConnection:
    """A connected target."""

    js: JetStream
    stack: AsyncExitStack
    streams: tuple[str, ...] = ()
    searched: float = field(default=float("-inf"))


class _Unanswered(Exception):
    """A target, or one question to it, that got no answer; as a sentence."""


class Lookout:
    """The lookout of one loop; call `close` in the same loop. A `patient` one waits for elections and restarts; one
    that soon looks once more does not."""

    def __init__(self, targets: Iterable[FleetTarget], wanted: MessageQuery, *, patient: bool = False) -> None:
        self._targets, self._wanted, self._is_patient = tuple(targets), wanted, patient
        self._connections: dict[str, _TargetConnection] = {}
        self._room = asyncio.Semaphore(AT_ONCE)
        self._began = _now_text()

    async def ends(self) -> Ends:
        """Return where every stream ends now."""
        return await self._ask_all(lambda target: self._ask(target, self._ends))

    async def look(self, before: Offsets, *, most: int = EVERYTHING, ends: Ends | None = None) -> Offsets:
        """Return the next piece of each stream, with at most this many messages; with `ends`, nothing beyond those."""

        async def pieces_of(target: FleetTarget) -> Entries:
            was = before.get(target.name, {})
            end = None if ends is None else ends[target.name]
            pieces = (
                end if isinstance(end, str) else await self._ask(target, lambda x: self._new_pieces(x, was, most, end))
            )
            return self._all_with_error(was, pieces) if isinstance(pieces, str) else pieces

        pieces = await self._ask_all(pieces_of)
        return {**before, **{name: entries for name, entries in pieces.items() if entries}}

    async def close(self) -> None:
        """Close the connection to every target; a later look dials again."""
        await asyncio.gather(*(self._disconnect(name) for name in [*self._connections]))

    async def _ask_all(self, ask: Callable[[FleetTarget], Awaitable[T]]) -> dict[str, T]:
        async def in_turn(target: FleetTarget) -> T:
            async with self._room:
                return await ask(target)

        answers = await asyncio.gather(*(in_turn(target) for target in self._targets))
        return dict(zip((target.name for target in self._targets), answers, strict=True))

    async def _ask(self, target: FleetTarget, ask: Callable[[_TargetConnection], Awaitable[T]]) -> T | str:
        """Ask, and never raise: a missing answer is also an answer, with its reason."""
        try:
            async with asyncio.timeout(target.deadline):
                connection = await self._connection(target)
                try:
                    return await ask(connection)
                finally:
                    # After the end of a connection the next look dials again, however long it was gone.
                    if connection.js.pipeline.nc.is_closed or len(self._targets) > KEPT:
                        await self._disconnect(target.name)
        except _Unanswered as error:
            why = str(error)
        except Exception as error:  # noqa: BLE001 - whatever a stranger answers, the other targets are looked at
            why = why_unread(target, error)
        await self._disconnect(target.name)
        return why

    async def _connection(self, target: FleetTarget) -> _TargetConnection:
        if target.name not in self._connections:
            stack = AsyncExitStack()
            js = await stack.enter_async_context(session(target.options(), window=WINDOW))
            self._connections[target.name] = _TargetConnection(js.persistent() if self._is_patient else js, stack)
        return self._connections[target.name]

    async def _disconnect(self, name: str) -> None:
        if connection := self._connections.pop(name, None):
            with suppress(Exception):  # however it ends, it is gone
                await connection.stack.aclose()

    async def _streams_to_read(self, connection: _TargetConnection) -> tuple[str, ...]:
        if self._wanted.stream is not None:
            return (self._wanted.stream,)
        if time.monotonic() - connection.searched > SEARCH:
            connection.streams, connection.searched = await _capturing_streams(connection.js), time.monotonic()
        return connection.streams

    async def _ends(self, connection: _TargetConnection) -> Mapping[str, End]:
        streams = await self._streams_to_read(connection)
        newest_messages = await asyncio.gather(
            *(newest(connection.js, stream, self._wanted.matching) for stream in streams)
        )
        return dict(zip(streams, newest_messages, strict=True))

    async def _new_pieces(
        self, connection: _TargetConnection, was: Entries, most: int, ends: Mapping[str, End] | None
    ) -> Entries:
        streams = await self._streams_to_read(connection) if ends is None else (*ends,)
        if not streams:
            return self._all_with_error(was, NOT_KEPT)
        asking = (
            self._new_piece(connection.js, name, was.get(name, {}), most, None if ends is None else ends[name])
            for name in streams
        )
        pieces = dict(zip(streams, await asyncio.gather(*asking), strict=True))
        return {**{name: entry for name, entry in was.items() if name}, **{k: v for k, v in pieces.items() if v}}

    async def _new_piece(self, js: JetStream, stream: str, was: Entry, most: int, end: End | None) -> Entry:
        position = Position(sequence=int(was.get("sequence", self._wanted.first - 1)), time=str(was.get("time", "")))
        step = await onward(js, stream, position, most=most, matching=self._wanted.matching, end=end)
        if isinstance(step, Refusal | NoAnswer):
            return self._with_error(was, f"stream {stream}: {step}")
        if step is None:
            return {key: value for key, value in was.items() if key not in ("error", "at")}
        if step.to.sequence > LARGEST:
            return self._with_error(
                was, f"stream {stream} numbers its messages above 2^63 - 1, which Spark cannot hold"
            )
        return _entry_of_step(step, self._wanted.last)

    def _all_with_error(self, was: Entries, why: str) -> Entries:
        """Repeat the reason for everything known of a target."""
        streams = [name for name in was if name] or [self._wanted.stream or ""]
        return {name: self._with_error(was.get(name, {}), why) for name in streams}

    def _with_error(self, was: Entry, why: str) -> Entry:
        """Keep the first reason while there is any: one outage is noticed once by each who looks, however it shows."""
        if "error" in was and str(was["at"]) >= self._began:
            return was
        return {**was, "error": why, "at": _now_text()}


async def _capturing_streams(js: JetStream) -> tuple[str, ...]:
    names: list[str] = []
    while True:
        answer = await js.read("STREAM.NAMES", {"subject": EVENTS, "offset": len(names)})
        if isinstance(answer, Refusal | NoAnswer):
            raise _Unanswered(f"It is unknown which streams capture {EVENTS} ({answer}).")
        page = answer.get("streams") or []
        names += page
        if not page or len(names) >= answer.get("total", 0):
            return tuple(sorted(names))


def _entry_of_step(step: Onward, last: int | None) -> Entry:
    sequence = step.to.sequence if last is None else min(step.to.sequence, last)
    if sequence <= step.after:
        return {}
    piece: Entry = {"after": step.after, "sequence": sequence, "time": step.to.time}
    return {**piece, "restarted": True} if step.is_anew else piece


def _now_text() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")
