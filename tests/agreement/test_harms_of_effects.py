"""What publishers, readers and direct gets experience after a change that every server takes: shown, as the plan foretells it."""

from __future__ import annotations

import asyncio
import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from reconciler.journeys.plan.plan import plan
from reconciler.report.words.values import counted
from reconciler.server.wire.api import JetStream
from reconciler.server.wire.pipeline import NoAnswer, Silence
from tests.agreement.harm import (
    Alone,
    as_text,
    carried_out,
    change,
    change_consumer,
    count,
    gone,
    publish,
    pull,
    reaches,
    refused,
    shows,
    status,
)
from tests.groups.making import until
from tests.support.accounts import Account, Pool
from tests.support.binaries import MINORS
from tests.support.jetstream import done, make_consumer, make_stream, talk
from tests.support.servers import running
from tests.support.topologies import read
from tests.support.versions import on_every_version


async def send(js: JetStream, subject: str, data: bytes = b"x", /, **headers: str) -> int:
    """The err_code of a publish; 0 where it is stored."""
    nc = js.pipeline.nc
    said = await nc.request(subject, data, timeout=20, headers=headers or None)
    answer = json.loads(said.data)
    return int(answer.get("error", {}).get("err_code", 0))


async def direct(js: JetStream, stream: str) -> object:
    """What a direct get of the first message answers."""
    return await js.pipeline.request(f"$JS.API.DIRECT.GET.{stream}", b'{"seq": 1}', within=5)


@shows("ST601", "KV601", "OB601")
@on_every_version
def test_publishes_are_refused_until_as_many_messages_are_gone_as_said(account: Account) -> str:
    async def work(js: JetStream) -> list[int]:
        await make_stream(js, "S", subjects=["s"], discard="new")
        await publish(js, *["s"] * 30)
        await change(js, "S", max_msgs=10)
        said = [await send(js, "s")]
        for number in (20, 1):
            first = done(await js.read("STREAM.INFO.S"))["state"]["first_seq"]
            done(await js.write("STREAM.PURGE.S", {"seq": first + number}))
            said.append(await send(js, "s"))
        return said

    full, still, then = talk(account, work)
    assert (full, still, then) == (10077, 10077, 0)
    return (
        f"max_msgs: 10 over 30 messages, discard: new: publishes are refused (err_code {full}) until 21 messages are gone; with 20 "
        f"gone they still are."
    )


@on_every_version
def test_a_byte_more_than_the_new_limit_is_refused(account: Account) -> None:
    async def work(js: JetStream) -> list[int]:
        await make_stream(js, "S", subjects=["s"])
        await change(js, "S", max_msg_size=10)
        return [await send(js, "s", b"x" * number) for number in (10, 11)]

    assert talk(account, work) == [0, 10054]


@on_every_version
def test_publishes_on_full_subjects_are_refused(account: Account) -> None:
    async def work(js: JetStream) -> list[int]:
        await make_stream(js, "S", subjects=["s.*"], discard="new", max_msgs_per_subject=2)
        await publish(js, "s.a", "s.a", "s.b")
        await change(js, "S", discard_new_per_subject=True)
        return [await send(js, subject) for subject in ("s.a", "s.b")]

    assert talk(account, work) == [10077, 0]


@on_every_version
def test_at_a_limit_of_bytes_a_stream_takes_no_larger_message_in_place_of_another(account: Account) -> None:
    async def work(js: JetStream) -> list[int]:
        await make_stream(js, "S", subjects=["s.*"], discard="new", max_msgs_per_subject=1)
        for number in range(4):
            assert await send(js, f"s.{number}", b"x" * 100) == 0
        await change(js, "S", max_bytes=300)
        return [await send(js, f"s.{number}", b"x" * size) for number, size in enumerate((101, 100, 99))]

    as_large = 10077 if account.minor in ("2.11", "2.12") else 0
    assert talk(account, work) == [10077, as_large, 0]


@on_every_version
def test_a_full_stream_takes_what_replaces_a_message_of_its_subject(account: Account) -> None:
    async def work(js: JetStream) -> list[int]:
        await make_stream(js, "S", subjects=["s.*"], discard="new", max_msgs_per_subject=1)
        await publish(js, "s.a", "s.b")
        await change(js, "S", max_msgs=2)
        return [await send(js, subject) for subject in ("s.a", "s.c")]

    assert talk(account, work) == [0, 10077]


@shows("ST602")
@on_every_version
def test_publishers_get_no_answer(account: Account) -> str:
    async def work(js: JetStream) -> tuple[object, int]:
        await make_stream(js, "S", subjects=["s"])
        await change(js, "S", no_ack=True)
        return await js.pipeline.request("s", b"x", within=1), await count(js, "S")

    said, stored = talk(account, work)
    assert isinstance(said, NoAnswer) and said.why is not Silence.NO_RESPONDERS and stored == 1
    return f"A publisher gets no answer within 1 s; {counted(stored, 'message')} is stored."


