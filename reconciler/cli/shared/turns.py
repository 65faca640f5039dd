"""Parts of a run that go on at once, and print as if one came after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field

from reconciler.model.dataclass import dataclass


@dataclass(slots=True)
class _Held:
    """What one part wants printed, until its turn."""

    is_its_turn: bool = False
    is_done: bool = False
    waiting: list[Callable[[], None]] = field(default_factory=list)


_HELD: ContextVar[_Held | None] = ContextVar("held", default=None)


def is_held(print_it: Callable[[], None]) -> bool:
    """Keep it for later where the turn of this part has not come, and say so."""
    held = _HELD.get()
    if held is None or held.is_its_turn:
        return False
    held.waiting.append(print_it)
    return True


class Turns:
    """Lets the first part print at once; each other when all before it are done."""

    def __init__(self) -> None:
        self._parts: dict[int, _Held] = {}
        self._now = 0
        self._part(0).is_its_turn = True

    @contextmanager
    def of(self, number: int) -> Iterator[None]:
        """Inside the block, this part prints. Numbers begin with 0, and each comes once."""
        held = self._part(number)
        token = _HELD.set(held)
        try:
            yield
        finally:
            _HELD.reset(token)
            held.is_done = True
            self._go_on()

    def _part(self, number: int) -> _Held:
        return self._parts.setdefault(number, _Held())

    def _go_on(self) -> None:
        while self._part(self._now).is_done:
            self._now += 1
            following = self._part(self._now)
            following.is_its_turn = True
            waiting, following.waiting = following.waiting, []
            for print_it in waiting:
                print_it()
