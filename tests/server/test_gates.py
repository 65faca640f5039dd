"""Gates of an apply: a mirror has everything before it is promoted, and whoever consumed before a membership change does again."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from reconciler.changes.events import Event, Finished, Waiting
from reconciler.journeys.apply.apply import apply
from reconciler.journeys.drift.look import look
from reconciler.journeys.plan.plan import plan
from reconciler.kinds.stream_config import new_copies
from reconciler.model.run_options import RunOptions
from reconciler.model.wire.snapshot import Entry
from reconciler.model.wire.steps import Call
from reconciler.server.read.observe import observe
from reconciler.server.read.read_kv import entry
from reconciler.server.wire.answers import Refusal
from reconciler.server.wire.api import JetStream
from tests.groups.making import SECOND, pull, until, waited_for
from tests.support.accounts import Account, User
from tests.support.background import beside
from tests.support.jetstream import done, make_stream, talk
from tests.support.servers import running
from tests.support.suspending import suspended
from tests.support.topologies import TODAY, read
from tests.support.versions import on_every_version

PROMOTED = "streams: {O: {subjects: [o]}, M: {subjects: [m], allow: [{code: ST206, to: null, reason: it takes over}]}}"
MIRRORED = "streams: {O: {subjects: [o]}, M: {mirror: {name: O}}}"


async def applied(js: JetStream, folder: Path, text: str) -> list[Event]:
    planned = await plan(read(folder / str(abs(hash(text))), text), js, RunOptions(today=TODAY))
    assert not planned.plan.blocked, planned.plan.blocked
    return [event async for event in apply(planned, js)]


def ended(events: Sequence[Event]) -> Finished:
    assert isinstance(events[-1], Finished)
    return events[-1]


@pytest.mark.parametrize("account", ["2.12", "2.15"], indirect=True)
def test_a_mirror_is_promoted_when_it_has_everything(account: Account, tmp_path: Path) -> None:
    async def work(js: JetStream) -> tuple[list[Call], int, int]:
        await make_stream(js, "O", subjects=["o"])
        nc = js.pipeline.nc
        for _ in range(19_999):
            await nc.publish("o", b"x" * 100)
        await nc.request("o", b"x" * 100, timeout=60)  # what is acknowledged comes after all the others
        await applied(js, tmp_path, MIRRORED)
        await heard(js, "M")
        finished = ended(await applied(js, tmp_path, PROMOTED))
        assert finished.is_success, finished
        last = [done(await js.request(f"STREAM.INFO.{name}"))["state"]["last_seq"] for name in ("O", "M")]
        return [one.step.call for one in finished.done], last[0], last[1]

    calls, origin, mirror = talk(account, work)
    assert calls == [Call.GATE_MIRROR_CAUGHT_UP, Call.STREAM_UPDATE]
    assert origin == mirror == 20_000


async def heard(js: JetStream, mirror: str) -> None:
    async with asyncio.timeout(60):
        while True:  # nothing announces that a mirror has heard from its origin
            if done(await js.request(f"STREAM.INFO.{mirror}"))["mirror"].get("active", -1) >= 0:
                return
            await asyncio.sleep(0.01)


def test_a_mirror_that_lacks_something_is_waited_for(account: Account, tmp_path: Path) -> None:
    """One that is full takes nothing more, and lacks the rest for ever."""

    async def work(js: JetStream) -> tuple[list[str], bool]:
        await make_stream(js, "O", subjects=["o"])
        for _ in range(3):
            await js.pipeline.nc.request("o", b"x")
        await applied(js, tmp_path, MIRRORED.replace("{mirror:", "{max_msgs: 1, discard: new, mirror:"))
        await heard(js, "M")
        text = PROMOTED.replace("{subjects: [m]", "{max_msgs: 1, discard: new, subjects: [m]")
        planned = await plan(read(tmp_path / "promoted", text), js, RunOptions(today=TODAY))
        waited, stop = list[str](), asyncio.Event()
        async for event in apply(planned, js, stop=stop):
            if isinstance(event, Waiting):
                waited.append(event.text)
                stop.set()
        return waited, "mirror" in done(await js.request("STREAM.INFO.M"))["config"]

    waited, is_mirror = talk(account, work)
    assert waited[0].startswith("waiting for mirror M: ")
    assert is_mirror


def test_a_mirror_lacks_nothing_where_the_newest_messages_of_its_origin_were_deleted(
    account: Account, tmp_path: Path
) -> None:
    async def work(js: JetStream) -> bool:
        await make_stream(js, "O", subjects=["o"])
        for _ in range(3):
            await js.pipeline.nc.request("o", b"x")
        for sequence in (2, 3):
            done(await js.request("STREAM.MSG.DELETE.O", {"seq": sequence}))
        await applied(js, tmp_path, MIRRORED)
        await heard(js, "M")
        return ended(await applied(js, tmp_path, PROMOTED)).is_success

    assert talk(account, work)


def test_a_mirror_is_promoted_while_its_origin_is_published_to(account: Account, tmp_path: Path) -> None:
    async def publish(js: JetStream) -> None:
        while True:
            await asyncio.gather(*(js.pipeline.nc.request("o", b"x") for _ in range(10)))

    async def work(js: JetStream) -> bool:
        await make_stream(js, "O", subjects=["o"])
        await applied(js, tmp_path, MIRRORED)
        await heard(js, "M")
        async with beside(publish(js)):
            return ended(await applied(js, tmp_path, PROMOTED)).is_success

    assert talk(account, work)


def test_a_mirror_whose_origin_is_gone_is_promoted_as_it_is(account: Account, tmp_path: Path) -> None:
    async def work(js: JetStream) -> list[Call]:
        await make_stream(js, "M", mirror={"name": "GONE"})
        text = PROMOTED.replace("O: {subjects: [o]}, ", "")
        finished = ended(await applied(js, tmp_path, text))
        assert finished.is_success, finished
        return [one.step.call for one in finished.done]

    assert talk(account, work) == [Call.STREAM_UPDATE]


def test_a_copy_that_its_server_cannot_set_up_is_named_and_the_subjects_stay_away(
    account: Account, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody deletes the stream while the copy is waited for."""
    monkeypatch.setattr(new_copies, "LISTENS_WITHIN", SECOND)

    async def work(js: JetStream) -> None:
        text = "streams: {T: {subjects: [t], retention: interest}, M: {mirror: {name: T}}}"
        planned = await plan(read(tmp_path, text), js, RunOptions(today=TODAY))
        events = list[Event]()
        async for event in apply(planned, js):
            events.append(event)
            if isinstance(event, Waiting):
                await js.request("STREAM.DELETE.M")
                await make_stream(js, "M", subjects=["m"])
        (failed,), (skipped, *_) = ended(events).failed, ended(events).skipped
        assert failed.reason.code == "AP116", failed
        assert skipped.because == "the wait until stream M listens to what it copies was in vain"
        assert (
            "Stream M does not listen to T after 1 s: T is not heard yet. What waits for it is not done yet"
            in failed.reason.message
        )
        assert "t" not in done(await js.request("STREAM.INFO.T"))["config"]["subjects"]

    talk(account, work)