@shows("ST603")
@on_every_version
def test_what_nobody_has_processed_is_removed_by_what_comes(account: Account) -> str:
    async def work(js: JetStream) -> tuple[int, int, int]:
        await make_stream(js, "S", subjects=["s"], discard="new", retention="workqueue")
        await publish(js, *["s"] * 10)
        await change(js, "S", max_msgs=7)
        before = await count(js, "S")
        await change(js, "S", discard="old")
        after = await count(js, "S")
        await publish(js, "s")
        return before, after, done(await js.read("STREAM.INFO.S"))["state"]["first_seq"]

    before, after, first = talk(account, work)
    assert (before, after, first) == (10, 7, 5)
    return (
        f"A work queue of max_msgs: 7 held {before} messages. With discard: old it holds {after} at once, and after the next publish "
        f"it begins at sequence {first}."
    )


@shows("ST604")
@on_every_version
def test_a_repeated_id_is_stored_twice(account: Account) -> str:
    async def work(js: JetStream) -> int:
        await make_stream(js, "S", subjects=["s"])
        await send(js, "s", **{"Nats-Msg-Id": "one"})
        # A server can look over its ids in the moment before it takes the new window, and then looks again only
        # when the old window ends: another change makes it look again.
        windows, stored = itertools.cycle([100_000_000, 120_000_000]), 1
        until = asyncio.get_running_loop().time() + 20
        while stored < 2 and asyncio.get_running_loop().time() < until:
            await change(js, "S", duplicate_window=next(windows))
            await asyncio.sleep(0.3)  # the server forgets ids in its own time
            await send(js, "s", **{"Nats-Msg-Id": "one"})
            stored = await count(js, "S")
        return stored

    stored = talk(account, work)
    assert stored == 2
    return (
        f"A message sent again with the same Nats-Msg-Id, after the shorter window, is stored again: {stored} in all."
    )


@shows("ST605", "KV605", "OB605")
@on_every_version
def test_direct_gets_have_no_responders(account: Account) -> str:
    async def work(js: JetStream) -> list[object]:
        await make_stream(js, "S", subjects=["s"], allow_direct=True)
        await publish(js, "s")
        before = await direct(js, "S")
        await change(js, "S", allow_direct=False)
        return [before, await direct(js, "S")]

    before, after = talk(account, work)
    assert not isinstance(before, NoAnswer)
    assert isinstance(after, NoAnswer) and after.why is Silence.NO_RESPONDERS
    return f"A direct get that was answered before is not any more: {after.why}."


@shows("ST606")
@on_every_version
def test_rollups_are_refused(account: Account) -> str:
    async def work(js: JetStream) -> list[int]:
        await make_stream(js, "S", subjects=["s"], allow_rollup_hdrs=True)
        said = [await send(js, "s", **{"Nats-Rollup": "all"})]
        await change(js, "S", allow_rollup_hdrs=False)
        return [*said, await send(js, "s", **{"Nats-Rollup": "all"})]

    before, after = talk(account, work)
    assert before == 0 and after
    return f"A publish with Nats-Rollup that was stored before is refused (err_code {after})."


@pytest.mark.parametrize("minor", [minor for minor in MINORS if minor != "2.11"])
def test_atomic_batches_are_refused(pool: Pool, minor: str) -> None:
    async def work(js: JetStream) -> list[int]:
        batch = {"Nats-Batch-Id": "b", "Nats-Batch-Sequence": "1", "Nats-Batch-Commit": "1"}
        await make_stream(js, "S", subjects=["s"], allow_atomic=True)
        said = [await send(js, "s", **batch)]
        await change(js, "S", allow_atomic=False)
        return [*said, await send(js, "s", **batch)]

    before, after = talk(pool.account(minor), work)
    assert before == 0 and after


@shows("ST607", "KV607")
@on_every_version
@pytest.mark.parametrize("then", [None, {"src": ">", "dest": "elsewhere.>"}])
def test_subscribers_of_what_was_published_again_hear_nothing(account: Account, then: Any) -> str:
    async def work(js: JetStream) -> list[int]:
        heard: list[str] = []
        nc = js.pipeline.nc

        async def hear(message: Any) -> None:
            heard.append(message.subject)

        await nc.subscribe("again.>", cb=hear)
        await make_stream(js, "S", subjects=["s"], republish={"src": ">", "dest": "again.>"})
        numbers = []
        for republish in ({"src": ">", "dest": "again.>"}, then):
            await change(js, "S", republish=republish)
            await publish(js, "s")
            await nc.flush()
            numbers.append(len(heard))
        return numbers

    before, after = talk(account, work)
    assert (before, after) == (1, 1)
    how = "With another destination" if then else "Without republish"
    return f"{how}, a subscriber hears {after} of 2 messages: the one before the change."


