"""Exchanges while people work: publishers go on, clients go on, and every message is stored and processed once."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from nats.aio.client import Client
from nats.errors import NoRespondersError, TimeoutError

from reconciler.changes.events import Finished
from reconciler.journeys.apply.apply import apply
from reconciler.journeys.plan.plan import plan_from_snapshot
from reconciler.kinds import REGISTRY
from reconciler.model.run_options import RunOptions
from reconciler.model.topology import Topology
from reconciler.server.read.observe import observe
from reconciler.server.wire.api import JetStream
from tests.agreement.harm import shows
from tests.convergence.running import CONSENTED, TODAY
from tests.kinds.test_order_on_interest import APART, TOGETHER
from tests.support.accounts import Account
from tests.support.background import beside
from tests.support.jetstream import done, make_consumer, make_stream, talk
from tests.support.topologies import read
from tests.support.versions import on_every_version


def two(one: str, other: str, retention: str = "workqueue", most: int = 512) -> str:
    """A stream with two consumers, that may have so many waiting pulls: the one thing that no update changes."""
    filters = {"one": one, "two": other}
    each = (
        f"{name}: {{ack_policy: explicit, max_waiting: {most}, filter_subject: {f}}}" for name, f in filters.items()
    )
    return f"streams: {{W: {{subjects: [q.>], retention: {retention}, consumers: {{{', '.join(each)}}}}}}}"


@pytest.fixture
def files(tmp_path: Path) -> Callable[[str], Topology]:
    return lambda text: read(tmp_path, text)


async def applied(js: JetStream, wanted: Topology) -> None:
    made = await plan_from_snapshot(wanted, await observe(js), js, RunOptions(allow=CONSENTED, today=TODAY), REGISTRY)
    (finished,) = [event async for event in apply(made, js) if isinstance(event, Finished)]
    assert finished.is_success, finished
    assert finished.done, made.plan.blocked
    assert not made.plan.blocked, made.plan.blocked


async def published(nc: Client, subject: str) -> int | None:
    """The sequence it was stored at; None when nobody stored it."""
    try:
        answer = json.loads((await nc.request(subject, b"m", timeout=20)).data)
    except (NoRespondersError, TimeoutError):
        return None
    return int(answer["seq"])


class Worker:
    """A client of one consumer that acknowledges what it gets, a moment later."""

    def __init__(self, nc: Client, stream: str, consumer: str) -> None:
        self._nc, self._next = nc, f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}"
        self.seen: Counter[int] = Counter()

    async def work(self) -> None:
        inbox = self._nc.new_inbox()
        messages = await self._nc.subscribe(inbox)
        while True:
            await self._nc.publish(self._next, b'{"batch": 20, "expires": 200000000}', reply=inbox)
            await self._batch(messages)

    async def _batch(self, messages: Any) -> None:
        try:
            for _ in range(20):
                message = await messages.next_msg(timeout=0.4)
                if (message.headers or {}).get("Status"):
                    return
                self.seen[int(message.reply.split(".")[5])] += 1
                await asyncio.sleep(0.001)  # the work itself
                await message.respond(b"+ACK")
        except TimeoutError:
            pass


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(60):
        while not await condition():  # noqa: ASYNC110 - a server announces none of this
            await asyncio.sleep(0.05)


@on_every_version
def test_consumers_exchange_filters_and_every_message_is_processed_once(
    account: Account, files: Callable[[str], Topology]
) -> None:
    async def work(js: JetStream) -> tuple[list[int | None], Counter[int]]:
        nc = js.pipeline.nc
        await applied(js, files(two("q.a", "q.b")))
        stored = [await published(nc, f"q.{'ab'[n % 2]}") for n in range(60)]
        workers = [Worker(nc, "W", name) for name in ("one", "two")]
        async with beside(*(worker.work() for worker in workers)):
            change = asyncio.create_task(applied(js, files(two("q.b", "q.a"))))
            while not change.done():
                stored += [await published(nc, "q.a"), await published(nc, "q.b")]
                await asyncio.sleep(0.005)
            await change
            stored += [await published(nc, f"q.{'ab'[n % 2]}") for n in range(20)]
            await until(lambda: is_empty(js, "W"))
        return stored, workers[0].seen + workers[1].seen

    stored, seen = talk(account, work)
    assert None not in stored
    assert {sequence: seen[sequence or 0] for sequence in stored if seen[sequence or 0] != 1} == {}


@on_every_version
@pytest.mark.parametrize("retention", ["workqueue", "interest"])
def test_consumers_that_exchange_filters_and_are_made_anew_miss_nothing(
    account: Account, files: Callable[[str], Topology], retention: str
) -> None:
    async def work(js: JetStream) -> tuple[list[int | None], Counter[int]]:
        nc = js.pipeline.nc
        await applied(js, files(two("q.a", "q.b", retention)))
        stored = [await published(nc, f"q.{'ab'[n % 2]}") for n in range(20)]
        change = asyncio.create_task(applied(js, files(two("q.b", "q.a", retention, 64))))
        while not change.done():
            stored += [await published(nc, "q.a"), await published(nc, "q.b")]
        await change
        infos = [done(await js.request(f"CONSUMER.INFO.W.{name}")) for name in ("one", "two")]
        assert [info["config"]["max_waiting"] for info in infos] == [64, 64]
        return stored, await drained(js)

    stored, seen = talk(account, work)
    assert None not in stored
    assert {sequence: seen[sequence or 0] for sequence in stored if seen[sequence or 0] != 1} == {}


async def drained(js: JetStream) -> Counter[int]:
    """What both consumers give, until nothing is left; how much is pending, servers count a moment later."""
    workers = [Worker(js.pipeline.nc, "W", name) for name in ("one", "two")]
    async with beside(*(worker.work() for worker in workers)):
        await until(lambda: is_empty(js, "W"))
    return workers[0].seen + workers[1].seen


async def is_empty(js: JetStream, stream: str) -> bool:
    return bool(done(await js.request(f"STREAM.INFO.{stream}"))["state"]["messages"] == 0)


@shows("XX311")
@on_every_version
def test_an_update_alone_would_leave_messages_that_nobody_is_ever_given(account: Account) -> str:
    """Why consumers of a work queue start over: the harm that the steps above avoid."""

    async def work(js: JetStream) -> int:
        nc = js.pipeline.nc
        await make_stream(js, "W", subjects=["q.>"], retention="workqueue")
        await make_consumer(js, "W", "two", filter_subject="q.b")
        for subject in ("q.a", "q.b"):
            await published(nc, subject)
        worker = Worker(nc, "W", "two")
        async with beside(worker.work()):
            await until(lambda: has_seen(worker, 2))
            config = {"durable_name": "two", "name": "two", "ack_policy": "explicit", "filter_subject": "q.a"}
            body = {"stream_name": "W", "action": "update", "config": config}
            done(await js.request("CONSUMER.CREATE.W.two", body))
            last = await published(nc, "q.a")
            await until(lambda: has_seen(worker, last))
        return worker.seen[1]

    times = talk(account, work)
    assert times == 0
    return f"The message that an update alone hands over is delivered {times} times, and stays in the work queue."


async def has_seen(worker: Worker, sequence: int | None) -> bool:
    return worker.seen[sequence or 0] > 0


@on_every_version
def test_an_interest_stream_is_split_and_nothing_that_was_acknowledged_is_dropped(
    account: Account, files: Callable[[str], Topology]
) -> None:
    """Until S has given the subject up, its consumer is there; when T takes it, T's own is."""

    async def work(js: JetStream) -> tuple[int, int]:
        nc = js.pipeline.nc
        await applied(js, files(TOGETHER))
        said = [await published(nc, "p") for _ in range(20)]
        change = asyncio.create_task(applied(js, files(APART)))
        while not change.done():
            said.append(await published(nc, "p"))
        await change
        said += [await published(nc, "p") for _ in range(20)]
        held = [done(await js.request(f"STREAM.INFO.{name}"))["state"]["messages"] for name in ("S", "T")]
        return sum(held), sum(sequence is not None for sequence in said)

    held, acknowledged = talk(account, work)
    assert held == acknowledged


@on_every_version
def test_streams_exchange_subjects_and_what_was_acknowledged_is_stored_once(
    account: Account, files: Callable[[str], Topology]
) -> None:
    texts = [f"streams: {{A: {{subjects: [{one}]}}, B: {{subjects: [{other}]}}}}" for one, other in ("ab", "ba")]

    async def work(js: JetStream) -> tuple[int, int, int]:
        nc = js.pipeline.nc
        await applied(js, files(texts[0]))
        said = [await published(nc, "ab"[n % 2]) for n in range(20)]
        change = asyncio.create_task(applied(js, files(texts[1])))
        while not change.done():
            said += [await published(nc, "a"), await published(nc, "b")]
        await change
        said += [await published(nc, "ab"[n % 2]) for n in range(20)]
        infos = [done(await js.request(f"STREAM.INFO.{name}")) for name in "AB"]
        return sum(one is not None for one in said), sum(info["state"]["messages"] for info in infos), len(said)

    acknowledged, stored, tried = talk(account, work)
    assert stored == acknowledged
    assert tried - acknowledged < tried / 2  # the gap is short
