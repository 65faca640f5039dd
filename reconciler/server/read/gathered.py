"""Many questions at once, with how far they have come for whoever watches a terminal."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from typing import TypeVar

from reconciler.model.waits import waiting

Q = TypeVar("Q")
T = TypeVar("T")


async def gathered(ask: Callable[[Q], Awaitable[T]], questions: Collection[Q], what: str) -> list[T]:
    """All answers, in order. `what` reads on after "waiting", up to the numbers: `for the consumers of streams`."""
    done = 0
    with waiting("") as wait:

        async def counted(question: Q) -> T:
            nonlocal done
            found = await ask(question)  # made here: a read that is cancelled before its turn leaves nothing behind
            done += 1
            wait.what = f"{what}: {done:_} of {len(questions):_} answered"
            return found

        return await asyncio.gather(*map(counted, questions))