MARKED = {"subject_delete_marker_ttl": 60_000_000_000, "allow_msg_ttl": True, "allow_rollup_hdrs": True}


@shows("ST612", "KV612")
@on_every_version
def test_readers_get_a_marker_of_each_subject_that_expires(account: Account) -> str:
    copied = 5 if account.minor in ("2.14", "2.15") else 3

    async def work(js: JetStream) -> tuple[list[tuple[str, bytes, str]], int, int, int]:
        await make_stream(js, "S", subjects=["s.*"], max_age=1_000_000_000)
        await make_stream(js, "MR", mirror={"name": "S"}, allow_rollup_hdrs=True)
        await make_stream(js, "M", mirror={"name": "S"}, allow_msg_ttl=True)
        await make_stream(js, "R", sources=[{"name": "S"}], allow_msg_ttl=True)
        await make_consumer(js, "S", "c")
        await change(js, "S", **MARKED)
        await publish(js, "s.1", "s.1", "s.2")
        messages = [await pull(js.pipeline.nc, "S", "c") for _ in range(5)]
        seen = [
            (message.subject, message.data, (message.headers or {}).get("Nats-Marker-Reason", ""))
            for message in messages
            if message is not None
        ]
        await until(js, lambda info: info["state"]["last_seq"] == 5, "STREAM.INFO.MR")
        held = int(done(await js.read("STREAM.INFO.MR"))["state"]["messages"])
        return seen, await reaches(copied, js, "M"), await reaches(copied, js, "R"), held

    seen, mirrored, sourced, held = talk(account, work)
    assert seen[:3] == [("s.1", b"x", ""), ("s.1", b"x", ""), ("s.2", b"x", "")]
    assert sorted(seen[3:]) == [("s.1", b"", "MaxAge"), ("s.2", b"", "MaxAge")]
    assert (mirrored, sourced, held) == (copied, copied, 2)
    return (
        f"3 messages on 2 subjects expire: a consumer gets {len(seen)}, the last {len(seen) - 3} without payload; a mirror stores "
        f"{mirrored}, a source {sourced}. A mirror with allow_rollup_hdrs stores the {held} markers, and keeps nothing else."
    )


@on_every_version
def test_a_purge_leaves_no_marker_and_a_short_time_to_live_is_lengthened(account: Account, tmp_path: Path) -> None:
    """What ST612 says of them."""

    async def work(js: JetStream) -> tuple[int, int]:
        await make_stream(js, "S", subjects=["s.*"], allow_msg_ttl=True, allow_rollup_hdrs=True)
        await make_stream(js, "ONE", subjects=["one.*"], max_msgs_per_subject=1, **MARKED)
        made = await plan(
            read(
                tmp_path,
                "streams: {S: {subjects: [s.*], allow_msg_ttl: true, allow_rollup_hdrs: true, subject_delete_marker_ttl: 1m}}",
            ),
            js,
        )
        assert "from then on new messages with a shorter Nats-TTL are kept for 1m (ST612)" in [
            note.message for planned in made.plan.changes for note in planned.consequences
        ]
        await change(js, "S", **MARKED)
        await publish(js, "s.1", "s.2")
        done(await js.write("STREAM.PURGE.S", {"filter": "s.1"}))
        done(await js.write("STREAM.MSG.DELETE.S", {"seq": 2}))
        assert [await send(js, subject, **{"Nats-TTL": "1s"}) for subject in ("s.3", "one.3")] == [0, 0]
        await until(
            js, lambda info: info["state"]["last_seq"] == 2, "STREAM.INFO.ONE"
        )  # the marker of what has expired
        state = done(await js.read("STREAM.INFO.S"))["state"]
        return state["messages"], state["last_seq"]

    assert talk(account, work) == (1, 3)


@shows("ST608")
@on_every_version
def test_new_messages_are_stored_under_other_subjects(account: Account) -> str:
    async def work(js: JetStream) -> dict[str, int]:
        await make_stream(js, "S", subjects=["s"])
        await publish(js, "s")
        await change(js, "S", subject_transform={"src": "s", "dest": "t"})
        await publish(js, "s")
        return dict(done(await js.read("STREAM.INFO.S", {"subjects_filter": ">"}))["state"]["subjects"])

    stored = talk(account, work)
    assert stored == {"s": 1, "t": 1}
    return f"Two messages are published on s, one before the change and one after: {stored['s']} lies under s, {stored['t']} under t."


@on_every_version
def test_subjects_that_refuse_what_is_new_are_trimmed_all_the_same(account: Account) -> None:
    async def work(js: JetStream) -> int:
        await make_stream(js, "S", subjects=["s.*"], discard="new", max_msgs_per_subject=10)
        await publish(js, *["s.a", "s.b"] * 9)
        await change(js, "S", max_msgs_per_subject=3, discard_new_per_subject=True)
        return await count(js, "S")

    assert talk(account, work) == 6


