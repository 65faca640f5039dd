"""Where our rules across resources are stricter than servers, or only warn: what really happens there, on every version."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from nats.aio.client import Client

from reconciler.server.wire.api import JetStream
from tests.support.accounts import Account, connect
from tests.support.binaries import MINORS
from tests.support.jetstream import done, make_consumer, make_stream, talk
from tests.support.servers import NatsServer
from tests.support.versions import on_every_version

TWINS = 12
"""Which stream of a pair a server reads first depends on names; so there are several pairs, named both ways round."""
RESTARTS = 6


async def stored(js: JetStream, stream: str) -> int:
    return int(done(await js.request(f"STREAM.INFO.{stream}"))["state"]["last_seq"])


async def until(js: JetStream, stream: str, number: int) -> int:
    """When the stream has stored so many messages, or has had time enough to."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + 60
    while True:
        found = await stored(js, stream)
        if found >= number or loop.time() > deadline:
            return found
        await asyncio.sleep(0.02)  # nothing announces a stored message


async def publish(js: JetStream, subject: str) -> None:
    await js.pipeline.request(subject, b"x", within=20)


def republish(src: str, dest: str) -> dict[str, Any]:
    return {"republish": {"src": src, "dest": dest}}


@on_every_version
def test_a_mirror_that_republishes_into_its_origin_never_stops(account: Account) -> None:
    async def work(js: JetStream) -> int:
        await make_stream(js, "O", subjects=["o.>"], max_msgs=10)
        await make_stream(js, "M", mirror={"name": "O"}, **republish("o.>", "o.>"))
        await publish(js, "o.x")
        found = await until(js, "O", 50)
        done(await js.request("STREAM.DELETE.M"))
        return found

    assert talk(account, work) >= 50


@on_every_version
def test_a_consumer_whose_subject_is_taken_away_goes_silent_without_a_word(account: Account) -> None:
    async def work(js: JetStream) -> list[int]:
        await make_stream(js, "O", subjects=["o.a", "o.b"])
        await make_consumer(js, "O", "c", filter_subject="o.b")
        seen = []
        for subjects in (["o.a", "o.b"], ["o.a"]):
            done(await js.request("STREAM.UPDATE.O", {"name": "O", "subjects": subjects}))
            for subject in ("o.a", "o.b"):
                await publish(js, subject)
            seen += [await stored(js, "O"), int(done(await js.request("CONSUMER.INFO.O.c"))["num_pending"])]
        return seen

    assert talk(account, work) == [2, 1, 3, 1]


Making = Callable[[JetStream, str, str], Awaitable[None]]


async def a_cycle_behind_a_filter(js: JetStream, one: str, other: str) -> None:
    a, b = {"subjects": [f"{one}.a"]}, {"sources": [{"name": one, "filter_subject": f"{one}.a"}]}
    await make_stream(js, one, **a)
    await make_stream(js, other, **b)
    done(await js.request(f"STREAM.UPDATE.{one}", {"name": one, **a, "sources": [{"name": other}]}))


async def an_origin_that_outgrew_its_source(js: JetStream, one: str, other: str) -> None:
    await make_stream(js, one, subjects=[one], max_msg_size=50)
    await make_stream(js, other, sources=[{"name": one}], max_msg_size=50)
    done(await js.request(f"STREAM.UPDATE.{one}", {"name": one, "subjects": [one], "max_msg_size": 100}))


@pytest.fixture(params=MINORS)
def server(request: pytest.FixtureRequest) -> Iterator[NatsServer]:
    with NatsServer(request.param, ACCOUNTS) as started:
        yield started


ACCOUNTS = "accounts {A: {jetstream: {max_file: 1MB}, users: [{user: a, password: a}]}}\n"


class Guest:
    """The one account of a server of this test's own."""

    def __init__(self, server: NatsServer) -> None:
        self._server = server

    async def connect(self) -> Client:
        return await connect(self._server.url, "a", "a")


def names(server: NatsServer) -> set[str]:
    async def work(js: JetStream) -> set[str]:
        return set(done(await js.request("STREAM.NAMES"))["streams"] or ())

    return talk(Guest(server), work)


def lost(server: NatsServer, work: Callable[[JetStream], Awaitable[None]]) -> set[str]:
    """What is gone after a restart, or after some more: the order in which a server reads its store is its own."""
    talk(Guest(server), work)
    before = names(server)
    for _ in range(RESTARTS):
        server.restart()
        if gone := before - names(server):
            return gone
    return set()


@pytest.mark.parametrize("make", [a_cycle_behind_a_filter, an_origin_that_outgrew_its_source])
def test_a_copy_that_the_server_would_refuse_is_lost_at_a_restart(server: NatsServer, make: Making) -> None:
    async def work(js: JetStream) -> None:
        for number in range(TWINS):
            await make(js, *(f"S{number}", f"T{number}")[:: 1 if number % 2 else -1])

    assert lost(server, work)


def test_an_account_of_2_11_without_a_byte_left_loses_its_unlimited_streams() -> None:
    async def work(js: JetStream) -> None:
        for number in range(TWINS):
            await make_stream(js, f"UNLIMITED{number}")
        await make_stream(js, "ALL", max_bytes=1 << 20)

    with NatsServer("2.11", ACCOUNTS) as server:
        gone = lost(server, work)
    assert gone
    assert "ALL" not in gone
