"""One case: a group at work, its replacement cut off, the next apply, and everything that then comes to its members."""

from __future__ import annotations

import asyncio
import signal
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import nats
import nats.errors
from nats.aio.client import Client

from reconciler.changes.change import Action
from reconciler.changes.events import Finished
from reconciler.changes.plan import Plan
from reconciler.journeys.apply.apply import apply
from reconciler.journeys.plan.plan import Planned, plan, predicted_forms
from reconciler.model.run_options import RunOptions
from reconciler.model.topology import Topology
from reconciler.server.run.execute import execute
from reconciler.server.wire.api import JetStream
from tests.drill.cases import KEYS, PUBLISHED, STEPS, Case
from tests.drill.wire import wire
from tests.support.applying import applying, ended
from tests.support.jetstream import done
from tests.support.leases import removed
from tests.support.servers import NatsServer
from tests.support.topologies import read

OPTIONS = RunOptions(today=date(2026, 6, 1), allow=(("EG101", "*"),))
PATIENCE = 60.0
"""Seconds until a message that has not come counts as lost; a full queue takes in more every two."""


@dataclass(slots=True)
class Outcome:
    """What came of one case."""

    case: Case
    lost: set[int] = field(default_factory=set)
    disordered: list[str] = field(default_factory=list)
    again: int = 0
    """Messages that came although they had been delivered before."""
    announced: int = 0
    """How many of them the plan had said at most."""
    wrong: list[str] = field(default_factory=list)
    asked: tuple[str, ...] = ()
    """What a killed run had asked for."""
    ran_through: bool = False
    """It came to its end before it could be killed."""

    @property
    def is_good(self) -> bool:
        return not (self.lost or self.disordered or self.wrong or self.again > self.announced)

    def __str__(self) -> str:
        told = f"again {self.again} of at most {self.announced}"
        bad = [f"LOST {sorted(self.lost)}"] if self.lost else []
        bad += [f"OUT OF ORDER {self.disordered}"] if self.disordered else []
        return "; ".join((f"{self.case}: {told}", *bad, *self.wrong))


