"""A wire between an apply and a server that counts requests and replies, and lets something happen at one of them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from tests.support.frames import Frames

COUNTED = (b"$JS.", b"$KV.", b"$SYS.")
READS = ("$SYS.", "INFO", "LIST", "NAMES", "MSG.GET", "DIRECT.GET")


class Side(StrEnum):
    REQUEST = "request"
    REPLY = "reply"


class Request(NamedTuple):
    """One of those an apply sends: its subject, and how often it was sent to that before."""

    subject: str
    nth: int

    @property
    def is_write(self) -> bool:
        return not any(word in self.subject for word in READS)

    def __str__(self) -> str:
        return f"{self.subject} #{self.nth}"


class Point(NamedTuple):
    request: Request
    side: Side

    def __str__(self) -> str:
        return f"{self.side} of {self.request}"


class Goes(StrEnum):
    """What becomes of the command at the point."""

    ON = "on"
    NOWHERE = "nowhere"
    WITH_THE_LINE = "with the line"
    """The connection ends on both sides."""


@dataclass(slots=True)
class Moment:
    """The command at the point, held until it is said where it goes."""

    frame: bytes
    to: asyncio.StreamWriter
    """Where it would go."""
    back: asyncio.StreamWriter
    """Where it came from."""
    answer_to: bytes
    """The first words of a message to whoever sent the request."""

    def answer(self, body: dict[str, object]) -> None:
        """As if the server had said so."""
        payload = json.dumps(body).encode()
        self.back.write(self.answer_to + b" %d\r\n%b\r\n" % (len(payload), payload))


Act = Callable[[Moment], Awaitable[Goes]]


async def nothing_happens(_moment: Moment) -> Goes:
    return Goes.ON


async def unseen(_request: Request) -> None:
    """Nobody looks at it."""


@dataclass(slots=True)
class Wire:
    """Leads one apply to a server, also when it connects again."""

    lead: Callable[[], int]
    """Which port it leads to now."""
    at: Point | None = None
    act: Act = nothing_happens
    answered_by: Callable[[Request], Awaitable[None]] = unseen
    """Sees each reply before it is passed on, and holds it for so long."""
    port: int = 0
    asked: list[Request] = field(default_factory=list)
    """What got through to the server, in this order."""
    answered: set[Request] = field(default_factory=set)
    """What it has taken in for certain: of what is under way when a line ends, it may not have read all."""
    seen: Counter[str] = field(default_factory=Counter)
    was_reached: bool = False
    lines: set[asyncio.Task[None]] = field(default_factory=set)
    connections: int = 0

    def serve(self, client: asyncio.StreamReader, answer: asyncio.StreamWriter) -> None:
        self.connections += 1
        line = asyncio.create_task(self._led(client, answer))
        self.lines.add(line)
        line.add_done_callback(self.lines.discard)

    async def _led(self, client: asyncio.StreamReader, answer: asyncio.StreamWriter) -> None:
        async with _closing(answer):
            try:
                server, request = await asyncio.open_connection("127.0.0.1", self.lead())
            except OSError:
                return
            async with _closing(request):
                line = _Line(self, answer, request)
                both = [asyncio.ensure_future(line.requests(client)), asyncio.ensure_future(line.replies(server))]
                try:
                    await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    for one in both:
                        one.cancel()
                    await asyncio.gather(*both, return_exceptions=True)

    async def ended(self) -> None:
        """Whoever is still there has five seconds to go: a socket left behind fails some later test."""
        if lines := [*self.lines]:
            _, left = await asyncio.wait(lines, timeout=5)
            for line in left:
                line.cancel()
            await asyncio.gather(*lines, return_exceptions=True)


@asynccontextmanager
async def _closing(writer: asyncio.StreamWriter) -> AsyncIterator[None]:
    try:
        yield
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


class _Line:
    """One connection of the apply."""

    def __init__(self, wire: Wire, client: asyncio.StreamWriter, server: asyncio.StreamWriter) -> None:
        self._wire, self._client, self._server = wire, client, server
        self._awaited: dict[bytes, Request] = {}
        self._inboxes: dict[bytes, bytes] = {}

    async def requests(self, source: asyncio.StreamReader) -> None:
        frames = Frames()
        while chunk := await _read(source):
            for frame, words in frames.of(chunk):
                if not await self._request(frame, words):
                    return

    async def _request(self, frame: bytes, words: list[bytes]) -> bool:
        """Passed on; False: the line ends here."""
        if words and words[0] == b"SUB":
            self._inboxes[words[1].removesuffix(b"*")] = words[-1]
        request, reply = self._noted(words)
        if request is None:
            return await _pass_on(frame, self._server)
        goes = Goes.ON
        if self._wire.at == (request, Side.REQUEST) and not self._wire.was_reached:
            self._wire.was_reached = True
            inbox = reply[: reply.rfind(b".") + 1]
            moment = Moment(frame, self._server, self._client, b"MSG %b %b" % (reply, self._inboxes.get(inbox, b"1")))
            goes = await self._wire.act(moment)
        if goes is Goes.ON:
            self._wire.asked.append(request)
            return await _pass_on(frame, self._server)
        return goes is Goes.NOWHERE

    def _noted(self, words: list[bytes]) -> tuple[Request | None, bytes]:
        if not words or words[0] not in (b"PUB", b"HPUB") or not words[1].startswith(COUNTED):
            return None, b""
        subject = re.sub(r"journal\.\d+", "journal.N", words[1].decode())
        self._wire.seen[subject] += 1
        request = Request(subject, self._wire.seen[subject])
        replies = words[2:-1] if words[0] == b"PUB" else words[2:-2]
        reply = replies[0] if replies else b""
        self._awaited[reply] = request
        return request, reply

    async def replies(self, source: asyncio.StreamReader) -> None:
        frames = Frames()
        while chunk := await _read(source):
            for frame, words in frames.of(chunk):
                if not await self._reply(frame, words):
                    return

    async def _reply(self, frame: bytes, words: list[bytes]) -> bool:
        request = self._awaited.pop(words[1], None) if words and words[0] in (b"MSG", b"HMSG") else None
        goes = Goes.ON
        if request is not None:
            self._wire.answered.add(request)
            await self._wire.answered_by(request)
        if request is not None and self._wire.at == (request, Side.REPLY) and not self._wire.was_reached:
            self._wire.was_reached = True
            goes = await self._wire.act(Moment(frame, self._client, self._server, b""))
        return await _pass_on(frame, self._client) if goes is Goes.ON else goes is Goes.NOWHERE


async def _pass_on(frame: bytes, sink: asyncio.StreamWriter) -> bool:
    try:
        sink.write(frame)
        await sink.drain()
    except ConnectionError:
        return False
    return True


async def _read(source: asyncio.StreamReader) -> bytes:
    try:
        return await source.read(65536)
    except ConnectionError:
        return b""


@asynccontextmanager
async def wire(lead: Callable[[], int], at: Point | None = None) -> AsyncIterator[Wire]:
    """A port of its own that leads wherever `lead` says."""
    between = Wire(lead, at)
    proxy = await asyncio.start_server(between.serve, "127.0.0.1", 0)
    between.port = proxy.sockets[0].getsockname()[1]
    try:
        yield between
    finally:
        proxy.close()
        await between.ended()
        await proxy.wait_closed()
