"""`reconciler plan`: shows what would change, what is refused and why. It writes nothing and only needs to read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from reconciler.changes.plan import Plan
from reconciler.cli.account.planning import Made, Selection, making, selection
from reconciler.cli.shared import common, exits
from reconciler.cli.shared.connecting import Connection, connection
from reconciler.cli.shared.option_groups import takes
from reconciler.cli.shared.reporting import ChosenFormat, ReportFormat, Reports, reports
from reconciler.cli.shared.screen import paper
from reconciler.cli.shared.several import over, stopped
from reconciler.cli.shared.value_option import Values
from reconciler.model.diagnostic import CannotContinue
from reconciler.server.connect.options import ConnectOptions

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

    def one(values: Values, files: Sequence[Path]) -> Made:
        nonlocal selection
        there, made = connection.in_environment(values, files), list[Made]()
        own = replace(selection, values=values)
        asyncio.run(_make(made, files, there.options(), own, lambda chosen: chosen.arguments(files, there)))
        selection = selection.after(made[0].planned.plan)
        return made[0]

    found = [*over(paths, selection.values, one, (out, "--out"), *selection.of_one)]
    if out is not None and isinstance(found[0], Made):
        _save(found[0], out, selection.files(paths))
    told = (
        stopped("plan", one, look) if isinstance(one, CannotContinue) else one.document(look, applying=applying)
        for one in found
    )
    reports.say(format_, *told)
    plans = (None if isinstance(one, CannotContinue) else one.planned.plan for one in found)
    return exits.worst(code(plan, pending=exit_code) if plan else exits.FAILED for plan in plans)


def _save(made: Made, out: Path, files: Sequence[str]) -> None:
    from reconciler.journeys.saved import plans as saved  # noqa: PLC0415 - only for who saves a plan

    try:
        saved.save(saved.keep(made.planned, files), out)
    except OSError as error:
        raise common.cannot_write(out, error) from None


async def _make(
    into: list[Made],
    paths: Sequence[Path],
    options: ConnectOptions,
    chosen: Selection,
    arguments: Callable[[Selection], str],
) -> None:
    """Returns nothing: asyncio writes out a main task's whole result when it restores the signal handlers."""
    async with making(paths, options, chosen, arguments) as (made, _js):
        into.append(made)


def code(plan: Plan, *, pending: bool) -> int:
    """Return the exit code of the plan; with `pending`, 2 in place of 0 where there is something to apply."""
    if plan.exit_code == exits.FINE and pending and not plan.is_empty:
        return exits.PENDING
    return plan.exit_code
