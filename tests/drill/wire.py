"""A wire that counts what a client asks for, and lets only so many requests through: the last one is done, and never heard.

Counted are requests to JetStream and writes to buckets. When the server has answered all that were let through, the client
is killed, before it hears the last answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from tests.support.frames import Frames

COUNTED = (b"$JS.", b"$KV.")


@dataclass(slots=True)
class Wire:
    """Leads to a server, for one client."""

    most: int
    """How many requests get through."""
    port: int = 0
    kill: Callable[[], object] = lambda: None
    asked: list[str] = field(default_factory=list)
    """The subjects that got through."""
    _open: set[bytes] = field(default_factory=set)
    """Where answers are awaited."""
    _all_answered: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def is_full(self) -> bool:
        return len(self.asked) >= self.most

    async def requests(self, client: asyncio.StreamReader, server: asyncio.StreamWriter) -> None:
        frames = Frames()
        while chunk := await _read(client):
            for frame, words in frames.of(chunk):
                self._note(words)
                server.write(frame)
                await server.drain()
                if self.is_full:
                    await self._end()
                    return

    def _note(self, words: list[bytes]) -> None:
        if words and words[0] in (b"PUB", b"HPUB") and words[1].startswith(COUNTED):
            reply = words[2:-1] if words[0] == b"PUB" else words[2:-2]
            self._open.update(reply)
            self.asked.append(words[1].decode())

    async def _end(self) -> None:
        try:
            async with asyncio.timeout(5):
                await self._all_answered.wait()
        finally:
            self.kill()

    async def answers(self, server: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        frames = Frames()
        while chunk := await _read(server):
            for frame, words in frames.of(chunk):
                if words and words[0] in (b"MSG", b"HMSG"):
                    self._open.discard(words[1])
                if not self.is_full:
                    client.write(frame)
                elif not self._open:
                    self._all_answered.set()
        client.close()


async def _read(source: asyncio.StreamReader) -> bytes:
    try:
        return await source.read(65536)
    except ConnectionResetError:
        return b""


@asynccontextmanager
async def wire(port: int, most: int) -> AsyncIterator[Wire]:
    """A port of its own that leads to `port`."""
    between, served = Wire(most), list[asyncio.Task[None]]()

    async def serve(client: asyncio.StreamReader, answer: asyncio.StreamWriter) -> None:
        server, request = await asyncio.open_connection("127.0.0.1", port)
        served.append(asyncio.ensure_future(between.answers(server, answer)))
        await between.requests(client, request)
        request.close()

    proxy = await asyncio.start_server(serve, "127.0.0.1", 0)
    between.port = proxy.sockets[0].getsockname()[1]
    try:
        yield between
    finally:
        proxy.close()
        await asyncio.gather(*served)
