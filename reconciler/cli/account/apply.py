"""`reconciler apply`: shows the plan, asks, carries it out, and reports what was done and what was not."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial as with_unit
from pathlib import Path
from typing import Annotated

import typer

from reconciler.cli.account.apply_run import ApplyRun, Manner
from reconciler.cli.account.backups import Backup
from reconciler.cli.account.many_applies import (
    ApplyResult,
    ManyApplies,
    is_failure,
    is_refused,
    not_begun_line,
    topology_exit_code,
    unit_outcome_words,
)
from reconciler.cli.account.planning import Selection, selection
from reconciler.cli.account.shared_accounts import Claims, refuse_shared_places
from reconciler.cli.shared import common, exits
from reconciler.cli.shared.common import takes
from reconciler.cli.shared.connecting import Connection, connection
from reconciler.cli.shared.each_topology import (
    AT_ONCE,
    Parallel,
    SingleOption,
    Unit,
    UnitRun,
    Work,
    environments,
    results,
    summary_line,
    units,
)
from reconciler.cli.shared.reporting import Reports, reports
from reconciler.cli.shared.screen import paper

app = common.new_app()


@app.command(name="apply", epilog=exits.epilog(exits.REFUSED))
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
    sheet = paper(verbose=verbose, no_color=no_color)
    manner = Manner(yes=yes, partial=partial, format=format_, paper=sheet, reports=reports, backup=backup)
    if paths[0].suffix == ".json":
        from reconciler.cli.account.apply_saved import SavedRun  # noqa: PLC0415 - only for who saved a plan

        _check_saved_plan_alone(paths, selection)
        return asyncio.run(SavedRun(manner, paths[0], connection).run())
    single_options = (*selection.single_topology_options, (backup, "--backup"))
    if stages is not None:
        return _apply_in_stages(stages, paths, selection, connection, manner, single_options, parallel)
    many_applies, claims = ManyApplies(manner), Claims()

    def begin() -> Work[ApplyResult]:
        async def apply_unit(unit: Unit, files: Sequence[Path]) -> ApplyResult:
            is_alone = files is unit.paths and not selection.values.is_pattern
            unit_manner = manner if is_alone else many_applies.manner_of(unit)
            apply_run = (
                ApplyRun(unit_manner, with_unit(claims.add, unit), with_unit(claims.renew, unit))
                if len(all_units) > 1
                else ApplyRun(unit_manner)
            )
            unit_connection = connection.for_environment(unit.values, files)
            unit_selection = replace(selection, values=unit.values, owners_named=unit.owners_named)
            code = await apply_run.plan_and_apply(
                files, unit_connection.options(), unit_selection, lambda used: used.arguments(files, unit_connection)
            )
            return ApplyResult(code=code, outcome=apply_run.outcome)

        return apply_unit

    all_units = units(paths, selection.values, connection, *single_options)
    refuse_shared_places(all_units)
    unit_run = UnitRun(
        begin, at_once=parallel if yes else 1, ends=is_failure, on_problem=many_applies.report_problem,
        ends_unit=(lambda _: False) if partial else is_refused,
    )  # fmt: skip
    return asyncio.run(_apply_all(unit_run, all_units, single_options, many_applies))


async def _apply_all(
    unit_run: UnitRun[ApplyResult],
    all_units: Sequence[Unit],
    single_options: Sequence[SingleOption],
    many_applies: ManyApplies,
) -> int:
    """Apply every topology. Once one has failed, none that was not begun is begun: it may depend on the failed one. Once
    one is refused, none of the same account is, unless --partial was given."""
    try:
        parts = await unit_run.run(all_units, *single_options)
    finally:
        many_applies.print_document()
    for part in parts:
        many_applies.print_text(not_begun_line(part))
    if summary := summary_line(parts, unit_outcome_words):
        many_applies.print_text(f"\n{summary}")
    return exits.worst(topology_exit_code(result) for result in results(parts))


def _apply_in_stages(
    stages: str, paths: Sequence[Path], selection: Selection, connection: Connection, manner: Manner,
    single_options: Sequence[SingleOption], parallel: int,
) -> int:  # fmt: skip
    from reconciler.cli.account.staged_apply import StagedApply, TopologyAccess  # noqa: PLC0415 - only for who applies in stages

    common.refuse_if_any(
        *((is_given, f"--stages is for several environments, and {option} works on one; leave one of them out.")
          for is_given, option in single_options),
    )  # fmt: skip
    values = replace(selection.values, environment=selection.values.environment or "*")
    if not values.is_pattern:
        raise common.Misused(
            f"--stages divides several environments, and --environment {values.environment} is one; write a pattern, "
            "or leave it out to apply all environments."
        )

    def reach(unit: Unit, files: Sequence[Path]) -> TopologyAccess:
        unit_connection = connection.for_environment(unit.values, files)
        return TopologyAccess(
            options=unit_connection.options(), chosen=replace(selection, values=unit.values, owners_named=unit.owners_named),
            arguments=lambda used: used.arguments(files, unit_connection),
        )  # fmt: skip

    all_units = environments(paths, values, connection)
    staged = StagedApply(units=all_units, reach=reach, manner=manner, stages=stages, at_once=parallel)
    return asyncio.run(staged.run())


def _check_saved_plan_alone(paths: Sequence[Path], selection: Selection) -> None:
    if len(paths) > 1:
        raise common.Misused(f"{paths[0]} is a saved plan; apply it alone, without other files.")
    if selection != Selection(only=(), exclude=(), allow=(), take_over=()):
        raise common.Misused(
            f"{paths[0]} is a saved plan; give --only, --exclude, --allow, --take-over, --revision, --value, --values and "
            "--environment to the `plan` that saves it."
        )
