"""What we object to although the server says ok, shown by what happens then: consumers that a restart or an upgrade
loses, work queues that deliver twice, streams that drop what nobody waits for any more."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from reconciler.changes.verdict import Reaction
from reconciler.server.wire.api import JetStream
from tests.kinds.consumer_cases import EXPLICIT, A, B
from tests.kinds.judging import Case, Judged, judge
from tests.support.accounts import Account, accounts_config
from tests.support.binaries import MINORS
from tests.support.jetstream import done, make_consumer, make_stream, talk
from tests.support.servers import running
from tests.support.versions import on_every_version

QUEUE = {"retention": "workqueue"}

AT_RESTART = {
    "a consumer moves out of memory": Case(
        about="out of memory", before={**EXPLICIT, "mem_storage": True}, wanted={**EXPLICIT, "mem_storage": False}
    ),
}
AT_UPGRADE = {
    "a negative ack_wait": Case(about="ack_wait", wanted={**EXPLICIT, "ack_wait": -1}),
    "a negative backoff": Case(about="backoff", before=EXPLICIT, wanted={**EXPLICIT, "backoff": [1_000_000_000, -1]}),
    "a group without policy": Case(about="group", wanted={**EXPLICIT, "priority_groups": ["jobs"]}),
    "a timeout without policy": Case(about="timeout", before=EXPLICIT, wanted={**EXPLICIT, "priority_timeout": 1}),
}
AT_NO_UPGRADE = {"nothing wrong": Case(about="nothing wrong", wanted=EXPLICIT)}


def lost(minor: str, cases: Mapping[str, Case], then: str) -> tuple[set[str], set[str]]:
    """(cases in which a consumer is gone once the server runs again, those that we said are doomed); to all of them the
    server said ok."""
    with running(minor, accounts_config(1)) as server:
        account = Account(server=server, user="a0", password="a0")
        found = judge(account, list(cases.values()))
        assert [one.answer for one in found if one.refused] == []
        before = talk(account, lambda js: counts(js, len(cases)))
        server.restart(then)
        after = talk(account, lambda js: counts(js, len(cases)))
    gone = {name for name, first, now in zip(cases, before, after, strict=True) if now < first}
    return gone, {name for name, one in zip(cases, found, strict=True) if is_doomed(one)}


def is_doomed(one: Judged) -> bool:
    return any(v.blocks and v.reaction is Reaction.DOOMS for v in one.verdicts)


async def counts(js: JetStream, streams: int) -> list[int]:
    answers = await asyncio.gather(*(js.read(f"CONSUMER.NAMES.s{n}") for n in range(streams)))
    return [len(done(answer)["consumers"] or ()) for answer in answers]


@pytest.mark.parametrize("minor", [minor for minor in MINORS if minor < "2.14"])
def test_a_restart_loses_what_we_say_is_doomed(minor: str) -> None:
    assert lost(minor, {**AT_RESTART, **AT_NO_UPGRADE}, then=minor) == (set(AT_RESTART), set(AT_RESTART))


def test_an_upgrade_loses_what_we_say_is_doomed() -> None:
    gone, foretold = lost("2.11", {**AT_UPGRADE, **AT_NO_UPGRADE}, then="2.12")
    assert (gone, foretold) == (set(AT_UPGRADE), set(AT_UPGRADE))


@on_every_version
def test_an_interest_stream_drops_what_only_the_removed_consumer_waited_for(account: Account) -> None:
    async def removed(js: JetStream) -> list[int]:
        await make_stream(js, "S", subjects=["s.>"], retention="interest")
        await make_consumer(js, "S", "all")
        await make_consumer(js, "S", "some", filter_subject="s.b")
        for subject in ("s.a", "s.a", "s.b"):
            await js.pipeline.request(subject, b"", within=20)
        left = [await _messages(js)]
        for name in ("all", "some"):
            await js.request(f"CONSUMER.DELETE.S.{name}")
            left.append(await _messages(js))
        return left

    assert talk(account, removed) == [3, 1, 0]


async def _messages(js: JetStream) -> int:
    return int(done(await js.read("STREAM.INFO.S"))["state"]["messages"])


@pytest.mark.parametrize("clustered_account", MINORS, indirect=True)
def test_a_cluster_delivers_twice_where_filters_of_a_work_queue_meet(clustered_account: Account) -> None:
    wanted = {**A, "filter_subject": "{name}.b"}
    (one,) = judge(clustered_account, [Case(about="twice", stream=QUEUE, before=A, others={"other": B}, wanted=wanted)])
    assert (one.refused, {v.reaction for v in one.verdicts if v.blocks}) == (0, {Reaction.HARMS})
    assert talk(clustered_account, delivered) == [1, 1]


async def delivered(js: JetStream) -> list[int]:
    """For how many consumers there is one message, once both have heard of it or had time enough to."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + 20
    await js.pipeline.request("s0.b", b"once", within=20)
    while True:
        answers = await asyncio.gather(*(js.read(f"CONSUMER.INFO.s0.{name}") for name in ("c", "other")))
        pending = [int(done(answer)["num_pending"]) for answer in answers]
        if all(pending) or loop.time() > deadline:
            return pending