@shows("ST609")
@pytest.mark.parametrize("minor", [minor for minor in MINORS if minor != "2.11"])
def test_clients_can_make_no_other_consumer(pool: Pool, minor: str) -> str:
    async def work(js: JetStream) -> list[int]:
        await make_stream(js, "S", subjects=["s"])
        await make_consumer(js, "S", "c", max_ack_pending=5)
        await change(js, "S", max_consumers=1)
        body = {
            "stream_name": "S",
            "action": "create",
            "config": {"name": "d", "ack_policy": "explicit", "max_ack_pending": 50},
        }
        said = [await refused(js, "CONSUMER.CREATE.S.d", body)]
        await change(js, "S", max_consumers=2, consumer_limits={"max_ack_pending": 10})
        return [*said, await refused(js, "CONSUMER.CREATE.S.d", body)]

    many, large = talk(pool.account(minor), work)
    assert (many, large) == (10026, 10121)
    return (
        f"Clients cannot make another consumer under max_consumers: 1 (err_code {many}), nor one of max_ack_pending: 50 under "
        f"consumer_limits of 10 (err_code {large})."
    )


async def in_flight(js: JetStream, number: int, **config: Any) -> None:
    """A work queue whose consumer has given so many messages to clients that do not answer."""
    await make_stream(js, "S", subjects=["s"], retention="workqueue")
    await publish(js, *["s"] * number)
    await make_consumer(js, "S", "c", **config)
    for _ in range(number):
        assert status(await pull(js.pipeline.nc, "S", "c")) == "200"


@shows("CO601")
@on_every_version
def test_messages_come_without_their_payload(account: Account) -> str:
    async def work(js: JetStream) -> bytes:
        await make_stream(js, "S", subjects=["s"])
        await publish(js, "s")
        await make_consumer(js, "S", "c")
        await change_consumer(js, "S", "c", headers_only=True)
        message = await pull(js.pipeline.nc, "S", "c")
        assert message is not None
        return message.data

    payload = talk(account, work)
    assert payload == b""
    return f"A message stored with 1 byte is delivered with {len(payload)}."


@shows("CO602")
@on_every_version
@pytest.mark.parametrize(
    ("limit", "asked"),
    [
        ({"max_batch": 10}, {"batch": 100}),
        ({"max_expires": 1_000_000_000}, {"expires": 30_000_000_000}),
        ({"max_bytes": 100}, {"max_bytes": 1000}),
    ],
)
def test_pulls_that_ask_for_more_are_refused(account: Account, limit: dict[str, int], asked: dict[str, int]) -> str:
    async def work(js: JetStream) -> str:
        await make_stream(js, "S", subjects=["s"])
        await publish(js, "s")
        await make_consumer(js, "S", "c")
        await change_consumer(js, "S", "c", **limit)
        return status(await pull(js.pipeline.nc, "S", "c", **{"expires": 500_000_000, **asked}))

    said = talk(account, work)
    assert said == "409"
    return f"{as_text(limit)}: a pull with {as_text(asked)} is refused (status {said})."


@shows("CO602")
@on_every_version
def test_pulls_beyond_those_that_may_wait_are_refused(account: Account, tmp_path: Path) -> str:
    async def work(js: JetStream) -> tuple[str, str]:
        await recreated(js, tmp_path, "{ack_policy: explicit}", "{ack_policy: explicit, max_waiting: 1}", "CO106")
        first = asyncio.create_task(pull(js.pipeline.nc, "S", "c"))
        while not done(await js.read("CONSUMER.INFO.S.c"))["num_waiting"]:  # noqa: ASYNC110 - nothing announces it
            await asyncio.sleep(0.01)
        second = await pull(js.pipeline.nc, "S", "c")
        await publish(js, "s")
        return status(second), status(await first)

    second, first = talk(account, work)
    assert (first, second) == ("200", "409")
    return f"max_waiting: 1: the second pull that would wait is refused (status {second})."


async def recreated(js: JetStream, folder: Path, before: str, after: str, *codes: str) -> None:
    """Consumer c of a stream S, which a plan recreates with consent."""
    for consumer in (before, after):
        await carried_out(js, folder, f"streams: {{S: {{subjects: [s], consumers: {{c: {consumer}}}}}}}", *codes)


async def comes_again(js: JetStream, *acknowledged: int) -> int:
    """How many of six messages are redelivered to others once their two clients are gone, three each."""
    nc = js.pipeline.nc
    await publish(js, *["s"] * 6)
    held = [await pull(nc, "S", "c") for _ in range(6)]
    for place in acknowledged:
        message = held[place]
        assert message is not None
        await nc.publish(message.reply, b"+ACK")  # with ack_policy none nobody listens
    again = 0
    while status(await pull(nc, "S", "c", within=2)) == "200":
        again += 1
    return again


