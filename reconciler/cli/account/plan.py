"""`reconciler plan`: shows what would change, what is refused and why. It writes nothing and only needs to read."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from reconciler.changes.plan import Plan
from reconciler.cli.account.planning import Made, Selection, making, selection
from reconciler.cli.shared import common, exits
from reconciler.cli.shared.common import takes
from reconciler.cli.shared.connecting import Connection, connection
from reconciler.cli.shared.each_topology import (
    AT_ONCE,
    Only,
    Parallel,
    Unit,
    UnitResults,
    UnitRun,
    Work,
    results,
    stopped,
    summed_up,
    units,
)
from reconciler.cli.shared.reporting import ChosenFormat, ReportFormat, Reports, reports
from reconciler.cli.shared.screen import paper
from reconciler.model.diagnostic import CannotContinue

app = common.app()


@app.command(name="plan", epilog=exits.named(exits.PENDING, exits.REFUSED))
@takes(connection)
@takes(selection)
@takes(reports)
def plan_(
    paths: common.AnyPaths,
    reports: Reports,
    selection: Selection,
    connection: Connection,
    format_: ChosenFormat = ReportFormat.TEXT,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE.json", help="Save the plan, so that `apply` carries out exactly this."
        ),
    ] = None,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="Exit 2 when changes are pending.")] = False,
    parallel: Parallel = AT_ONCE,
    verbose: common.Verbose = False,
    no_color: common.NoColor = False,
) -> int:
    """Show what an apply would change in the account, what is refused, and why. Changes nothing."""
    if out is not None and out.suffix != ".json":
        raise common.Misused(
            f"--out {out}: write a name that ends in .json, because `apply` recognises a saved plan by that."
        )
    look = paper(verbose=verbose, no_color=no_color)
    applying = (
        connection.in_environment(selection.values, paths).arguments(str(out), without_files=True) if out else None
    )

    def begin() -> Work[Made]:
        chosen = selection

        async def one(unit: Unit, files: Sequence[Path]) -> Made:
            nonlocal chosen
            there, own = connection.in_environment(unit.values, files), replace(chosen, values=unit.values)
            async with making(files, there.options(), own, lambda used: used.arguments(files, there)) as (made, _js):
                chosen = chosen.after(made.planned.plan)
                return made

        return one

    parts = list[UnitResults[Made]]()
    asyncio.run(_all(parts, UnitRun(begin, at_once=parallel), paths, selection, connection, (out, "--out")))
    found = [*results(parts)]
    if out is not None and isinstance(found[0], Made):
        _save(found[0], out, selection.files(paths))
    told = (
        stopped("plan", one, look) if isinstance(one, CannotContinue) else one.document(look, applying=applying)
        for one in found
    )
    reports.say(format_, *told, ending=summed_up(parts, _outcome))
    plans = (None if isinstance(one, CannotContinue) else one.planned.plan for one in found)
    return exits.worst(code(plan, pending=exit_code) if plan else exits.FAILED for plan in plans)


async def _all(
    into: list[UnitResults[Made]], run: UnitRun[Made], paths: Sequence[Path], selection: Selection, connection: Connection, *of_one: Only
) -> None:  # fmt: skip
    """Returns nothing: asyncio writes out a main task's whole result when it restores the signal handlers."""
    of_one = (*of_one, *selection.of_one)
    into += await run.over(units(paths, selection.values, connection, *of_one), *of_one)


def _outcome(part: UnitResults[Made]) -> str:
    plans = [one.planned.plan for one in part.results if isinstance(one, Made)]
    if len(plans) < len(part.results) or exits.FAILED in (one.exit_code for one in plans):
        return "failed"
    if any(one.exit_code for one in plans):
        return "refused"
    return "without changes" if all(one.is_empty for one in plans) else "with changes"


def _save(made: Made, out: Path, files: Sequence[str]) -> None:
    from reconciler.journeys.saved import saving  # noqa: PLC0415 - only for who saves a plan

    try:
        saving.save(saving.to_saved(made.planned, files), out)
    except OSError as error:
        raise common.cannot_write(out, error) from None


def code(plan: Plan, *, pending: bool) -> int:
    """Return the exit code of the plan; with `pending`, 2 in place of 0 where there is something to apply."""
    if plan.exit_code == exits.FINE and pending and not plan.is_empty:
        return exits.PENDING
    return plan.exit_code
