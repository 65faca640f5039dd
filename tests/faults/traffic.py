"""Publishers that go on all the time, consumers half-way through, and what belongs to others beside it all."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Iterable, Sequence
from typing import Any

import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg

from reconciler.server.wire.api import JetStream
from tests.faults.members import Member
from tests.faults.scenes import Scene
from tests.support.jetstream import done, make_bucket, make_consumer, make_stream

EVERY = 0.04
"""Seconds between two messages."""
ACKNOWLEDGED = (0, 1, 3)
"""Of the first six."""
LOOKING = "looking"
"""A consumer of ours on a stream that has none."""
PATIENCE = 150.0
"""Seconds until a message that has not come counts as lost; what is in flight comes again after 3, a full queue takes in
more every two, and a source whose leader was killed is asked again later and later, up to every two minutes."""


class Traffic:
    """What was published and stored, and what became of it."""

    def __init__(self, nc: Client, js: JetStream, scene: Scene) -> None:
        self.nc, self.js, self.scene = nc, js, scene
        self.stored: set[str] = set()
        self.processed: set[str] = set()
        self._number = 0
        self._over = False
        self._going: asyncio.Task[None] | None = None
        self._inbox = nc.new_inbox()
        self._members = [Member(js, at, self._arrived) for at in scene.members]

    async def publish(self, each: int = 1) -> None:
        for _ in range(each):
            for subject in self.scene.subjects:
                self._number += 1
                text = f"m{self._number}"
                with contextlib.suppress(nats.errors.Error, TimeoutError):  # then nobody said that it was stored
                    said = await self.nc.request(subject, text.encode(), timeout=2)
                    if b'"error"' not in said.data:
                        self.stored.add(text)

    async def begin(self) -> None:
        """Six messages each; some consumers have worked on them, and members are at work."""
        await self.nc.subscribe(self._inbox, cb=self._arrived)  # one for all, so that nothing comes too late
        await self.publish(6)
        assert self.stored or not self.scene.subjects, "nobody stores what is published: nothing could be lost"
        for stream, consumer in self.scene.worked_on:
            messages = await self._received(stream, consumer, 6)
            for number in ACKNOWLEDGED:
                await messages[number].ack_sync(timeout=PATIENCE)
                self.processed.add(messages[number].data.decode())
        await asyncio.gather(*(member.begins() for member in self._members))

    def goes_on(self) -> None:
        async def going() -> None:
            while not self._over:
                await self.publish()
                await asyncio.sleep(EVERY)

        self._going = asyncio.create_task(going())

    async def ends(self) -> None:
        self._over = True  # a request of nats-py does not always hear that it is cancelled
        if self._going is not None:
            await self._going
        await self.publish(2)

    async def lost(self) -> set[str]:
        """What never comes, however long one waits."""
        await asyncio.gather(*(self._made(stream) for stream, consumer in self.scene.readers if not consumer))
        deadline = asyncio.get_running_loop().time() + PATIENCE
        while self.stored - self.processed and asyncio.get_running_loop().time() < deadline:
            for stream, consumer in self.scene.readers:
                body = json.dumps({"batch": 500, "no_wait": True}).encode()
                subject = f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer or LOOKING}"
                await self.nc.publish(subject, body, reply=self._inbox)
            await asyncio.sleep(0.1)
        async with asyncio.timeout(PATIENCE):
            await asyncio.gather(*(member.ends() for member in self._members))
        return self.stored - self.processed

    async def _arrived(self, message: Msg) -> None:
        if not (message.headers or {}).get("Status"):
            self.processed.add(message.data.decode())
            await message.ack()

    async def evidence(self) -> str:
        """What the server says of those that should have given it."""
        said = []
        for stream, consumer in self.scene.readers:
            info = await self.js.read(f"STREAM.INFO.{stream}")
            one = await self.js.read(f"CONSUMER.INFO.{stream}.{consumer or LOOKING}")
            if isinstance(info, dict) and isinstance(one, dict):
                told = {name: one[name] for name in ("delivered", "ack_floor", "num_pending", "num_ack_pending")}
                said.append(f"{stream} {info['state']} {info.get('sources')} {info['config'].get('sources')} {told}")
        return "; ".join(said)

    async def _made(self, stream: str) -> None:
        await make_consumer(self.js, stream, LOOKING, max_ack_pending=-1, ack_wait=3_000_000_000)

    async def _received(self, stream: str, consumer: str, number: int) -> Sequence[Msg]:
        """So many, all stored before: in a cluster the consumer's own node may be behind."""
        subscription = await self.nc.jetstream().pull_subscribe_bind(consumer, stream=stream)
        messages: list[Msg] = []
        async with asyncio.timeout(PATIENCE):
            while len(messages) < number:
                with contextlib.suppress(nats.errors.Error, TimeoutError):
                    messages += await subscription.fetch(number - len(messages), timeout=5)
        await subscription.unsubscribe()
        return messages


async def others(js: JetStream) -> None:
    """A stream, a consumer and a bucket that nobody declares."""
    await make_stream(js, "THEIRS", subjects=["theirs.*"])
    await make_consumer(js, "THEIRS", "their_own", description="of somebody else")
    await make_bucket(js, "theirs")
    for subject in ("theirs.1", "theirs.2", "$KV.theirs.key"):
        await js.pipeline.nc.request(subject, b"theirs", timeout=PATIENCE)


async def of_others(js: JetStream) -> Any:
    """All of it, as the server tells it; not what changes without anybody's doing."""
    consumer = done(await js.read("CONSUMER.INFO.THEIRS.their_own"))
    stable = {name: consumer[name] for name in ("config", "created", "delivered", "ack_floor")}
    return stable, [await _stream(js, name) for name in ("THEIRS", "KV_theirs")]


async def _stream(js: JetStream, name: str) -> Any:
    info = done(await js.read(f"STREAM.INFO.{name}"))
    return info["config"], info["created"], info["state"]


async def inventory(js: JetStream, streams: Iterable[str]) -> dict[str, list[str]]:
    """Everything there is of these but our own, so that nothing is left lying about."""
    there = {stream: done(await js.read(f"CONSUMER.NAMES.{stream}"))["consumers"] or () for stream in streams}
    return {stream: sorted({*names} - {LOOKING}) for stream, names in there.items()}
