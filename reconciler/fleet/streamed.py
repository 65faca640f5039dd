"""What a coroutine finds, as an iterator: it runs on a thread of its own, so that deadlines count while others work."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _End:
    error: BaseException | None = None


def streamed(work: Callable[[Callable[[T], None]], Coroutine[Any, Any, None]]) -> Iterator[T]:
    """Whatever `work` hands to its argument, until it ends. Whoever stops listening ends it."""
    running = _Running(work)
    running.thread.start()
    try:
        while not isinstance(found := running.found.get(), _End):
            yield found
        if found.error is not None:
            raise found.error
    finally:
        running.stop()


class _Running(Generic[T]):
    def __init__(self, work: Callable[[Callable[[T], None]], Coroutine[Any, Any, None]]) -> None:
        self.found: SimpleQueue[T | _End] = SimpleQueue()
        self.thread = threading.Thread(target=self._run, name="reading", daemon=True)
        self._loop = asyncio.new_event_loop()
        self._task = self._loop.create_task(work(self.found.put))

    def _run(self) -> None:
        """Not `asyncio.run`, which waits at its end for a name that some thread still tries to resolve."""
        error: BaseException | None = None
        try:
            self._loop.run_until_complete(self._task)
        except (Exception, asyncio.CancelledError) as raised:  # noqa: BLE001 - raised again by who listens
            error = raised
        finally:
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self.found.put(_End(error))

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._task.cancel)
        self.thread.join()
        self._loop.close()
