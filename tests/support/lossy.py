"""A wire that loses chosen answers: what a server did is done, and the client never hears of it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

_MESSAGE = re.compile(rb"MSG [^\r\n]+? (\d+)\r\n")


@asynccontextmanager
async def losing(port: int, *containing: bytes) -> AsyncIterator[int]:
    """Gives a port that leads one client to `port`; for each of `containing`, the first message with it is lost. At least
    one has to be: a wire that loses nothing proves nothing."""
    to_lose, served = list(containing), asyncio.Event()

    async def serve(client: asyncio.StreamReader, answer: asyncio.StreamWriter) -> None:
        server, request = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(_pass_on(client, request), _pass_on(server, answer, to_lose))
        served.set()

    proxy = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield proxy.sockets[0].getsockname()[1]
        await served.wait()
        assert len(to_lose) < len(containing), f"nothing was lost: no message had {containing[0]!r} in it"
    finally:
        proxy.close()


async def _pass_on(
    source: asyncio.StreamReader, sink: asyncio.StreamWriter, to_lose: list[bytes] | None = None
) -> None:
    buffer = b""
    while chunk := await _read(source):
        buffer += chunk
        if to_lose is None:
            ready, buffer = buffer, b""
        else:
            ready, buffer = _without(buffer, to_lose)
        sink.write(ready)
    sink.close()
    await sink.wait_closed()


async def _read(source: asyncio.StreamReader) -> bytes:
    try:
        return await source.read(65536)
    except ConnectionResetError:
        return b""


def _without(buffer: bytes, to_lose: list[bytes]) -> tuple[bytes, bytes]:
    """What to pass on now, and what is not complete yet."""
    ready = b""
    while found := _MESSAGE.search(buffer):
        end = found.end() + int(found.group(1)) + 2
        if len(buffer) < end:
            return ready + buffer[: found.start()], buffer[found.start() :]
        lost = next((text for text in to_lose if text in buffer[found.end() : end]), None)
        if lost is None:
            ready += buffer[:end]
        else:
            to_lose.remove(lost)
            ready += buffer[: found.start()]
        buffer = buffer[end:]
    return ready + buffer, b""