OWNED = {"a": ["0.>", "1.>"], "b": ["2.>", "3.>"]}


def group(members: str) -> str:
    filters = "[{filter: j.*, partitioning_wildcards: [1]}]"
    wanted = f"{{type: elastic, max_members: 4, partitioning_filters: {filters}, members: {members}}}"
    return f"streams: {{S: {{subjects: [j.*], groups: {{g: {wanted}}}}}}}"


RECORD = ("elastic-consumer-groups", "S.g")


def created(name: str, filters: list[str], ack_wait: int) -> dict[str, object]:
    """A member's consumer, in the words of a request."""
    config = {"name": name, "ack_policy": "explicit", "ack_wait": ack_wait, "filter_subjects": filters,
              "inactive_threshold": ack_wait, "priority_groups": ["PCG"], "priority_policy": "overflow"}  # fmt: skip
    return {"stream_name": "S-g", "action": "create", "config": config}


async def member(js: JetStream, name: str, filters: list[str], ack_wait: int) -> None:
    """A consumer with a client that waits."""
    done(await js.request(f"CONSUMER.CREATE.S-g.{name}", created(name, filters, ack_wait)))
    await pull(js, name)
    await waited_for(js, name)


async def changing(js: JetStream, folder: Path, rebuilt: dict[str, list[str]]) -> list[Event]:
    """Two members at work, a third one joins; those named make their consumers anew when they are waited for, which is for
    as long as their ack_wait."""
    await applied(js, folder, group("[a, b]"))
    ack_wait = 60 * SECOND if rebuilt else SECOND
    for name, filters in OWNED.items():
        await member(js, name, filters, ack_wait)
    events: list[Event] = []
    planned = await plan(read(folder / "wanted", group("[a, b, c]")), js, RunOptions(today=TODAY))
    async for event in apply(planned, js):
        events.append(event)
        if isinstance(event, Waiting) and rebuilt:
            await back(js, rebuilt, ack_wait)
    return events


