"""`reconciler history`: who applied what and when, newest first; with a number, one run in full. Changes nothing."""

from __future__ import annotations

from typing import Annotated

import typer

from reconciler.cli.shared import common, exits
from reconciler.cli.shared.common import takes
from reconciler.cli.shared.connecting import Connection, connection
from reconciler.cli.shared.screen import paper, say
from reconciler.journeys.history.history import history, stored_run
from reconciler.journeys.history.json import history_json, run_json
from reconciler.journeys.history.text import history_text, run_text
from reconciler.report.words.paper import Paper
from reconciler.server.wire.api import JetStream

app = common.app()


def run_number(text: str) -> int:
    """Parse the number of a run. Raises Misused where it is none."""
    if not text.isdecimal():
        raise common.Misused(f"{text}: write the number of a run, as `reconciler history` lists them.")
    return int(text)


@app.command(name="history")
@takes(connection)
def history_(
    connection: Connection,
    run: Annotated[
        int | None,
        typer.Argument(
            metavar="[RUN]",
            parser=run_number,
            show_default=False,
            help="The number of a run, which is then shown in full.",
        ),
    ] = None,
    topology: Annotated[
        str | None, typer.Option("--topology", metavar="NAME", help="Only runs of this topology.")
    ] = None,
    format_: common.ChosenPlainFormat = common.PlainFormat.TEXT,
    verbose: common.Verbose = False,
    no_color: common.NoColor = False,
) -> int:
    """Show who applied what to this account and when, and how it ended. The newest 50 runs of each topology are kept.

    The number of a run is its revision in bucket `reconciler`, which counts every other write too: numbers have gaps.
    """
    if run is not None and topology is not None:
        raise common.Misused("A number already names one run; leave out --topology.")
    sheet = paper(verbose=verbose, no_color=no_color) if format_ is common.PlainFormat.TEXT else None
    say(connection.ask(lambda js: _runs_report(js, run, topology, sheet)))
    return exits.FINE


async def _runs_report(js: JetStream, run: int | None, topology: str | None, sheet: Paper | None) -> str:
    """Write one run, or all of them, for people; without paper, for tools."""
    if run is None:
        runs = await history(js, topology)
        return history_text(runs, sheet, topology) if sheet else history_json(runs)
    applied = await stored_run(js, run)
    return run_text(applied, sheet) if sheet else run_json(applied)
