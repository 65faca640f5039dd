"""Work beside a test ends with it, however late it hears of that."""

from __future__ import annotations

import asyncio

import pytest

from tests.support.background import beside, end


def test_work_ends_although_a_cancellation_comes_together_with_an_answer() -> None:
    answers = list[asyncio.Future[None]]()

    async def client() -> None:
        while True:
            answers.append(asyncio.get_running_loop().create_future())
            await asyncio.wait_for(answers[-1], 60)

    async def story() -> None:
        task = asyncio.create_task(client())
        await asyncio.sleep(0)
        answers[-1].set_result(None)
        await end(task)
        assert task.cancelled()

    asyncio.run(asyncio.wait_for(story(), 20))


def test_what_fails_beside_a_block_fails_it() -> None:
    async def client() -> None:
        raise ConnectionError("refused")

    async def story() -> None:
        async with beside(client()):
            await asyncio.sleep(0)

    with pytest.raises(ConnectionError, match="refused"):
        asyncio.run(story())
