"""Runs one command line, and turns every outcome into one clear message and the right exit code.

Every failure of a command arrives here, wrong usage too, so that no command has to think of it.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import typer
from typer._click.core import Context  # typer has no public name for it
from typer._click.exceptions import ClickException, NoArgsIsHelpError, UsageError  # typer has no public names for them
from typer.core import TyperGroup

from reconciler.cli.app import app
from reconciler.cli.shared import exits
from reconciler.cli.shared.common import Interrupted, Misused
from reconciler.cli.shared.exits import interrupted_by_signals
from reconciler.cli.shared.screen import OutputClosed, emit, has_printed, paper, tell
from reconciler.cli.shared.status_line import LINE
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import CannotContinue, Diagnostic, Severity
from reconciler.report.formats import FORMATS
from reconciler.report.words.diagnostics import report


def run(arguments: Sequence[str]) -> int:
    """Run the command line, and return the exit code. A traceback appears only if RECONCILER_DEBUG asks for it."""
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    with LINE.refreshed(), interrupted_by_signals():
        return _run_and_report(arguments)


def _open_closed_streams() -> None:
    """Open streams that the shell closed (`>&-`): otherwise a socket would get their numbers."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 - until the end


def _run_and_report(arguments: Sequence[str]) -> int:
    """Typer's own `main` would end in silence at a Ctrl-C."""
    try:
        command = typer.main.get_command(app)
        with command.make_context("reconciler", list(arguments)) as context:
            result = command.invoke(context)
    except typer.Exit as end:
        return end.exit_code
    except OutputClosed:
        return exits.FINE
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the last door: whatever ends a command leaves by it
        return report_failure(_failure_of(error), arguments)
    return result if isinstance(result, int) else exits.FINE


def _failure_of(error: BaseException) -> Failure:
    if isinstance(error, ClickException):
        return _wrong_usage(error)
    if isinstance(error, CannotContinue):
        return Failure.of(error, exits.INTERRUPTED if isinstance(error, Interrupted) else exits.FAILED)
    if isinstance(error, KeyboardInterrupt | typer.Abort):
        # A command that had begun to change something has already said what of it is done.
        return Failure.because("XX923", "interrupted", "Interrupted.\n", code=exits.INTERRUPTED)
    return _internal_error(error)


_PREFIX = "Value error, "
"""What pydantic puts before a sentence of its own."""


def _wrong_usage(error: ClickException) -> Failure:
    context = error.ctx if isinstance(error, UsageError) else None
    command, sentence = context.command_path if context else "reconciler", error.format_message().replace(_PREFIX, "")
    wants_help = isinstance(error, NoArgsIsHelpError) and context
    text = f"{context.get_help()}\n" if wants_help and context else f"{sentence}\nSee: {command} --help\n"
    fix = f"see `{command} --help`"
    return Failure.because("XX921", "wrong-usage", text, message=sentence, fix=fix, code=exits.USAGE)


def _internal_error(error: BaseException) -> Failure:
    """Report a bug of this tool so that it does not look like the user's mistake."""
    if os.environ.get("RECONCILER_DEBUG"):
        traceback.print_exception(error)
    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = f" in {frame.name}, {os.path.basename(frame.filename)}:{frame.lineno}"  # noqa: PTH119 - a name, not a file
    text = (
        f"internal error: {type(error).__name__}{place}. This is a bug in reconciler; please report it with what "
        "RECONCILER_DEBUG=1 prints.\n"
    )
    return Failure.because("XX922", "internal-error", text, code=exits.FAILED)


CANNOT_WRITE = "XX902"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a command could not do its work."""

    code: int
    """The exit code."""
    text: str
    """The text for people."""
    diagnostics: tuple[Diagnostic, ...]
    topology: str = ""

    @classmethod
    def of(cls, problem: CannotContinue, code: int) -> Failure:
        """Return the failure for a problem that was raised; tools get its diagnostics as they are."""
        return cls(code=code, text=_message(problem), diagnostics=problem.diagnostics, topology=problem.topology)

    @classmethod
    def because(
        cls, reason: str, name: str, text: str, *, fix: str | None = None, message: str = "", code: int
    ) -> Failure:
        """Return a failure without a diagnostic of its own: people read `text`, and tools read `message` if there is
        one."""
        sentence = message or text.strip()
        error = Diagnostic(severity=Severity.ERROR, code=reason, name=name, message=sentence, fix=fix)
        return cls(code=code, text=text, diagnostics=(error,))


def report_failure(failure: Failure, arguments: Sequence[str]) -> int:
    """Report the failure on stderr for people and on stdout as a document, unless the command had begun to print its
    own; return the exit code."""
    unwritten = ""
    try:
        _write_documents(failure, arguments)
    except OutputClosed:
        pass
    except CannotContinue as problem:  # this may be why the command ended
        codes = {diagnostic.code for diagnostic in failure.diagnostics}
        unwritten = "" if codes == {CANNOT_WRITE} else _message(problem)
    tell(failure.text + unwritten)
    return failure.code


def _message(problem: CannotContinue) -> str:
    return report(problem.diagnostics, paper(sys.stderr))


def _write_documents(failure: Failure, arguments: Sequence[str]) -> None:
    context = _parsed_command(arguments)
    if context is None:
        return
    format_, files = _requested_format(context), tuple(_report_files(context))
    if not (format_ or files):
        return
    from reconciler.cli.shared.reporting import Reports, document  # noqa: PLC0415 - only for who wants a report

    failed = document(
        command=context.command_path.removeprefix("reconciler "), topology=failure.topology,
        diagnostics=failure.diagnostics, named=tuple(map(str, context.params.get("paths") or ())),
    )  # fmt: skip
    if format_ and not has_printed():
        emit(FORMATS[format_](failed))
    Reports(wanted=files).write(failed)


def _parsed_command(arguments: Sequence[str]) -> Context | None:
    """Return the command that was meant and its arguments, however wrong the rest of the line is."""
    with suppress(Exception):  # our own error may be one of finding commands
        lenient: dict[str, Any] = {"resilient_parsing": True, "ignore_unknown_options": True}
        context = typer.main.get_command(app).make_context("reconciler", list(arguments), **lenient)
        while isinstance(context.command, TyperGroup) and (left := [*context._protected_args, *context.args]):
            name, command, rest = context.command.resolve_command(context, left)
            if command is None:
                break
            context = command.make_context(name, rest, parent=context, **lenient)
        return context
    return None


def _requested_format(context: Context) -> str | None:
    """Return the requested format, if it is one for tools; people read stderr."""
    chosen = context.params.get("format_")
    return str(chosen) if chosen in FORMATS and chosen != "text" else None


def _report_files(context: Context) -> Iterator[tuple[str, Path]]:
    from reconciler.cli.shared.reporting import parse_report  # noqa: PLC0415 - as above

    for option in context.params.get("report") or ():
        with suppress(Misused):
            yield parse_report(option)
