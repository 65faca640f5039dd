"""Ctrl-C while something is applied: it ends in good order, and a second one ends it at once."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Iterator
from weakref import WeakKeyDictionary

import typer

from reconciler.cli.shared.exits import ending_signals
from reconciler.cli.shared.screen import tell


class _Interruption:
    """Ctrl-C, for all that is applied at once: the first ends it in good order, another one at once."""

    def __init__(self) -> None:
        self.running: dict[asyncio.Event, asyncio.Task[object] | None] = {}
        self.between: asyncio.Task[object] | None = None
        """What happens before and after what is applied."""
        self.came = False

    def __call__(self) -> None:
        if not self.running and self.between:
            self.between.cancel()
        for stop, task in [*self.running.items()]:
            if (self.came or stop.is_set()) and task:
                task.cancel()
            stop.set()
        if self.running and not self.came:
            tell("\nInterrupted: waiting for the answers to requests already sent …\n")
        self.came = True

    def update_signal_handlers(self) -> None:
        """Take every signal that ends a command, as long as anything is there to be ended."""
        loop = asyncio.get_running_loop()
        for number in ending_signals():
            if self.running or self.between:
                loop.add_signal_handler(number, self)
            else:
                loop.remove_signal_handler(number)
                signal.signal(number, signal.default_int_handler)


_INTERRUPTIONS: WeakKeyDictionary[asyncio.AbstractEventLoop, _Interruption] = WeakKeyDictionary()


def _current_interruption() -> _Interruption:
    return _INTERRUPTIONS.setdefault(asyncio.get_running_loop(), _Interruption())


@contextlib.contextmanager
def interruptible(stop: asyncio.Event) -> Iterator[None]:
    """Set `stop` at a Ctrl-C inside the block; at once where one came before, so that no first step is done."""
    interruption = _current_interruption()
    interruption.running[stop] = asyncio.current_task()
    if interruption.came:
        stop.set()
    interruption.update_signal_handlers()
    try:
        yield
    finally:
        del interruption.running[stop]
        interruption.update_signal_handlers()


@contextlib.contextmanager
def interruptible_between() -> Iterator[None]:
    """Let Ctrl-C cancel what is waited for inside the block, where nothing is being applied, and never end anything in
    the middle of a line. Raises Abort then."""
    interruption = _current_interruption()
    interruption.between = asyncio.current_task()
    interruption.update_signal_handlers()
    try:
        yield
    except asyncio.CancelledError:
        if not interruption.came:
            raise
        raise typer.Abort from None
    finally:
        interruption.between = None
        interruption.update_signal_handlers()
