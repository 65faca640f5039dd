"""How much an apply costs beyond the requests it must send: 1,000 streams with 5 consumers each, against a bare loop.

    python -m tests.bench.apply_floor [minor]

The floor sends the very same requests with the same window and looks at no answer. Both run in turns on one
server, each time in an empty account, and the fastest of each are compared: other load only ever adds.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time

from nats.aio.client import Client

from reconciler.changes.events import Finished
from reconciler.model.resource import Config
from reconciler.model.wire.steps import Call, Step
from reconciler.server.run.execute import execute
from reconciler.server.run.handling import Forms
from reconciler.server.wire.api import JetStream
from tests.support.accounts import Account, Pool
from tests.support.binaries import NEWEST

STREAMS, CONSUMERS, WINDOW, ROUNDS = 1_000, 5, 64, 5
ALLOWED = 1.3


def steps() -> list[Step]:
    made = []
    for s in range(STREAMS):
        stream = f"S{s}"
        made.append(Step(id=stream, call=Call.STREAM_CREATE, on=(stream,), address=f"stream/{stream}", body=_stream(s)))
        for c in range(CONSUMERS):
            on = (stream, f"c{c}")
            address = f"consumer/{stream}/c{c}"
            made.append(
                Step(id=address, call=Call.CONSUMER_CREATE, on=on, address=address, body=_consumer(c), after=(stream,))
            )
    return made


def _stream(number: int) -> Config:
    return {"subjects": [f"s{number}.>"], "storage": "memory", "max_msgs": 1000}


def _consumer(number: int) -> Config:
    return {"ack_policy": "explicit", "filter_subject": f"*.{number}"}


def unlike(_step: Step, sent: Config, _before: Config | None, echo: Config) -> list[str]:
    return [name for name, value in sent.items() if echo.get(name) != value]


async def through_execute(account: Account) -> float:
    nc = await account.connect()
    js = await JetStream.open(nc, window=WINDOW)
    todo = steps()
    began = time.perf_counter()
    forms = Forms(patch=lambda raw, _set, _unset: raw, wrong=unlike)
    async for event in execute(js, todo, forms=forms, window=WINDOW):
        last = event
    seconds = time.perf_counter() - began
    assert isinstance(last, Finished)
    assert last.is_success, last.failed[:3]
    await nc.close()
    return seconds


async def bare_loop(account: Account) -> float:
    """Streams first, then consumers, as a hand-written loop would."""
    nc = await account.connect()
    requests = [_request(step) for step in steps()]
    began = time.perf_counter()
    for level in ("STREAM", "CONSUMER"):
        await _send([request for request in requests if f"API.{level}." in request[0]], nc)
    seconds = time.perf_counter() - began
    await nc.close()
    return seconds


def _request(step: Step) -> tuple[str, bytes]:
    if len(step.on) == 1:
        return f"$JS.API.STREAM.CREATE.{step.on[0]}", json.dumps({"name": step.on[0], **step.body}).encode()
    config = {"name": step.on[1], "durable_name": step.on[1], **step.body}
    body = {"stream_name": step.on[0], "action": "create", "config": config}
    return f"$JS.API.CONSUMER.CREATE.{'.'.join(step.on)}", json.dumps(body).encode()


async def _send(requests: list[tuple[str, bytes]], nc: Client) -> None:
    window = asyncio.Semaphore(WINDOW)

    async def one(subject: str, body: bytes) -> None:
        async with window:
            await nc.request(subject, body, timeout=30)

    await asyncio.gather(*(one(*request) for request in requests))


def main(minor: str = NEWEST) -> int:
    pool = Pool()
    floor, ours = [], []
    for _ in range(ROUNDS):
        floor.append(asyncio.run(bare_loop(pool.account(minor))))
        ours.append(asyncio.run(through_execute(pool.account(minor))))
    pool.close()
    ratio = min(ours) / min(floor)
    print(f"nats-server {minor}: {STREAMS} streams and {STREAMS * CONSUMERS} consumers")
    print(f"  bare loop {min(floor):.2f} s, execute {min(ours):.2f} s: {ratio:.2f} × the floor (allowed {ALLOWED})")
    return 0 if ratio <= ALLOWED else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
