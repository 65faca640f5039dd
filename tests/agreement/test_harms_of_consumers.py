"""What a server lets happen to a consumer and its clients, shown: the reason why we are stricter."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nats.errors
import pytest
from nats.aio.msg import Msg

from reconciler.journeys.plan.plan import plan
from reconciler.journeys.unpin import unpin
from reconciler.kinds.consumer.clients import ACCEPTED_BY
from reconciler.model.run_options import RunOptions
from reconciler.server.wire.api import JetStream
from tests.agreement.harm import (
    Alone,
    carried_out,
    change,
    change_consumer,
    count,
    gone,
    is_there,
    publish,
    pull,
    shows,
    status,
)
from tests.groups.making import until
from tests.support.accounts import Account
from tests.support.binaries import MINORS
from tests.support.jetstream import done, make_consumer, make_stream, talk
from tests.support.servers import running
from tests.support.topologies import read
from tests.support.versions import on_every_version

PINNED = {"priority_policy": "pinned_client", "priority_groups": ["a"], "priority_timeout": 60_000_000_000}


async def _pinned_by_a_client_that_left(js: JetStream, **config: object) -> None:
    await make_stream(js, "S", subjects=["s"])
    await publish(js, "s", "s", "s")
    await make_consumer(js, "S", "c", **{**PINNED, **config})
    first = await pull(js.pipeline.nc, "S", "c", group="a")
    assert status(first) == "200"


@shows("CO121")
@on_every_version
@pytest.mark.parametrize("policy", ["overflow", "none"])
def test_an_old_pin_starves_the_clients_of_a_new_policy(account: Account, policy: str) -> str:
    async def work(js: JetStream) -> str:
        await _pinned_by_a_client_that_left(js)
        groups = {"priority_groups": ["a"]} if policy != "none" else {"priority_groups": None}
        await change_consumer(js, "S", "c", priority_policy=policy, priority_timeout=None, **groups)
        return status(await pull(js.pipeline.nc, "S", "c", within=1, **({"group": "a"} if policy != "none" else {})))

    assert talk(account, work) in ("408", "nothing")
    return f"From pinned_client to {policy}: a pull gets nothing within 1 s, though messages wait. The old pin stands."


SIDE_BY_SIDE = [
    (minor, policy)
    for minor in MINORS
    for policy in ("none", "overflow", "prioritized")
    if (minor, policy) != ("2.11", "prioritized")
]


@shows("CO121")
@pytest.mark.parametrize(("account", "policy"), SIDE_BY_SIDE, indirect=["account"])
def test_without_pins_clients_get_messages_of_a_subject_side_by_side(account: Account, policy: str) -> str:
    """A client still works on a message when another client gets the next one."""

    async def work(js: JetStream) -> tuple[str, int]:
        nc = js.pipeline.nc
        await _pinned_by_a_client_that_left(js)
        assert status(await pull(nc, "S", "c", within=1, group="a")) in ("408", "nothing")
        await unpin(js, "S/c")
        await change_consumer(js, "S", "c", priority_timeout=None, **POLICIES[policy])
        other = status(await pull(nc, "S", "c", group="a"))
        return other, int(done(await js.read("CONSUMER.INFO.S.c"))["num_ack_pending"])

    assert talk(account, work) == ("200", 2)
    return f"From pinned_client to {policy}: a client gets the next message of a subject while another works on the one before."


POLICIES: dict[str, dict[str, Any]] = {
    "none": {"priority_policy": "none", "priority_groups": None},
    "overflow": {"priority_policy": "overflow", "priority_groups": ["a"]},
    "pinned_client": PINNED,
    "prioritized": {"priority_policy": "prioritized", "priority_groups": ["a"]},
}
SENT: dict[str, list[dict[str, Any]]] = {
    "none": [{}, {"group": "b"}],
    "overflow": [{"group": "a", "min_pending": 1}, {"group": "a", "min_ack_pending": 1}],
    "pinned_client": [{"group": "a", "id": "of-a-pin"}],
}
"""What clients send that only a consumer of this policy accepts."""


@on_every_version
@pytest.mark.parametrize("before", POLICIES)
def test_after_a_switch_exactly_those_pulls_fail_that_only_the_old_policy_accepts(
    account: Account, before: str
) -> None:
    known = [policy for policy in POLICIES if policy != "prioritized" or account.minor != "2.11"]

    async def work(js: JetStream) -> None:
        nc = js.pipeline.nc
        await make_stream(js, "S", subjects=["s"])
        await publish(js, *["s"] * 100)
        for after in (one for one in known if one != before):
            await make_consumer(js, "S", "c", **_without_nothing(POLICIES[before]))
            await change_consumer(js, "S", "c", **{"priority_timeout": None, **POLICIES[after]})
            for policy, pulls in SENT.items():
                for one in pulls:
                    is_refused = status(await pull(nc, "S", "c", within=0.3, **one)) == "400"
                    assert is_refused == (policy != after), (before, after, one)
            for one in ({"group": "a"}, {"group": "a", "priority": 1}):
                assert status(await pull(nc, "S", "c", within=0.3, **one)) != "400"
            done(await js.write("CONSUMER.DELETE.S.c"))

    assert set(SENT) == set(ACCEPTED_BY)
    if before in known:
        talk(account, work)


SWITCHED = """streams:
  S:
    subjects: [s]
    consumers:
      c: {ack_policy: explicit, ack_wait: 1s, priority_groups: [a], POLICY}
