"""`reconciler history`: who applied what and when, newest first; with a number, one run in full. Changes nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, TypeAlias

import typer

from reconciler.cli.shared import common, exits
from reconciler.cli.shared.common import takes
from reconciler.cli.shared.connecting import Connection, connection
from reconciler.cli.shared.screen import paper, say
from reconciler.journeys.history.history import history, stored_run
from reconciler.journeys.history.json import history_json, run_json
from reconciler.journeys.history.text import history_text, run_text
from reconciler.model.dataclass import dataclass
from reconciler.report.words.paper import Paper
from reconciler.server.wire.api import JetStream

app = common.new_app()


def run_number(text: str) -> int:
    """Parse the number of a run. Raises Misused where it is none."""
    if not text.isdecimal():
        raise common.Misused(f"{text}: write the number of a run, as `reconciler history` lists them.")
    return int(text)


Report: TypeAlias = Callable[[JetStream, Sequence[int], str | None, Paper | None], Awaitable[str]]
"""Writes about these runs, or those of this topology: for people, and without paper for tools."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryOptions:
    """Whose history is asked for, of which topology, and how it is written."""

    connection: Connection
    topology: str | None
    sheet: Paper | None

    def print_report(self, numbers: Sequence[int], report: Report) -> int:
        """Print the report about these runs, and return the exit code."""
        if numbers and self.topology is not None:
            raise common.Misused("A number already names one run; leave out --topology.")
        say(self.connection.ask(lambda js: report(js, numbers, self.topology, self.sheet)))
        return exits.FINE


@takes(connection)
def history_options(
    connection: Connection,
    topology: Annotated[
        str | None, typer.Option("--topology", metavar="NAME", help="Only runs of this topology.")
    ] = None,
    format_: common.ChosenPlainFormat = common.PlainFormat.TEXT,
    verbose: common.Verbose = False,
    no_color: common.NoColor = False,
) -> HistoryOptions:
    """Declare the options that both commands about the history have."""
    sheet = paper(verbose=verbose, no_color=no_color) if format_ is common.PlainFormat.TEXT else None
    return HistoryOptions(connection=connection, topology=topology, sheet=sheet)


@app.command(name="history")
@takes(history_options)
def history_(
    history_options: HistoryOptions,
    run: Annotated[
        int | None,
        typer.Argument(
            metavar="[RUN]",
            parser=run_number,
            show_default=False,
            help="The number of a run, which is then shown in full.",
        ),
    ] = None,
) -> int:
    """Show who applied what to this account and when, and how it ended. The newest 50 runs of each topology are kept.

    The number of a run is its revision in bucket `reconciler`, which counts every other write too: numbers have gaps.
    """
    return history_options.print_report([] if run is None else [run], _runs_report)


async def _runs_report(js: JetStream, numbers: Sequence[int], topology: str | None, sheet: Paper | None) -> str:
    """Write one run, or all of them."""
    if not numbers:
        runs = await history(js, topology)
        return history_text(runs, sheet, topology) if sheet else history_json(runs)
    applied = await stored_run(js, numbers[0])
    return run_text(applied, sheet) if sheet else run_json(applied)
