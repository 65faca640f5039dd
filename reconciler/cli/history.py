"""`reconciler history`: who applied what and when, newest first; with a number, one run in full. Changes nothing."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from reconciler.cli import common, exits
from reconciler.cli.connecting import Connection, connection
from reconciler.cli.screen import paper, say
from reconciler.cli.sharing import takes
from reconciler.report import history as report
from reconciler.report.paper import Paper
from reconciler.workflow import history as asking

app = common.app()


@app.command(name="history")
@takes(connection)
def history_(
    connection: Connection,
    run: Annotated[int | None, typer.Argument(metavar="RUN", help="Its number: show it in full.")] = None,
    topology: Annotated[str | None, typer.Option("--topology", metavar="NAME", help="Only runs of this one.")] = None,
    format_: Annotated[common.Format, typer.Option("--format", help="For people, or for tools.")] = common.Format.TEXT,
    verbose: common.Verbose = False,
    no_color: common.NoColor = False,
) -> int:
    """Show who applied what to this account and when, and what became of it. The newest 50 runs are kept."""
    if run is not None and topology is not None:
        raise common.Misused("A number says which run it is; leave out --topology.")
    look = paper(verbose=verbose, no_color=no_color)
    say(asyncio.run(_said(connection, run, topology, None if format_ is common.Format.JSON else look)))
    return exits.FINE


async def _said(connection: Connection, number: int | None, topology: str | None, look: Paper | None) -> str:
    """Without paper: for tools."""
    async with connection.open() as js:
        if number is None:
            runs = await asking.history(js, topology)
            return report.history_text(runs, look) if look else report.history_json(runs)
        one = await asking.run(js, number)
        return report.run_text(one, look) if look else report.run_json(one)
