"""An event loop in a thread of its own: connections are served even while Spark works on what came over them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterable, Iterator
from typing import Any, Self, TypeAlias, TypeVar

T = TypeVar("T")
Put: TypeAlias = Callable[[T], Coroutine[Any, Any, None]]
"""Takes an item as soon as there is room for it."""
Feed: TypeAlias = Callable[[Put[T]], Coroutine[Any, Any, None]]
_END = object()
AHEAD = 2
"""How many items are fetched before anybody takes them."""


class BackgroundLoop:
    """Runs coroutines for callers that have no loop; `with` ends it."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="reconciler", daemon=True)

    def start(self) -> Self:
        """Start the thread, for callers that cannot use `with`; they call `close` themselves."""
        self._thread.start()
        return self

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Cancel whatever still runs, stop the loop and wait until its thread has ended."""
        self.run(self._cancel_all())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of the coroutine, for which the calling thread waits; its exceptions are raised here."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def each(self, feed: Feed[T]) -> Iterator[T]:
        """Yield whatever `feed` hands to its argument, until it ends; its exceptions are raised here. `feed` waits
        while nobody takes anything: only a few items are held."""
        queue: asyncio.Queue[Any] = asyncio.Queue(AHEAD)

        async def to_the_end() -> None:
            try:
                await feed(queue.put)
                await queue.put(_END)
            except Exception as error:  # noqa: BLE001 - it goes on in the thread that waits for the next item
                await queue.put(error)

        asyncio.run_coroutine_threadsafe(to_the_end(), self._loop)
        while (item := self.run(queue.get())) is not _END:
            if isinstance(item, Exception):
                raise item
            yield item

    async def _cancel_all(self) -> None:
        """Cancel what nobody waits for any more, and let it close what it holds."""
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self._loop.shutdown_asyncgens()


def items_of(feed: Feed[T]) -> Generator[T, None, None]:
    """Yield items with a loop of its own, which ends when the consumer stops."""
    with BackgroundLoop() as loop:
        yield from loop.each(feed)


def merge_sources(sources: Iterable[AsyncIterator[T]], at_once: int) -> Feed[T]:
    """Yield what all of them give, as it comes, from this many at a time."""

    async def feed(put: Put[T]) -> None:
        room = asyncio.Semaphore(at_once)
        try:
            async with asyncio.TaskGroup() as tasks:
                for source in sources:
                    tasks.create_task(_drain(source, room, put))
        except* Exception as errors:  # noqa: BLE001 - the first of them goes on where the items are taken
            raise errors.exceptions[0] from None

    return feed


async def _drain(source: AsyncIterator[T], room: asyncio.Semaphore, put: Put[T]) -> None:
    async with room:
        async for item in source:
            await put(item)
