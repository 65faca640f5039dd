"""The signals that end a command: Ctrl-C, what stops a service or a job, and a terminal that closes."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


def ending_signals() -> list[signal.Signals]:
    """Return them; a terminal that closes is none of them where whoever started the command says so, as `nohup` does."""
    return [signal.SIGINT, signal.SIGTERM, *([] if _is_ignored(signal.SIGHUP) else [signal.SIGHUP])]


def _is_ignored(number: signal.Signals) -> bool:
    return signal.getsignal(number) is signal.SIG_IGN


@contextmanager
def ended_at_once() -> Iterator[None]:
    """Let each of them raise KeyboardInterrupt inside the block. An event loop would keep a Ctrl-C until it gets its
    turn."""
    numbers = [number for number in ending_signals() if not _is_ignored(number)]
    before = {number: signal.signal(number, signal.default_int_handler) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
