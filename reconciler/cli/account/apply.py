"""`reconciler apply`: shows the plan, asks, carries it out, and reports what was done and what was not."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from reconciler.cli.account.apply_run import ApplyRun, Manner
from reconciler.cli.account.backups import Backup
from reconciler.cli.account.many_applies import Applied, Together, code_of, is_failure, outcome_of
from reconciler.cli.account.planning import Selection, selection
from reconciler.cli.shared import common, exits
from reconciler.cli.shared.common import takes
from reconciler.cli.shared.connecting import Connection, connection
from reconciler.cli.shared.each_topology import (
    AT_ONCE,
    Only,
    Parallel,
    Unit,
    UnitRun,
    Work,
    environments,
    results,
    summed_up,
    units,
)
from reconciler.cli.shared.reporting import Reports, reports
from reconciler.cli.shared.screen import paper

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
    yes: common.Yes = False,
    partial: common.Partial = False,
    backup: Backup = None,
    stages: Annotated[
        str | None,
        typer.Option(
            "--stages",
            metavar="STAGE,…",
            help="Apply environments in stages, such as canary:5m,10%,rest: each must plan empty and stay without drift, for "
            "its time, before the next begins.",
        ),
    ] = None,
    parallel: Parallel = AT_ONCE,
    format_: common.OutcomeFormat = common.PlainFormat.TEXT,
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
    of_one = (*selection.of_one, (backup, "--backup"))
    if stages is not None:
        return _in_stages(stages, paths, selection, connection, manner, of_one, parallel)
    together = Together(manner)

    def begin() -> Work[Applied]:
        async def one(unit: Unit, files: Sequence[Path]) -> Applied:
            is_alone = files is unit.paths and not selection.values.is_pattern
            run = ApplyRun(manner if is_alone else together.of(unit))
            there, own = connection.in_environment(unit.values, files), replace(selection, values=unit.values)
            code = await run.through(files, there.options(), own, lambda chosen: chosen.arguments(files, there))
            return Applied(code=code, outcome=run.outcome)

        return one

    each = units(paths, selection.values, connection, *of_one)
    run = UnitRun(begin, at_once=parallel if yes else 1, ends=is_failure, hears=together.hears)
    return asyncio.run(_through(run, each, of_one, together))


async def _through(run: UnitRun[Applied], each: Sequence[Unit], of_one: Sequence[Only], together: Together) -> int:
    """Apply every topology. Once one has failed, none that was not begun is begun: it may depend on the failed one."""
    try:
        parts = await run.over(each, *of_one)
    finally:
        together.end()
    if said := summed_up(parts, outcome_of):
        together.say(f"\n{said}")
    return exits.worst(code_of(made) for made in results(parts))


def _in_stages(
    said: str, paths: Sequence[Path], selection: Selection, connection: Connection, manner: Manner, of_one: Sequence[Only],
    parallel: int,
) -> int:  # fmt: skip
    from reconciler.cli.account.staged_apply import Reached, Staged  # noqa: PLC0415 - only for who applies in stages

    common.never(
        *((is_said, f"--stages is for several environments, and {option} works on one; leave one of them out.")
          for is_said, option in of_one),
    )  # fmt: skip
    everywhere = replace(selection.values, environment=selection.values.environment or "*")
    if not everywhere.is_pattern:
        raise common.Misused(
            f"--stages divides several environments, and --environment {everywhere.environment} is one; write a pattern, "
            "or leave it out to apply all environments."
        )

    def reach(unit: Unit, files: Sequence[Path]) -> Reached:
        there = connection.in_environment(unit.values, files)
        return Reached(
            options=there.options(), chosen=replace(selection, values=unit.values),
            arguments=lambda chosen: chosen.arguments(files, there),
        )  # fmt: skip

    each = environments(paths, everywhere, connection)
    staged = Staged(units=each, reach=reach, manner=manner, stages=said, at_once=parallel)
    return asyncio.run(staged.through())


def _alone(paths: Sequence[Path], selection: Selection) -> None:
    if len(paths) > 1:
        raise common.Misused(f"{paths[0]} is a saved plan; apply it alone, without other files.")
    if selection != Selection(only=(), exclude=(), allow=(), take_over=()):
        raise common.Misused(
            f"{paths[0]} is a saved plan; give --only, --exclude, --allow, --take-over, --revision and --value to "
            "the `plan` that saves it."
        )