@shows("CO603")
@on_every_version
@pytest.mark.parametrize(("policy", "again"), [("explicit", 5), ("all", 0), ("none", 0)])
def test_what_a_failed_client_held_is_lost_to_it(account: Account, tmp_path: Path, policy: str, again: int) -> str:
    async def work(js: JetStream) -> int:
        wait = "" if policy == "none" else ", ack_wait: 1s, max_deliver: 2"
        await recreated(js, tmp_path, "{ack_policy: explicit}", f"{{ack_policy: {policy}{wait}}}", "CO104")
        return await comes_again(js, 5)

    came = talk(account, work)
    assert came == again
    return f"ack_policy: {policy}: of 6 messages for two clients, one acknowledges the last and both fail: {came} are redelivered."


@shows("CO605")
@on_every_version
def test_what_clients_leave_to_a_later_acknowledgement_comes_again(account: Account, tmp_path: Path) -> str:
    async def work(js: JetStream) -> int:
        after = "{ack_policy: explicit, ack_wait: 1s, max_deliver: 2}"
        await recreated(js, tmp_path, "{ack_policy: all}", after, "CO104")
        return await comes_again(js, 5)

    came = talk(account, work)
    assert came == 5
    return f"ack_policy: all → explicit: a client acknowledges the last of 6 messages, and {came} are redelivered."


@shows("CO603")
@on_every_version
def test_what_was_delivered_so_often_is_never_delivered_again_and_stays(account: Account) -> str:
    async def work(js: JetStream) -> tuple[str, int, int]:
        await in_flight(js, 3, ack_wait=500_000_000)
        await change_consumer(js, "S", "c", max_deliver=1)
        said = status(await pull(js.pipeline.nc, "S", "c", within=2))
        await publish(js, "s")
        return said, await count(js, "S"), int(status(await pull(js.pipeline.nc, "S", "c")))

    said, stored, another = talk(account, work)
    assert said in ("408", "nothing") and (stored, another) == (4, 200)
    return f"max_deliver: 1 under 3 messages in flight: none comes again, and all {stored - 1} stay in the work queue."


@shows("CO604")
@on_every_version
@pytest.mark.parametrize("flying", [0, 1])
def test_an_idle_durable_is_gone_with_its_position(account: Account, flying: int) -> str:
    async def work(js: JetStream) -> bool:
        await in_flight(js, flying, ack_wait=1_000_000_000)
        await change_consumer(js, "S", "c", inactive_threshold=500_000_000)
        return await gone(js, "CONSUMER.INFO.S.c")

    assert talk(account, work)
    return f"inactive_threshold: 500ms, {counted(flying, 'message')} in flight: the durable consumer is gone once it was idle so long."


@shows("CO605")
@on_every_version
def test_everything_in_flight_is_delivered_again(account: Account) -> str:
    async def work(js: JetStream) -> list[str]:
        await in_flight(js, 3, ack_wait=60_000_000_000)
        await change_consumer(js, "S", "c", ack_wait=100_000_000)
        return [status(await pull(js.pipeline.nc, "S", "c", within=10)) for _ in range(3)]

    came = talk(account, work)
    assert came == ["200"] * 3
    return f"ack_wait from 60s to 100ms: the {len(came)} messages in flight are delivered again."


@shows("CO606")
@on_every_version
def test_nothing_is_delivered_until_as_many_are_acknowledged_as_said(account: Account) -> str:
    async def work(js: JetStream) -> list[str]:
        nc = js.pipeline.nc
        await make_stream(js, "S", subjects=["s"])
        await publish(js, *["s"] * 10)
        await make_consumer(js, "S", "c")
        messages = [await pull(nc, "S", "c") for _ in range(4)]
        await change_consumer(js, "S", "c", max_ack_pending=2)
        said = []
        for message in (None, messages[0], messages[1], messages[2]):
            if message is not None:
                await nc.request(message.reply, b"+ACK", timeout=5)
            answer = status(await pull(nc, "S", "c", within=0.5))
            said.append("200" if answer == "200" else "none")
        return said

    came = talk(account, work)
    assert came == ["none", "none", "none", "200"]
    return f"max_ack_pending: 2 under 4 messages in flight: nothing is delivered until {came.index('200')} are acknowledged."


