"""A wire that sees what a client asks for, and kills that client at a chosen request: before it is sent, or just after."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from reconciler.server.wire.api import JetStream
from tests.cli.running import environment
from tests.support.accounts import Account
from tests.support.forked import Forked, forked
from tests.support.leases import removed


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


async def killed(folder: Path, account: Account, file: str, at: tuple[bytes, int], *, sent: bool) -> None:
    """An apply of this file, gone at the request with these bytes in it, the so-and-so-many-th."""
    running: list[Forked] = []

    def kill() -> None:
        for one in running:
            one.kill()

    async with killing(account.server.port, *at, kill, sent=sent) as port:
        login = ("--server", f"nats://127.0.0.1:{port}", "--user", account.user, "--password", account.password)
        unhurried = environment(folder, RECONCILER_LEASE_TTL="60")  # nobody waits for it: see `unlock`
        running.append(forked("reconciler", "apply", file, "--yes", *login, folder=folder, environment=unhurried))
        assert await asyncio.to_thread(running[0].wait, 60) == -signal.SIGKILL


async def unlock(js: JetStream) -> None:
    """As a person does who knows that the applier is dead, so that nobody waits for its lease."""
    assert await removed(js), "whoever is killed while writing holds a lease"


async def _pass_on(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    while chunk := await _read(source):
        sink.write(chunk)
    sink.close()


async def _read(source: asyncio.StreamReader) -> bytes:
    try:
        return await source.read(65536)
    except ConnectionResetError:
        return b""
