"""A report that is longer than the screen is read in a pager, as git's are; pipes, CI and `--no-pager` get it as it is."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from reconciler.cli.shared.screen import begun
from reconciler.report.words.paper import Paper

LESS = "less -FRX"
"""Ends by itself where all fits on the screen, shows colours, and leaves what was read where it stood."""
NO_SUCH_PROGRAM = (126, 127)
"""What a shell ends with where it cannot run what it was told to."""


def pager(environ: Mapping[str, str], *, has_less: bool) -> str | None:
    """The command line that somebody chose, else `less`; None where nobody is to be given one."""
    if environ.get("TERM", "") in ("", "dumb") or environ.get("CI"):
        return None
    default = LESS if has_less else ""
    chosen = environ.get("RECONCILER_PAGER", environ.get("PAGER", default)).strip()
    return None if chosen in ("", "cat") else chosen


def read_in_pager(text: str, paper: Paper) -> bool:
    """Reads it to its end in a pager, where there is somebody to read and more than the screen holds; False: it is yet to
    be printed."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or paper.rows([text]) < (paper.height or 0):
        return False
    chosen = pager(os.environ, has_less=shutil.which("less") is not None)
    return chosen is not None and _paged(text, chosen)


def _paged(text: str, command: str) -> bool:
    begun(sys.stdout)
    sys.stdout.flush()
    environ = {"LESS": "FRX", "LV": "-c", **os.environ}
    with subprocess.Popen(command, shell=True, stdin=subprocess.PIPE, env=environ) as reading, _undisturbed():
        reading.communicate(text.encode(errors="backslashreplace"))
    return reading.returncode not in NO_SUCH_PROGRAM


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Ctrl-C is for the pager, which has the terminal as long as it runs."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
