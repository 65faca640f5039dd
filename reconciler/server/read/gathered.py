"""Many questions at once, with how far they have come for whoever watches a terminal."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Collection
from typing import TypeVar

from reconciler.model.waits import waiting

T = TypeVar("T")


async def gathered(work: Collection[Awaitable[T]], what: str) -> list[T]:
    """All results, in order. `what` reads on after "waiting", up to the numbers: `for the consumers of streams`."""
    done = 0
    with waiting("") as wait:

        async def counted(one: Awaitable[T]) -> T:
            nonlocal done
            found = await one
            done += 1
            wait.what = f"{what}: {done:_} of {len(work):_} answered"
            return found

        return await asyncio.gather(*map(counted, work))