@shows("CO607")
@pytest.mark.parametrize("minor", MINORS)
def test_after_a_restart_clients_of_the_old_queue_group_hear_nothing(minor: str) -> str:
    """Group before, and after. Until the restart, clients of the new one hear nothing."""
    turns = {"A": ("", "workers"), "B": ("workers", "others"), "C": ("workers", ""), "D": ("workers", "workers")}

    async def change_them(js: JetStream) -> None:
        for name, (before, after) in turns.items():
            await make_stream(js, name, subjects=[name])
            subject = {"ack_policy": "none", "deliver_subject": f"out.{name}"}
            await make_consumer(js, name, "c", **subject, **({"deliver_group": before} if before else {}))
            await change_consumer(js, name, "c", deliver_group=after or None)

    async def listen(js: JetStream, groups: int) -> str:
        """The consumers that deliver to clients in the old groups, or in the new ones."""
        nc, heard, last = js.pipeline.nc, set(), asyncio.Event()

        async def hear(message: Any) -> None:
            heard.add(message.subject.removeprefix("out."))
            if "D" in heard:
                last.set()

        for name, turn in turns.items():
            await nc.subscribe(f"out.{name}", queue=turn[groups], cb=hear)
        await nc.flush()
        await publish(js, *turns)
        await asyncio.wait_for(last.wait(), 20)
        await asyncio.sleep(0.5)
        return "".join(sorted(heard))

    with running(minor) as server:
        account = Alone(server)
        talk(account, change_them)
        heard_before = talk(account, lambda js: listen(js, groups=1))
        server.restart()
        heard = talk(account, lambda js: listen(js, groups=0))
    assert heard_before == heard == "D"
    return (
        f"After a restart, of {len(turns)} push consumers whose clients stay in their queue group, {len(heard)} is heard: the one "
        "whose deliver_group did not change."
    )


@shows("CO607")
@on_every_version
def test_clients_of_both_queue_groups_get_each_message_and_going_back_needs_no_restart(account: Account) -> str:
    """The group counts that the consumer was made with, whatever it is called since."""

    async def work(js: JetStream) -> list[list[int]]:
        nc = js.pipeline.nc
        await make_stream(js, "S", subjects=["s"])
        await make_consumer(js, "S", "c", ack_policy="none", deliver_subject="out", deliver_group="old")

        async def heard(*groups: str) -> list[int]:
            """How many of three messages clients of each group get."""
            subscribed = [await nc.subscribe("out", queue=group) for group in groups]
            await nc.flush()
            await publish(js, "s", "s", "s")
            got = [len([await one.next_msg(timeout=20) for _ in range(3)]) for one in subscribed]
            for one in subscribed:
                await one.unsubscribe()
            await nc.flush()
            return got

        await change_consumer(js, "S", "c", deliver_group="new")
        both = await heard("old", "new")
        await change_consumer(js, "S", "c", deliver_group="old")
        return [both, await heard("old")]

    both, back = talk(account, work)
    assert (both, back) == ([3, 3], [3])
    return (
        f"3 messages while clients of both queue groups listen: {both[0]} and {both[1]} deliveries. After a change there and back: "
        f"{back[0]} for clients of the first group."
    )


@shows("CO607")
@on_every_version
@pytest.mark.parametrize(("most", "comes"), [(-1, [1, 2, 1, 2]), (1, [1, 2])])
def test_what_is_in_flight_comes_again_at_the_new_subject(account: Account, most: int, comes: list[int]) -> str:
    """Unless it was delivered as often as it may be."""

    async def work(js: JetStream) -> list[int]:
        nc, arrived = js.pipeline.nc, asyncio.Queue[Any]()
        await make_stream(js, "S", subjects=["s"])
        await make_consumer(js, "S", "c", ack_policy="explicit", deliver_subject="old", max_deliver=most)
        first = await nc.subscribe("old", cb=arrived.put)
        await nc.flush()
        await publish(js, "s", "s")
        heard = [await asyncio.wait_for(arrived.get(), 20) for _ in range(2)]
        await first.unsubscribe()
        await nc.flush()
        await change_consumer(js, "S", "c", deliver_subject="new")
        await nc.subscribe("new", cb=arrived.put)
        heard += [await asyncio.wait_for(arrived.get(), 20) for _ in comes[2:]]
        await asyncio.sleep(0.5)
        heard += [arrived.get_nowait() for _ in range(arrived.qsize())]
        return [one.metadata.sequence.stream for one in heard]

    came = talk(account, work)
    assert came == comes
    return f"max_deliver: {most}, 2 messages in flight: {len(came) - 2} of them come again at the new subject."


@shows("CO607")
@on_every_version
def test_a_subscriber_that_answers_no_flow_control_falls_silent(account: Account, tmp_path: Path) -> str:
    number, size = 30, 200_000

    async def work(js: JetStream) -> list[int]:
        push = "ack_policy: explicit, deliver_subject: out"
        heard = []
        for more in ("", ", idle_heartbeat: 5s, flow_control: true"):
            await recreated(js, tmp_path, f"{{{push}}}", f"{{{push}{more}}}", "CO107", "CO108")
            heard.append(await acknowledged_by_subscriber(js, number, size))
        return heard

    plain, controlled = talk(account, work)
    assert plain == number > controlled
    return (
        f"Of {number} messages of {size // 1000} kB, a subscriber that acknowledges each and answers no flow-control request gets "
        f"{controlled}, and {plain} without flow control."
    )