"""
OTHERS = {"overflow": "pinned_client", "pinned_client": "overflow"}
WRITTEN = {
    "overflow": "priority_policy: overflow",
    "pinned_client": "priority_policy: pinned_client, priority_timeout: 1s",
}


@shows("CO121")
@on_every_version
@pytest.mark.parametrize("before", OTHERS)
def test_the_plan_says_whether_a_pull_that_was_refused_is_served(account: Account, before: str, tmp_path: Path) -> str:
    after = OTHERS[before]

    async def work(js: JetStream) -> tuple[str, list[Msg], int]:
        await carried_out(js, tmp_path, SWITCHED.replace("POLICY", WRITTEN[before]))
        switched = SWITCHED.replace("POLICY", WRITTEN[after])
        made = (await plan(read(tmp_path, switched), js, RunOptions())).plan
        message = next(
            verdict.message for change in made.changes for verdict in change.verdicts if verdict.code == "CO121"
        )
        await carried_out(js, tmp_path, switched, "CO121")
        answers = await _refused_and_perhaps_served(js, SENT[before][0])
        served = await pull(js.pipeline.nc, "S", "c", group="a")
        assert served is not None and status(served) == "200"
        return message, answers, served.metadata.num_delivered

    message, (refusal, *served), times = talk(account, work)
    assert status(refusal) == "400"
    assert len(served) == ("also delivers the next message" in message) == times - 1
    pins = [answer for answer in served if "Nats-Pin-Id" in (answer.headers or {})]
    assert len(pins) == ("which blocks the others for up to 1s" in message)
    then = f"then {'a pin with ' if pins else ''}the next message, " if served else "and "
    return (
        f"From {before} to {after}: a pull as clients of {before} send it gets 400, {then}"
        f"{'which a pull of another client gets a second time' if served else 'nothing else'}."
    )


async def _refused_and_perhaps_served(js: JetStream, asked: dict[str, Any]) -> list[Msg]:
    """Everything that a pull gets: the refusal, and the one message there is if the server keeps the pull nevertheless."""
    nc = js.pipeline.nc
    answers = await nc.subscribe(inbox := nc.new_inbox())
    body = json.dumps({"batch": 1, "expires": 20_000_000_000, **asked}).encode()
    await nc.publish("$JS.API.CONSUMER.MSG.NEXT.S.c", body, reply=inbox)
    refusal = await answers.next_msg(timeout=20)
    is_kept = done(await js.read("CONSUMER.INFO.S.c"))["num_waiting"]
    await publish(js, "s")
    return [refusal, await answers.next_msg(timeout=20)] if is_kept else [refusal]


def _without_nothing(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value not in (None, "none")}


@shows("CO122")
@on_every_version
def test_an_old_pin_starves_the_clients_of_a_new_group(account: Account) -> str:
    async def work(js: JetStream) -> tuple[str, str]:
        await _pinned_by_a_client_that_left(js)
        await change_consumer(js, "S", "c", priority_groups=["b"])
        nc = js.pipeline.nc
        return status(await pull(nc, "S", "c", group="a")), status(await pull(nc, "S", "c", within=1, group="b"))

    old, new = talk(account, work)
    assert old == "400" and new in ("408", "nothing")
    return (
        f"A pull for the old group is refused (status {old}); one for the new group gets nothing within 1 s, though messages wait. "
        "The old pin stands."
    )


GROUPED = """streams:
  S:
    subjects: [s]
    consumers:
      c: {ack_policy: explicit, priority_policy: pinned_client, priority_timeout: 1m, priority_groups: [GROUP]}
