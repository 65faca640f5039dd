"""`reconciler apply`: shows the plan, asks, carries it out, and reports what was done and what was not."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from reconciler.cli.account.applying import ApplyRun, Manner
from reconciler.cli.account.backups import Backup
from reconciler.cli.account.planning import Selection, selection
from reconciler.cli.shared import common, exits
from reconciler.cli.shared.connecting import Connection, connection
from reconciler.cli.shared.option_groups import takes
from reconciler.cli.shared.reporting import Gathered, Reports, reports
from reconciler.cli.shared.screen import paper, say
from reconciler.cli.shared.several import over
from reconciler.cli.shared.value_option import Values
from reconciler.model.diagnostic import CannotContinue
from reconciler.report.codec.json import json_list

app = common.app()


@app.command(name="apply", epilog=exits.named(exits.REFUSED))
@takes(connection)
@takes(selection)
@takes(reports)
def apply_(
    paths: common.AnyPaths,
    reports: Reports,
    selection: Selection,
    connection: Connection,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    partial: Annotated[
        bool, typer.Option("--partial", help="Apply what does not depend on anything refused or unknown.")
    ] = False,
    backup: Backup = None,
    format_: Annotated[
        common.PlainFormat, typer.Option("--format", help="Tell what was done: text for people, json for tools.")
    ] = common.PlainFormat.TEXT,
    verbose: common.Verbose = False,
    no_color: common.NoColor = False,
) -> int:
    """Show the plan, ask for confirmation, and carry it out. PATHS may be one plan that `plan --out plan.json` saved."""
    if not yes and not sys.stdin.isatty():
        raise common.Misused(
            "There is no terminal to ask on. Look first with `reconciler plan "
            f"{selection.arguments(paths, connection)}`, then add --yes to apply without being asked."
        )
    look = paper(verbose=verbose, no_color=no_color)
    manner = Manner(yes=yes, partial=partial, format=format_, paper=look, reports=reports, backup=backup)
    if paths[0].suffix == ".json":
        from reconciler.cli.account.apply_saved import SavedRun  # noqa: PLC0415 - only for who saved a plan

        _alone(paths, selection)
        return asyncio.run(SavedRun(manner, paths[0], connection).through())
    together = replace(manner, reports=Gathered(wanted=reports.wanted), data=[])

    def one(values: Values, files: Sequence[Path]) -> int:
        run = ApplyRun(manner if files is paths and not selection.values.is_pattern else together)
        there, own = connection.in_environment(values, files), replace(selection, values=values)
        return asyncio.run(run.through(files, there.options(), own, lambda chosen: chosen.arguments(files, there)))

    return _one_by_one(over(paths, selection.values, one, *selection.of_one, (backup, "--backup")), together)


def _one_by_one(runs: Iterator[int | CannotContinue], together: Manner) -> int:
    """Apply one topology after the other. Once one has failed, none that follows is begun: it may depend on the failed
    one."""
    codes: list[int] = []
    try:
        for made in runs:
            codes.append(made if isinstance(made, int) else together.stopped(made))
            if codes[-1] in (exits.FAILED, exits.INTERRUPTED):
                break
    finally:
        if together.data:
            say(json_list(together.data))
    return exits.worst(codes)


def _alone(paths: Sequence[Path], selection: Selection) -> None:
    if len(paths) > 1:
        raise common.Misused(f"{paths[0]} is a saved plan; apply it alone, without other files.")
    if selection != Selection(only=(), exclude=(), allow=(), take_over=()):
        raise common.Misused(
            f"{paths[0]} is a saved plan; give --only, --exclude, --allow, --take-over, --revision and --value to "
            "the `plan` that saves it."
        )
