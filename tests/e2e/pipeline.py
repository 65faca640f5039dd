"""Publishers, a topology that changes step by step, and what its consumers process meanwhile."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path

from reconciler.changes.events import Finished
from reconciler.journeys.apply.apply import apply
from reconciler.journeys.plan.plan import plan
from reconciler.model.run_options import RunOptions
from reconciler.server.wire.api import JetStream
from tests.support.jetstream import done
from tests.support.topologies import TODAY, read


class Pipeline:
    """Publishers, a topology, and what its consumers have processed."""

    def __init__(self, js: JetStream, folder: Path) -> None:
        self.js, self.nc, self.folder = js, js.pipeline.nc, folder
        self.published: list[str] = []
        self.processed: Counter[str] = Counter()
        self.steps = 0

    async def applied(self, text: str, by: JetStream | None = None) -> None:
        self.steps += 1
        made = await plan(read(self.folder / str(self.steps), text), self.js, RunOptions(today=TODAY))
        assert not made.plan.blocked, made.plan.blocked
        (finished,) = [event async for event in apply(made, by or self.js) if isinstance(event, Finished)]
        assert finished.is_success, finished.went_wrong

    async def publish(self, subject: str, number: int) -> None:
        for _ in range(number):
            text = f"{subject} {len(self.published)}"
            done(json.loads((await self.nc.request(subject, text.encode(), timeout=5)).data))
            self.published.append(text)

    async def process(self, stream: str, consumer: str, most: int = 1_000) -> None:
        """Acknowledges so many messages, or all there are."""
        inbox = self.nc.new_inbox()
        answers = await self.nc.subscribe(inbox)
        body = json.dumps({"batch": most, "no_wait": True}).encode()
        await self.nc.publish(f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}", body, reply=inbox)
        for _ in range(most):
            message = await answers.next_msg(timeout=20)
            if (message.headers or {}).get("Status"):
                break
            self.processed[message.data.decode()] += 1
            await self.nc.request(message.reply, b"", timeout=20)
        await answers.unsubscribe()

    async def copied(self, stream: str, messages: int) -> int:
        """Its last sequence, once it holds so many and nothing lags."""
        async with asyncio.timeout(30):
            while True:  # nothing announces that a copy is complete
                info = done(await self.js.request(f"STREAM.INFO.{stream}"))
                if info["state"]["messages"] >= messages and not any(one.get("lag") for one in info.get("sources", ())):
                    return int(info["state"]["last_seq"])
                await asyncio.sleep(0.02)

    async def unprocessed(self, stream: str, consumer: str) -> int:
        info = done(await self.js.request(f"CONSUMER.INFO.{stream}.{consumer}"))
        return int(info["num_pending"] + info["num_ack_pending"])

    def each_once(self) -> bool:
        return self.processed == Counter(self.published)