"""


@shows("CO122")
@on_every_version
def test_a_waiting_pull_of_the_old_group_pins_its_client_once_more(account: Account, tmp_path: Path) -> str:
    async def work(js: JetStream) -> tuple[str, str, str, str]:
        nc = js.pipeline.nc
        await carried_out(js, tmp_path, GROUPED.replace("GROUP", "a"))
        await publish(js, "s")
        first = await pull(nc, "S", "c", group="a")
        assert first is not None and first.headers is not None
        own = first.headers["Nats-Pin-Id"]
        waiting = [
            asyncio.create_task(one) for one in (pull(nc, "S", "c", group="a", id=own), pull(nc, "S", "c", group="a"))
        ]
        await until(js, lambda info: info["num_waiting"] == len(waiting), "CONSUMER.INFO.S.c")
        renamed = GROUPED.replace("GROUP", "b")
        made = (await plan(read(tmp_path, renamed), js, RunOptions())).plan
        said = next(one.message for change in made.changes for one in change.verdicts if one.code == "CO122")
        assert said.endswith(
            "A pull for a that waits then, other than the pinned client's own, is still served, and pins its client once more: "
            "that blocks the others for up to 1m, "
            "unless you run `reconciler unpin S/c`."
        )
        await carried_out(js, tmp_path, renamed, "CO122")
        await publish(js, "s", "s")
        pinned, standby = [status(await one) for one in waiting]
        blocked = status(await pull(nc, "S", "c", within=1, group="b"))
        await unpin(js, "S/c")
        return pinned, standby, blocked, status(await pull(nc, "S", "c", group="b"))

    pinned, standby, blocked, served = talk(account, work)
    assert (pinned, standby, served) == ("423", "200", "200") and blocked in ("408", "nothing")
    return (
        "After the rename, the waiting pull of the pinned client ends, and that of a standby gets the next message. Then a pull "
        "for the new group gets nothing within 1 s, and the next message once the client is unpinned."
    )


@shows("CO122")
@on_every_version
def test_a_client_that_pulls_again_after_a_400_follows_a_rename_of_the_one_group(
    account: Account, tmp_path: Path
) -> str:
    async def work(js: JetStream) -> tuple[str, str, str, str]:
        nc = js.pipeline.nc
        await carried_out(js, tmp_path, GROUPED.replace("GROUP", "a"))
        early = status(await pull(nc, "S", "c", group="b"))
        renamed = GROUPED.replace("GROUP", "b")
        made = (await plan(read(tmp_path, renamed), js, RunOptions())).plan
        way = next(verdict.fix for change in made.changes for verdict in change.verdicts if verdict.code == "CO122")
        both = (await plan(read(tmp_path, GROUPED.replace("GROUP", "a, b")), js, RunOptions())).plan
        assert [verdict.code for change in both.changes for verdict in change.verdicts] == ["CO123"]
        await carried_out(js, tmp_path, renamed, "CO122")
        await publish(js, "s")
        return str(way), early, status(await pull(nc, "S", "c", group="a")), status(await pull(nc, "S", "c", group="b"))

    way, early, late, served = talk(account, work)
    assert "pulls for b fail (400) until apply: let clients that get a 400 pull again for b, and then consent" in way
    assert (early, late, served) == ("400", "400", "200")
    return (
        "Before the rename a pull for the new group is refused (400), and after it one for the old group; one for the new group is "
        "then served."
    )


@on_every_version
def test_a_pin_keeps_its_time_until_the_pinned_client_pulls_again(account: Account) -> None:
    """What CO608 says of a `priority_timeout` that changes."""

    async def work(js: JetStream) -> tuple[str, str]:
        nc = js.pipeline.nc
        await _pinned_by_a_client_that_left(js)
        await change_consumer(js, "S", "c", priority_timeout=500_000_000)
        before = status(await pull(nc, "S", "c", within=2, group="a"))
        info = done(await js.read("CONSUMER.INFO.S.c"))
        pin = info["priority_groups"][0]["pinned_client_id"]
        assert status(await pull(nc, "S", "c", group="a", id=pin)) == "200"
        return before, status(await pull(nc, "S", "c", within=10, group="a"))

    before, after = talk(account, work)
    assert before in ("408", "nothing")
    assert after == "200"


PATIENT = """streams:
  S:
    subjects: [s]
    consumers:
      c: {ack_policy: explicit, priority_policy: pinned_client, priority_timeout: TIMEOUT, priority_groups: [a]}
