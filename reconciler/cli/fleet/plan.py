"""`reconciler fleet plan`: a plan for every target, several at a time. It is the one fleet command that needs no
Spark."""

from __future__ import annotations

import asyncio
import shlex
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from reconciler.cli.fleet.options import FleetFormat, FleetSelection, Format, ProgressLine, fleet_selection
from reconciler.cli.fleet.running import check_formats
from reconciler.cli.shared import common, exits
from reconciler.cli.shared.common import takes
from reconciler.cli.shared.reporting import ReportFormat, Reports, reports, with_meanings
from reconciler.cli.shared.screen import paper
from reconciler.engine.idle_patterns import is_idle
from reconciler.fleet.report.json import fleet_plan_document
from reconciler.fleet.report.plans import TargetPlan, plans_report
from reconciler.report.words.values import counted

if TYPE_CHECKING:
    from reconciler.fleet.accounts.targets import Fleet, FleetTarget

app = common.new_app()
OptionValues: TypeAlias = Sequence[tuple[str, str]]
"""Options and their values."""


@app.command(epilog=exits.epilog(exits.PENDING, exits.REFUSED))
@takes(fleet_selection)
@takes(reports)
def plan(
    fleet_selection: FleetSelection,
    reports: Reports,
    only: common.Only = None,
    exclude: common.Exclude = None,
    allow: common.Allow = None,
    at_once: Annotated[
        int, typer.Option("--at-once", min=1, max=64, help="How many targets to read at the same time.")
    ] = 8,
    exit_code: common.ExitCode = False,
    format_: Format = FleetFormat.TEXT,
    no_color: common.NoColor = False,
) -> int:
    """Show the plan of every target. Changes nothing, and needs no Spark."""
    from reconciler.fleet.plan import plans  # noqa: PLC0415 - `--help` needs none of it
    from reconciler.model.run_options import RunOptions  # noqa: PLC0415

    check_formats(reports)
    options = RunOptions(
        only=tuple(only or ()), exclude=tuple(exclude or ()), allow=common.parse_consents(allow), may_match_nothing=True,
    )  # fmt: skip
    fleet, progress_line, began = fleet_selection.fleet(), ProgressLine(), time.monotonic()
    targets = counted(sum(bool(target.topology) for target in fleet.targets), "target")
    progress_line.show_transient(f"Planning {targets} …")
    try:
        target_plans = asyncio.run(
            plans(
                fleet.targets,
                options,
                at_once,
                lambda done: progress_line.show_transient(f"Planned {done} of {targets} …"),
            )
        )
    finally:
        progress_line.clear()
    name, seconds, sheet = fleet.name, time.monotonic() - began, paper(no_color=no_color)
    given = (("--only", only), ("--exclude", exclude), ("--allow", allow))
    repeated = [(option, value) for option, values in given for value in values or ()]
    following = tuple(_next_command_lines(fleet_selection.arguments(), fleet, target_plans, repeated))
    report = plans_report(name, target_plans, seconds, following)
    reports.publish(
        ReportFormat(format_), with_meanings(replace(report, data=fleet_plan_document(name, target_plans), paper=sheet))
    )
    return exits.plans_exit_code((planned.plan for planned in target_plans), pending=exit_code)


def _next_command_lines(
    arguments: str, fleet: Fleet, target_plans: Sequence[TargetPlan], repeated: OptionValues
) -> Iterator[str]:
    """Say how to apply them all, and one by itself. `repeated` holds the selection and the consents."""
    ready = {
        planned.target: planned.plan
        for planned in target_plans
        if planned.plan and planned.plan.exit_code == exits.FINE and not planned.plan.is_empty
    }
    first = next((target for target in fleet.targets if target.name in ready), None)
    if first is None:
        return
    matching = [given for given in repeated if not is_idle(*given, ready[first.name].diagnostics)]
    alone = f"{_secrets_note(first)}: reconciler apply {target_arguments(first, matching)}"
    if len(ready) == 1:
        yield f"Next{alone}"
    else:
        options = shlex.join(part for pair in repeated for part in pair)
        yield f"Next: reconciler fleet apply {' '.join(filter(None, [arguments, options]))}"
        yield f"One by itself, for example {first.name}{alone}"


def target_arguments(target: FleetTarget, repeated: OptionValues) -> str:
    """Return what a command about this target alone takes. Never a password or a token: they belong in NATS_PASSWORD and
    NATS_TOKEN, which `_secrets_note` mentions."""
    settings = target.settings
    options: list[tuple[str, str | None]] = [("--environment", target.environment)]
    options += [("--value", f"{name}={value}") for name, value in target.values.items()]
    options += [*repeated]
    options += [("--context", settings.context), ("--server", settings.url), ("--creds", settings.creds)]
    options += [("--nkey", settings.nkey), ("--user", settings.user)]
    options += [("--js-domain", settings.js_domain), ("--js-api-prefix", settings.js_api_prefix)]
    options += [("--tlscert", settings.cert), ("--tlskey", settings.key), ("--tlsca", settings.ca)]
    options += [("--inbox-prefix", settings.inbox_prefix), ("--timeout", settings.timeout)]
    parts = [*map(str, target.topology), *(part for name, value in options if value for part in (name, value))]
    flags = [("--no-context", settings.no_context), ("--tlsfirst", settings.tls_first)]
    return shlex.join([*parts, *(name for name, is_set in flags if is_set)])


def _secrets_note(target: FleetTarget) -> str:
    secrets = {"NATS_PASSWORD": target.settings.password, "NATS_TOKEN": target.settings.token}
    names = " and ".join(name for name, value in secrets.items() if value)
    return f" (with {names} set)" if names else ""
