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
from reconciler.cli.account.planning import Made, Selection
from reconciler.cli.account.staged_apply import Plans, Reached, Staged
from reconciler.cli.fleet.options import Which, which
from reconciler.cli.fleet.plan import arguments_of
from reconciler.cli.shared import common, exits
from reconciler.cli.shared.common import takes
from reconciler.cli.shared.each_topology import AT_ONCE, Unit
from reconciler.cli.shared.reporting import Reports, reports
from reconciler.cli.shared.screen import paper
from reconciler.cli.shared.value_option import Values
from reconciler.fleet.formats import text
from reconciler.fleet.report.plans import TargetPlan, plans_report
from reconciler.model.diagnostic import CannotContinue, Diagnostic
from reconciler.report.words.paper import Paper

if TYPE_CHECKING:
    from reconciler.fleet.accounts.targets import Fleet, FleetTarget

app = common.app()


@app.command(epilog=exits.named(exits.REFUSED))
@takes(which)
@takes(reports)
def apply(
    which: Which,
    reports: Reports,
    only: common.Only = None,
    exclude: common.Exclude = None,
    allow: common.Allow = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    partial: Annotated[
        bool, typer.Option("--partial", help="Apply what does not depend on anything refused or unknown.")
    ] = False,
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
    format_: Annotated[
        common.PlainFormat, typer.Option("--format", help="Tell what was done: text for people, json for tools.")
    ] = common.PlainFormat.TEXT,
    no_color: common.NoColor = False,
) -> int:
    """Show the plans of all targets, ask once, and carry them out. Needs no Spark."""
    chosen = which.fleet()
    if not yes and not sys.stdin.isatty():
        raise common.Misused(
            f"There is no terminal to ask on. Look first with `reconciler fleet plan {which.arguments()}`, then add "
            "--yes to apply without being asked."
        )
    look = paper(no_color=no_color)
    manner = Manner(yes=yes, partial=partial, format=format_, paper=look, reports=reports)
    selection = Selection(only=tuple(only or ()), exclude=tuple(exclude or ()), allow=tuple(allow or ()), take_over=())
    common.consents(allow)
    staged = Staged(
        units=_units(chosen), reach=_Reach(chosen, selection), manner=manner, stages=stages, at_once=parallel,
        word="target", overview=lambda plans: _overview(chosen, plans, look),
    )  # fmt: skip
    return asyncio.run(staged.through())


def _units(fleet: Fleet) -> list[Unit]:
    """Targets without a topology have nothing to apply. Raises Misused where there is no other."""
    found = [
        Unit(name=one.name, paths=one.topology, values=_values(one), labels=one.labels, place=_place(one))
        for one in fleet.targets
        if one.topology
    ]
    if not found:
        raise common.Misused(f"{fleet.file}: no target that was chosen has a `topology`, so there is nothing to apply.")
    return found


def _values(target: FleetTarget) -> Values:
    from reconciler.fleet.plan import ORIGIN  # noqa: PLC0415 - `--help` needs none of it

    given = tuple(target.values.items())
    return Values(given, environment=target.environment, needed=target.own, origin=ORIGIN)


def _place(target: FleetTarget) -> object:
    """What is wrong with it is said when it is worked on."""
    try:
        return target.options()
    except CannotContinue:
        return target.name


class _Reach:
    """How a target is reached: as the fleet file says, and not as any variable does."""

    def __init__(self, fleet: Fleet, selection: Selection) -> None:
        self._targets, self._selection = {one.name: one for one in fleet.targets}, selection

    def __call__(self, unit: Unit, _files: Sequence[Path]) -> Reached:
        from reconciler.fleet.plan import late_diagnostic  # noqa: PLC0415 - `--help` needs none of it

        target = self._targets[unit.name]
        return Reached(
            options=target.options(), chosen=replace(self._selection, values=unit.values),
            arguments=lambda chosen: arguments_of(target, _asked(chosen)), deadline=target.deadline,
            late=with_target(late_diagnostic, target),
        )  # fmt: skip


def _asked(chosen: Selection) -> list[tuple[str, str]]:
    said = (("--only", chosen.only), ("--exclude", chosen.exclude), ("--allow", chosen.allow))
    return [(option, one) for option, each in said for one in each]


def _overview(fleet: Fleet, plans: Plans, look: Paper) -> str:
    """Return what `fleet plan` shows: equal changes once, with the targets that have them."""
    found = [
        TargetPlan(target=part.unit.name, labels=part.unit.labels, plan=made.planned.plan, seconds=made.seconds)
        if isinstance(made, Made)
        else TargetPlan(target=part.unit.name, labels=part.unit.labels, problems=tuple(_own(part.unit, made)))
        for part in plans
        for made in part.results
    ]
    return text.render(plans_report(fleet.name, found, max(one.seconds for one in found)), look)


def _own(unit: Unit, problem: CannotContinue) -> Iterator[Diagnostic]:
    """The table names the target in the first column."""
    for one in problem.diagnostics:
        yield replace(one, message=one.message.removeprefix(f"{unit.name}: "))
