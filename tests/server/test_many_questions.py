"""Many questions at once."""

from __future__ import annotations

import asyncio
import gc
import warnings

from reconciler.server.read.observe import gather_answers


async def _after_some_turns(question: int) -> int:
    for _ in range(question):
        await asyncio.sleep(0)
    return question * 10


def test_answers_come_in_the_order_of_the_questions() -> None:
    assert asyncio.run(gather_answers(_after_some_turns, [3, 1, 2], "for numbers")) == [30, 10, 20]


def test_a_read_cancelled_before_its_turn_leaves_nothing_behind() -> None:
    async def cancelled_at_once() -> bool:
        read = asyncio.ensure_future(gather_answers(_after_some_turns, [3, 1, 2], "for numbers"))
        asyncio.get_running_loop().call_soon(read.cancel)  # after the read has begun, before any question has
        await asyncio.wait([read])
        return read.cancelled()

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert asyncio.run(cancelled_at_once())
        gc.collect()

    assert told == []
