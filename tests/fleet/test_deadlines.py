"""A target has so much time of its own; what others cost it is not its time."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest

from reconciler.fleet.accounts.reading import SharedWindow, Stopwatch

DEADLINE = 0.1
T = TypeVar("T")


class Leap(selectors.DefaultSelector):
    """Nothing comes from outside: instead of waiting for something, the time until then has passed."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.now += timeout or 0.0
        return super().select(0)


class Unhurried(asyncio.SelectorEventLoop):
    """Time passes only while everybody waits, so that nothing takes longer on a busy machine."""

    def __init__(self) -> None:
        self._leap = Leap()
        super().__init__(self._leap)

    def time(self) -> float:
        return self._leap.now


def run(work: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner(loop_factory=Unhurried) as runner:
        return runner.run(work)


async def waiting(*, requests: int, others: int, wanted: int) -> tuple[float, float]:
    """Seconds that pass until `others` no longer hold their requests, and those that count as the target's own."""
    total = asyncio.Semaphore(requests)
    watch, loop = Stopwatch(SharedWindow(total)), asyncio.get_running_loop()
    for _ in range(others):
        await total.acquire()
    done = asyncio.Event()

    async def ask() -> None:
        async with watch.window:
            await done.wait()

    def over() -> None:
        done.set()
        for _ in range(others):
            total.release()

    loop.call_later(3 * DEADLINE, over)
    began = loop.time()
    async with watch.within(DEADLINE):
        await asyncio.gather(*(ask() for _ in range(wanted)))
    return loop.time() - began, watch.seconds()


def test_whom_others_keep_waiting_has_all_its_time_left() -> None:
    passed, own = run(waiting(requests=2, others=2, wanted=2))
    assert passed == pytest.approx(3 * DEADLINE)
    assert own == pytest.approx(0)


def test_whose_own_server_keeps_it_waiting_is_given_up() -> None:
    with pytest.raises(TimeoutError):
        run(waiting(requests=2, others=0, wanted=2))


def test_with_half_of_its_requests_under_way_half_of_the_time_is_its_own() -> None:
    async def half() -> float:
        total = asyncio.Semaphore(1)
        watch, done = Stopwatch(SharedWindow(total)), asyncio.Event()

        async def ask() -> None:
            async with watch.window:
                await done.wait()

        watch.start()
        asks = [asyncio.create_task(ask()) for _ in range(2)]
        await asyncio.sleep(DEADLINE)
        passed, own = asyncio.get_running_loop().time() - (watch.since or 0.0), watch.seconds()
        done.set()
        await asyncio.gather(*asks)
        return own / passed

    assert run(half()) == pytest.approx(0.5)


def test_a_second_attempt_has_what_the_first_one_left() -> None:
    async def again() -> None:
        watch = Stopwatch(SharedWindow(asyncio.Semaphore(1)), before=2 * DEADLINE)
        async with watch.within(DEADLINE):
            await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        run(again())
