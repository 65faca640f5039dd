"""Requests over the raw API: answers, refusals and silences are told apart, at once where the server says so."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from nats.aio.msg import Msg

from reconciler.server.read import lost_answers as settled
from reconciler.server.wire.answers import Conflict, Refusal, Stored
from reconciler.server.wire.api import JetStream
from reconciler.server.wire.pipeline import NoAnswer, Reply, Silence
from tests.support.accounts import Account, User
from tests.support.jetstream import done, make_bucket, make_stream, talk
from tests.support.servers import NatsServer
from tests.support.versions import on_every_version

RESTRICTED = """
accounts { A: {jetstream: enabled, users: [
  {user: quiet, password: quiet, permissions: {publish: {deny: ["$JS.API.STREAM.CREATE.>"]}}},
  {user: deaf, password: deaf, permissions: {subscribe: {allow: ["elsewhere.>"]}}},
]}}
"""


@pytest.fixture(scope="module")
def restricted() -> Iterator[NatsServer]:
    with NatsServer(config=RESTRICTED) as server:
        yield server


@on_every_version
def test_an_answer_is_the_json_the_server_sent(account: Account) -> None:
    config = talk(account, lambda js: make_stream(js, "ORDERS", subjects=["orders.>"]))["config"]
    assert config["subjects"] == ["orders.>"]


def test_writes_that_are_ready_together_are_sent_after_one_question(account: Account) -> None:
    asked: list[str] = []

    async def work(js: JetStream) -> list[Reply | NoAnswer]:
        await make_stream(js, "S", subjects=["s.>"])

        def unless() -> None:
            asked.append("may it be sent?")

        writes = (js.pipeline.request(f"s.{number}", b"", within=5, unless=unless) for number in range(20))
        return await asyncio.gather(*writes)

    assert all(isinstance(reply, Reply) for reply in talk(account, work))
    assert len(asked) == 1


def test_what_may_not_be_written_any_more_when_its_turn_comes_is_never_sent(account: Account) -> None:
    """Nor a moment later, with the next request over the same connection."""

    async def work(js: JetStream) -> tuple[set[object], int]:
        await make_stream(js, "S", subjects=["s.>"])
        pipeline = js.pipeline
        late = asyncio.gather(
            *(pipeline.request("s.late", b"", within=5, unless=lambda: "it is too late") for _ in range(3))
        )
        fine = pipeline.request("s.fine", b"", within=5, unless=lambda: None)
        said = [*await late, await fine]
        await pipeline.nc.flush()
        stored = done(await js.request("STREAM.INFO.S"))["state"]["messages"]
        return {one.detail for one in said if isinstance(one, NoAnswer)}, stored

    assert talk(account, work) == ({"it is too late"}, 1)


def test_a_write_that_cannot_be_framed_fails_alone(account: Account) -> None:
    async def work(js: JetStream) -> list[object]:
        await make_stream(js, "S", subjects=["s.>"])

        writes = (js.pipeline.request(one, b"", within=5, unless=lambda: None) for one in ("s.1", "s.\ud800", "s.2"))
        async with asyncio.timeout(10):
            return await asyncio.gather(*writes, return_exceptions=True)

    first, broken, last = talk(account, work)
    assert isinstance(broken, UnicodeEncodeError), broken
    assert isinstance(first, Reply) and isinstance(last, Reply)


def test_a_write_that_is_given_up_before_its_turn_is_never_sent(account: Account) -> None:
    async def work(js: JetStream) -> int:
        await make_stream(js, "S", subjects=["s.>"])
        given_up = asyncio.ensure_future(js.pipeline.request("s.x", b"", within=5, unless=lambda: None))
        await asyncio.sleep(0)  # it waits for its turn now
        given_up.cancel()
        await asyncio.gather(given_up, return_exceptions=True)
        await js.pipeline.request("s.x", b"", within=5, unless=lambda: None)
        return int(done(await js.request("STREAM.INFO.S"))["state"]["messages"])

    assert talk(account, work) == 1


@on_every_version
def test_a_refusal_carries_its_err_code(account: Account) -> None:
    said = talk(account, lambda js: js.request("STREAM.INFO.NOPE"))
    assert said == Refusal(10059, 404, "stream not found")


def test_an_unknown_endpoint_times_out(account: Account) -> None:
    said = talk(account, lambda js: js.request("NO.SUCH.THING", within=0.2))
    assert isinstance(said, NoAnswer)
    assert said.why is Silence.TIMEOUT
    assert said.outcome_unknown


def test_a_domain_that_does_not_exist_has_no_responders(account: Account) -> None:
    said = talk(account, lambda js: js.request("INFO"), domain="nowhere")
    assert said == NoAnswer(Silence.NO_RESPONDERS, "$JS.nowhere.API.INFO")


def test_a_denied_publish_is_known_at_once(restricted: NatsServer) -> None:
    said = talk(
        User(restricted, "quiet"), lambda js: js.request("STREAM.CREATE.Mixed_Case", {"name": "Mixed_Case"}, within=60)
    )
    assert said == NoAnswer(Silence.DENIED, "may not publish to $JS.API.STREAM.CREATE.Mixed_Case")


def test_a_denied_publish_leaves_other_requests_alone(restricted: NatsServer) -> None:
    async def both(js: JetStream) -> tuple[object, object]:
        denied, fine = await asyncio.gather(js.request("STREAM.CREATE.X", {"name": "X"}), js.request("INFO"))
        return denied, fine

    denied, fine = talk(User(restricted, "quiet"), both)
    assert isinstance(denied, NoAnswer)
    assert "limits" in done(fine)  # type: ignore[arg-type]


def test_a_denied_inbox_is_said_instead_of_waited_for(restricted: NatsServer) -> None:
    said = talk(User(restricted, "deaf"), lambda js: js.request("INFO"))
    assert isinstance(said, NoAnswer)
    assert said.why is Silence.DENIED
    assert said.detail.startswith("may not subscribe to _INBOX.")


def test_requests_in_flight_end_when_the_connection_does(account: Account) -> None:
    async def cut(js: JetStream) -> object:
        pending = asyncio.create_task(js.request("NO.SUCH.THING"))
        await asyncio.sleep(0)  # let it send
        await js.pipeline.nc.close()
        return await pending

    said = talk(account, cut)
    assert isinstance(said, NoAnswer)
    assert said.why in (Silence.CLOSED, Silence.UNSENT)


def test_thousands_of_requests_pass_through_a_small_window(account: Account) -> None:
    async def many(js: JetStream) -> int:
        answers = await asyncio.gather(*(js.request("STREAM.INFO.NOPE") for _ in range(3000)))
        return sum(isinstance(said, Refusal) for said in answers)

    assert talk(account, many, window=8) == 3000


@on_every_version
def test_a_level_the_server_lacks_is_refused_from_2_12_on(account: Account) -> None:
    said = talk(account, lambda js: js.request("STREAM.CREATE.S", {"name": "S"}, level=99))
    if account.minor == "2.11":
        done(said)  # 2.11 does not read the header
    else:
        assert isinstance(said, Refusal)
        assert said.err_code == 10185


def test_unicode_names_travel_as_they_are(account: Account) -> None:
    assert talk(account, lambda js: make_stream(js, "brücke", subjects=["b"]))["config"]["name"] == "brücke"


@on_every_version
def test_an_entry_is_created_only_where_there_is_none(account: Account) -> None:
    async def twice(js: JetStream) -> tuple[object, object]:
        await make_bucket(js, "b")
        first = await js.put_entry("b", "k", b"1", expected_revision=0)
        return first, await js.put_entry("b", "k", b"2", expected_revision=0)

    first, second = talk(account, twice)
    assert first == Stored(1)
    assert isinstance(second, Conflict)
    assert str(second) == "expected revision 0, but wrong last sequence: 1"


@on_every_version
def test_a_deleted_entry_is_written_again_from_its_marker(account: Account) -> None:
    async def delete_then_put(js: JetStream) -> object:
        await make_bucket(js, "b")
        await js.put_entry("b", "k", b"1", expected_revision=0)
        marker = await settled.delete(js, "b", "k", expected_revision=1)
        assert marker == Stored(2)
        return await js.put_entry("b", "k", b"2", expected_revision=2)

    assert talk(account, delete_then_put) == Stored(3)


@pytest.mark.parametrize("clustered_account", ["2.11", "2.15"], indirect=True)
def test_one_of_many_writers_wins_on_a_replicated_bucket(clustered_account: Account) -> None:
    async def race(js: JetStream) -> list[object]:
        await make_bucket(js, "b", num_replicas=3)
        return list(await asyncio.gather(*(js.put_entry("b", "k", b"%d" % n, expected_revision=0) for n in range(30))))

    outcomes = talk(clustered_account, race)
    assert sum(isinstance(outcome, Stored) for outcome in outcomes) == 1
    assert sum(isinstance(outcome, Conflict) for outcome in outcomes) == 29


def test_a_bucket_that_does_not_exist_has_no_responders(account: Account) -> None:
    said = talk(account, lambda js: js.put_entry("none", "k", b"", expected_revision=0))
    assert isinstance(said, NoAnswer)
    assert said.why is Silence.NO_RESPONDERS


def test_an_answer_that_is_not_jetstreams_is_shown(account: Account) -> None:
    async def work(js: JetStream) -> object:
        async def joke(msg: Msg) -> None:
            await msg.respond(b"hello")

        await js.pipeline.nc.subscribe("acme.API.INFO", cb=joke)
        return await js.request("INFO")

    said = talk(account, work, prefix="acme.API")
    assert str(said) == "something other than JetStream answered: b'hello' (0)"


def test_that_an_earlier_creation_was_cleaned_up_is_not_taken_for_the_answer_to_this_one(account: Account) -> None:
    """Busy clusters say so to whoever asks next for a consumer that was refused before."""

    async def both(msg: Msg) -> None:
        await msg.respond(b'{"type":"io.nats.jetstream.api.v1.consumer_delete_response","success":true}')
        await msg.respond(b'{"error":{"code":400,"err_code":10101,"description":"must deliver all"}}')

    async def work() -> object:
        nc = await account.connect()
        await nc.subscribe("there.CONSUMER.CREATE.S.c", cb=both)
        js = await JetStream.open(nc, prefix="there")
        said = await js.request("CONSUMER.CREATE.S.c")
        await js.close()
        await nc.close()
        return said

    assert asyncio.run(work()) == Refusal(10101, 400, "must deliver all")


def test_closing_hands_errors_back_to_the_connections_own_callback(account: Account) -> None:
    async def compare(js: JetStream) -> bool:
        ours = js.pipeline.nc._error_cb
        await js.close()
        return ours is not js.pipeline.nc._error_cb

    assert talk(account, compare)
