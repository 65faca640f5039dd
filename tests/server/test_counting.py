"""What is counted of a stream is so on real servers, wherever messages were deleted."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.kinds.subjects.subjects import is_subset
from reconciler.model.wire.questions import CopiedUpTo, Largest, MessagesFrom, MessagesSince
from reconciler.server.read import queues
from reconciler.server.read.observe import ask, narrowest_first
from reconciler.server.wire.api import JetStream
from tests.quantities.losing import publish, times
from tests.support.accounts import Account
from tests.support.jetstream import done, make_stream, talk
from tests.support.versions import on_every_version

STORED = 40
SCATTERED = Random(11).sample(range(1, STORED + 1), 25)
HOLES = {
    "none": (), "in the middle": range(15, 30), "scattered": SCATTERED, "the newest": range(30, STORED + 1),
    "everything": range(1, STORED + 1),
}  # fmt: skip


@on_every_version
@pytest.mark.parametrize("storage", ["file", "memory"])
@pytest.mark.parametrize("holes", HOLES.values(), ids=HOLES)
def test_the_first_message_since_any_time_is_found_between_deleted_ones(
    account: Account, storage: str, holes: Collection[int]
) -> None:
    async def work(js: JetStream) -> tuple[list[Any], list[Any]]:
        await make_stream(js, "S", subjects=["s.>"], storage=storage, allow_direct=True)
        await publish(js, *["s.a"] * STORED)
        since = dict(enumerate(await times(js, "S"), 1))
        for sequence in holes:
            done(await js.request("STREAM.MSG.DELETE.S", {"seq": sequence}))
        left = [sequence for sequence in since if sequence not in holes]
        asked = {sequence: MessagesSince(stream="S", since=time) for sequence, time in since.items()}
        answers = await ask(js, asked.values())
        staying = {sequence: [one for one in left if one >= sequence] for sequence in since}
        expected = [{"first": next(iter(those), None), "messages": len(those)} for those in staying.values()]
        return [answers[question] for question in asked.values()], expected

    found, expected = talk(account, work)
    assert found == expected


@on_every_version
def test_of_the_newest_messages_those_too_large_are_counted_as_the_server_measures_them(account: Account) -> None:
    async def work(js: JetStream) -> tuple[Any, list[bool]]:
        nc = js.pipeline.nc
        await make_stream(js, "S", subjects=["s"])
        for size in (500, 10, 40, 41):
            await nc.request("s", b"x" * size, timeout=20)
        await nc.request("s", b"x" * 10, headers={"H": "y" * 30}, timeout=20)
        done(await js.request("STREAM.MSG.DELETE.S", {"seq": 3}))
        asked = Largest(stream="S", above=40, newest=4)
        answer = (await ask(js, [asked]))[asked]
        config = done(await js.read("STREAM.INFO.S"))["config"]
        done(await js.write("STREAM.UPDATE.S", {**config, "max_msg_size": 40}))
        sent = [
            (b"x" * 10, None),
            (b"x" * 40, None),
            (b"x" * 41, None),
            (b"x" * 10, {"H": "y" * 30}),
        ]
        said = [await nc.request("s", data, headers=headers, timeout=20) for data, headers in sent]
        return answer, [b"10054" in one.data for one in said]

    answer, refused = talk(account, work)
    assert refused == [False, False, True, True]
    assert (answer["read"], answer["larger"]) == (4, 3)
    assert answer["largest"] > 41


async def arrived(js: JetStream, number: int) -> None:
    async with asyncio.timeout(20):
        while done(await js.request("STREAM.INFO.ALL"))["state"]["messages"] < number:  # noqa: ASYNC110 - nothing announces it
            await asyncio.sleep(0.05)


@on_every_version
@pytest.mark.parametrize(("read", "found"), [(256, {"seq": 5, "others": True}), (3, {"others": True, "least": 5})])
def test_how_far_a_source_has_copied_is_told_by_the_copies_as_far_as_they_are_read(
    account: Account, monkeypatch: pytest.MonkeyPatch, read: int, found: dict[str, Any]
) -> None:
    """Five copies came through the first source, and five of the same origin through another one later."""
    monkeypatch.setattr(queues, "READ", read)
    first, then = {"name": "O", "filter_subject": "o.a"}, {"name": "O", "filter_subject": "o.*"}

    async def work(js: JetStream) -> list[Any]:
        await make_stream(js, "O", subjects=["o.>"])
        await make_stream(js, "ALL", sources=[first])
        await publish(js, *["o.a"] * 5)
        await arrived(js, 5)
        config = done(await js.request("STREAM.INFO.ALL"))["config"]
        done(await js.request("STREAM.UPDATE.ALL", {**config, "sources": [then]}))
        await arrived(js, 10)
        sources = [("O", "o.a", ">"), ("O", "o.*", ">"), ("O", "o.b", ">"), ("P", "o.*", ">")]
        asked = [CopiedUpTo(stream="ALL", source=one, subjects=(one[1],)) for one in sources]
        answers = await ask(js, asked)
        return [answers[one] for one in asked]

    nothing = {"seq": 0, "others": False}
    unread = nothing if read > 10 else {"others": False}
    said = talk(account, work)
    times = [one.pop("stored", None) for one in said]
    assert said == [found, {"seq": 5, "others": False}, nothing, unread]
    told = [account.minor == "2.15", account.minor == "2.15", False, False]
    assert [one is not None for one in times] == told, (
        "copies tell from 2.15 on which stream of that name they came from"
    )


@on_every_version
def test_its_own_copies_behind_those_of_another_origin_are_no_other_source(account: Account) -> None:
    async def work(js: JetStream) -> Any:
        await make_stream(js, "O", subjects=["o"])
        await make_stream(js, "P", subjects=["p"])
        await make_stream(js, "ALL", sources=[{"name": "O"}, {"name": "P"}])
        for number, subject in enumerate(("o", "p"), 1):
            await publish(js, subject)
            await arrived(js, number)
        question = CopiedUpTo(stream="ALL", source=("O", ">", ">"), subjects=(">",))
        return (await ask(js, [question]))[question]

    said = talk(account, work)
    assert (said["seq"], said["others"]) == (1, False)


SUBJECTS = st.lists(st.sampled_from(["a", "b", "*"]), min_size=1, max_size=3).flatmap(
    lambda tokens: st.sampled_from([".".join(tokens), ".".join([*tokens, ">"]), ">"])
)
QUESTIONS = st.builds(MessagesFrom, stream=st.just("S"), start=st.sampled_from([1, 5]), filter=SUBJECTS)


@given(st.lists(QUESTIONS, max_size=8))
def test_a_part_is_counted_before_the_whole(asked: list[MessagesFrom]) -> None:
    """What is published meanwhile then makes the rest of the whole larger, never smaller."""
    turns = list(narrowest_first(asked))
    turn = {question: number for number, questions in enumerate(turns) for question in questions}
    for one in asked:
        for other in asked:
            includes = is_subset(one.filter, other.filter) and other.start in (1, one.start)
            assert not includes or one == other or turn[one] < turn[other]


@on_every_version
def test_where_nobody_counts_the_numbers_of_messages_bound_it(account: Account) -> None:
    async def work(js: JetStream) -> list[Any]:
        await make_stream(js, "S", subjects=["s.>"])
        await publish(js, *["s.a", "s.b"] * 5)
        asked = [MessagesFrom(stream="S", start=4, filter=subject) for subject in ("s.a", "s.b", "s.c")]
        answers = await ask(js, asked)
        return [answers[question] for question in asked]

    assert talk(account, work) == [{"first": 5, "most": 6}, {"first": 4, "most": 7}, {"first": None, "messages": 0}]
