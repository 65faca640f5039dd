"""A stream with a consumer that is half-way through its messages, some acknowledged out of order, and its replacement."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg

from reconciler.changes.events import Done, Finished
from reconciler.journeys.apply.apply import apply
from reconciler.journeys.plan.plan import Planned, plan, predicted_forms
from reconciler.model.run_options import RunOptions
from reconciler.model.topology import Topology
from reconciler.model.wire.steps import Step
from reconciler.server.run.execute import execute
from reconciler.server.wire.api import JetStream
from tests.support.accounts import Account
from tests.support.jetstream import done, make_stream
from tests.support.topologies import read

TODAY = date(2026, 6, 1)
OPTIONS = RunOptions(today=TODAY)
ACKNOWLEDGED = (0, 1, 3)
"""Of the first six messages; the ack floor stays behind the third one."""
CONSENT = ", allow: [{code: CO106, to: 64, reason: fewer waiting pulls}]"


def file(folder: Path, retention: str = "limits", consumer: str = "max_waiting: 512", replicas: int = 1) -> Topology:
    """Everything declared: a stream kept by `retention` and its consumer `c`."""
    consumers = f"{{c: {{ack_policy: explicit, {consumer}}}}}"
    return read(
        folder,
        f"streams: {{S: {{subjects: [s.*], retention: {retention}, num_replicas: {replicas}, consumers: {consumers}}}}}",
    )


@dataclass(slots=True)
class Work:
    """What was published, and what clients saw of it."""

    nc: Client
    js: JetStream
    published: list[str] = field(default_factory=list)
    acknowledged: list[str] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)
    held: list[Msg] = field(default_factory=list)
    """Delivered before, and not yet acknowledged."""

    @classmethod
    async def over(cls, nc: Client) -> Work:
        return cls(nc, await JetStream.open(nc))

    async def close(self) -> None:
        await self.js.close()
        await self.nc.close()

    async def publish(self, number: int = 1) -> None:
        for _ in range(number):
            text = f"m{len(self.published)}"
            await self.nc.request("s.x", text.encode(), timeout=20)
            self.published.append(text)

    async def fetch(self, number: int, within: float = 2) -> list[Msg]:
        """What is there by the time something is, up to `number`; none while there is no consumer."""
        subscription = await self.nc.jetstream().pull_subscribe_bind("c", stream="S")
        try:
            messages = await subscription.fetch(number, timeout=within)
        except (nats.errors.Error, TimeoutError):
            messages = []
        await subscription.unsubscribe()
        self.seen += [message.data.decode() for message in messages]
        return messages

    async def receive(self, number: int) -> list[Msg]:
        """So many messages, all published before: in a cluster the consumer's own node may not have them all yet."""
        messages: list[Msg] = []
        async with asyncio.timeout(60):
            while len(messages) < number:
                messages += await self.fetch(number - len(messages))
        return messages

    async def acknowledge(self, messages: Iterable[Msg]) -> None:
        for message in messages:
            await message.ack_sync(timeout=20)
            self.acknowledged.append(message.data.decode())

    async def work_off(self) -> list[str]:
        """Everything that is still delivered, acknowledged. What came too late for a fetch comes again after ack_wait."""
        came: list[Msg] = []
        async with asyncio.timeout(120):
            while (messages := await self.fetch(100, within=0.5)) or not await self.is_through():
                await self.acknowledge(messages)
                came += messages
        return [message.data.decode() for message in came]

    async def is_through(self) -> bool:
        """The consumer has delivered all that its stream's leader has, and nothing of it is unacknowledged."""
        info, stored = await self.info(), done(await self.js.request("STREAM.INFO.S"))["state"]["last_seq"]
        return not (info["num_pending"] or info["num_ack_pending"]) and info["delivered"]["stream_seq"] >= stored

    async def info(self, consumer: str = "c") -> Mapping[str, Any]:
        return done(await self.js.request(f"CONSUMER.INFO.S.{consumer}"))

    async def left(self) -> int:
        return int(done(await self.js.request("STREAM.INFO.S"))["state"]["messages"])

    async def consumers(self) -> list[str]:
        return list(done(await self.js.request("CONSUMER.NAMES.S"))["consumers"])

    async def plan(self, wanted: Topology) -> Planned:
        return await plan(wanted, self.js, OPTIONS)

    async def apply(self, wanted: Topology) -> Finished:
        return await self.apply_planned(await self.plan(wanted))

    async def apply_planned(self, planned: Planned) -> Finished:
        return [event async for event in apply(planned, self.js) if isinstance(event, Finished)][-1]

    async def carry_out(self, planned: Planned, steps: Iterable[Step]) -> None:
        """Only these steps, with something published after each."""
        async for event in execute(self.js, steps, forms=predicted_forms(planned.snapshot)):
            if isinstance(event, Done):
                await self.publish()
            elif isinstance(event, Finished):
                assert event.is_success, event


@asynccontextmanager
async def at_work(account: Account, declared: Topology) -> AsyncIterator[Work]:
    """The declared consumer with ten messages published, six delivered and three of those acknowledged."""
    work = await Work.over(await account.connect())
    try:
        if account.cluster:
            await make_stream(work.js, "MET", subjects=["met"], num_replicas=3)  # once the three have met
        finished = await work.apply(declared)
        assert finished.is_success, finished
        await work.publish(10)
        messages = await work.receive(6)
        await work.acknowledge(messages[n] for n in ACKNOWLEDGED)
        work.held = [message for n, message in enumerate(messages) if n not in ACKNOWLEDGED]
        yield work
    finally:
        await work.close()
