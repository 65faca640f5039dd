"""What clients do beside a test, and no longer than it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any


@asynccontextmanager
async def beside(*works: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Does all of these while the block runs, and fails with the first that fails."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        yield
    finally:
        await end(*tasks)


async def end(*tasks: asyncio.Task[Any]) -> None:
    """Cancels until it is heard: `wait_for` of Python 3.11, in which nats-py waits, forgets a cancellation that comes
    together with the answer."""
    left = {*tasks}
    while left:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=0.01)
    for task in tasks:
        if not task.cancelled():
            task.result()
