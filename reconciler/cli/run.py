"""Runs one command line and turns whatever happens into one clear message and the right exit code."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

import typer
from typer._click.exceptions import ClickException, NoArgsIsHelpError, UsageError  # typer has no public names for them
from typer._completion_classes import completion_init

from reconciler.cli import exits
from reconciler.cli.app import app
from reconciler.cli.screen import NobodyReads, paper, tell
from reconciler.core.diagnostic import CannotContinue

COMPLETING = "_RECONCILER_COMPLETE"
"""Set by the script of `reconciler completion`."""


def run(arguments: Sequence[str]) -> int:
    """The exit code. Never a traceback, unless RECONCILER_DEBUG asks for it."""
    _open_what_is_closed()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    if COMPLETING in os.environ:
        completion_init()
    return _command(arguments)


def _open_what_is_closed() -> None:
    """Python has no stream where a shell closed one (`>&-`), and a socket would be given its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 - until the end


def _command(arguments: Sequence[str]) -> int:
    try:
        result = typer.main.get_command(app).main(list(arguments), prog_name="reconciler", standalone_mode=False)
    except ClickException as error:
        return _wrong_usage(error)
    except CannotContinue as problem:
        return cannot_continue(problem)
    except (KeyboardInterrupt, typer.Abort):
        tell("Interrupted.\n")  # whoever had begun to change something has said what of it is done
        return exits.INTERRUPTED
    except NobodyReads:
        return exits.FINE
    except Exception as error:  # noqa: BLE001 - the last door: an error of ours must not look like one of theirs
        return _internal(error)
    return result if isinstance(result, int) else exits.FINE


def cannot_continue(problem: CannotContinue) -> int:
    from reconciler.report.diagnostics import report  # noqa: PLC0415 - only for who needs it

    tell(report(problem.diagnostics, paper(sys.stderr)))
    return exits.FAILED


def _wrong_usage(error: ClickException) -> int:
    context = error.ctx if isinstance(error, UsageError) else None
    command = context.command_path if context else "reconciler"
    if isinstance(error, NoArgsIsHelpError) and context:
        tell(f"{context.get_help()}\n")
    else:
        tell(f"{error.format_message()}\nSee: {command} --help\n")
    return exits.USAGE


def _internal(error: Exception) -> int:
    if os.environ.get("RECONCILER_DEBUG"):
        traceback.print_exc()
    where = traceback.extract_tb(error.__traceback__)[-1]
    said = f" in {where.name}, {os.path.basename(where.filename)}:{where.lineno}"  # noqa: PTH119 - a name, not a file
    tell(
        f"internal error: {type(error).__name__}{said}. This is a mistake in reconciler; please report it with what "
        "RECONCILER_DEBUG=1 prints.\n"
    )
    return exits.FAILED
