"""An interest stream in a cluster of which one server is away: nobody goes before whoever takes over is known to all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from reconciler.changes.events import Finished, Waiting
from reconciler.journeys.apply.apply import apply
from reconciler.journeys.plan.plan import Planned, predicted_forms
from reconciler.model.diagnostic import CannotContinue
from reconciler.model.topology import Topology
from reconciler.model.wire.steps import Call, Step
from reconciler.server.read.observe import observe
from reconciler.server.run.execute import execute
from reconciler.server.wire.api import JetStream
from reconciler.server.wire.pipeline import NoAnswer
from tests.replacement.consuming import CONSENT, Work, at_work, file
from tests.support.accounts import Account
from tests.support.jetstream import done, make_stream, talk
from tests.support.servers import NatsServer
from tests.support.topologies import read

SECOND = 1_000_000_000


@asynccontextmanager
async def one_away(account: Account, work: Work) -> AsyncIterator[NatsServer]:
    """Killed: neither the stream's leader nor the one that serves us. At the end everybody is there again."""
    assert account.cluster is not None
    leader = done(await work.js.request("STREAM.INFO.S"))["cluster"]["leader"]
    away = next(node for node in account.cluster.nodes[1:] if node.name != leader)
    away.kill()
    try:
        yield away
    finally:
        if not away.is_running:
            away.start()
        await asyncio.to_thread(account.cluster.wait_until_ready)


async def applied(work: Work, planned: Planned, away: NatsServer) -> tuple[list[str], list[str], Finished]:
    """What was waited for, and who was there then; the server comes back as soon as it is waited for."""
    told, there = [], []
    async for event in apply(planned, work.js):
        if isinstance(event, Waiting):
            told.append(event.text)
            if not away.is_running:
                there = await work.consumers()
                away.start()
        if isinstance(event, Finished):
            return told, sorted(there), event
    raise AssertionError("an apply that does not end")


def declared(folder: Path, consumer: str, more: str = "") -> Topology:
    consumers = f"{{{consumer}: {{ack_policy: explicit}}}}"
    stream = f"{{subjects: [s.*], retention: interest, num_replicas: 3, consumers: {consumers}}}"
    return read(folder, f"streams: {{S: {stream}}}\n{more}")


def test_a_consumer_is_replaced_only_when_its_placeholder_is_on_every_server(
    clustered_account: Account, tmp_path: Path
) -> None:
    wanted = file(tmp_path / "wanted", "interest", f"max_waiting: 64{CONSENT}", replicas=3)

    async def story() -> None:
        async with at_work(clustered_account, file(tmp_path, "interest", replicas=3)) as work:
            planned = await work.plan(wanted)
            async with one_away(clustered_account, work) as away:
                told, there, finished = await applied(work, planned, away)
            assert finished.is_success, finished
            kept = next(name for name in there if name.endswith("-kept"))
            assert there == ["c", kept]
            assert told[0].startswith(f"waiting for the replicas of S/{kept}: ")  # others may not be current yet either
            assert (await work.consumers(), set(await work.work_off()) | set(work.acknowledged)) == (
                ["c"],
                set(work.published),
            )

    asyncio.run(story())


@pytest.mark.parametrize("is_there", [False, True], ids=["declared", "left by an apply that ended before it looked"])
def test_a_consumer_is_removed_only_when_the_one_beside_it_is_on_every_server(
    clustered_account: Account, tmp_path: Path, is_there: bool
) -> None:
    removed = "removed: [{address: consumer/S/c, reason: another takes over}]"
    wanted = declared(tmp_path / "wanted", "d", removed)

    async def story() -> None:
        async with at_work(clustered_account, declared(tmp_path, "c")) as work:
            async with one_away(clustered_account, work) as away:
                if is_there:
                    await made(work.js, "d")
                planned = await planned_soon(work, wanted)
                told, there, finished = await applied(work, planned, away)
            assert finished.is_success, finished
            assert there == ["c", "d"]
            assert told[0].startswith("waiting for the replicas of S/d: ")
            assert (await work.consumers(), (await work.info("d"))["num_pending"]) == (["d"], await work.left())

    asyncio.run(story())


def sharing(folder: Path, **filters: str) -> Topology:
    """Consumers of one interest stream, each with one subject; what they skip for it is consented to."""
    allow = "[{{code: CO301, to: [{0}], reason: another takes over}}]"
    each = "{0}: {{ack_policy: explicit, filter_subjects: [{1}], allow: {2}}}"
    consumers = ", ".join(each.format(name, one, allow.format(one)) for name, one in filters.items())
    return read(
        folder,
        f"streams: {{S: {{subjects: [s.*], retention: interest, num_replicas: 3, consumers: {{{consumers}}}}}}}",
    )


