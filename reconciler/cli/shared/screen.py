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

from reconciler.cli.shared.common import Interrupted
from reconciler.cli.shared.exits import interrupted_by_signals
from reconciler.cli.shared.status_line import LINE
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import CannotContinue, Diagnostic, Severity
from reconciler.report.words.paper import WIDTH, Paper, colour_paint, plain
from reconciler.report.words.visible import inert


@dataclass(slots=True)
class _PostponedPrints:
    """What one part wants printed, until its turn."""

    may_print: bool = False
    is_done: bool = False
    waiting: list[Callable[[], None]] = field(default_factory=list)


_HELD: ContextVar[_PostponedPrints | None] = ContextVar("held", default=None)


def postpone_if_needed(print_later: Callable[[], None]) -> bool:
    """Keep the print for later where the turn of this part has not come, and return whether it was kept."""
    part = _HELD.get()
    if part is None or part.may_print:
        return False
    part.waiting.append(print_later)
    return True


class PrintOrder:
    """Lets the first part print at once; each other when all before it are done."""

    def __init__(self) -> None:
        self._parts: dict[int, _PostponedPrints] = {}
        self._now = 0
        self._part(0).may_print = True

    @contextmanager
    def printing(self, number: int) -> Iterator[None]:
        """Let this part print inside the block. Numbers begin with 0, and each comes once."""
        part = self._part(number)
        token = _HELD.set(part)
        try:
            yield
        finally:
            _HELD.reset(token)
            part.is_done = True
            self._print_following()

    def _part(self, number: int) -> _PostponedPrints:
        return self._parts.setdefault(number, _PostponedPrints())

    def _print_following(self) -> None:
        while self._part(self._now).is_done:
            self._now += 1
            following = self._part(self._now)
            following.may_print = True
            waiting, following.waiting = following.waiting, []
            for print_later in waiting:
                print_later()


def paper(stream: TextIO | None = None, *, verbose: bool = False, no_color: bool = False) -> Paper:
    """Return paper as wide and as high as the terminal; COLUMNS overrides the width everywhere."""
    stream = stream or sys.stdout
    colours = not no_color and can_show_colours(stream)
    high = shutil.get_terminal_size().lines if stream.isatty() else None
    return Paper(width=width(stream), height=high, paint=colour_paint() if colours else plain, verbose=verbose)


def width(stream: TextIO) -> int:
    """Return the columns to write in: those of the terminal or of COLUMNS, otherwise WIDTH; never fewer than 40."""
    fallback = (WIDTH, 24)
    columns = shutil.get_terminal_size(fallback).columns if stream.isatty() or "COLUMNS" in os.environ else WIDTH
    return max(40, columns)


def can_show_colours(stream: TextIO) -> bool:
    """Return whether to write colours, as https://no-color.org has it: NO_COLOR wins unless it is empty."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


_PRINTED: set[TextIO] = set()


def has_printed() -> bool:
    """Return whether the command has printed something, which another document would spoil."""
    return sys.stdout in _PRINTED


def mark_printed(stream: TextIO) -> None:
    """Note that the command's output is about to be shown by other means."""
    _PRINTED.add(stream)


class OutputClosed(Exception):
    """The reader of our output has closed it: `reconciler plan … | head`."""


def say(text: str) -> None:
    """Print text for people, whatever names it contains; our own JSON passes through unchanged."""
    emit(inert(text))


def emit(text: str) -> None:
    """Print what others read or run, as it is: files, scripts, annotations. A formatted report is already safe."""
    if postpone_if_needed(lambda: _emit_postponed(text)):
        return
    _PRINTED.add(sys.stdout)
    try:
        with LINE.cleared():
            sys.stdout.write(text)
            sys.stdout.flush()
    except BrokenPipeError:
        _discard_output(sys.stdout)
        raise OutputClosed from None
    except OSError as error:
        _discard_output(sys.stdout)
        raise CannotContinue(_output_error_diagnostic(error)) from None


def _emit_postponed(text: str) -> None:
    """Print in its turn what a part of the run printed before; that part cannot learn any more that nobody reads."""
    with suppress(OutputClosed):
        emit(text)


def _discard_output(stream: TextIO) -> None:
    """Point stdout nowhere: the interpreter flushes once more at its end, and would complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _output_error_diagnostic(error: OSError) -> Diagnostic:
    message = f"The output could not be written: {(error.strerror or str(error)).lower()}."
    fix = "Make room there, and look at the live state with `reconciler plan`."
    return Diagnostic(severity=Severity.ERROR, code="XX906", name="output-not-written", message=message, fix=fix)


def tell(text: str) -> None:
    """Print about the run itself on stderr. The run continues where nobody reads that, or where it cannot be
    written."""
    if postpone_if_needed(lambda: tell(text)):
        return
    try:
        with LINE.cleared():
            sys.stderr.write(inert(text))
            sys.stderr.flush()
    except OSError:
        _discard_output(sys.stderr)


def confirm(question: str, unless: str = "Nothing was changed.") -> bool:
    """Ask on the terminal; only an explicit yes makes it True. A Ctrl-C or another signal raises Interrupted, which says
    `unless`."""
    with LINE.cleared(), interrupted_by_signals():
        try:
            return typer.confirm(question, default=False, err=True)
        except typer.Abort:
            tell("\n")
            message = f"Interrupted. {unless}"
            raise Interrupted(
                Diagnostic(severity=Severity.ERROR, code="XX923", name="interrupted", message=message)
            ) from None


@contextmanager
def doing(activity: str) -> Iterator[None]:
    """Show an activity on the status line while the block runs."""
    LINE.show(activity)
    try:
        yield
    finally:
        LINE.show("")
