"""A wire that sees what a client asks for, and kills that client at a chosen request: before it is sent, or just after."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from reconciler.server.api import JetStream
from reconciler.server.unlocking import leases, remove


@asynccontextmanager
async def killing(port: int, marker: bytes, nth: int, kill: Callable[[], object], *, sent: bool) -> AsyncIterator[int]:
    """Gives a port that leads to `port`. At the `nth` request with `marker` the client is killed; `sent`: it arrives."""
    served: list[asyncio.Task[None]] = []

    async def serve(client: asyncio.StreamReader, answer: asyncio.StreamWriter) -> None:
        server, request = await asyncio.open_connection("127.0.0.1", port)
        served.append(asyncio.ensure_future(_pass_on(server, answer)))
        await _watch(client, request)
        request.close()

    async def _watch(client: asyncio.StreamReader, request: asyncio.StreamWriter) -> None:
        seen, tail = 0, b""
        while chunk := await _read(client):
            seen += (tail + chunk).count(marker)
            tail = (tail + chunk)[-len(marker) + 1 :]
            if seen >= nth and not sent:
                kill()
                return
            request.write(chunk)
            await request.drain()
            if seen >= nth:
                kill()
                return

    proxy = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield proxy.sockets[0].getsockname()[1]
    finally:
        proxy.close()
        await asyncio.gather(*served)


async def unlock(js: JetStream) -> None:
    """As a person does who knows that the applier is dead, so that nobody waits for its lease."""
    held = await leases(js)
    assert isinstance(held, list)
    assert held, "whoever is killed while writing holds a lease"
    for one in held:
        await remove(js, one)


async def _pass_on(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    while chunk := await _read(source):
        sink.write(chunk)
    sink.close()


async def _read(source: asyncio.StreamReader) -> bytes:
    try:
        return await source.read(65536)
    except ConnectionResetError:
        return b""