async def back(js: JetStream, rebuilt: dict[str, list[str]], ack_wait: int) -> None:
    """They make their consumers anew, when all have let go."""
    for name in rebuilt:
        done(await js.request(f"CONSUMER.DELETE.S-g.{name}", within=5))
    for name in list(rebuilt):
        await member(js, name, rebuilt.pop(name), ack_wait)


def test_a_membership_change_ends_when_everybody_consumes_again(account: Account, tmp_path: Path) -> None:
    events = talk(account, lambda js: changing(js, tmp_path, {"a": ["0.>", "3.>"], "b": ["1.>"]}))
    assert ended(events).is_success, ended(events)
    told = [event.text for event in events if isinstance(event, Waiting)]
    assert told[0] == "waiting for a, b to consume again", told  # b alone, if one looks in between


def test_members_that_do_not_come_back_are_named(account: Account, tmp_path: Path) -> None:
    events = talk(account, lambda js: changing(js, tmp_path, {}))
    (failed,) = ended(events).failed
    assert failed.reason.code == "AP111"
    assert "a, b consumed before and did not again within 5.5 s" in failed.reason.message
    assert "holds its partitions for up to 3 s" in failed.reason.message


def interrupted(folder: Path, seconds: float, within: float) -> Finished:
    """A server that stands still for so long while members are waited for, who then come back; they have five and a
    half, with an ack wait of one, and an answer may take as long as `within`."""
    rebuilt = {"a": ["0.>", "3.>"], "b": ["1.>"]}

    async def work(js: JetStream) -> Finished:
        await applied(js, folder, group("[a, b]"))
        for name, filters in OWNED.items():
            await member(js, name, filters, SECOND)
        planned = await plan(read(folder / "wanted", group("[a, b, c]")), js, RunOptions(today=TODAY))
        events: list[Event] = []
        async for event in apply(planned, js):
            events.append(event)
            if isinstance(event, Waiting) and len(rebuilt) == 2:
                with suspended(server.pid):
                    await asyncio.sleep(seconds)
                await back(js, rebuilt, SECOND)
        return ended(events)

    with running() as server:
        return talk(User(server, "anybody"), work, within=within)


def test_members_are_not_late_while_the_server_is_silent(tmp_path: Path) -> None:
    finished = interrupted(tmp_path, seconds=6, within=2)
    assert finished.is_success, finished


def test_members_that_nobody_could_look_at_are_not_called_away(tmp_path: Path) -> None:
    (failed,) = interrupted(tmp_path, seconds=4, within=0.5).failed
    assert failed.reason.code == "AP104"
    assert "is changed, but whether its members consume again could not be read: no answer" in failed.reason.message


