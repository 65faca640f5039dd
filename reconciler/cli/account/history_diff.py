"""`reconciler history diff`: what changed from one run to another. Changes nothing."""

from __future__ import annotations

from typing import Annotated

import typer

from reconciler.cli.account.history import run_number
from reconciler.cli.shared import common, exits
from reconciler.cli.shared.common import takes
from reconciler.cli.shared.connecting import Connection, connection
from reconciler.cli.shared.screen import paper, say
from reconciler.journeys.history.history import difference
from reconciler.journeys.history.json import difference_json
from reconciler.journeys.history.text import difference_text
from reconciler.report.words.paper import Paper
from reconciler.server.wire.api import JetStream

app = common.app()


@app.command(name="history diff")
@takes(connection)
def history_diff(
    connection: Connection,
    runs: Annotated[
        list[int] | None,
        typer.Argument(
            metavar="[RUN] [RUN]",
            parser=run_number,
            show_default=False,
            help="Between two numbers, since one number, or from the run before to the newest.",
        ),
    ] = None,
    topology: Annotated[
        str | None, typer.Option("--topology", metavar="NAME", help="Only runs of this topology.")
    ] = None,
    format_: common.ChosenPlainFormat = common.PlainFormat.TEXT,
    verbose: common.Verbose = False,
    no_color: common.NoColor = False,
) -> int:
    """Show what changed from one run to another: objects and fields, as they were applied."""
    numbers = runs or []
    if len(numbers) > 2:
        raise common.Misused("A difference is between two runs: write `history diff`, with at most two numbers.")
    if numbers and topology is not None:
        raise common.Misused("A number already names one run; leave out --topology.")
    sheet = paper(verbose=verbose, no_color=no_color) if format_ is common.PlainFormat.TEXT else None
    say(connection.ask(lambda js: _difference_report(js, numbers, topology, sheet)))
    return exits.FINE


async def _difference_report(js: JetStream, numbers: list[int], topology: str | None, sheet: Paper | None) -> str:
    """Write the difference between two runs for people; without paper, for tools."""
    diff = await difference(js, numbers, topology)
    return difference_text(diff, sheet) if sheet else difference_json(diff)
