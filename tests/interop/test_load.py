"""While messages flow: memberships change, members are killed, and others edit the same record at the same time."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from nats.aio.msg import Msg

from reconciler.changes.events import Finished
from reconciler.journeys.apply.apply import apply
from reconciler.journeys.plan.plan import plan
from reconciler.model.wire.steps import Call, Step
from reconciler.server.wire.api import JetStream
from tests.e2e.someone import Someone
from tests.interop.cg import Cg, Got, Members
from tests.interop.load import Load, assert_in_order, is_complete
from tests.interop.topologies import elastic, names, record
from tests.interop.versions import FULL, sampled_on, sampled_on_and_clustered
from tests.support.accounts import Account
from tests.support.jetstream import done
from tests.support.topologies import from_files


def of(*members: str, at: Account | None = None) -> str:
    return elastic(f"members: [{', '.join(members)}]", replicas=3 if at and at.cluster else 1)


def names_in(got: list[Got]) -> set[str]:
    return {one.member for one in got}


def consumers(someone: Someone) -> list[str]:
    return someone.ask(lambda js: names(js, "CONSUMER.NAMES.JOBS-g"))


@sampled_on_and_clustered("2.15")
def test_one_five_two_members_under_load_keep_the_order_and_lose_nothing(
    someone: Someone, account: Account, members: Members
) -> None:
    five = ("m1", "m2", "m3", "m4", "m5")

    def are_five(start: int, got: list[Got]) -> bool:
        return names_in(got[start:]) == {*five}

    someone.applied(of("m1", at=account))
    members.join("elastic", "JOBS", "g", *five, *five, sleep="5ms")
    with Load(account) as load:
        members.wait_for_more(50, "consuming with one member")
        for _ in range(5 if FULL else 1):
            start = len(members.got())
            someone.applied(of(*five, at=account))
            members.wait_for(partial(are_five, start), "consuming with five")
            someone.applied(of("m1", "m2", at=account))
            members.wait_for(lambda _: consumers(someone) == ["m1", "m2"], "leaving of three members")
            members.wait_for_more(50, "consuming with two members")
    got = members.wait_for(lambda got: is_complete(got, load.sent), "working off the rest")
    assert_in_order(got, load.sent)


MAPPED = "member_mappings: [{member: a, partitions: [0, 1, 2, 3]}, {member: b, partitions: [4, 5]}]"


@sampled_on("2.14")
def test_mappings_instead_of_members_and_back_again_under_load(
    someone: Someone, account: Account, members: Members
) -> None:
    someone.applied(of("a", "b"))
    members.join("elastic", "JOBS", "g", "a", "a", "b", "b")
    with Load(account) as load:
        for text in (elastic(MAPPED), of("a", "b")):
            someone.applied(text)
            members.wait_for_more(60, "consuming after the change")
    got = members.wait_for(lambda got: is_complete(got, load.sent), "working off the rest")
    assert_in_order(got, load.sent)


@sampled_on("2.12")
def test_killed_instances_are_replaced_by_their_twins_and_a_dead_member_by_our_edit(
    someone: Someone, account: Account, members: Members
) -> None:
    someone.applied(of("a", "b"))
    first = members.join("elastic", "JOBS", "g", "a", "b")
    with Load(account) as load:
        members.wait_for(lambda got: names_in(got) == {"a", "b"}, "consuming")
        twin_of_a, twin_of_b = members.join("elastic", "JOBS", "g", "a", "b")
        first[0].kill()
        so_far = len(members.got())
        members.wait_for(lambda got: "a" in {one.member for one in got[so_far:]}, "taking over by the twin of a")
        first[1].kill()
        twin_of_b.kill()
        someone.applied(of("a"))
        members.wait_for(lambda _: consumers(someone) == ["a"], "forgetting b, of whom nobody is left")
    assert not twin_of_a.has_ended
    got = members.wait_for(lambda got: is_complete(got, load.sent), "working off the rest")
    assert_in_order(got, load.sent)


@sampled_on("2.14")
def test_an_edit_planned_before_the_reference_added_a_member_is_not_applied(
    someone: Someone, cg: Cg, tmp_path: Path
) -> None:
    someone.applied(of("a", "b"))

    async def late(js: JetStream) -> Finished:
        planned = await plan(from_files(Path(tmp_path / someone.write(of("a", "c")))), js)
        await asyncio.to_thread(cg.did, "elastic", "add", "JOBS", "g", "x")
        return [event async for event in apply(planned, js) if isinstance(event, Finished)][-1]

    finished = someone.ask(late)
    assert [failed.nothing_done for failed in finished.failed] == [True]
    assert set(someone.ask(record)["members"]) == {"a", "b", "x"}
    someone.applied(of("a", "c"))
    assert set(someone.ask(record)["members"]) == {"a", "c"}


@contextlib.contextmanager
def adding(cg: Cg) -> Iterator[list[str]]:
    """The reference adds x1, x2, … without end; those of which it says that they were added."""
    added: list[str] = []
    over = threading.Event()

    def loop() -> None:
        for number in itertools.count(1):
            if over.wait(0.02):
                return
            if cg("elastic", "add", "JOBS", "g", f"x{number}").code == 0:
                added.append(f"x{number}")

    thread = threading.Thread(target=loop)
    thread.start()
    try:
        yield added
    finally:
        over.set()
        thread.join()


class Stored(NamedTuple):
    revision: int
    members: set[str]


async def follow(js: JetStream) -> list[Stored]:
    """Every record that is stored from now on, as the bucket itself tells: what was refused is not among them."""
    stored: list[Stored] = []

    async def seen(msg: Msg) -> None:
        stored.append(Stored(int((msg.headers or {})["Nats-Sequence"]), set(json.loads(msg.data).get("members", ()))))

    bucket = done(await js.read("STREAM.INFO.KV_elastic-consumer-groups"))["config"]
    republishing = {**bucket, "republish": {"src": ">", "dest": "seen.>"}}
    await js.pipeline.nc.subscribe("seen.>", cb=seen)
    done(await js.request("STREAM.UPDATE.KV_elastic-consumer-groups", republishing))
    return stored


@sampled_on_and_clustered("2.11")
def test_no_update_is_lost_while_the_reference_adds_members_and_we_edit(
    someone: Someone, account: Account, cg: Cg, tmp_path: Path
) -> None:
    """Each stored record is the one before it and one member more, or ours and planned from exactly the one before it."""
    someone.applied(of("a", at=account))
    edits = [
        tmp_path / someone.write(of("a", *"bcd"[:number], at=account), f"edit{number}.yaml") for number in (1, 2, 3)
    ]

    async def edit(js: JetStream) -> tuple[list[Stored], dict[int | None, Step]]:
        stored, files = await follow(js), itertools.cycle(edits)
        ours: dict[int | None, Step] = {}
        async with asyncio.timeout(60):
            while len(ours) < 8:
                planned = await plan(from_files(next(files)), js)
                finished = [event async for event in apply(planned, js) if isinstance(event, Finished)][-1]
                assert all(failed.nothing_done for failed in finished.failed)
                ours |= {one.revision: one.step for one in finished.done if one.step.call is Call.ENTRY_PUT}
            while not ours.keys() <= {one.revision for one in stored}:  # noqa: ASYNC110 - as it is republished
                await asyncio.sleep(0.05)
        return stored, ours

    with adding(cg) as added:
        stored, ours = someone.ask(edit)
    assert ours and added
    for before, after in itertools.pairwise(stored):
        if after.revision in ours:
            assert ours[after.revision].revision == before.revision
        else:
            assert len(after.members - before.members) == 1 and before.members < after.members, (before, after)
