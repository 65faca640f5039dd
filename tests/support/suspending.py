"""Processes that stand still for a while, as after a machine slept or a hypervisor stopped it."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def suspended(pid: int) -> Iterator[None]:
    """It does nothing meanwhile, and goes on afterwards."""
    stand_still(pid)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def stand_still(pid: int) -> None:
    """Suspends a process. Its threads stop one after the other, and one that waits for a disk only after that: until then
    the process still answers."""
    os.kill(pid, signal.SIGSTOP)
    while any(_state(thread) not in "TZX" for thread in Path(f"/proc/{pid}/task").iterdir()):
        os.sched_yield()


def _state(thread: Path) -> str:
    """`T` is stopped; `Z` and `X` have ended."""
    try:
        return (thread / "stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "X"
