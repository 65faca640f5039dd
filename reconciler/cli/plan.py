"""`reconciler plan`: what would be changed, what is refused and why. Writes nothing, needs to read only."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from reconciler.cli import common, exits
from reconciler.cli.connecting import Connection, connection
from reconciler.cli.planning import Made, Selection, making, selection
from reconciler.cli.screen import paper, say
from reconciler.cli.sharing import takes
from reconciler.core.plan import Plan
from reconciler.report.json import plan_json
from reconciler.server.options import ConnectOptions

app = common.app()


class Format(StrEnum):
    TEXT = "text"
    JSON = "json"


@app.command(name="plan")
@takes(connection)
@takes(selection)
def plan_(
    paths: common.Paths,
    selection: Selection,
    connection: Connection,
    format_: Annotated[Format, typer.Option("--format", help="For people, or for tools.")] = Format.TEXT,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="Exit 2 when changes are pending.")] = False,
    verbose: common.Verbose = False,
    no_color: common.NoColor = False,
) -> int:
    """Show what would be changed in the account, what is refused and why. Changes nothing."""
    arguments = selection.arguments(paths, connection)
    made: list[Made] = []
    asyncio.run(_make(made, paths, connection.options(), selection, arguments))
    plan = made[0].planned.plan
    say(plan_json(plan) if format_ is Format.JSON else made[0].text(paper(verbose=verbose, no_color=no_color)))
    return code(plan, pending=exit_code)


async def _make(
    into: list[Made], paths: Sequence[Path], options: ConnectOptions, chosen: Selection, arguments: str
) -> None:
    """Returns nothing: asyncio writes out the whole of a main task's result while it puts the signals back."""
    async with making(paths, options, chosen, arguments) as (made, _js):
        into.append(made)


def code(plan: Plan, *, pending: bool) -> int:
    if plan.exit_code == exits.FINE and pending and not plan.is_empty:
        return exits.PENDING
    return plan.exit_code
