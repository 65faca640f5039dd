"""How a command ends that could not work: with a sentence for people, and a document in the requested format.

Every failure of a command arrives here, wrong usage too, so that no command has to think of it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import typer
from typer._click.core import Context  # typer has no public name for it
from typer.core import TyperGroup

from reconciler.cli.app import app
from reconciler.cli.shared.common import Misused
from reconciler.cli.shared.screen import NobodyReads, emit, has_printed, paper, tell
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import CannotContinue, Diagnostic, Severity
from reconciler.report.formats import FORMATS
from reconciler.report.words.diagnostics import report

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
    except NobodyReads:
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
        diagnostics=failure.diagnostics, named=_named_paths(context),
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


def _named_paths(context: Context) -> tuple[str, ...]:
    return tuple(map(str, context.params.get("paths") or ()))
