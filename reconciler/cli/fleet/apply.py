"""`reconciler fleet apply`: one apply over the targets of a fleet, several at a time, and in stages. It needs no Spark."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial as with_target
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reconciler.cli.account.apply_run import Manner
from reconciler.cli.account.planning import MadePlan, Selection
from reconciler.cli.account.staged_apply import Plans, StagedApply, TopologyAccess
from reconciler.cli.fleet.options import FleetSelection, fleet_selection
from reconciler.cli.fleet.plan import target_arguments
from reconciler.cli.shared import common, exits
from reconciler.cli.shared.common import takes
from reconciler.cli.shared.each_topology import AT_ONCE, Unit
from reconciler.cli.shared.reporting import Reports, reports
from reconciler.cli.shared.screen import paper
from reconciler.cli.shared.value_option import Values
from reconciler.fleet.report.plans import TargetPlan, plans_report
from reconciler.model.diagnostic import CannotContinue, Diagnostic
from reconciler.report import text
from reconciler.report.words.paper import Paper

if TYPE_CHECKING:
    from reconciler.fleet.accounts.targets import Fleet, FleetTarget

app = common.new_app()


@app.command(epilog=exits.epilog(exits.REFUSED))
@takes(fleet_selection)
@takes(reports)
def apply(
    fleet_selection: FleetSelection,
    reports: Reports,
    only: common.Only = None,
    exclude: common.Exclude = None,
    allow: common.Allow = None,
    yes: common.Yes = False,
    partial: common.Partial = False,
    stages: Annotated[
        str | None,
        typer.Option(
            "--stages",
            metavar="STAGE,…",
            help="Apply in stages, such as tier=canary:5m,10%,rest: each must plan empty and stay without drift, for its "
            "time, before the next begins.",
        ),
    ] = None,
    parallel: Annotated[
        int, typer.Option("--parallel", metavar="N", min=1, max=64, help="How many targets to work on at a time.")
    ] = AT_ONCE,
    format_: common.OutcomeFormat = common.PlainFormat.TEXT,
    no_color: common.NoColor = False,
) -> int:
    """Show the plans of all targets, ask once, and carry them out. Needs no Spark."""
    fleet = fleet_selection.fleet()
    if not yes and not sys.stdin.isatty():
        raise common.Misused(
            f"There is no terminal to ask on. Look first with `reconciler fleet plan {fleet_selection.arguments()}`, then add "
            "--yes to apply without being asked."
        )
    sheet = paper(no_color=no_color)
    manner = Manner(yes=yes, partial=partial, format=format_, paper=sheet, reports=reports)
    selection = Selection(
        only=tuple(only or ()), exclude=tuple(exclude or ()), allow=tuple(allow or ()), take_over=(), may_match_nothing=True,
    )  # fmt: skip
    common.parse_consents(allow)
    staged = StagedApply(
        units=_units(fleet), reach=_AccessByTarget(fleet, selection), manner=manner, stages=stages, at_once=parallel,
        word="target", overview=lambda plans: _overview_text(fleet, plans, sheet),
    )  # fmt: skip
    return asyncio.run(staged.run())


def _units(fleet: Fleet) -> list[Unit]:
    """Return the targets with a topology; others have nothing to apply. Raises Misused where there are none."""
    units = [_unit(target) for target in fleet.targets if target.topology]
    if not units:
        raise common.Misused(f"{fleet.file}: no target that was chosen has a `topology`, so there is nothing to apply.")
    return units


def _unit(target: FleetTarget) -> Unit:
    values, place = _target_values(target), _target_place(target)
    return Unit(
        name=target.name, paths=target.topology, values=values, labels=target.labels, place=place, is_one_topology=True
    )


def _target_values(target: FleetTarget) -> Values:
    from reconciler.fleet.plan import ORIGIN  # noqa: PLC0415 - `--help` needs none of it

    given = tuple(target.values.items())
    return Values(given, environment=target.environment, needed=target.own, origin=ORIGIN, places=target.value_places)


def _target_place(target: FleetTarget) -> object:
    """Return its server, or its name where settings are wrong, which is reported when the target is worked on."""
    try:
        return target.options()
    except CannotContinue:
        return target.name


class _AccessByTarget:
    """How a target is reached: as the fleet file says, and not as any variable does."""

    def __init__(self, fleet: Fleet, selection: Selection) -> None:
        self._targets, self._selection = {target.name: target for target in fleet.targets}, selection

    def __call__(self, unit: Unit, _files: Sequence[Path]) -> TopologyAccess:
        from reconciler.fleet.plan import deadline_diagnostic  # noqa: PLC0415 - `--help` needs none of it

        target = self._targets[unit.name]
        return TopologyAccess(
            options=target.options(), chosen=replace(self._selection, values=unit.values, owners_named=unit.owners_named),
            arguments=lambda used: target_arguments(target, _selected_options(used)), deadline=target.deadline,
            late=with_target(deadline_diagnostic, target),
        )  # fmt: skip


def _selected_options(selection: Selection) -> list[tuple[str, str]]:
    patterns = (("--only", selection.only), ("--exclude", selection.exclude), ("--allow", selection.allow))
    return [(option, value) for option, values in patterns for value in values]


def _overview_text(fleet: Fleet, plans: Plans, sheet: Paper) -> str:
    """Return what `fleet plan` shows: equal changes once, with the targets that have them."""
    plans_of_targets = [
        TargetPlan(target=part.unit.name, labels=part.unit.labels, plan=made.planned.plan, seconds=made.seconds)
        if isinstance(made, MadePlan)
        else TargetPlan(
            target=part.unit.name, labels=part.unit.labels, problems=tuple(_without_target_name(part.unit, made))
        )
        for part in plans
        for made in part.results
    ]
    seconds = max(target_plan.seconds for target_plan in plans_of_targets)
    return text.render(replace(plans_report(fleet.name, plans_of_targets, seconds), paper=sheet))


def _without_target_name(unit: Unit, problem: CannotContinue) -> Iterator[Diagnostic]:
    """Yield its diagnostics without the target, which the table names in the first column."""
    for diagnostic in problem.diagnostics:
        yield replace(diagnostic, message=diagnostic.message.removeprefix(f"{unit.name}: "))