def test_who_writes_another_membership_meanwhile_is_not_taken_for_members_that_do_not_work(
    account: Account, tmp_path: Path
) -> None:
    async def work(js: JetStream) -> Finished:
        await applied(js, tmp_path, group("[a, b]"))
        for name, filters in OWNED.items():
            await member(js, name, filters, ack_wait=60 * SECOND)
        planned = await plan(read(tmp_path / "wanted", group("[a, b, c]")), js, RunOptions(today=TODAY))
        events: list[Event] = []
        async for event in apply(planned, js):
            events.append(event)
            if isinstance(event, Waiting):
                there = await entry(js, "elastic-consumer-groups", "S.g")
                assert isinstance(there, Entry)
                theirs = there.value.replace(b'"c"', b'"d"')
                await js.put_entry("elastic-consumer-groups", "S.g", theirs, expected_revision=there.revision)
        return ended(events)

    (failed,) = talk(account, work).failed
    assert failed.reason.code == "AP103"
    assert "somebody changed the membership again" in failed.reason.message


async def follower(js: JetStream, name: str, ack_wait: int) -> None:
    """A member as the reference has it: when the record changes it deletes its consumer and makes it anew with all four
    partitions, and where others still hold some of them it tries again every ack wait and half a second."""
    changes = await js.pipeline.nc.subscribe("$KV.elastic-consumer-groups.S.g")
    await changes.next_msg(timeout=60)
    done(await js.request(f"CONSUMER.DELETE.S-g.{name}"))
    everything = created(name, ["0.>", "1.>", "2.>", "3.>"], ack_wait)
    while isinstance(said := await js.request(f"CONSUMER.CREATE.S-g.{name}", everything), Refusal):
        assert said.err_code == NOT_UNIQUE, said
        await asyncio.sleep(ack_wait / SECOND + 0.5)


NOT_UNIQUE = 10100


@on_every_version
def test_a_living_member_that_a_dead_one_blocks_is_waited_for(account: Account, tmp_path: Path) -> None:
    """b dies with a message in flight, so its consumer stays for the ack wait and the inactivity threshold."""
    ack_wait = 2 * SECOND

    async def work(js: JetStream) -> Finished:
        await applied(js, tmp_path, group("[a, b]"))
        await member(js, "a", OWNED["a"], ack_wait)
        there = await account.connect()
        theirs = await JetStream.open(there)
        await member(theirs, "b", OWNED["b"], ack_wait)
        for number in range(40):
            await js.pipeline.nc.request(f"j.{number}", b"", timeout=5)
        await until(js, lambda info: info["num_ack_pending"] > 0, "CONSUMER.INFO.S-g.b")
        await there.close()
        planned = await plan(
            read(tmp_path / "wanted", group("[a]")), js, RunOptions(today=TODAY, allow=(("EG311", "*"),))
        )
        following = asyncio.create_task(follower(js, "a", ack_wait))
        finished = ended([event async for event in apply(planned, js)])
        await following
        return finished

    finished = talk(account, work)
    assert finished.is_success, finished


def test_what_members_do_not_come_back_to_is_remembered_as_applied_and_undone_by_hand_it_is_drift(
    account: Account, tmp_path: Path
) -> None:
    async def work(js: JetStream) -> list[str]:
        await applied(js, tmp_path, group("[a, b]"))
        before = await entry(js, "elastic-consumer-groups", "S.g")
        assert isinstance(before, Entry)
        await changing(js, tmp_path, {})
        await js.put_entry("elastic-consumer-groups", "S.g", before.value, expected_revision=before.revision + 1)
        found = look(read(tmp_path / "now", group("[a, b, c]")), await observe(js), RunOptions(today=TODAY)).drift
        return [f"{one.address} {one.standing}" for one in found.items]

    assert talk(account, work) == ["elastic_group/S/g changed"]


def test_nobody_waits_for_members_that_were_not_there(account: Account, tmp_path: Path) -> None:
    async def work(js: JetStream) -> list[Call]:
        await applied(js, tmp_path, group("[a, b]"))
        return [one.step.call for one in ended(await applied(js, tmp_path, group("[a, b, c]"))).done]

    assert talk(account, work) == [Call.ENTRY_PUT]
