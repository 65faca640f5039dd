"""`reconciler plan`: shows what would change, what is refused and why. It writes nothing and only needs to read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from reconciler.cli.account.planning import MadePlan, Selection, open_plan, selection
from reconciler.cli.account.shared_accounts import refuse_shared_accounts
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
    failure_document,
    results,
    summary_line,
    units,
)
from reconciler.cli.shared.reporting import ChosenFormat, ReportFormat, Reports, reports
from reconciler.cli.shared.screen import paper
from reconciler.model.diagnostic import CannotContinue

app = common.new_app()


@app.command(name="plan", epilog=exits.epilog(exits.PENDING, exits.REFUSED))
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
    sheet = paper(verbose=verbose, no_color=no_color)
    applying = (
        connection.for_environment(selection.values, paths).arguments(str(out), without_files=True) if out else None
    )

    def begin() -> Work[MadePlan]:
        before: MadePlan | None = None

        async def plan_unit(unit: Unit, files: Sequence[Path]) -> MadePlan:
            nonlocal before
            unit_connection = connection.for_environment(unit.values, files)
            unit_selection = replace(selection, values=unit.values, owners_named=unit.owners_named)
            async with open_plan(
                files,
                unit_connection.options(),
                unit_selection,
                lambda used: used.arguments(files, unit_connection),
                before,
            ) as (before, _js):
                return before

        return plan_unit

    single_options = ((out, "--out"), *selection.single_topology_options)
    all_units = units(paths, selection.values, connection, *single_options)
    parts = result_of(UnitRun(begin, at_once=parallel).run(all_units, *single_options))
    refuse_shared_accounts(parts)
    plans = [*results(parts)]
    if out is not None and isinstance(plans[0], MadePlan):
        _save(plans[0], out, selection.file_arguments(paths))
    documents = (
        failure_document("plan", made, sheet)
        if isinstance(made, CannotContinue)
        else made.document(sheet, applying=applying)
        for made in plans
    )
    reports.publish(format_, *documents, ending=summary_line(parts, _outcome_word))
    return exits.plans_exit_code(
        (made.planned.plan if isinstance(made, MadePlan) else None for made in plans), pending=exit_code
    )


def _outcome_word(part: UnitResults[MadePlan]) -> str:
    plans = [made.planned.plan for made in part.results if isinstance(made, MadePlan)]
    if len(plans) < len(part.results) or exits.FAILED in (plan.exit_code for plan in plans):
        return "failed"
    if any(plan.exit_code for plan in plans):
        return "refused"
    return "without changes" if all(plan.is_empty for plan in plans) else "with changes"


def _save(made: MadePlan, out: Path, files: Sequence[str]) -> None:
    from reconciler.journeys.saved import saving  # noqa: PLC0415 - only for who saves a plan

    try:
        saving.save(saving.to_saved(made.planned, files), out)
    except OSError as error:
        raise common.write_error(out, error) from None
