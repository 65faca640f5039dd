"""What this process waits for: told by whoever waits, and read by whoever keeps a line on a terminal."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from reconciler.model.dataclass import dataclass

WORTH_A_WORD = 2.0
"""Seconds after which somebody in front of a terminal wonders."""


@dataclass(slots=True, eq=False)
class Wait:
    """One thing that is waited for."""

    what: str
    """Reads on after "waiting": `for …`, `until …`. Empty as long as there is nothing to say."""
    since: float
    """By the clock that nobody sets, as `until`."""
    until: float | None = None
    """When it is given up; None: nobody knows."""
    quiet: float = WORTH_A_WORD
    """Seconds after which it is worth a word."""

    def restart_deadline(self, within: float) -> None:
        """Let it take that long from now on."""
        self.until = time.monotonic() + within


_WAITS: dict[int, Wait] = {}


def begin(what: str, within: float | None = None, *, quiet: float = WORTH_A_WORD) -> Wait:
    """Begin to wait, `within` so many seconds at most. To be ended by `end`."""
    now = time.monotonic()
    wait = Wait(what, now, None if within is None else now + within, quiet)
    _WAITS[id(wait)] = wait
    return wait


def end(wait: Wait) -> None:
    """End a wait: it came, or was given up."""
    del _WAITS[id(wait)]


@contextmanager
def waiting(what: str, within: float | None = None, *, quiet: float = WORTH_A_WORD) -> Iterator[Wait]:
    """Wait inside the block."""
    wait = begin(what, within, quiet=quiet)
    try:
        yield wait
    finally:
        end(wait)


def longest_wait(now: float) -> Wait | None:
    """Return what is waited for since longest, of all that is worth a word: whatever else is waited for, most often
    serves that."""
    noticeable = (wait for wait in list(_WAITS.values()) if wait.what and now - wait.since >= wait.quiet)
    return min(noticeable, key=lambda wait: wait.since, default=None)
