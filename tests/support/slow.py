"""A long wire to a server: whatever a client sends arrives after a delay, in order and without holding up what follows.

python -m tests.support.slow SECONDS PORT...     prints a port for each, and serves until its input ends
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import cast


@contextlib.contextmanager
def slowly(seconds: float, port: int) -> Iterator[int]:
    """Gives a port that leads to `port`, for any number of clients."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    wire = asyncio.run_coroutine_threadsafe(_Wire(seconds, port).opened(), loop).result()
    try:
        yield wire.port
    finally:
        asyncio.run_coroutine_threadsafe(wire.close(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@dataclass(slots=True)
class _Wire:
    """Leads all who connect to it to one server."""

    seconds: float
    to: int
    port: int = 0
    ends: set[_End] = field(default_factory=set)
    server: asyncio.Server | None = None
    connecting: set[asyncio.Task[None]] = field(default_factory=set)

    async def opened(self) -> _Wire:
        loop = asyncio.get_running_loop()
        self.server = await loop.create_server(lambda: _End(self, self.seconds), "127.0.0.1", 0, backlog=1024)
        self.port = self.server.sockets[0].getsockname()[1]
        return self

    def lead_on(self, client: _End) -> None:
        task = asyncio.create_task(self._led_on(client))
        self.connecting.add(task)
        task.add_done_callback(self.connecting.discard)

    async def _led_on(self, client: _End) -> None:
        loop = asyncio.get_running_loop()
        try:
            await loop.create_connection(lambda: _End(self, 0, client), "127.0.0.1", self.to)
        except OSError:
            client.transport.abort()

    async def close(self) -> None:
        """Whatever is under way ends."""
        assert self.server is not None
        self.server.close()
        for task in self.connecting:
            task.cancel()
        for end in self.ends:
            end.transport.abort()
        await asyncio.sleep(0)  # until they have heard of it


class _End(asyncio.Protocol):
    """Where one side of a connection arrives. Bytes have a way of `seconds` to go from here, and so has its end."""

    transport: asyncio.Transport

    def __init__(self, wire: _Wire, seconds: float, other: _End | None = None) -> None:
        self._wire, self._seconds, self._other = wire, seconds, other

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self._wire.ends.add(self)
        if self._other is None:  # a client, who waits until there is a server
            self.transport.pause_reading()
            self._wire.lead_on(self)
        else:
            self._other._other = self
            self._other.transport.resume_reading()

    def data_received(self, data: bytes) -> None:
        if self._other is None:
            return
        if self._seconds:
            asyncio.get_running_loop().call_later(self._seconds, self._other.transport.write, data)
        else:
            self._other.transport.write(data)

    def eof_received(self) -> bool:
        if self._other is not None:
            asyncio.get_running_loop().call_later(self._seconds, self._other.transport.close)
        return True

    def connection_lost(self, _error: Exception | None) -> None:
        self._wire.ends.discard(self)
        if self._other is not None:
            asyncio.get_running_loop().call_later(self._seconds, self._other.transport.close)


async def _main(seconds: float, ports: list[int]) -> None:
    wires = [await _Wire(seconds, port).opened() for port in ports]
    print(*(wire.port for wire in wires), flush=True)
    await asyncio.to_thread(sys.stdin.read)
    for wire in wires:
        await wire.close()


if __name__ == "__main__":
    asyncio.run(_main(float(sys.argv[1]), [int(port) for port in sys.argv[2:]]))