async def acknowledged_by_subscriber(js: JetStream, number: int, size: int) -> int:
    """How many of these messages a plain subscriber gets until nothing more comes."""
    nc, arrived = js.pipeline.nc, asyncio.Queue[Any]()
    subscription = await nc.subscribe("out", cb=arrived.put)
    await nc.flush()
    for _ in range(number):
        assert await send(js, "s", b"x" * size) == 0
    came = 0
    while came < number:
        try:
            message = await asyncio.wait_for(arrived.get(), 3)
        except TimeoutError:
            break
        if status(message) == "200":
            came += 1
            await nc.publish(message.reply, b"+ACK")
    await nc.flush()
    await subscription.unsubscribe()
    return came


@shows("CO608")
@on_every_version
def test_a_subscriber_gets_empty_messages(account: Account, tmp_path: Path) -> str:
    async def work(js: JetStream) -> list[Any]:
        nc, push = js.pipeline.nc, "ack_policy: explicit, deliver_subject: out"
        await recreated(js, tmp_path, f"{{{push}}}", f"{{{push}, idle_heartbeat: 200ms}}", "CO108")
        subscription = await nc.subscribe("out")
        return [await subscription.next_msg(timeout=20) for _ in range(3)]

    heard = talk(account, work)
    assert {(status(message), message.data) for message in heard} == {("100", b"")}
    return f"idle_heartbeat: 200ms: a subscriber of an empty stream gets {len(heard)} empty messages with status 100."


@shows("CO608")
@on_every_version
def test_messages_come_more_slowly(account: Account) -> str:
    async def work(js: JetStream) -> int:
        nc, heard = js.pipeline.nc, []

        async def hear(message: Any) -> None:
            heard.append(message.subject)

        await make_stream(js, "S", subjects=["s"])
        await make_consumer(js, "S", "c", ack_policy="none", deliver_subject="out")
        await change_consumer(js, "S", "c", rate_limit_bps=1000)
        for _ in range(4):  # the server lets as many bytes pass at once as its largest message may have
            assert await send(js, "s", b"x" * 600_000) == 0
        await nc.subscribe("out", cb=hear)
        await asyncio.sleep(1)
        return len(heard)

    assert talk(account, work) < 4
    return "rate_limit_bps: 1000: of 4 messages of 600 kB, not all come within a second."


@on_every_version
def test_a_plan_reads_how_many_messages_are_larger_than_the_new_limit(account: Account, tmp_path: Path) -> None:
    async def work(js: JetStream) -> list[list[str]]:
        await make_stream(js, "S", subjects=["s"])
        for size in (10, 200, 300):
            assert await send(js, "s", b"x" * size) == 0
        said = []
        for limit in (250, 1_000_000):
            text = f"streams: {{S: {{subjects: [s], max_msg_size: {limit}}}}}"
            made = await plan(read(tmp_path / str(limit), text), js)
            said.append([verdict.message for change in made.plan.changes for verdict in change.verdicts])
        return said

    assert talk(account, work) == [
        [
            "1 of the last 3 messages is larger than 250 bytes, the largest 300 bytes: the server refuses publishes like these (10054)"
        ],
        [],
    ]


async def stored_of(js: JetStream, stream: str, *subjects: str) -> tuple[int, int]:
    """How many publishes are acknowledged, and how many of them stored."""
    before = await count(js, stream)
    acknowledged = [await send(js, subject) for subject in subjects].count(0)
    return acknowledged, await count(js, stream) - before


@shows("XX245")
@on_every_version
def test_what_no_consumer_of_an_interest_stream_wants_is_acknowledged_and_not_stored(account: Account) -> str:
    async def work(js: JetStream) -> list[tuple[int, int]]:
        await make_stream(js, "S", subjects=["s.>"], retention="interest")
        await make_consumer(js, "S", "c", filter_subject="s.x.>")
        seen = [await stored_of(js, "S", "s.x.1", "s.x.2")]
        await change(js, "S", subject_transform={"src": "s.x.*", "dest": "z.{{wildcard(1)}}"})
        seen.append(await stored_of(js, "S", "s.x.1", "s.x.2"))
        await change(js, "S", subject_transform=None)
        await change_consumer(js, "S", "c", filter_subject="s.x.1")
        seen.append(await stored_of(js, "S", "s.x.1", "s.x.2"))
        done(await js.write("CONSUMER.DELETE.S.c"))
        return [*seen, await stored_of(js, "S", "s.x.1", "s.x.2")]

    wanted, transformed, narrowed, gone = talk(account, work)
    assert [wanted, transformed, narrowed, gone] == [(2, 2), (2, 0), (2, 1), (2, 0)]
    return (
        f"Of 2 acknowledged publishes that the only consumer wants, {wanted[1]} are stored. Under a transform that gives them "
        f"subjects beside its filter, {transformed[1]} are; with a filter that matches one of them, {narrowed[1]}; without the "
        f"consumer, {gone[1]}."
    )


