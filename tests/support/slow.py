"""A long wire to a server: whatever a client sends arrives after a delay, in order and without holding up what follows.

python -m tests.support.slow SECONDS PORT...     prints a port for each, and serves until its input ends
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def slowly(seconds: float, port: int) -> Iterator[int]:
    """Gives a port that leads to `port`, for any number of clients."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    server = asyncio.run_coroutine_threadsafe(_serving(seconds, port), loop).result()
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        asyncio.run_coroutine_threadsafe(_ended(server), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _serving(seconds: float, port: int) -> asyncio.Server:
    async def serve(client: asyncio.StreamReader, answer: asyncio.StreamWriter) -> None:
        server, request = await asyncio.open_connection("127.0.0.1", port)
        try:
            await asyncio.gather(_pass_on(client, request, seconds), _pass_on(server, answer, 0))
        finally:
            for end in (request, answer):
                end.close()
                with contextlib.suppress(ConnectionError):
                    await end.wait_closed()

    return await asyncio.start_server(serve, "127.0.0.1", 0, backlog=1024)


async def _ended(server: asyncio.Server) -> None:
    server.close()
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


async def _pass_on(source: asyncio.StreamReader, sink: asyncio.StreamWriter, seconds: float) -> None:
    """Until the one side ends; what is on its way then still arrives, and the other side hears of the end after it."""
    loop = asyncio.get_running_loop()
    with contextlib.suppress(ConnectionError):
        while chunk := await source.read(1 << 18):
            loop.call_later(seconds, sink.write, chunk) if seconds else sink.write(chunk)
        await asyncio.sleep(seconds)
        if sink.can_write_eof():
            sink.write_eof()


async def _main(seconds: float, ports: list[int]) -> None:
    servers = [await _serving(seconds, port) for port in ports]
    print(*(server.sockets[0].getsockname()[1] for server in servers), flush=True)
    await asyncio.to_thread(sys.stdin.read)
    for server in servers:
        await _ended(server)


if __name__ == "__main__":
    asyncio.run(_main(float(sys.argv[1]), [int(port) for port in sys.argv[2:]]))