def test_subjects_are_exchanged_only_when_whoever_takes_them_is_on_every_server(
    clustered_account: Account, tmp_path: Path
) -> None:
    wanted = sharing(tmp_path / "wanted", c="s.y", d="s.x")

    async def story() -> None:
        async with at_work(clustered_account, sharing(tmp_path, c="s.x", d="s.y")) as work:
            planned, left = await work.plan(wanted), await work.left()
            async with one_away(clustered_account, work) as away:
                told, _there, finished = await applied(work, planned, away)
            assert finished.is_success, finished
            assert told[0].startswith("waiting for the replicas of S/c: ")
            assert await work.left() == (await work.info("d"))["num_pending"] == left > 0

    asyncio.run(story())


async def planned_soon(work: Work, wanted: Topology) -> Planned:
    """Asked again until whatever the killed server led has another leader."""
    async with asyncio.timeout(60):
        while True:
            with suppress(CannotContinue):
                planned = await work.plan(wanted)
                if any(step.call is Call.CONSUMER_DELETE for step in planned.plan.steps):
                    return planned


async def gate(js: JetStream, name: str = "c", seconds: float = 60) -> Finished:
    step = Step(id="gate", call=Call.GATE_CONSUMER_EVERYWHERE, on=("S", name), address=f"consumer/S/{name}",
                body={"replicas": 3, "timeout": seconds * SECOND, "is_new": True}, effect="wait")  # fmt: skip
    events = [event async for event in execute(js, [step], forms=predicted_forms(await observe(js)))]
    assert isinstance(events[-1], Finished)
    return events[-1]


def test_a_server_that_does_not_come_back_is_named(clustered_account: Account, tmp_path: Path) -> None:
    async def story() -> None:
        async with at_work(clustered_account, declared(tmp_path, "c")) as work:
            async with one_away(clustered_account, work) as away:
                await made(work.js, "d")
                (failed,) = (await gate(work.js, "d", seconds=0.5)).failed
            assert failed.reason.code == "AP113"
            assert failed.reason.message.startswith("Consumer S/d is not on every server after 0.5 s: ")
            assert away.name in failed.reason.message

    asyncio.run(story())


async def made(js: JetStream, name: str, **config: Any) -> None:
    """Asked for until there is an answer: whoever was to give it may be the one that is away."""
    wanted = {"durable_name": name, "ack_policy": "explicit", **config}
    body = {"stream_name": "S", "action": "create", "config": wanted}
    async with asyncio.timeout(60):
        while isinstance(said := await js.request(f"CONSUMER.CREATE.S.{name}", body), NoAnswer):
            pass
    done(said)


async def begun(js: JetStream, **config: Any) -> None:
    """A consumer that begins at the second of five messages, beside another one that wants them all."""
    await make_stream(js, "S", subjects=["s.*"], retention="interest", num_replicas=3)
    await made(js, "kept")
    await made(js, "c", deliver_policy="by_start_sequence", opt_start_seq=2, **config)
    for _ in range(5):
        await js.pipeline.nc.request("s.x", b"x", timeout=20)


def test_one_that_begins_behind_what_it_has_to_deliver_is_found_out(clustered_account: Account) -> None:
    async def work(js: JetStream) -> Finished:
        await begun(js)
        done(await js.request("CONSUMER.RESET.S.c", {"seq": 5}))
        return await gate(js)

    (failed,) = talk(clustered_account, work).failed
    assert failed.reason.code == "AP112"
    assert "S/c started after message 4, but S still holds message 2" in failed.reason.message
    assert "nats consumer rm S c" in (failed.reason.fix or "")


def test_one_that_found_nothing_that_matches_is_not(clustered_account: Account) -> None:
    async def work(js: JetStream) -> tuple[Mapping[str, Any], Finished]:
        await begun(js, filter_subject="s.y")
        nc = js.pipeline.nc
        inbox = nc.new_inbox()  # whom nobody listens to is not looked for
        await nc.subscribe(inbox)
        async with asyncio.timeout(60):
            while (seen := done(await js.request("CONSUMER.INFO.S.c")))["delivered"]["stream_seq"] < 5:
                await nc.publish("$JS.API.CONSUMER.MSG.NEXT.S.c", b'{"expires": 1000000000}', reply=inbox)
        return seen, await gate(js)

    seen, finished = talk(clustered_account, work)
    assert (seen["delivered"]["consumer_seq"], finished.is_success) == (0, True)
