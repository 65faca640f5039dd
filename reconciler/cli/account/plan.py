"""`reconciler plan`: shows what would change, what is refused and why. It writes nothing and only needs to read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from reconciler.cli.account.planning import Made, Selection, making, selection
from reconciler.cli.shared import common, exits
from reconciler.cli.shared.common import takes
from reconciler.cli.shared.connecting import Connection, connection, result_of
from reconciler.cli.shared.each_topology import (
    AT_ONCE,
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
    exit_code: common.ExitCode = False,
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

    of_one = ((out, "--out"), *selection.of_one)
    each = units(paths, selection.values, connection, *of_one)
    parts = result_of(UnitRun(begin, at_once=parallel).over(each, *of_one))
    plans = [*results(parts)]
    if out is not None and isinstance(plans[0], Made):
        _save(plans[0], out, selection.files(paths))
    documents = (
        stopped("plan", made, look) if isinstance(made, CannotContinue) else made.document(look, applying=applying)
        for made in plans
    )
    reports.say(format_, *documents, ending=summed_up(parts, _outcome))
    return exits.of_plans((made.planned.plan if isinstance(made, Made) else None for made in plans), pending=exit_code)


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
        saving.save(saving.keep(made.planned, files), out)
    except OSError as error:
        raise common.cannot_write(out, error) from None
