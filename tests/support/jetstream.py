"""Short ways to talk JetStream's JSON API to a test's account."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol, TypeVar

from nats.aio.client import Client

from reconciler.server.wire.answers import Answer, Refusal
from reconciler.server.wire.api import JetStream
from reconciler.server.wire.pipeline import NoAnswer

T = TypeVar("T")


class Place(Protocol):
    """Whatever can be connected to: an account, or one user of a server."""

    async def connect(self) -> Client: ...


def talk(place: Place, work: Callable[[JetStream], Awaitable[T]], **options: Any) -> T:
    """Runs `work` over a connection of its own; `options` are those of `JetStream.open`."""

    async def session() -> T:
        nc = await place.connect()
        js = await JetStream.open(nc, **options)
        try:
            return await work(js)
        finally:
            await js.close()
            await nc.close()

    return asyncio.run(session())


def done(answer: Answer) -> Mapping[str, Any]:
    """The answer, or a test that fails with the refusal."""
    assert isinstance(answer, Mapping), answer
    return answer


async def make_stream(js: JetStream, name: str, **config: Any) -> Mapping[str, Any]:
    """Asked again where a cluster has only just met; a lost answer does no harm, since the same create succeeds twice."""
    body, loop = {"name": name, **config}, asyncio.get_running_loop()
    until = loop.time() + 60
    while True:
        said = await js.request(f"STREAM.CREATE.{name}", body, within=10)
        is_early = isinstance(said, NoAnswer) or (isinstance(said, Refusal) and "peer offline" in said.description)
        if not is_early or loop.time() > until:
            return done(said)
        await asyncio.sleep(0.1)  # nothing announces that a server takes part


async def make_streams(js: JetStream, *names: str, **config: Any) -> None:
    await asyncio.gather(*(make_stream(js, name, **config) for name in names))


async def make_consumer(js: JetStream, stream: str, name: str, **config: Any) -> Mapping[str, Any]:
    wanted = {"durable_name": name, "name": name, "ack_policy": "explicit", **config}
    body = {"stream_name": stream, "action": "create", "config": wanted}
    return done(await js.request(f"CONSUMER.CREATE.{stream}.{name}", body, within=10))


async def make_bucket(js: JetStream, bucket: str, **config: Any) -> Mapping[str, Any]:
    """As KV clients make it."""
    usual = {"subjects": [f"$KV.{bucket}.>"], "max_msgs_per_subject": 1, "discard": "new", "allow_rollup_hdrs": True}
    return await make_stream(js, f"KV_{bucket}", **{**usual, "deny_delete": True, "allow_direct": True, **config})
