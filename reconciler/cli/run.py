"""Runs one command line, and turns every outcome into one clear message and the right exit code."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

import typer
from typer._click.exceptions import ClickException, NoArgsIsHelpError, UsageError  # typer has no public names for them

from reconciler.cli.app import app
from reconciler.cli.failures import Failure, report_failure
from reconciler.cli.shared import exits
from reconciler.cli.shared.common import Interrupted
from reconciler.cli.shared.screen import NobodyReads
from reconciler.cli.shared.signals import ended_at_once
from reconciler.cli.shared.status_line import LINE
from reconciler.model.diagnostic import CannotContinue


def run(arguments: Sequence[str]) -> int:
    """Run the command line, and return the exit code. A traceback appears only if RECONCILER_DEBUG asks for it."""
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    with LINE.refreshed(), ended_at_once():
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
    except NobodyReads:
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
