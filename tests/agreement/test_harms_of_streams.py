"""What a server lets happen to a stream, shown: the reason why we are stricter."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from nats.aio.subscription import Subscription

from reconciler.report.words.values import counted
from reconciler.server.wire.api import JetStream
from reconciler.server.wire.pipeline import NoAnswer, Silence
from tests.agreement.harm import Alone, as_text, change, count, is_there, publish, pull, reaches, refused, shows
from tests.groups.making import until
from tests.support.accounts import Account, Pool
from tests.support.binaries import MINORS
from tests.support.jetstream import done, make_consumer, make_stream, talk
from tests.support.servers import running
from tests.support.versions import on_every_version


async def answer(js: JetStream, subject: str, data: bytes = b"x", /, **headers: str) -> int:
    """The sequence of what is published, or its err_code below zero."""
    said = json.loads((await js.pipeline.nc.request(subject, data, timeout=20, headers=headers or None)).data)
    return -int(said["error"]["err_code"]) if "error" in said else int(said["seq"])


async def fired_by(inbox: Subscription) -> str:
    """The subject of the schedule that sent the next message."""
    return str(((await inbox.next_msg(timeout=30)).headers or {})["Nats-Scheduler"])


async def counted_up(js: JetStream, counter: str, by: str) -> int:
    """Where the counter stands then."""
    said = await js.pipeline.nc.request(counter, b"", timeout=20, headers={"Nats-Incr": by})
    return int(json.loads(said.data)["val"])


@shows("ST107")
@on_every_version
def test_a_first_sequence_written_later_means_nothing(account: Account) -> str:
    async def work(js: JetStream) -> tuple[int, int]:
        await make_stream(js, "S", subjects=["s"])
        await publish(js, "s")
        echo = await change(js, "S", first_seq=100)
        return echo["config"]["first_seq"], await publish(js, "s")

    echoed, sequence = talk(account, work)
    assert (echoed, sequence) == (100, 2)
    return f"The server answers with first_seq: {echoed}; the next message gets sequence {sequence} all the same."


@shows("ST206", "KV206", "OB206")
@on_every_version
@pytest.mark.parametrize("field", ["sealed", "deny_delete", "deny_purge"])
def test_there_is_no_way_back(account: Account, field: str) -> str:
    async def work(js: JetStream) -> int:
        await make_stream(js, "S", subjects=["s"])
        config = (await change(js, "S", **{field: True}))["config"]
        return await refused(js, "STREAM.UPDATE.S", {**config, field: False})

    code = talk(account, work)
    assert code == 10052
    return f"Once {field} is true, the update back to false is refused (err_code {code})."


@shows("ST301", "KV301", "OB301")
@on_every_version
@pytest.mark.parametrize("limit", [{"max_msgs": 1}, {"max_msgs_per_subject": 1}, {"max_bytes": 60}])
def test_a_lower_limit_removes_messages(account: Account, limit: dict[str, int]) -> str:
    async def work(js: JetStream) -> tuple[int, int]:
        await make_stream(js, "S", subjects=["s"])
        await publish(js, "s", "s", "s")
        await change(js, "S", **limit)
        last = await publish(js, "s")  # before 2.14 a limit per subject waits for the subject's next message
        return last, await count(js, "S")

    published, left = talk(account, work)
    assert (published, left) == (4, 1)
    return f"{as_text(limit)}: of {counted(published, 'message')} on one subject, {published - left} are deleted."


@shows("ST301")
@pytest.mark.parametrize("minor", [minor for minor in MINORS if minor != "2.11"])
def test_a_schedule_that_is_due_later_than_its_age_is_never_sent(pool: Pool, minor: str) -> str:
    """`never` outlasts max_age, and shows that the others would have been sent by then."""

    async def work(js: JetStream) -> tuple[list[str], int]:
        await make_stream(js, "S", subjects=["s.*", "t.*"], allow_msg_schedules=True, allow_msg_ttl=True)
        due = datetime.now(UTC) + timedelta(seconds=4)
        for number, lasting in enumerate(({}, {}, {"Nats-TTL": "never"})):
            headers = {
                "Nats-Schedule": f"@at {due:%Y-%m-%dT%H:%M:%SZ}",
                "Nats-Schedule-Target": f"t.{number}",
                **lasting,
            }
            assert await answer(js, f"s.{number}", **headers) == number + 1
        await change(js, "S", max_age=1_500_000_000, duplicate_window=1_500_000_000)
        inbox = await js.pipeline.nc.subscribe("fired")
        await make_consumer(js, "S", "c", filter_subject="t.*", deliver_subject="fired", ack_policy="none")
        sent = [await fired_by(inbox)]
        return sent, done(await js.read("STREAM.INFO.S"))["state"]["last_seq"]

    sent, last = talk(pool.account(minor), work)
    assert (sent, last) == (["s.2"], 4)
    return "Of 3 schedules that are due after max_age, only the one with Nats-TTL: never is sent."


@shows("ST301")
@pytest.mark.parametrize("limit", [{"max_msgs": 2}, {"max_bytes": 80}, {"max_age": 100_000_000}])
@pytest.mark.parametrize("minor", [minor for minor in MINORS if minor != "2.11"])
def test_a_counter_whose_last_message_goes_starts_again(pool: Pool, minor: str, limit: dict[str, int]) -> str:
    async def work(js: JetStream) -> tuple[int, int]:
        await make_stream(js, "S", subjects=["s.*"], allow_msg_counter=True)
        for number in range(3):
            before = await counted_up(js, f"s.{number}", "+20")
        window = {"duplicate_window": limit["max_age"]} if "max_age" in limit else {}
        await change(js, "S", **limit, **window)
        await asyncio.sleep(0.5)  # longer than max_age
        return before, await counted_up(js, "s.0", "+1")

    before, after = talk(pool.account(minor), work)
    assert (before, after) == (20, 1)
    return f"{next(iter(limit))} deletes the last message of a counter that stood at {before}: +1 makes it {after}."


@pytest.mark.parametrize("minor", [minor for minor in MINORS if minor != "2.11"])
def test_a_limit_for_each_subject_ends_no_counter_and_no_schedule(pool: Pool, minor: str) -> None:
    """This is why ST301 says nothing of them there: what comes on the subject of a schedule has ended it before."""

    async def work(js: JetStream) -> tuple[int, int, Any]:
        await make_stream(js, "C", subjects=["c"], allow_msg_counter=True)
        await make_stream(js, "S", subjects=["s.*", "t.*"], allow_msg_schedules=True)
        for _ in range(3):
            await counted_up(js, "c", "+20")
        due = datetime.now(UTC) + timedelta(seconds=2)
        for number in range(2):
            headers = {"Nats-Schedule": f"@at {due:%Y-%m-%dT%H:%M:%SZ}", "Nats-Schedule-Target": f"t.{number}"}
            await answer(js, f"s.{number}", **headers)
        await publish(js, "s.1")
        inbox = await js.pipeline.nc.subscribe("fired")
        await make_consumer(js, "S", "c", filter_subject="t.*", deliver_subject="fired", ack_policy="none")
        await change(js, "C", max_msgs_per_subject=1)
        sent = await fired_by(inbox)
        with pytest.raises(TimeoutError):
            await inbox.next_msg(timeout=1)
        return await counted_up(js, "c", "+1"), await count(js, "C"), sent

    assert talk(pool.account(minor), work) == (61, 1, "s.0")


@shows("ST557")
@pytest.mark.parametrize("minor", [minor for minor in MINORS if minor != "2.11"])
def test_a_consumer_beyond_a_lowered_limit_cannot_be_made_again(pool: Pool, minor: str) -> str:
    async def work(js: JetStream) -> tuple[int, int]:
        await make_stream(js, "S", subjects=["s"])
        for name in ("a", "b"):
            await make_consumer(js, "S", name)
        await change(js, "S", max_consumers=1)
        there = done(await js.read("STREAM.INFO.S"))["state"]["consumer_count"]
        done(await js.write("CONSUMER.DELETE.S.a"))
        body = {"stream_name": "S", "action": "create", "config": {"durable_name": "a", "ack_policy": "explicit"}}
        return there, await refused(js, "CONSUMER.CREATE.S.a", body)

    there, code = talk(pool.account(minor), work)
    assert (there, code) == (2, 10026)
    return (
        f"Under max_consumers: 1 the stream keeps its {there} consumers; one of them that is deleted cannot be made again "
        f"(err_code {code})."
    )


@shows("ST302")
@on_every_version
def test_interest_retention_drops_what_everybody_has_read(account: Account) -> str:
    async def work(js: JetStream) -> tuple[int, int]:
        await make_stream(js, "S", subjects=["s"])
        published = await publish(js, "s", "s", "s")
        await make_consumer(js, "S", "c")
        for _ in range(2):
            message = await pull(js.pipeline.nc, "S", "c")
            assert message is not None
            await js.pipeline.request(message.reply, b"+ACK", within=5)
        await change(js, "S", retention="interest")
        return published, await count(js, "S")

    published, left = talk(account, work)
    assert (published, left) == (3, 1)
    return (
        f"Of {published} messages, the {published - left} that the only consumer had acknowledged are deleted at once."
    )


@shows("ST302")
@pytest.mark.parametrize("minor", MINORS)
def test_what_a_consumer_without_acknowledgements_gets_last_stays_until_a_restart(pool: Pool, minor: str) -> str:
    async def consume(js: JetStream, stream: str) -> int:
        """The one that acknowledges comes first."""
        await publish(js, stream, stream, stream)
        for name in ("acks", "none"):
            for _ in range(3):
                message = await pull(js.pipeline.nc, stream, name)
                assert message is not None
                if name == "acks":
                    await js.pipeline.request(message.reply, b"+ACK", within=5)
        return await settled(js, stream)

    async def settled(js: JetStream, stream: str) -> int:
        """A server deletes what is acknowledged in its own time."""
        while True:
            before = await count(js, stream)
            await asyncio.sleep(0.3)
            if await count(js, stream) == before:
                return before

    async def work(js: JetStream) -> tuple[int, int]:
        for stream, retention in (("T", "limits"), ("B", "interest")):
            await make_stream(js, stream, subjects=[stream], retention=retention)
            await make_consumer(js, stream, "acks")
            await make_consumer(js, stream, "none", ack_policy="none")
        await change(js, "T", retention="interest")
        return await consume(js, "B"), await consume(js, "T")

    async def later(js: JetStream) -> tuple[int, int]:
        return await settled(js, "T"), await consume(js, "T")

    with running(minor) as server:
        born, turned = talk(Alone(server), work)
        server.restart()
        kept, then = talk(Alone(server), later)
    assert (born, turned, kept, then) == (0, 3, 0, 0)
    return (
        f"Of 3 messages that an ack_policy: none consumer got last, {turned} stay after the change of retention; a stream that was "
        f"created with interest keeps {born}. After a restart the stream holds {kept}, and it keeps {then} of 3 more."
    )


@shows("ST303", "KV303", "OB303", "XX233")
@on_every_version
def test_nobody_answers_publishers_of_a_removed_subject(account: Account) -> str:
    async def work(js: JetStream) -> object:
        await make_stream(js, "S", subjects=["s", "t"])
        await make_consumer(js, "S", "c", filter_subject="t")
        await change(js, "S", subjects=["s"])
        return await js.pipeline.request("t", b"x", within=5)

    said = talk(account, work)
    assert isinstance(said, NoAnswer) and said.why is Silence.NO_RESPONDERS
    return f"A publish to the removed subject is stored nowhere: {said.why}."


@shows("ST303")
@on_every_version
def test_message_ids_do_not_move_with_their_subject(account: Account) -> str:
    async def work(js: JetStream) -> tuple[int, int, int]:
        await make_stream(js, "OLD", subjects=["s", "t"])
        await answer(js, "t", **{"Nats-Msg-Id": "one"})
        again = await answer(js, "t", **{"Nats-Msg-Id": "one"})
        await change(js, "OLD", subjects=["s"])
        await make_stream(js, "NEW", subjects=["t"])
        await answer(js, "t", **{"Nats-Msg-Id": "one"})
        return again, await count(js, "NEW"), await answer(js, "t", **{"Nats-Expected-Stream": "OLD"})

    again, stored, refusal = talk(account, work)
    assert (again, stored, refusal) == (1, 1, -10060)
    return (
        "A message sent again with the same Nats-Msg-Id is stored again in the stream that takes its subject; a publish with "
        f"Nats-Expected-Stream: OLD is refused (err_code {-refusal})."
    )


@shows("ST206")
@pytest.mark.parametrize("minor", [minor for minor in MINORS if minor != "2.11"])
def test_a_promoted_mirror_knows_no_message_ids(pool: Pool, minor: str) -> str:
    async def work(js: JetStream) -> tuple[int, int]:
        await make_stream(js, "O", subjects=["s"])
        await make_stream(js, "M", mirror={"name": "O"})
        await answer(js, "s", **{"Nats-Msg-Id": "one"})
        assert await reaches(1, js, "M") == 1
        await change(js, "O", subjects=["elsewhere"])
        await change(js, "M", mirror=None, subjects=["s"], duplicate_window=120 * 10**9)
        again = await answer(js, "s", **{"Nats-Msg-Id": "one"})
        return again, await answer(js, "s", **{"Nats-Expected-Stream": "O"})

    again, refusal = talk(pool.account(minor), work)
    assert (again, refusal) == (2, -10060)
    return (
        "A message that a promoted mirror had copied is stored again when it is sent again with the same Nats-Msg-Id; a publish "
        f"with Nats-Expected-Stream: O is refused (err_code {-refusal})."
    )


@shows("ST310", "KV310", "OB310")
@on_every_version
def test_a_stream_takes_its_messages_and_everybodys_consumers_with_it(account: Account) -> str:
    async def work(js: JetStream) -> tuple[bool, int]:
        await make_stream(js, "S", subjects=["s"])
        await publish(js, "s")
        await make_consumer(js, "S", "somebodys")
        done(await js.write("STREAM.DELETE.S"))
        await make_stream(js, "S", subjects=["s"])
        return await is_there(js, "CONSUMER.INFO.S.somebodys"), await count(js, "S")

    is_reader_there, left = talk(account, work)
    assert (is_reader_there, left) == (False, 0)
    return f"Made again under the same name, the stream holds {left} messages and has none of its consumers."


@shows("ST508", "CO508", "KV508", "OB508")
@on_every_version
def test_metadata_of_the_servers_own_is_overwritten(account: Account) -> str:
    async def work(js: JetStream) -> dict[str, str]:
        echo = await make_stream(js, "S", subjects=["s"], metadata={"_nats.req.level": "77", "mine": "x"})
        return dict(echo["config"]["metadata"])

    found = talk(account, work)
    level = found["_nats.req.level"]
    assert level != "77" and found["mine"] == "x"
    return f'`_nats.req.level: "77"` is stored as `"{level}"`; a key of another name is stored as it is.'


@shows("ST401", "KV401", "OB401")
@pytest.mark.parametrize("account", ["2.11"], indirect=True)
def test_an_old_server_drops_fields_it_does_not_know(account: Account) -> str:
    async def work(js: JetStream) -> dict[str, object]:
        return dict((await make_stream(js, "S", subjects=["s"], allow_msg_counter=True))["config"])

    assert "allow_msg_counter" not in talk(account, work)
    return "The stream is made, without the allow_msg_counter that was asked for."


@shows("ST511", "KV511", "OB511")
@pytest.mark.parametrize("minor", ["2.11", "2.12"])
def test_replicas_on_a_single_server_lose_the_stream_at_its_restart(minor: str) -> str:
    with running(minor) as server:

        async def update(js: JetStream) -> None:
            await make_stream(js, "S", subjects=["s"])
            await change(js, "S", num_replicas=3)

        async def look(js: JetStream) -> bool:
            return await is_there(js, "STREAM.INFO.S")

        account = Alone(server)
        talk(account, update)
        server.restart()
        assert not talk(account, look)
    return "After a restart the stream is gone, with all it held."


@shows("ST558")
@pytest.mark.parametrize("account", ["2.11", "2.12"], indirect=True)
def test_the_only_message_of_a_subject_never_expires_where_its_marker_has_no_room(account: Account) -> str:
    async def work(js: JetStream) -> tuple[int, int]:
        lock = {"discard": "new", "discard_new_per_subject": True, "max_msgs_per_subject": 1, "max_age": 300_000_000}
        marked = {"subject_delete_marker_ttl": 1_000_000_000, "allow_msg_ttl": True, "allow_rollup_hdrs": True}
        await make_stream(js, "LOCK", subjects=["lock.>"], **lock, **marked)
        await make_stream(js, "AGED", subjects=["aged.>"], **lock)
        await publish(js, "lock.a")
        for _ in range(3):
            await publish(js, "aged.a")
            await until(js, lambda info: not info["state"]["messages"], "STREAM.INFO.AGED")
        return await count(js, "LOCK"), await answer(js, "lock.a")

    held, refusal = talk(account, work)
    assert (held, refusal) == (1, -10077)
    return (
        "A message is still stored when three others of the same max_age have expired one after the other, and a publish to its "
        f"subject is refused (err_code {-refusal})."
    )
