"""Output: reports go to stdout, everything about the run itself to stderr; colours are only for terminals.

Parts of a run that work at the same time print as if one came after the other."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import field
from typing import TextIO

import typer

from reconciler.cli.shared.status_line import LINE
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import CannotContinue, Diagnostic, Severity
from reconciler.report.words.paper import WIDTH, Paper, coloured, plain
from reconciler.report.words.visible import inert


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


def paper(stream: TextIO | None = None, *, verbose: bool = False, no_color: bool = False) -> Paper:
    """Return paper as wide and as high as the terminal; COLUMNS overrides the width everywhere."""
    stream = stream or sys.stdout
    colours = not no_color and wants_colours(stream)
    high = shutil.get_terminal_size().lines if stream.isatty() else None
    return Paper(width=width(stream), height=high, paint=coloured() if colours else plain, verbose=verbose)


def width(stream: TextIO) -> int:
    """Return the columns to write in: those of the terminal or of COLUMNS, otherwise WIDTH; never fewer than 40."""
    fallback = (WIDTH, 24)
    chosen = shutil.get_terminal_size(fallback).columns if stream.isatty() or "COLUMNS" in os.environ else WIDTH
    return max(40, chosen)


def wants_colours(stream: TextIO) -> bool:
    """By https://no-color.org: set to anything but nothing, it wins."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


_BEGUN: set[TextIO] = set()


def has_begun() -> bool:
    """Has the command printed something? Another document after it would spoil it."""
    return sys.stdout in _BEGUN


def begun(stream: TextIO) -> None:
    """Note that the command's output is about to be shown by other means."""
    _BEGUN.add(stream)


class NobodyReads(Exception):
    """The reader of our output has closed it: `reconciler plan … | head`."""


def say(text: str) -> None:
    """Print text for people, whatever names it contains; our own JSON passes through unchanged."""
    emit(inert(text))


def emit(text: str) -> None:
    """Print what others read or run, as it is: files, scripts, annotations. A formatted report is already safe."""
    if is_held(lambda: _emit_late(text)):
        return
    _BEGUN.add(sys.stdout)
    try:
        with LINE.apart():
            sys.stdout.write(text)
            sys.stdout.flush()
    except BrokenPipeError:
        _write_nowhere(sys.stdout)
        raise NobodyReads from None
    except OSError as error:
        _write_nowhere(sys.stdout)
        raise CannotContinue(_unwritable(error)) from None


def _emit_late(text: str) -> None:
    """The part of the run that printed it continues, and cannot be told that nobody reads."""
    with suppress(NobodyReads):
        emit(text)


def _write_nowhere(stream: TextIO) -> None:
    """Point stdout nowhere: the interpreter flushes once more at its end, and would complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _unwritable(error: OSError) -> Diagnostic:
    message = f"The output could not be written: {(error.strerror or str(error)).lower()}."
    fix = "Make room there, and look at the live state with `reconciler plan`."
    return Diagnostic(severity=Severity.ERROR, code="XX906", name="output-not-written", message=message, fix=fix)


def tell(text: str) -> None:
    """Print about the run itself on stderr. The run continues where nobody reads that, or where it cannot be
    written."""
    if is_held(lambda: tell(text)):
        return
    try:
        with LINE.apart():
            sys.stderr.write(inert(text))
            sys.stderr.flush()
    except OSError:
        _write_nowhere(sys.stderr)


def is_agreed(question: str) -> bool:
    """Ask on the terminal; only an explicit yes makes it True."""
    with LINE.apart():
        return typer.confirm(question, default=False, err=True)


@contextmanager
def doing(activity: str) -> Iterator[None]:
    """Show an activity on the status line while the block runs."""
    LINE.say(activity)
    try:
        yield
    finally:
        LINE.say("")
