"""How far a queue has come is read while its members go on working: what changes between two looks is looked at again."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from reconciler.changes.events import Finished
from reconciler.engine.bindings import resume_point
from reconciler.model.wire.steps import Bind, Call, Step
from reconciler.server.wire.api import JetStream
from tests.faults.wire import Goes, Moment, Point, Request, Side, wire
from tests.server.test_execute import run
from tests.support.accounts import Account, connect
from tests.support.jetstream import done, make_stream, talk

READ = Step(
    id="read", call=Call.QUEUE_READ, on=("Q",), address="elastic_group/S/g", bind=Bind.RESUME_POINT,
    body={"from": "S", "timeout": 10_000_000_000, "gone": 0},
)  # fmt: skip
THE_LOWEST = Point(Request("$JS.API.STREAM.MSG.GET.Q", 1), Side.REQUEST)


async def _queued(js: JetStream) -> None:
    """One message of S waits in Q."""
    await make_stream(js, "S", subjects=["s"])
    await make_stream(js, "Q", sources=[{"name": "S"}], retention="workqueue")
    await js.pipeline.nc.request("s", b"", timeout=20)
    async with asyncio.timeout(60):
        while not done(await js.read("STREAM.INFO.Q"))["state"]["messages"]:
            pass  # nothing announces what a queue takes in


async def _read(account: Account, step: Step) -> Finished:
    async with wire(lambda: account.server.port, THE_LOWEST) as between:
        near = await account.connect()
        far = await connect(f"nats://127.0.0.1:{between.port}", account.user, account.password)
        member, js = await JetStream.open(near), await JetStream.open(far)

        async def processed(_moment: Moment) -> Goes:
            done(await member.write("STREAM.PURGE.Q"))
            return Goes.ON

        between.act = processed
        await _queued(member)
        outcome = await run(js, step)
        assert between.was_reached
        for each, nc in ((member, near), (js, far)):
            await each.close()
            await nc.close()
    return outcome


@pytest.mark.parametrize("step", [READ, replace(READ, body={**READ.body, "timeout": 0})], ids=["in time", "late"])
def test_a_message_that_is_processed_between_two_looks_does_not_make_the_queue_gone(
    account: Account, step: Step
) -> None:
    outcome = asyncio.run(_read(account, step))
    assert [resume_point(one.echo) for one in outcome.done] == [2], outcome


@pytest.mark.parametrize(("lost", "said"), [("S", "its source S is gone"), ("Q", "it is gone")])
def test_which_of_the_two_is_gone_is_said(account: Account, lost: str, said: str) -> None:
    async def work(js: JetStream) -> Finished:
        await _queued(js)
        done(await js.write(f"STREAM.DELETE.{lost}"))
        return await run(js, READ)

    (failed,) = talk(account, work).failed
    assert said in str(failed.reason)
