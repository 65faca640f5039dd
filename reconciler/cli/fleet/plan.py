"""`reconciler fleet plan`: a plan for every target, several at a time. It is the one fleet command that needs no
Spark."""

from __future__ import annotations

import asyncio
import shlex
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from reconciler.cli.fleet.options import As, FleetFormat, Saying, Which, which
from reconciler.cli.fleet.running import check, document_of, say
from reconciler.cli.shared import common, exits
from reconciler.cli.shared.common import takes
from reconciler.cli.shared.reporting import Reports, reports
from reconciler.cli.shared.screen import paper
from reconciler.fleet.report.json import plans_json
from reconciler.fleet.report.plans import TargetPlan, plans_report
from reconciler.report.words.values import counted

if TYPE_CHECKING:
    from reconciler.fleet.accounts.targets import Fleet, FleetTarget

app = common.app()
Asked: TypeAlias = Sequence[tuple[str, str]]
"""Options and their values."""


@app.command(epilog=exits.named(exits.PENDING, exits.REFUSED))
@takes(which)
@takes(reports)
def plan(
    which: Which,
    reports: Reports,
    only: common.Only = None,
    exclude: common.Exclude = None,
    allow: common.Allow = None,
    at_once: Annotated[
        int, typer.Option("--at-once", min=1, max=64, help="How many targets to read at the same time.")
    ] = 8,
    exit_code: common.ExitCode = False,
    format_: As = FleetFormat.TEXT,
    no_color: common.NoColor = False,
) -> int:
    """Show the plan of every target. Changes nothing, and needs no Spark."""
    from reconciler.fleet.plan import plans  # noqa: PLC0415 - `--help` needs none of it
    from reconciler.model.run_options import RunOptions  # noqa: PLC0415

    check(reports)
    options = RunOptions(only=tuple(only or ()), exclude=tuple(exclude or ()), allow=common.consents(allow))
    chosen, saying, began = which.fleet(), Saying(), time.monotonic()
    of = counted(sum(bool(one.topology) for one in chosen.targets), "target")
    saying.often(f"Planning {of} …")
    try:
        made = asyncio.run(
            plans(chosen.targets, options, at_once, lambda done: saying.often(f"Planned {done} of {of} …"))
        )
    finally:
        saying.clear()
    name, seconds, look = chosen.name, time.monotonic() - began, paper(no_color=no_color)
    asked = [("--only", only), ("--exclude", exclude), ("--allow", allow)]
    following = tuple(
        _following(which.arguments(), chosen, made, [(option, one) for option, said in asked for one in said or ()])
    )
    say(
        reports, format_,
        document_of("plan", name, lambda: plans_report(name, made, seconds, following), lambda: plans_json(name, made), look),
    )  # fmt: skip
    return exits.of_plans((one.plan for one in made), pending=exit_code)


def _following(which: str, fleet: Fleet, made: Sequence[TargetPlan], asked: Asked) -> Iterator[str]:
    """Say how to apply them all, and one by itself. `asked` holds the selection and the consents."""
    ready = {one.target for one in made if one.plan and one.plan.exit_code == exits.FINE and not one.plan.is_empty}
    first = next((one for one in fleet.targets if one.name in ready), None)
    if first is None:
        return
    alone = f"`reconciler apply {arguments_of(first, asked)}`{_secret(first)}"
    if len(ready) == 1:
        yield f"Next: {alone}"
    else:
        options = shlex.join(part for pair in asked for part in pair)
        yield f"Next: `reconciler fleet apply {' '.join(filter(None, [which, options]))}`; one by itself, for example {first.name}: {alone}"


def arguments_of(target: FleetTarget, asked: Asked) -> str:
    """Return what a command about this target alone takes. Never a password or a token: they belong in NATS_PASSWORD and
    NATS_TOKEN, which `_secret` mentions."""
    said = target.settings
    options: list[tuple[str, str | None]] = [("--environment", target.environment)]
    options += [("--value", f"{name}={value}") for name, value in target.values.items()]
    options += [*asked]
    options += [("--context", said.context), ("--server", said.url), ("--creds", said.creds), ("--nkey", said.nkey)]
    options += [("--user", said.user), ("--js-domain", said.js_domain), ("--js-api-prefix", said.js_api_prefix)]
    options += [("--tlscert", said.cert), ("--tlskey", said.key), ("--tlsca", said.ca)]
    options += [("--inbox-prefix", said.inbox_prefix), ("--timeout", said.timeout)]
    parts = [*map(str, target.topology), *(part for name, value in options if value for part in (name, value))]
    flags = [("--no-context", said.no_context), ("--tlsfirst", said.tls_first)]
    return shlex.join([*parts, *(name for name, is_said in flags if is_said)])


def _secret(target: FleetTarget) -> str:
    said = {"NATS_PASSWORD": target.settings.password, "NATS_TOKEN": target.settings.token}
    wanted = " and ".join(name for name, value in said.items() if value)
    return f" (with {wanted} set)" if wanted else ""
