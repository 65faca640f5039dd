"""Refusals of a cluster that lags behind what it said before are asked again, and all others are final at once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from reconciler.changes.events import Finished
from reconciler.model.wire.steps import Step
from reconciler.server.run.execute import execute
from reconciler.server.wire.answers import FIXES
from reconciler.server.wire.api import JetStream
from tests.faults.wire import Goes, Moment, Point, Request, Side, wire
from tests.server.test_execute import FORMS, consumer, run, stream
from tests.support.accounts import Account
from tests.support.accounts import connect as connect_plainly
from tests.support.jetstream import make_stream, talk

MISSING = {"code": 404, "err_code": 10059, "description": "stream not found"}
THREE: tuple[dict[str, Any], ...] = ({"cluster": {"replicas": [{}, {}]}},)


def refused(what: str, **more: Any) -> dict[str, Any]:
    return {"code": 400, "err_code": 10005, "description": f"no suitable peers for placement{what}", **more}


def refused_once(account: Account, endpoint: str, error: dict[str, Any], *steps: Step, **options: Any) -> Finished:
    """The steps, of which the first request to this endpoint is refused like this, and later ones are not."""

    async def refuse(moment: Moment) -> Goes:
        moment.answer({"error": error})
        return Goes.NOWHERE

    async def work() -> Finished:
        point = Point(Request(f"$JS.API.{endpoint}", 1), Side.REQUEST)
        async with wire(lambda: account.server.port, point) as it:
            it.act = refuse
            nc = await connect_plainly(f"nats://127.0.0.1:{it.port}", account.user, account.password)
            js = await JetStream.open(nc)
            *_, last = [event async for event in execute(js.persistent(), steps, forms=FORMS, **options)]
            await js.close()
            await nc.close()
        assert it.was_reached
        assert isinstance(last, Finished)
        return last

    return asyncio.run(work())


def test_a_stream_that_this_run_has_made_is_there_whatever_a_server_says(account: Account) -> None:
    steps = stream("S", subjects=["s"]), consumer("c", "S")
    assert refused_once(account, "CONSUMER.CREATE.S.c", MISSING, *steps).is_success


def test_whether_a_stream_of_others_is_there_the_server_knows(account: Account) -> None:
    talk(account, lambda js: make_stream(js, "S", subjects=["s"]))
    (failed,) = refused_once(account, "CONSUMER.CREATE.S.c", MISSING, consumer("c")).failed
    assert failed.reason.message.endswith("stream not found (10059).")


@pytest.mark.parametrize(
    ("wanted", "why", "is_made"),
    [
        ({"num_replicas": 1}, "", True),
        ({"num_replicas": 1}, ", miscellaneous issue", True),
        ({"num_replicas": 1}, ", tags not matched ['x']", False),
        ({"num_replicas": 1}, ", insufficient storage", False),
        ({"num_replicas": 1, "placement": {"tags": ["x"]}}, "", False),
        ({"num_replicas": 5}, "", False),
    ],
)
def test_servers_that_were_seen_are_there_until_a_reason_says_otherwise(
    account: Account, wanted: dict[str, Any], why: str, is_made: bool
) -> None:
    made = stream("S", subjects=["s"], **wanted)
    outcome = refused_once(account, "STREAM.CREATE.S", refused(why), made, streams=THREE)
    assert outcome.is_success == is_made
    assert [one.reason.fix for one in outcome.failed] == ([] if is_made else [FIXES[10005]])


@pytest.mark.parametrize("clustered_account", ["2.11", "2.12"], indirect=True)
def test_consumers_of_streams_just_made_are_all_made(clustered_account: Account) -> None:
    """Without asking again some are refused in about every third round."""

    async def round_of(js: JetStream, number: int) -> list[str]:
        names = [f"S{number}-{i}" for i in range(64)]
        made = [stream(name, subjects=[name]) for name in names]
        finished = await run(js, *made, *(consumer(f"c-{name}", name, on=name) for name in names), window=128)
        return [one.reason.message for one in finished.failed]

    async def work(js: JetStream) -> list[list[str]]:
        return [await round_of(js.persistent(), number) for number in range(10)]

    assert talk(clustered_account, work) == [[]] * 10


@pytest.mark.parametrize("clustered_account", ["2.12"], indirect=True)
def test_more_replicas_than_servers_are_refused_at_once(clustered_account: Account) -> None:
    async def work(js: JetStream) -> tuple[Finished, float]:
        loop = asyncio.get_running_loop()
        before = loop.time()
        return await run(js.persistent(), stream("S", num_replicas=5), streams=THREE), loop.time() - before

    outcome, took = talk(clustered_account, work)
    assert "no suitable peers" in outcome.failed[0].reason.message
    assert took < 3