QUEUE = """
streams:
  Q:
    subjects: [q.*]
    retention: workqueue
    max_msgs: 3
    discard: DISCARD
    consumers: {b: {ack_policy: explicit, filter_subject: q.b}CONSUMER}
"""
READ = ", a: {ack_policy: explicit, filter_subject: q.a}"
REMOVAL = "removed: [{address: consumer/Q/a, reason: nobody uses it}]"


@shows("XX245")
@on_every_version
@pytest.mark.parametrize(
    ("discard", "fate"),
    [("old", "each publish deletes the oldest message"), ("new", "the server refuses every publish")],
)
def test_what_no_consumer_of_a_work_queue_takes_piles_up(
    account: Account, tmp_path: Path, discard: str, fate: str
) -> str:
    async def work(js: JetStream) -> tuple[str, int, int, int]:
        files = QUEUE.replace("DISCARD", discard)
        await carried_out(js, tmp_path, files.replace("CONSUMER", READ))
        desired = files.replace("CONSUMER", "") + REMOVAL
        made = await plan(read(tmp_path, desired), js)
        told = next(verdict.message for one in made.plan.changes for verdict in one.verdicts if verdict.code == "XX245")
        await carried_out(js, tmp_path, desired, "XX245")
        await send(js, "q.b")
        _, stored = await stored_of(js, "Q", "q.a", "q.a")
        wanted = done(await js.read("CONSUMER.INFO.Q.b"))["num_pending"]
        acknowledged, _ = await stored_of(js, "Q", "q.a")
        return told, stored, acknowledged, wanted - done(await js.read("CONSUMER.INFO.Q.b"))["num_pending"]

    told, stored, acknowledged, pushed_out = talk(account, work)
    assert told == (
        "publishes on q.a will be stored, and no consumer of Q takes them: they stay until one does; once max_msgs is reached, "
        + fate
    )
    assert (stored, acknowledged, pushed_out) == ((2, 1, 1) if discard == "old" else (2, 0, 0))
    full = f"deletes {pushed_out} that another consumer wants" if acknowledged else "is refused"
    return (
        f"discard: {discard}: when the work queue's only consumer of a subject is gone, {stored} publishes there are stored for nobody; "
        f"the next one, above max_msgs, {full}."
    )


@on_every_version
def test_what_an_interest_stream_stores_is_as_foretold(account: Account, tmp_path: Path) -> None:
    """Every subject that the plan names is not stored afterwards, and every other one is."""
    live = """
        streams:
          S: {subjects: [s.>], retention: interest, consumers: {c: {ack_policy: explicit}}}
          T: {subjects: [t.*], retention: interest, consumers: {c: {ack_policy: explicit, filter_subject: t.a}}}
          U: {subjects: [u.*], retention: interest}
          M: {mirror: {name: U}}
    """
    desired = """
        streams:
          S:
            subjects: [s.>]
            retention: interest
            subject_transform: {src: s.*.*, dest: "z.{{wildcard(2)}}.{{wildcard(1)}}"}
            consumers: {c: {ack_policy: explicit, filter_subjects: [z.a.>, s.x]}}
          T: {subjects: [t.*, tt.*], retention: interest, consumers: {c: {ack_policy: explicit, filter_subject: t.a}}}
          U: {subjects: [u.*], retention: interest}
          M: {mirror: {name: U}}
    """
    published = {
        "S": ("s.1.a", "s.1.b", "s.x", "s.y", "s.1.2.3"),
        "T": ("t.a", "t.b", "tt.a"),
    }

    async def work(js: JetStream) -> tuple[list[str], dict[str, int]]:
        await carried_out(js, tmp_path, live)
        made = await plan(read(tmp_path, desired), js)
        said = [verdict.message for one in made.plan.changes for verdict in one.verdicts if verdict.code == "XX245"]
        said += [note.message for one in made.plan.changes for note in one.consequences if note.code == "XX245"]
        await carried_out(js, tmp_path, desired, "XX245")
        return said, {
            subject: (await stored_of(js, stream, subject))[1]
            for stream, subjects in published.items()
            for subject in subjects
        }

    said, stored = talk(account, work)
    assert said == [
        "publishes on s.*.* outside s.*.a and on s.> outside s.x and s.*.* will be acknowledged and not stored: no consumer "
        "of S wants them",
        "publishes on tt.* will be acknowledged and not stored: no consumer of T wants them (XX245)",
    ]
    assert stored == {
        "s.1.a": 1, "s.1.b": 0, "s.x": 1, "s.y": 0, "s.1.2.3": 0, "t.a": 1, "t.b": 0, "tt.a": 0,
    }  # fmt: skip
