"""An event loop in a thread of its own: connections are served also while Spark is busy with what came over them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator
from typing import Any, Self, TypeVar

T = TypeVar("T")
_END = object()
AHEAD = 2
"""Items that are fetched before anybody takes them."""


class Beside:
    """Runs coroutines for callers that have no loop; `with` ends it."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="reconciler", daemon=True)

    def start(self) -> Self:
        self._thread.start()
        return self

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.run(self._wind_up())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def each(self, items: AsyncIterator[T]) -> Iterator[T]:
        """One after the other as they are wanted, a few ahead; what `items` raises is raised here."""
        queue: asyncio.Queue[Any] = asyncio.Queue(AHEAD)

        async def fetch() -> None:
            try:
                async for item in items:
                    await queue.put(item)
                await queue.put(_END)
            except Exception as error:  # noqa: BLE001 - it goes on in the thread that waits for the next item
                await queue.put(error)

        asyncio.run_coroutine_threadsafe(fetch(), self._loop)
        while (item := self.run(queue.get())) is not _END:
            if isinstance(item, Exception):
                raise item
            yield item

    async def _wind_up(self) -> None:
        """What nobody waits for any more is broken off, and closes what it holds."""
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self._loop.shutdown_asyncgens()


def emitted(work: Callable[[Callable[[T], None]], Coroutine[Any, Any, None]]) -> Iterator[T]:
    """Whatever `work` hands to its argument, until it ends. Whoever stops listening ends it."""
    with Beside() as beside:
        yield from beside.each(_fed(lambda queue: work(queue.put_nowait)))


def merged(sources: Iterable[AsyncIterator[T]], at_once: int) -> AsyncIterator[T]:
    """What all of them give, as it comes, so many of them at a time."""

    async def all_of_them(queue: asyncio.Queue[Any]) -> None:
        room = asyncio.Semaphore(at_once)
        try:
            async with asyncio.TaskGroup() as tasks:
                for source in sources:
                    tasks.create_task(_drained(source, room, queue))
        except* Exception as errors:  # noqa: BLE001 - the first of them goes on where the items are taken
            raise errors.exceptions[0] from None

    return _fed(all_of_them, ahead=AHEAD)


async def _drained(source: AsyncIterator[T], room: asyncio.Semaphore, queue: asyncio.Queue[Any]) -> None:
    async with room:
        async for item in source:
            await queue.put(item)


async def _fed(feed: Callable[[asyncio.Queue[Any]], Coroutine[Any, Any, None]], ahead: int = 0) -> AsyncIterator[T]:
    """What `feed` puts there, so many items `ahead` (0: as many as it likes)."""
    queue: asyncio.Queue[Any] = asyncio.Queue(ahead)

    async def to_the_end() -> None:
        try:
            await feed(queue)
            await queue.put(_END)
        except Exception as error:  # noqa: BLE001 - it goes on where the items are taken
            await queue.put(error)

    feeding = asyncio.create_task(to_the_end())
    try:
        while (item := await queue.get()) is not _END:
            if isinstance(item, Exception):
                raise item
            yield item
    finally:
        feeding.cancel()
        await asyncio.gather(feeding, return_exceptions=True)
