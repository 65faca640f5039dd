"""What a coroutine finds arrives one by one, and it ends with whoever listens."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest

from reconciler.fleet.streamed import streamed


async def count(tell: Callable[[int], None]) -> None:
    for number in range(3):
        tell(number)
        await asyncio.sleep(0)


def test_everything_arrives_in_order() -> None:
    assert list(streamed(count)) == [0, 1, 2]


def test_what_goes_wrong_is_raised_after_what_came_before() -> None:
    async def fails(tell: Callable[[int], None]) -> None:
        tell(1)
        raise LookupError("no more")

    found = streamed(fails)
    assert next(found) == 1
    with pytest.raises(LookupError, match="no more"):
        next(found)


def test_whoever_stops_listening_ends_it() -> None:
    ended = threading.Event()

    async def endless(tell: Callable[[int], None]) -> None:
        try:
            tell(1)
            await asyncio.Event().wait()
        finally:
            ended.set()

    found = streamed(endless)
    next(found)
    found.close()
    assert ended.is_set()
    assert "reading" not in {thread.name for thread in threading.enumerate()}


def test_nothing_runs_before_anybody_listens() -> None:
    streamed(count)
    assert "reading" not in {thread.name for thread in threading.enumerate()}
