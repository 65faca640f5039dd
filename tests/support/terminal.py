"""A terminal with somebody in front of it: commands run on a pty of a size, keys are typed, and what is shown is read."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self

PATIENCE = 120
"""Seconds without a word after which a command hangs."""
OWNER = """
import fcntl, os, signal, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
for number in (signal.SIGHUP, signal.SIGINT):
    signal.signal(number, signal.SIG_DFL)
os.execvp(sys.argv[1], sys.argv[1:])
"""
"""Becomes the command once the terminal is its own: a pager reads keys from /dev/tty. Whoever runs the tests may ignore
SIGHUP, as `nohup` has it, and Ctrl-C, as a shell has it for what it starts with `&`."""
WRITTEN_OVER = "\r\x1b[K"
ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[a-zA-Z]|[=>])")


@contextmanager
def hanging_up(handler: signal.Handlers) -> Iterator[None]:
    """What SIGHUP does to this process and the commands that it starts. Whoever runs the tests may ignore it, as `nohup` has
    it."""
    before = signal.signal(signal.SIGHUP, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)


class Terminal:
    """One command on a terminal of its own."""

    def __init__(
        self, command: Sequence[str], *, folder: Path, environ: Mapping[str, str], rows: int = 24, columns: int = 100
    ) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self._running = subprocess.Popen(
            [sys.executable, "-c", OWNER, *command], cwd=folder, env={"TERM": "xterm", **environ},
            stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
        )  # fmt: skip
        os.close(theirs)
        self._said = b""
        self._seen = 0
        """Characters that somebody has looked at."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._running.poll() is None:
            self._running.kill()
        self._running.wait()
        os.close(self._ours)

    def type(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def send(self, number: signal.Signals) -> None:
        self._running.send_signal(number)

    def until_it_sleeps(self) -> None:
        """Until its main thread waits for something, keys for example, and has not been awake since the last look."""
        before = None
        while (now := self._times_asleep()) is None or now != before:
            before = now
            self._read(0.05)

    def _times_asleep(self) -> str | None:
        """How often it went to sleep; None while it is awake."""
        said = Path(f"/proc/{self._running.pid}/task/{self._running.pid}/status").read_text()
        lines = dict(line.split(":\t", 1) for line in said.splitlines() if ":\t" in line)
        return lines["voluntary_ctxt_switches"] if lines["State"].startswith("S") else None

    def type_until(self, keys: str, pattern: str) -> str:
        """Types them again each second, since a program may drop keys that come too early."""
        while True:
            self.type(keys)
            if self._read(1) and re.compile(pattern).search(self._shown, self._seen):
                return self.until(pattern)

    def until(self, pattern: str) -> str:
        """What was shown since the last look, up to and with the first place that fits. All escapes are taken out, and what
        was written over a line stands below it."""
        while not (found := re.compile(pattern).search(self._shown, self._seen)):
            if not self._read():
                raise AssertionError(f"{pattern!r} was never shown:\n{self._shown[self._seen :]}")
        before, self._seen = self._seen, found.end()
        return self._shown[before : found.end()]

    def rest(self, within: float = PATIENCE) -> tuple[int, str]:
        """Its exit code, and what was shown since the last look up to its end; it hangs after so many seconds without a
        word."""
        while self._read(within):
            pass
        try:
            return self._running.wait(within), self._shown[self._seen :]
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it never ended:\n{self._shown[self._seen :]}") from None

    @property
    def _shown(self) -> str:
        text = self._said.decode(errors="replace").replace("\r\n", "\n").replace(WRITTEN_OVER, "\n")
        return ESCAPES.sub("", text)

    def _read(self, within: float = PATIENCE) -> bool:
        """Waits for more; False once the command has ended, or hangs."""
        try:
            said = os.read(self._ours, 65536) if select.select([self._ours], [], [], within)[0] else b""
        except OSError:  # nobody has the other end any more
            return False
        self._said += said
        return bool(said)
