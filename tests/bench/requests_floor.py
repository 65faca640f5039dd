"""What a request costs beyond its bytes: 10,000 STREAM.INFO through our pipeline, through nats-py's, and publishes alone.

python -m tests.bench.requests_floor [minor]
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable

from reconciler.server.wire.api import JetStream
from tests.support.accounts import Pool
from tests.support.binaries import NEWEST
from tests.support.jetstream import done, make_stream, talk

REQUESTS, WINDOW, ROUNDS = 10_000, 64, 3


async def ours(js: JetStream) -> None:
    for answer in await asyncio.gather(*(js.request("STREAM.INFO.S") for _ in range(REQUESTS))):
        done(answer)


async def theirs(js: JetStream) -> None:
    window = asyncio.Semaphore(WINDOW)

    async def one() -> None:
        async with window:
            json.loads((await js.pipeline.nc.request("$JS.API.STREAM.INFO.S", b"", timeout=5)).data)

    await asyncio.gather(*(one() for _ in range(REQUESTS)))


async def publishes(js: JetStream) -> None:
    for _ in range(REQUESTS):
        await js.pipeline.nc.publish("nobody.listens", b"")
    await js.pipeline.nc.flush()


async def measured(js: JetStream, work: Callable[[JetStream], Awaitable[None]]) -> tuple[float, float]:
    """Requests per second, and microseconds of our own CPU per request; the best of some rounds."""
    rounds = []
    for _ in range(ROUNDS):
        wall, cpu = time.perf_counter(), time.process_time()
        await work(js)
        rounds.append((REQUESTS / (time.perf_counter() - wall), 1e6 * (time.process_time() - cpu) / REQUESTS))
    return max(rounds)


async def compare(js: JetStream) -> int:
    await make_stream(js, "S")
    rates = {}
    for name, work in (("ours", ours), ("nc.request", theirs), ("publish alone", publishes)):
        rates[name], cpu = await measured(js, work)
        print(f"  {name:14} {rates[name]:>9,.0f}/s, {cpu:5.1f} µs of CPU each")
    return 0 if rates["ours"] >= 0.8 * rates["nc.request"] else 1


def main(minor: str = NEWEST) -> int:
    pool = Pool()
    try:
        return talk(pool.account(minor), compare, window=WINDOW)
    finally:
        pool.close()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
