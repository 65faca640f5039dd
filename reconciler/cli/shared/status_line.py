"""The last line of a terminal, written over: what is being done, and what is waited for. Nothing where nobody watches."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from reconciler.model.waits import longest_wait
from reconciler.report.words.status import status
from reconciler.report.words.visible import inert

OFTEN = 0.5
"""Seconds after which the line is looked at again: a wait shows in no other way."""


class StatusLine:
    """One for the process. Whoever writes anything else to the terminal removes it first; it comes back by itself."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._doing = ""
        self._shown = ""
        self._is_kept = False

    @property
    def is_watched(self) -> bool:
        """Somebody may look at it."""
        return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"

    def say(self, doing: str) -> None:
        """What is being done from now on; nothing any more, where it is empty."""
        with self._lock:
            self._doing = doing
            self.draw()

    def draw(self) -> None:
        """As it is in this moment."""
        with self._lock:
            now = time.monotonic()
            width = max(40, shutil.get_terminal_size().columns)
            line = status(self._doing, longest_wait(now), now, width) if self.is_watched else ""
            if line != self._shown:
                self._write(f"\r\x1b[K{line}")
                self._shown = line

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Out of the way of what is written inside the block."""
        with self._lock:
            if self._shown:
                self._write("\r\x1b[K")
                self._shown = ""
            yield

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Looked at again and again inside the block, and gone after it."""
        if self._is_kept or not self.is_watched:
            yield
            return
        over = threading.Event()
        keeper = threading.Thread(target=self._keep, args=(over,), daemon=True)
        self._is_kept = True
        keeper.start()
        try:
            yield
        finally:
            self._is_kept = False
            over.set()
            keeper.join()
            self.say("")

    def _keep(self, over: threading.Event) -> None:
        while not over.wait(OFTEN):
            self.draw()

    def _write(self, text: str) -> None:
        with suppress(OSError, ValueError):  # the terminal is gone, or closed
            sys.stderr.write(inert(text))
            sys.stderr.flush()


LINE = StatusLine()
