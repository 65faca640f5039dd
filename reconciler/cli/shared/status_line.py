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
from reconciler.report.words.status import status_text
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
        """Whether somebody may look at it."""
        return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"

    def show(self, activity: str) -> None:
        """Show this activity from now on; none where it is empty."""
        with self._lock:
            self._doing = activity
            self.draw()

    def draw(self) -> None:
        """Draw the line as it is in this moment."""
        with self._lock:
            now = time.monotonic()
            width = max(40, shutil.get_terminal_size().columns)
            line = status_text(self._doing, longest_wait(now), now, width) if self.is_watched else ""
            if line != self._shown:
                self._write(f"\r\x1b[K{line}")
                self._shown = line

    @contextmanager
    def cleared(self) -> Iterator[None]:
        """Remove the line for what is written inside the block."""
        with self._lock:
            if self._shown:
                self._write("\r\x1b[K")
                self._shown = ""
            yield

    @contextmanager
    def refreshed(self) -> Iterator[None]:
        """Redraw the line again and again inside the block, and remove it after."""
        if self._is_kept or not self.is_watched:
            yield
            return
        over = threading.Event()
        keeper = threading.Thread(target=self._redraw_until, args=(over,), daemon=True)
        self._is_kept = True
        keeper.start()
        try:
            yield
        finally:
            self._is_kept = False
            over.set()
            keeper.join()
            self.show("")

    def _redraw_until(self, over: threading.Event) -> None:
        while not over.wait(OFTEN):
            self.draw()

    def _write(self, text: str) -> None:
        """Write to the terminal as it is; callers erase the line before."""
        with suppress(OSError, ValueError):  # the terminal is gone, or closed
            sys.stderr.write(inert(text))
            sys.stderr.flush()


LINE = StatusLine()
