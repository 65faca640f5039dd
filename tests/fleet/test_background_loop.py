"""A loop beside the caller's thread: what it gives comes in order and not all at once, and it can be left at any time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator

import pytest

from reconciler.fleet.accounts.background_loop import AHEAD, BackgroundLoop, Feed, Put, items_of, merge_sources


class Counting:
    """0, 1, 2, … and how far it got."""

    def __init__(self, until: int = 1_000) -> None:
        self.given, self.until, self.is_closed = 0, until, False

    async def __call__(self) -> AsyncIterator[int]:
        try:
            while self.given < self.until:
                self.given += 1
                yield self.given - 1
        finally:
            self.is_closed = True


def alone(source: AsyncIterator[int]) -> Feed[int]:
    return merge_sources([source], 1)


def test_everything_comes_in_order() -> None:
    with BackgroundLoop() as beside:
        assert [*beside.each(alone(Counting(100)()))] == [*range(100)]


def test_no_more_is_fetched_than_a_few_ahead() -> None:
    numbers = Counting()
    with BackgroundLoop() as beside:
        found = beside.each(alone(numbers()))
        assert [next(found) for _ in range(3)] == [0, 1, 2]
        assert numbers.given <= 3 + AHEAD + 1


def test_what_is_left_early_is_closed() -> None:
    numbers = Counting()
    with BackgroundLoop() as beside:
        next(beside.each(alone(numbers())))
    assert numbers.is_closed


def test_what_is_raised_there_is_raised_here() -> None:
    async def failing() -> AsyncIterator[int]:
        yield 1
        raise KeyError("two")

    with BackgroundLoop() as beside, pytest.raises(KeyError, match="two"):
        list(beside.each(alone(failing())))


def test_several_sources_become_one_so_many_at_a_time() -> None:
    under_way, most = 0, 0

    async def source(number: int) -> AsyncIterator[int]:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        for _ in range(3):
            await asyncio.sleep(0)
            yield number
        under_way -= 1

    with BackgroundLoop() as beside:
        found = [*beside.each(merge_sources((source(number) for number in range(10)), 4))]
    assert sorted(found) == sorted([*range(10)] * 3)
    assert most == 4


def test_one_source_that_fails_ends_them_all() -> None:
    async def source(number: int) -> AsyncIterator[int]:
        yield number
        if number == 1:
            raise KeyError("one")
        await asyncio.Event().wait()

    with BackgroundLoop() as beside, pytest.raises(KeyError, match="one"):
        list(beside.each(merge_sources((source(number) for number in range(3)), 3)))


async def count(tell: Put[int]) -> None:
    for number in range(3):
        await tell(number)


def test_what_a_coroutine_tells_arrives_in_order() -> None:
    assert list(items_of(count)) == [0, 1, 2]


def test_what_goes_wrong_with_it_is_raised_after_what_came_before() -> None:
    async def fails(tell: Put[int]) -> None:
        await tell(1)
        raise LookupError("no more")

    found = items_of(fails)
    assert next(found) == 1
    with pytest.raises(LookupError, match="no more"):
        next(found)


def test_whoever_stops_listening_to_it_ends_it() -> None:
    ended = threading.Event()

    async def endless(tell: Put[int]) -> None:
        try:
            await tell(1)
            await asyncio.Event().wait()
        finally:
            ended.set()

    found = items_of(endless)
    next(found)
    meanwhile = {thread.name for thread in threading.enumerate()}
    found.close()
    assert ended.is_set()
    assert "reconciler" in meanwhile
    assert "reconciler" not in {thread.name for thread in threading.enumerate()}


def test_whoever_tells_more_than_is_taken_waits() -> None:
    told = 0

    async def eager(tell: Put[int]) -> None:
        nonlocal told
        for _ in range(1_000):
            await tell(told)
            told += 1

    found = items_of(eager)
    assert [next(found) for _ in range(3)] == [0, 1, 2]
    assert told <= 3 + AHEAD
    found.close()


def test_nothing_of_it_runs_before_anybody_listens() -> None:
    items_of(count)
    assert "reconciler" not in {thread.name for thread in threading.enumerate()}
