"""A stream with consumers somewhere in it, and what is known of each message: who was given it, who has done with it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nats.aio.msg import Msg

from reconciler.changes.events import Finished
from reconciler.changes.plan import Plan
from reconciler.journeys.apply.apply import apply
from reconciler.journeys.plan.plan import plan
from reconciler.kinds.subjects.filters import filters_of
from reconciler.kinds.subjects.subjects import matches
from reconciler.model.run_options import RunOptions
from reconciler.server.wire.api import JetStream
from tests.support.jetstream import done
from tests.support.topologies import read

PATIENCE = 20
ALLOWED = tuple(
    (code, "*")
    for code in ("ST301", "ST302", "ST304", "ST312", "KV301", "CO301", "CO312", "XX311", "XX221", "XX231", "XX245")
)


class Miscounted(Exception):
    """Nobody can tell here: 2.11 says another number of pending messages than there are after some of them were deleted, and on a
    busy machine messages age."""


@dataclass(frozen=True, slots=True)
class Work:
    """How far a consumer has come: so many were pulled, and these of them acknowledged, by their place."""

    pulled: int = 0
    acknowledged: Collection[int] = ()


@dataclass
class Progress:
    """Of one consumer, by stream sequence."""

    config: Mapping[str, Any]
    given: set[int] = field(default_factory=set)
    processed: set[int] = field(default_factory=set)


@dataclass
class Live:
    """One account, and what happened in it."""

    js: JetStream
    folder: Path
    subjects: dict[int, str] = field(default_factory=dict)
    consumers: dict[str, Progress] = field(default_factory=dict)
    stream: str = "S"
    notes: dict[str, int] = field(default_factory=dict)
    taken: str = ">"
    """What a copy took before."""
    record: Mapping[str, Any] = field(default_factory=dict)
    """Of a group, as it was before the plan."""
    members: asyncio.Task[None] | None = None
    """Of a group, which end when its record is gone."""

    async def apply(self, topology: Mapping[str, Any], *replacing: str) -> Plan:
        """Everything that is asked is consented to."""
        options = RunOptions(allow=(*ALLOWED, *((code, "*") for code in replacing)))
        found = await plan(read(self.folder, json.dumps(topology), "t"), self.js, options)
        assert not found.plan.blocked, [
            (one.address, one.reason, one.blocked_by, [(v.code, v.message) for v in one.verdicts])
            for one in found.plan.blocked
        ]
        events = [event async for event in apply(found, self.js)]
        assert isinstance(events[-1], Finished), events
        assert events[-1].is_success, events[-1]
        return found.plan

    async def publish(self, messages: Collection[tuple[str, int]]) -> None:
        """In this order: a connection keeps it."""
        nc = self.js.pipeline.nc
        replies = [nc.request(subject, b"x" * size, timeout=PATIENCE) for subject, size in messages]
        for (subject, _), reply in zip(messages, await asyncio.gather(*replies), strict=True):
            self.subjects[json.loads(reply.data)["seq"]] = subject

    async def delete(self, sequence: int) -> None:
        done(await self.js.request(f"STREAM.MSG.DELETE.{self.stream}", {"seq": sequence}))

    async def stored(self) -> dict[int, str]:
        """Subject by sequence."""
        state = (await self.info())["state"]
        sequences = range(state["first_seq"], state["last_seq"] + 1) if state["messages"] else ()
        subject = f"STREAM.MSG.GET.{self.stream}"
        answers = await asyncio.gather(*(self.js.request(subject, {"seq": sequence}) for sequence in sequences))
        found = zip(sequences, answers, strict=True)
        return {sequence: one["message"]["subject"] for sequence, one in found if isinstance(one, Mapping)}

    async def info(self) -> Mapping[str, Any]:
        return done(await self.js.request(f"STREAM.INFO.{self.stream}"))

    async def rests(self, expected: int | None = None) -> Mapping[int, str]:
        """What is stored once nothing goes or comes: two equal looks, and no third while it is not as expected."""
        loop = asyncio.get_running_loop()
        deadline, before = loop.time() + (0 if expected is None else 4), await self.stored()
        while True:
            await asyncio.sleep(0.1)
            now = await self.stored()
            if now == before and (expected is None or len(now) == expected or loop.time() > deadline):
                return now
            before = now

    async def work(self, name: str, config: Mapping[str, Any], work: Work) -> None:
        """Pulls and acknowledges, and waits until the server has heard of it."""
        progress = self.consumers.setdefault(name, Progress(config))
        there = done(await self.js.request(f"CONSUMER.INFO.{self.stream}.{name}"))["num_pending"]
        if there != len(self.wanted(name, await self.stored())):
            raise Miscounted
        found = await self.pull(name, min(work.pulled, there))
        if config.get("ack_policy") == "none":
            progress.processed |= {one.metadata.sequence.stream for one in found}
        progress.given |= {one.metadata.sequence.stream for one in found}
        for place, one in enumerate(found):
            if place in work.acknowledged:
                await self.js.pipeline.nc.request(one.reply, b"+ACK", timeout=PATIENCE)
                sequence = one.metadata.sequence.stream
                of_all = config.get("ack_policy") == "all"
                progress.processed |= {other for other in progress.given if other <= sequence} if of_all else {sequence}

    async def pull(self, name: str, number: int) -> list[Msg]:
        if not number:
            return []
        nc = self.js.pipeline.nc
        inbox = nc.new_inbox()
        answers = await nc.subscribe(inbox)
        body = json.dumps({"batch": number, "no_wait": True}).encode()
        await nc.publish(f"$JS.API.CONSUMER.MSG.NEXT.{self.stream}.{name}", body, reply=inbox)
        found: list[Msg] = []
        while len(found) < number:
            one = await answers.next_msg(timeout=PATIENCE)
            assert "Status" not in (one.headers or {}), (name, number, len(found), one.headers)
            found.append(one)
        await answers.unsubscribe()
        return found

    async def everything(self, name: str) -> list[int]:
        """All that is delivered to it now, also again, by stream sequence."""
        found: list[int] = []
        while pending := done(await self.js.request(f"CONSUMER.INFO.{self.stream}.{name}"))["num_pending"]:
            found += [one.metadata.sequence.stream for one in await self.pull(name, pending)]
        return found

    def wanted(self, name: str, stored: Collection[int]) -> set[int]:
        """What a consumer has still to process of these."""
        one = self.consumers[name]
        there = (seq for seq in stored if seq >= one.config.get("opt_start_seq", 1))
        taken = {seq for seq in there if any(matches(self.subjects[seq], mine) for mine in filters_of(one.config))}
        return taken - one.processed
