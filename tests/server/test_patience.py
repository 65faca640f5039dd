"""Leaders that are missing, servers that restart and answers that are lost: asked again for a while, and never done twice."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from reconciler.server.connect.connection import close, connect
from reconciler.server.connect.options import ConnectOptions, Server
from reconciler.server.read import lost_answers as settled
from reconciler.server.read.listing import Listed, ask_each
from reconciler.server.wire.answers import NO_CONSUMER, Conflict, Refusal, Stored
from reconciler.server.wire.api import JetStream
from reconciler.server.wire.pipeline import NoAnswer, Silence
from reconciler.server.wire.shared_connection import SharedConnection
from tests.faults.wire import Goes, Moment, Point, Request, Side, wire
from tests.support.accounts import Account
from tests.support.accounts import connect as connect_plainly
from tests.support.jetstream import done, make_bucket, make_consumer, make_stream, talk
from tests.support.lossy import losing
from tests.support.servers import NatsServer


def test_a_read_finds_the_server_again_when_that_has_restarted() -> None:
    with NatsServer() as server:
        options = ConnectOptions(servers=(Server(url=server.url),), timeout=5)

        async def work() -> tuple[object, object]:
            line = SharedConnection(await connect(options), lambda: connect(options))
            js = await JetStream.open(line, within=5)
            await make_stream(js, "S", subjects=["s"])
            await asyncio.to_thread(server.kill)
            at_once, patient = js.read("STREAM.INFO.S"), js.persistent().read("STREAM.INFO.S")
            first = await at_once
            asking = asyncio.ensure_future(patient)
            await asyncio.to_thread(server.start)
            found = await asking
            await js.close()
            await close(await line.stop_dialling())
            return first, found

        first, found = asyncio.run(work())
    assert isinstance(first, NoAnswer)
    assert first.why in (Silence.OFFLINE, Silence.CLOSED)
    assert isinstance(found, Mapping)


def test_nobody_dials_when_nobody_may(account: Account) -> None:
    async def work(js: JetStream) -> object:
        await js.pipeline.nc.close()
        return await js.persistent().read("INFO")

    said = talk(account, work)
    assert isinstance(said, NoAnswer)
    assert (said.why, said.detail) == (Silence.UNSENT, "the connection is closed")


def test_a_bucket_that_is_made_a_moment_later_is_waited_for(account: Account) -> None:
    async def work(js: JetStream) -> object:
        putting = asyncio.ensure_future(settled.put(js.persistent(), "b", "k", b"1", expected_revision=0))
        await js.request("INFO")
        await make_bucket(js, "b")
        return await putting

    assert talk(account, work) == Stored(1)


def test_a_conflict_with_the_same_is_none_where_that_will_do(account: Account) -> None:
    async def work(js: JetStream) -> tuple[object, object]:
        await make_bucket(js, "b")
        await js.put_entry("b", "k", b"1", expected_revision=0)
        strictly = await settled.put(js, "b", "k", b"1", expected_revision=0)
        return strictly, await settled.put(js, "b", "k", b"1", expected_revision=0, whoever=True)

    strictly, whoever = talk(account, work)
    assert isinstance(strictly, Conflict)
    assert whoever == Stored(1)


def test_an_entry_whose_acknowledgement_was_lost_was_written_once(account: Account) -> None:
    async def work() -> tuple[object, object]:
        async with losing(account.server.port, b'"seq":2') as port:
            nc = await connect_plainly(f"nats://127.0.0.1:{port}", account.user, account.password)
            js = await JetStream.open(nc, within=0.5)
            await make_bucket(js, "b")
            await js.put_entry("b", "k", b"1", expected_revision=0)
            said = await settled.put(js.persistent(), "b", "k", b"2", expected_revision=1)
            state = done(await js.request("STREAM.INFO.KV_b", within=20))["state"]["last_seq"]
            await js.close()
            await nc.close()
        return said, state

    assert asyncio.run(work()) == (Stored(2), 2)


@pytest.mark.parametrize(("why", "is_made"), [("peer offline", True), ("tags not matched ['x']", False)])
def test_replicas_wait_for_a_server_that_restarts(account: Account, why: str, is_made: bool) -> None:
    """For a third of a second a leader that sees it again does not know how much room it has; what nobody has never comes."""
    no_peers = {"code": 400, "err_code": 10005, "description": f"no suitable peers for placement, {why}"}

    async def refuse(moment: Moment) -> Goes:
        moment.answer({"error": no_peers})
        return Goes.NOWHERE

    async def work() -> object:
        async with wire(lambda: account.server.port, Point(Request("$JS.API.STREAM.CREATE.S", 1), Side.REQUEST)) as it:
            it.act = refuse
            nc = await connect_plainly(f"nats://127.0.0.1:{it.port}", account.user, account.password)
            js = await JetStream.open(nc)
            said = await js.write("STREAM.CREATE.S", {"name": "S", "subjects": ["s"]})
            await js.close()
            await nc.close()
        return said

    assert isinstance(asyncio.run(work()), Mapping) == is_made


@pytest.mark.parametrize("is_persistent", [True, False])
def test_who_is_silent_in_a_list_is_asked_by_name_for_a_while(account: Account, is_persistent: bool) -> None:
    async def work() -> Listed:
        async with losing(account.server.port, b"consumer_info_response") as port:
            nc = await connect_plainly(f"nats://127.0.0.1:{port}", account.user, account.password)
            js = await JetStream.open(nc, within=2)
            await make_stream(js, "S", subjects=["s"])
            await make_consumer(js, "S", "c")
            found = Listed(silent={"c": "its leader is gone"})
            asking = js.persistent() if is_persistent else js
            await ask_each(asking, dict(found.silent), "CONSUMER.INFO.S.{}".format, NO_CONSUMER, found)
            await js.close()
            await nc.close()
        return found

    found = asyncio.run(work())
    assert (list(found.items), list(found.silent)) == ((["c"], []) if is_persistent else ([], ["c"]))


def test_silence_is_asked_again_until_somebody_answers(account: Account) -> None:
    said: list[object] = [NoAnswer(Silence.TIMEOUT, "x"), Refusal(10004, 503, "incomplete"), {"done": True}]

    async def work(js: JetStream) -> object:
        async def send() -> object:
            return said.pop(0)

        async def look() -> None:
            return None

        return await settled.write_until_known(js, send, look)  # type: ignore[arg-type]

    assert talk(account, work) == {"done": True}


def test_no_leader_is_no_reason_to_look() -> None:
    assert not settled.is_unknown(Refusal(10008, 503, "no leader"))
    assert not settled.is_unknown(NoAnswer(Silence.DENIED, "x"))
    assert settled.is_unknown(Refusal(10202, 500, "who knows"))
