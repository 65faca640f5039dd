"""Clocks that are wrong: a command's own, by so many seconds."""

from __future__ import annotations

from pathlib import Path

from tests.cli.running import ROOT, Ran, Shell

_SHIFTED = """
import datetime as there, os, time
by, real = float(os.environ["SHIFTED_BY"]), time.time
time.time = lambda: real() + by
class datetime(there.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls.fromtimestamp(time.time(), tz)
class date(there.date):
    @classmethod
    def today(cls):
        return cls.fromtimestamp(time.time())
there.datetime, there.date = datetime, date
"""
HOUR, DAY = 3_600, 86_400


def with_clock(shell: Shell, by: float, *arguments: str) -> Ran:
    """A command whose clock is so many seconds ahead."""
    place = Path(shell.folder, ".shifted")
    place.mkdir(exist_ok=True)
    (place / "sitecustomize.py").write_text(_SHIFTED)
    return shell.cold(*arguments, PYTHONPATH=f"{ROOT}:{place}", SHIFTED_BY=str(by))