"""


@shows("CO608")
@on_every_version
def test_neither_an_ack_nor_a_delivery_nor_a_waiting_pull_prolongs_a_pin(account: Account, tmp_path: Path) -> str:
    async def work(js: JetStream) -> tuple[str, int, str]:
        await carried_out(js, tmp_path, PATIENT.replace("TIMEOUT", "1m"))
        hasty = PATIENT.replace("TIMEOUT", "1s")
        made = (await plan(read(tmp_path, hasty), js, RunOptions())).plan
        words = [consequence.message for change in made.changes for consequence in change.consequences]
        await carried_out(js, tmp_path, hasty)
        first, second = await _long_pull(js), await _long_pull(js)
        await publish(js, "s")
        held = await first.next_msg(timeout=20)
        acknowledged = 0
        while not second.pending_msgs:
            await publish(js, "s")
            acknowledged += await _acknowledge_next(first)
        await publish(js, "s")  # with the next message, the server ends the pull that has no pin any more
        assert held.metadata.sequence.stream < (await second.next_msg(timeout=20)).metadata.sequence.stream
        assert done(await js.read("CONSUMER.INFO.S.c"))["ack_floor"]["stream_seq"] == 0
        (message,) = words
        last = await first.next_msg(timeout=20)
        while status(last) == "200":  # it was on its way when the other client was pinned
            last = await first.next_msg(timeout=20)
        return message, acknowledged, status(last)

    message, acknowledged, ended = talk(account, work)
    assert acknowledged > 1 and ended == "423"
    assert "once the pinned one has sent no new pull for 1s, even if a pull of it waits and it acknowledges" in message
    return (
        "priority_timeout: 1s: a pinned client whose one long pull waits, and which acknowledges other messages at once, loses its "
        "pin (423). Another client gets later messages of the subject while the first one still works on an earlier one."
    )


@shows("CO575")
@on_every_version
def test_a_client_that_has_time_left_to_acknowledge_is_not_alone(account: Account) -> str:
    async def work(js: JetStream) -> tuple[str, Mapping[str, Any]]:
        nc = js.pipeline.nc
        await make_stream(js, "S", subjects=["s"])
        await make_consumer(js, "S", "c", **{**PINNED, "ack_wait": 60_000_000_000, "priority_timeout": 500_000_000})
        await publish(js, "s", "s")
        held = await pull(nc, "S", "c", group="a")
        assert held is not None
        await publish(js, "s")
        second = status(await pull(nc, "S", "c", group="a"))
        await held.ack_sync(timeout=20)
        return second, done(await js.read("CONSUMER.INFO.S.c"))

    second, info = talk(account, work)
    assert second == "200"
    assert (info["num_ack_pending"], info["num_redelivered"]) == (1, 0)
    return (
        "ack_wait: 1m, priority_timeout: 500ms: while a client still works on its message, another client gets the next one. The "
        "first one then acknowledges its message, and the server takes that."
    )


async def _long_pull(js: JetStream) -> Any:
    """A pull for many messages, and its answers: a client that need not pull again for long."""
    nc = js.pipeline.nc
    answers = await nc.subscribe(inbox := nc.new_inbox())
    body = json.dumps({"batch": 5_000, "expires": 60_000_000_000, "group": "a"}).encode()
    waiting = done(await js.read("CONSUMER.INFO.S.c"))["num_waiting"]
    await nc.publish("$JS.API.CONSUMER.MSG.NEXT.S.c", body, reply=inbox)
    await until(js, lambda info: info["num_waiting"] == waiting + 1, "CONSUMER.INFO.S.c")
    return answers


async def _acknowledge_next(answers: Any) -> bool:
    """Acknowledge the next message, if one comes soon."""
    with contextlib.suppress(nats.errors.TimeoutError):
        message = await answers.next_msg(timeout=0.1)
        await message.ack_sync(timeout=20)
        return True
    return False


@shows("CO123")
@on_every_version
def test_a_client_pinned_in_one_group_starves_the_others(account: Account) -> str:
    async def work(js: JetStream) -> str:
        await _pinned_by_a_client_that_left(js, priority_groups=["a", "b"])
        return status(await pull(js.pipeline.nc, "S", "c", within=1, group="b"))

    assert talk(account, work) in ("408", "nothing")
    return "While a client is pinned in group a, a pull for group b gets nothing within 1 s, though messages wait."


@on_every_version
def test_without_a_pin_one_consumer_serves_several_groups(account: Account) -> None:
    async def work(js: JetStream) -> list[str]:
        await make_stream(js, "S", subjects=["s"])
        await make_consumer(js, "S", "c", priority_policy="overflow", priority_groups=["a", "b"])
        await publish(js, "s", "s")
        return [status(await pull(js.pipeline.nc, "S", "c", group=group)) for group in ("a", "b")]

    assert talk(account, work) == ["200", "200"]


@on_every_version
@pytest.mark.parametrize("policy", ["overflow", "pinned_client"])
def test_a_group_that_is_added_takes_nothing_from_the_others(account: Account, policy: str) -> None:
    async def work(js: JetStream) -> list[str]:
        nc = js.pipeline.nc
        await make_stream(js, "S", subjects=["s"])
        await make_consumer(js, "S", "c", priority_policy=policy, priority_groups=["a"])
        await publish(js, "s", "s", "s")
        first = await pull(nc, "S", "c", group="a")
        pin: dict[str, Any] = (
            {"id": first.headers["Nats-Pin-Id"]} if policy == "pinned_client" and first and first.headers else {}
        )
        await change_consumer(js, "S", "c", priority_groups=["b", "a"])
        return [status(first), status(await pull(nc, "S", "c", group="a", **pin))]

    assert talk(account, work) == ["200", "200"]


@shows("CO131")
@on_every_version
def test_an_ephemeral_made_durable_still_vanishes_when_idle(account: Account) -> str:
    async def work(js: JetStream) -> bool:
        await make_stream(js, "S", subjects=["s"])
        ephemeral = {"name": "c", "ack_policy": "explicit", "inactive_threshold": 3_000_000_000}
        done(await js.write("CONSUMER.CREATE.S.c", {"stream_name": "S", "action": "create", "config": ephemeral}))
        await change_consumer(js, "S", "c", durable_name="c")
        return await gone(js, "CONSUMER.INFO.S.c")

    assert talk(account, work)
    return "Given a durable name by an update, the ephemeral consumer is gone all the same once it was idle for 3 s."


@shows("CO312")
@on_every_version
@pytest.mark.parametrize(("policy", "comes"), [("all", 3), ("new", 0)])
def test_a_consumer_made_again_starts_over_or_skips(account: Account, policy: str, comes: int) -> str:
    """Of three messages it had processed one."""

    async def work(js: JetStream) -> int:
        await make_stream(js, "S", subjects=["s"])
        await make_consumer(js, "S", "c", deliver_policy=policy)
        await publish(js, "s", "s", "s")
        nc = js.pipeline.nc
        message = await pull(nc, "S", "c")
        assert message is not None
        await nc.request(message.reply, b"", timeout=5)
        done(await js.write("CONSUMER.DELETE.S.c"))
        await make_consumer(js, "S", "c", deliver_policy=policy)
        return int(done(await js.read("CONSUMER.INFO.S.c"))["num_pending"])

    pending = talk(account, work)
    assert pending == comes
    return (
        f"deliver_policy: {policy}, 1 of 3 messages processed before: made again, it has {pending} messages to deliver."
    )


@shows("CO310")
@on_every_version
def test_what_only_a_removed_consumer_wanted_goes_with_it(account: Account) -> str:
    async def work(js: JetStream) -> tuple[int, int]:
        await make_stream(js, "S", subjects=["s"], retention="interest")
        await make_consumer(js, "S", "c")
        await publish(js, "s", "s")
        before = await count(js, "S")
        done(await js.write("CONSUMER.DELETE.S.c"))
        return before, await count(js, "S")

    before, left = talk(account, work)
    assert (before, left) == (2, 0)
    return (
        f"The stream held {before} messages that only this consumer had still to process; it holds {left} afterwards."
    )


@shows("CO401")
@pytest.mark.parametrize("account", ["2.11"], indirect=True)
def test_an_old_server_drops_options_it_does_not_know(account: Account) -> str:
    async def work(js: JetStream) -> object:
        await make_stream(js, "S", subjects=["s"])
        return (await make_consumer(js, "S", "c", option_of_the_future=True))["config"].get("option_of_the_future")

    assert talk(account, work) is None
    return "The consumer is made, without the option that this version does not know."


async def _process_one(js: JetStream, name: str) -> None:
    message = await pull(js.pipeline.nc, "S", name)
    assert message
    await js.pipeline.request(message.reply, b"+ACK", within=20)


async def _ahead(js: JetStream, name: str) -> int:
    return int(done(await js.read(f"CONSUMER.INFO.S.{name}"))["num_pending"])


@shows("CO111")
@pytest.mark.parametrize("minor", ["2.11", "2.12"])
def test_a_restart_loses_a_consumer_taken_out_of_memory_and_the_position_of_one_put_there(minor: str) -> str:
    with running(minor) as server:

        async def update(js: JetStream) -> int:
            await make_stream(js, "S", subjects=["s"])
            await make_consumer(js, "S", "out", mem_storage=True)
            await make_consumer(js, "S", "into")
            await publish(js, "s", "s", "s")
            await _process_one(js, "into")
            await change_consumer(js, "S", "out", mem_storage=None)
            await change_consumer(js, "S", "into", mem_storage=True)
            return await _ahead(js, "into")

        async def look(js: JetStream) -> tuple[bool, bool, int]:
            there = await is_there(js, "STREAM.INFO.S"), await is_there(js, "CONSUMER.INFO.S.out")
            return *there, await _ahead(js, "into")

        assert talk(Alone(server), update) == 2
        server.restart()
        assert talk(Alone(server), look) == (True, False, 3)
    return (
        "After a restart a consumer that an update took out of memory is gone; one that it put into memory starts over "
        "at its first message."
    )


@shows("CO562")
@on_every_version
def test_limits_of_pull_requests_do_not_limit_what_is_pushed(account: Account) -> str:
    async def work(js: JetStream) -> list[bytes]:
        heard = await js.pipeline.nc.subscribe("heard")
        await make_stream(js, "S", subjects=["s"])
        await publish(js, "s", "s")
        limits = {"max_batch": 1, "max_bytes": 1, "max_expires": 1_000_000}
        await make_consumer(js, "S", "c", deliver_subject="heard", **limits)
        return [(await heard.next_msg(timeout=20)).data for _ in range(2)]

    came = talk(account, work)
    assert came == [b"x", b"x"]
    return f"Under max_batch: 1, max_bytes: 1 and max_expires: 1ms a push consumer delivers {len(came)} messages all the same."


@shows("CO562")
@on_every_version
def test_a_queue_group_keeps_nobody_from_pulling(account: Account) -> str:
    async def work(js: JetStream) -> str:
        await make_stream(js, "S", subjects=["s"])
        await publish(js, "s")
        await make_consumer(js, "S", "c", deliver_group="workers")
        return status(await pull(js.pipeline.nc, "S", "c"))

    said = talk(account, work)
    assert said == "200"
    return f"A client outside of deliver_group pulls a message all the same (status {said})."


@shows("CO574")
@on_every_version
def test_a_timeout_pins_nobody_where_the_policy_does_not(account: Account) -> str:
    async def work(js: JetStream) -> list[str]:
        await make_stream(js, "S", subjects=["s"])
        await publish(js, "s", "s")
        await make_consumer(js, "S", "c", **{**PINNED, "priority_policy": "overflow"})
        return [status(await pull(js.pipeline.nc, "S", "c", group="a")) for _client in range(2)]

    said = talk(account, work)
    assert said == ["200", "200"]
    return f"With policy overflow and a priority_timeout, {len(said)} clients get a message each: none is pinned."


@shows("ST556")
@pytest.mark.parametrize("minor", MINORS)
def test_a_limit_of_the_stream_costs_a_push_consumer_at_the_restart(minor: str) -> str:
    with running(minor) as server:

        async def update(js: JetStream) -> None:
            await make_stream(js, "S", subjects=["s"])
            await make_consumer(js, "S", "c", ack_policy="none", deliver_subject="to")
            await change(js, "S", consumer_limits={"max_ack_pending": 5})

        async def look(js: JetStream) -> tuple[bool, bool]:
            return await is_there(js, "STREAM.INFO.S"), await is_there(js, "CONSUMER.INFO.S.c")

        talk(Alone(server), update)
        server.restart()
        assert talk(Alone(server), look) == (True, False)
    return "After a restart the push consumer without acknowledgements is gone; its stream is there."
