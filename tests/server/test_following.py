"""Where to go on in a stream: after the last message that was taken, whatever became of the stream meanwhile."""

from __future__ import annotations

from reconciler.server.read.following import Onward, Position, newest, onward
from reconciler.server.read.messages import Message
from reconciler.server.wire.answers import Refusal
from reconciler.server.wire.api import JetStream
from tests.support.accounts import Account
from tests.support.jetstream import done, make_stream, talk
from tests.support.versions import on_every_version

MOST = 1000


async def publish(js: JetStream, number: int, subject: str = "s.a") -> None:
    for _ in range(number):
        await js.pipeline.request(subject, b"", within=5)


async def made(js: JetStream, number: int) -> None:
    await make_stream(js, "S", subjects=["s.*"], allow_direct=True)
    await publish(js, number)


async def step(js: JetStream, position: Position, *, most: int = MOST, matching: str = ">") -> Onward | None:
    found = await onward(js, "S", position, most=most, matching=matching)
    assert isinstance(found, Onward | None), found
    return found


async def taken(js: JetStream) -> Position:
    """All that there is."""
    found = await step(js, Position())
    assert found is not None
    return found.to


def extent(found: Onward | None) -> tuple[int, int, bool] | None:
    return None if found is None else (found.after, found.to.sequence, found.is_anew)


@on_every_version
def test_each_step_begins_where_the_one_before_ended(account: Account) -> None:
    async def work(js: JetStream) -> None:
        await made(js, 5)
        first = await step(js, Position(), most=2)
        assert extent(first) == (0, 2, False)
        second = await step(js, first.to, most=2) if first else None
        assert extent(second) == (2, 4, False)
        third = await step(js, second.to, most=2) if second else None
        assert extent(third) == (4, 5, False)
        assert third
        assert await step(js, third.to) is None

    talk(account, work)


@on_every_version
def test_a_stream_made_anew_is_read_from_its_first_message_though_it_got_further(account: Account) -> None:
    async def work(js: JetStream) -> None:
        await made(js, 3)
        position = await taken(js)
        done(await js.request("STREAM.DELETE.S"))
        await made(js, 5)
        assert extent(await step(js, position)) == (0, 5, True)

    talk(account, work)


def test_a_stream_made_anew_and_still_short_is_read_too(account: Account) -> None:
    async def work(js: JetStream) -> None:
        await made(js, 3)
        position = await taken(js)
        done(await js.request("STREAM.DELETE.S"))
        await made(js, 0)
        assert await step(js, position) is None
        await publish(js, 1)
        assert extent(await step(js, position)) == (0, 1, True)

    talk(account, work)


def test_sequences_that_were_lost_and_given_again_are_read_again(account: Account) -> None:
    """As after a loss of power: the fourth and fifth were taken and are gone, and the next ones have their sequences."""

    async def work(js: JetStream) -> None:
        await made(js, 3)
        then = done(await js.request("STREAM.INFO.S"))["ts"]
        await publish(js, 2)
        assert extent(await step(js, Position(sequence=5, time=then))) == (3, 5, True)

    talk(account, work)


def test_what_was_purged_or_ran_out_is_no_new_beginning(account: Account) -> None:
    async def work(js: JetStream) -> None:
        await made(js, 3)
        position = await taken(js)
        done(await js.request("STREAM.PURGE.S"))
        assert await step(js, position) is None
        await publish(js, 2)
        assert extent(await step(js, position)) == (3, 5, False)

    talk(account, work)


def test_a_newest_message_that_was_deleted_hides_nothing_before_it(account: Account) -> None:
    async def work(js: JetStream) -> None:
        await made(js, 3)
        done(await js.request("STREAM.MSG.DELETE.S", {"seq": 3}))
        found = await step(js, Position())
        assert extent(found) == (0, 3, False)
        await publish(js, 1)
        assert found
        assert extent(await step(js, found.to)) == (3, 4, False)

    talk(account, work)


def test_only_what_matches_counts(account: Account) -> None:
    async def work(js: JetStream) -> None:
        await made(js, 2)
        assert await step(js, Position(), matching="s.b") is None
        await publish(js, 1, "s.b")
        await publish(js, 1)
        assert extent(await step(js, Position(), matching="s.b")) == (2, 3, False)  # from the first one that matches

    talk(account, work)


def test_an_end_that_was_fixed_is_not_passed(account: Account) -> None:
    async def work(js: JetStream) -> None:
        await made(js, 2)
        end = await newest(js, "S")
        assert isinstance(end, Message)
        await publish(js, 2)
        found = await onward(js, "S", Position(), most=MOST, end=end)
        assert isinstance(found, Onward)
        assert extent(found) == (0, 2, False)
        assert await onward(js, "S", found.to, most=MOST, end=end) is None

    talk(account, work)


def test_a_stream_that_is_not_there_is_told(account: Account) -> None:
    async def work(js: JetStream) -> None:
        assert isinstance(await onward(js, "S", Position(), most=MOST), Refusal)

    talk(account, work)