class Drill:
    """A server of its own and a folder for topologies; every case leaves the account empty."""

    def __init__(self, server: NatsServer, folder: Path) -> None:
        self._server, self._folder = server, folder
        self._published = 0

    async def run(self, case: Case) -> Outcome:
        await self._connect()
        try:
            return await self._story(Outcome(case))
        finally:
            for name in done(await self.js.read("STREAM.NAMES"))["streams"] or ():
                done(await self.js.request(f"STREAM.DELETE.{name}"))
            await self._close()

    async def _connect(self) -> None:
        self.nc: Client = await nats.connect(self._server.url)
        self.js = await JetStream.open(self.nc)

    async def _close(self) -> None:
        await self.js.close()
        await self.nc.close()

    async def _story(self, outcome: Outcome) -> Outcome:
        case = outcome.case
        before = self._file("before", 4, 1, case.state.buffer)
        wanted = self._file("wanted", case.wish.partitions, case.wish.wildcard, 1000 if case.state.buffer else 0)
        await self._apply(before, outcome)
        self._published = 0
        await self._publish(PUBLISHED)
        delivered, processed = await self._at_work(case)
        outcome.announced = await self._cut(wanted, outcome)
        await self._publish(1)
        await self._apply(wanted, outcome)
        await self._publish(1)
        await self._settle(wanted, outcome)
        await self._judge(outcome, delivered, processed)
        return outcome

    def _file(self, name: str, partitions: int, wildcard: int, buffer: int) -> Topology:
        limit = f", max_buffered_msg: {buffer}" if buffer else ""
        filters = f"[{{filter: s.*.*, partitioning_wildcards: [{wildcard}]}}]"
        group = f"{{type: elastic, max_members: {partitions}, partitioning_filters: {filters}, members: [a, b]{limit}}}"
        return read(self._folder / name, f"streams: {{S: {{subjects: [s.*.*], groups: {{g: {group}}}}}}}")

    async def _apply(self, wanted: Topology, outcome: Outcome) -> Plan:
        planned = await plan(wanted, self.js, OPTIONS)
        async for event in apply(planned, self.js):
            if isinstance(event, Finished) and not event.is_success:
                outcome.wrong += [f"NOT APPLIED: {one.reason.message}" for one in event.went_wrong]
        outcome.wrong += [f"BLOCKED: {c.address} {c.verdicts}" for c in planned.plan.changes if c.is_blocked]
        return planned.plan

    async def _publish(self, number: int) -> None:
        for _ in range(number):
            key, other = KEYS[self._published % 5], KEYS[self._published % 3]
            await self.nc.request(f"s.{key}.{other}", str(self._published).encode(), timeout=PATIENCE)
            self._published += 1

    async def _at_work(self, case: Case) -> tuple[set[int], set[int]]:
        """Members take messages, and finish some of them."""
        messages = await self._fetch(case.state.fetched, "m")
        delivered = {int(message.data) for message in messages}
        finished = [messages[number] for number in case.state.acknowledged]
        for message in finished:
            await message.ack_sync(timeout=PATIENCE)
        return delivered, {int(message.data) for message in finished}

    async def _fetch(self, number: int, consumer: str) -> list[Any]:
        """So many messages."""
        await self._consumer(consumer)
        subscription = await self.nc.jetstream().pull_subscribe_bind(consumer, stream="S-g")
        found: list[Any] = []
        async with asyncio.timeout(PATIENCE):
            while len(found) < number:
                found += await subscription.fetch(number - len(found), timeout=PATIENCE)
        await subscription.unsubscribe()
        return found

    async def _consumer(self, name: str) -> None:
        config = {"name": name, "ack_policy": "explicit", "max_ack_pending": 1000, "inactive_threshold": 60_000_000_000}
        body = {"stream_name": "S-g", "action": "create", "config": config}
        done(await self.js.request(f"CONSUMER.CREATE.S-g.{name}", body))

    async def _cut(self, wanted: Topology, outcome: Outcome) -> int:
        """Some steps, and the server restarted; how many messages the plan said would come again at most."""
        planned = await plan(wanted, self.js, OPTIONS)
        changes = [change for change in planned.plan.changes if change.action is Action.REPLACE]
        if len(changes) != 1:
            outcome.wrong.append(f"NOT REPLACED: {planned.plan.changes}")
            return 0
        if len(planned.plan.steps) != STEPS:
            outcome.wrong.append(f"{len(planned.plan.steps)} STEPS, AND CUTS AFTER {STEPS}")
        done(await self.js.request("CONSUMER.DELETE.S-g.m"))  # as members do when they see the record gone
        await (self._killed(outcome) if outcome.case.killed else self._some_steps(planned, outcome))
        if outcome.case.restarts:
            await self._close()
            self._server.restart()
            await self._connect()
        return max(v.quantities["redelivered"] for v in changes[0].verdicts if v.code == "EG101")

    async def _some_steps(self, planned: Planned, outcome: Outcome) -> None:
        async for event in execute(
            self.js, planned.plan.steps[: outcome.case.cut], forms=predicted_forms(planned.snapshot)
        ):
            if isinstance(event, Finished) and not event.is_success:
                outcome.wrong += [f"STEP FAILED: {one.reason.message}" for one in event.failed]

    async def _killed(self, outcome: Outcome) -> None:
        """An apply of its own, which does not live to hear the answer to its last request."""
        async with wire(self._server.port, outcome.case.cut) as between:
            server = ("--server", f"nats://127.0.0.1:{between.port}")
            process = applying(self._folder, "wanted", "--yes", "--allow", "EG101=elastic_group/S/g", *server)
            between.kill = process.kill
            process.start()
            await ended(process)
        outcome.asked = tuple(between.asked)
        outcome.ran_through = process.exitcode == 0
        if process.exitcode not in (0, -signal.SIGKILL):
            outcome.wrong.append(f"APPLY FAILED: {(self._folder / 'said').read_text()}")
        await removed(self.js)

    async def _settle(self, wanted: Topology, outcome: Outcome) -> None:
        """A message has come, so one more apply at most and nothing is left to do."""
        await self._until_stored()
        await self._apply(wanted, outcome)
        left = (await plan(wanted, self.js, OPTIONS)).plan
        outcome.wrong += [f"STILL TO DO: {change.action} {change.fields}" for change in left.changes]
        config = done(await self.js.request("STREAM.INFO.S-g"))["config"]
        body = {name: value for name, value in config.items() if name != "metadata"}
        if "opt_start_seq" in body["sources"][0]:
            outcome.wrong.append("START SEQUENCE LEFT")

    async def _until_stored(self) -> None:
        async with asyncio.timeout(PATIENCE):
            while True:  # nothing announces what a queue takes in
                if done(await self.js.request("STREAM.INFO.S-g"))["state"]["last_seq"]:
                    return
                await asyncio.sleep(0.02)

    async def _judge(self, outcome: Outcome, delivered: set[int], processed: set[int]) -> None:
        awaited = set(range(self._published)) - processed
        came = await self._come(awaited)
        numbers = {number for number, _ in came}
        outcome.lost = awaited - numbers
        outcome.again = len(delivered & numbers) + len(came) - len(numbers)
        by_partition = defaultdict(list)
        for number, subject in came:
            by_partition[subject.partition(".")[0]].append(number)
        outcome.disordered = [f"{at}: {numbers}" for at, numbers in by_partition.items() if numbers != sorted(numbers)]
        outside = {int(at) for at in by_partition} - set(range(outcome.case.wish.partitions))
        outcome.wrong += [f"PARTITIONS OF NOBODY {outside}"] if outside else []

    async def _come(self, awaited: set[int]) -> list[tuple[int, str]]:
        """Everything the new queue gives, until all is there and nothing more comes."""
        await self._consumer("n")
        subscription = await self.nc.jetstream().pull_subscribe_bind("n", stream="S-g")
        came: list[tuple[int, str]] = []
        deadline = asyncio.get_running_loop().time() + PATIENCE
        while asyncio.get_running_loop().time() < deadline:
            try:
                messages = await subscription.fetch(100, timeout=0.15)
            except (nats.errors.Error, TimeoutError):
                messages = []
            for message in messages:
                await message.ack_sync(timeout=PATIENCE)
                came.append((int(message.data), message.subject))
            if not messages and awaited <= {number for number, _ in came}:
                break
        return came
