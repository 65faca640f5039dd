"""A look at the streams of many targets: what is new in each, and why nothing can be said of the others."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from reconciler.fleet.accounts.lookout import Lookout, MessageQuery, Offsets
from reconciler.fleet.accounts.targets import FleetTarget
from reconciler.server.wire.api import JetStream
from tests.fleet.told import Odd, reached
from tests.support.accounts import Account, accounts_config
from tests.support.jetstream import make_stream, talk
from tests.support.servers import NatsServer

S = MessageQuery(stream="S")


def hold(account: Account, number: int, stream: str = "S", **config: Any) -> None:
    async def work(js: JetStream) -> None:
        await make_stream(js, stream, **{"subjects": ["s"], "allow_direct": True, **config})
        for _ in range(number):
            await js.pipeline.request("s", b"", within=30)

    talk(account, work)


def looking(work: Callable[[Lookout], Awaitable[None]], *targets: FleetTarget, wanted: MessageQuery = S) -> None:
    async def session() -> None:
        lookout = Lookout(targets, wanted)
        try:
            await work(lookout)
        finally:
            await lookout.close()

    asyncio.run(session())


def extents(entries: dict[str, dict[str, Any]]) -> dict[str, tuple[int, int]]:
    return {stream: (entry["after"], entry["sequence"]) for stream, entry in entries.items()}


def test_what_is_new_comes_in_pieces_until_there_is_nothing(account: Account) -> None:
    hold(account, 5)

    async def work(lookout: Lookout) -> None:
        first = await lookout.look({}, most=3)
        second = await lookout.look(first, most=3)
        assert (extents(first["east"]), extents(second["east"])) == ({"S": (0, 3)}, {"S": (3, 5)})
        assert await lookout.look(second, most=3) == second

    looking(work, reached(account, "east"))


def test_a_stream_that_begins_far_along_is_read_from_its_first_message(account: Account) -> None:
    hold(account, 3, first_seq=10**12)

    async def work(lookout: Lookout) -> None:
        found = await lookout.look({})
        assert extents(found["east"]) == {"S": (10**12 - 1, 10**12 + 2)}  # not a million million sequences in pieces

    looking(work, reached(account, "east"))


def test_sequences_that_spark_cannot_count_to_are_told_and_not_read(account: Account) -> None:
    hold(account, 3, first_seq=2**63 - 2, storage="memory")  # files of servers lose them

    async def work(lookout: Lookout) -> None:
        found = await lookout.look({}, most=2)
        assert extents(found["east"]) == {"S": (2**63 - 3, 2**63 - 1)}
        beyond = (await lookout.look(found, most=2))["east"]["S"]
        assert beyond["error"] == "stream S numbers its messages above 2^63 - 1, which Spark cannot hold"
        assert (beyond["after"], beyond["sequence"]) == (2**63 - 3, 2**63 - 1)

    looking(work, reached(account, "east"))


def test_without_a_name_it_is_every_stream_that_keeps_events(account: Account) -> None:
    hold(account, 0, "AUDIT", subjects=["$JS.EVENT.ADVISORY.API"])
    hold(account, 0, "ACKS", subjects=["$JS.EVENT.METRIC.>"])
    hold(account, 1)

    async def work(lookout: Lookout) -> None:
        found = await lookout.look({})
        assert set(found["east"]) == {"AUDIT"}  # nobody has acknowledged anything yet

    looking(work, reached(account, "east"), wanted=MessageQuery())


def test_where_nothing_keeps_events_that_is_said(account: Account) -> None:
    hold(account, 1)

    async def work(lookout: Lookout) -> None:
        found = (await lookout.look({}))["east"]
        assert {stream: entry["error"] for stream, entry in found.items()} == {
            "": "No stream captures $JS.EVENT.>, so it is unknown what happened."
        }

    looking(work, reached(account, "east"), wanted=MessageQuery())


def test_a_target_that_does_not_answer_keeps_what_is_known_beside_the_reason(account: Account) -> None:
    hold(account, 2)
    with NatsServer(config=accounts_config(1)) as server:
        other = Account(server=server, user="a0", password="a0")
        hold(other, 3)
        port = server.url

        async def work(lookout: Lookout) -> None:
            first = await lookout.look({})
            server.stop()
            away = await lookout.look(first)
            assert away["east"] == first["east"]
            assert extents(away["west"]) == extents(first["west"])
            assert away["west"]["S"]["error"]
            assert await lookout.look(away) == away  # one outage, one reason
            server.start()
            assert server.url == port
            assert await lookout.look(away) == first

        looking(work, reached(account, "east"), reached(other, "west"))


def test_whatever_goes_wrong_with_one_target_is_told_of_it_alone(account: Account) -> None:
    hold(account, 1)
    east = reached(account, "east")

    async def work(lookout: Lookout) -> None:
        found = await lookout.look({})
        assert extents(found["east"]) == {"S": (0, 1)}
        assert found["west"]["S"]["error"] == "It could not be read (KeyError: 'odd')."

    looking(work, east, Odd(name="west", settings=east.settings))


def test_wrong_credentials_are_told_without_them(account: Account) -> None:
    stranger = Account(server=account.server, user="a0", password="not-the-password")

    async def work(lookout: Lookout) -> None:
        error = str((await lookout.look({}))["east"]["S"]["error"])
        assert "not-the-password" not in error
        assert error.startswith(f"Cannot log in to {account.url}: the server refused user `a0`"), error

    looking(work, reached(stranger, "east"))


def test_a_stream_that_is_missing_is_told_under_its_name(account: Account) -> None:
    async def work(lookout: Lookout) -> None:
        found = (await lookout.look({}))["east"]
        assert {stream: entry["error"] for stream, entry in found.items()} == {
            "S": "stream S: stream not found (10059)"
        }

    looking(work, reached(account, "east"))


def test_up_to_ends_a_stream_that_is_missing_is_told_under_its_name_too(account: Account) -> None:
    async def work(lookout: Lookout) -> None:
        found = (await lookout.look({}, ends=await lookout.ends()))["east"]
        assert {name: entry["error"] for name, entry in found.items()} == {"S": "stream S: stream not found (10059)"}

    looking(work, reached(account, "east"))


def test_one_stream_of_several_whose_end_nobody_could_tell_is_not_left_out(account: Account) -> None:
    hold(account, 0, "AUDIT", subjects=["$JS.EVENT.ADVISORY.API"])
    hold(account, 0, "ACKS", subjects=["$JS.EVENT.METRIC.>"])

    async def work(lookout: Lookout) -> None:
        first = await lookout.look({})
        await asyncio.to_thread(talk, account, lambda js: js.request("STREAM.DELETE.ACKS"))
        found = (await lookout.look(first, ends=await lookout.ends()))["east"]
        assert found["ACKS"]["error"] == "stream ACKS: stream not found (10059)"
        assert "error" not in found["AUDIT"]

    looking(work, reached(account, "east"), wanted=MessageQuery())


def test_whoever_looks_the_next_night_notices_again_what_is_still_wrong(account: Account) -> None:
    before: Offsets = {}

    async def one_night(lookout: Lookout) -> None:
        found = await lookout.look(before)
        assert found != before
        assert await lookout.look(found) == found
        before.update(found)

    looking(one_night, reached(account, "east"))
    looking(one_night, reached(account, "east"))


def test_a_target_that_hangs_takes_no_longer_than_its_deadline(account: Account) -> None:
    hold(account, 1)

    async def work() -> None:
        async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read()
            writer.close()

        server = await asyncio.start_server(silent, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        target = reached(account, "east")
        hanging = FleetTarget(
            name="west", settings=target.settings.__class__(url=f"nats://127.0.0.1:{port}"), deadline=0.5
        )
        lookout = Lookout((target, hanging), S)
        async with asyncio.timeout(30):
            found = await lookout.look({})
        await lookout.close()
        server.close()
        assert extents({"S": found["east"]["S"]}) == {"S": (0, 1)}
        assert "0.5 s" in str(found["west"]["S"]["error"])

    asyncio.run(work())
