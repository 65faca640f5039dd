"""`reconciler history`: who applied what and when, newest first; with a number, one run in full; `diff`: what changed
between two runs. Changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from reconciler.cli.shared import common, exits
from reconciler.cli.shared.common import takes
from reconciler.cli.shared.connecting import Connection, connection
from reconciler.cli.shared.screen import paper, say
from reconciler.journeys.history.history import difference, history, stored_run
from reconciler.journeys.history.json import difference_json, history_json, run_json
from reconciler.journeys.history.text import difference_text, history_text, run_text
from reconciler.report.words.paper import Paper
from reconciler.server.wire.api import JetStream

app = common.app()


@app.command(name="history")
@takes(connection)
def history_(
    connection: Connection,
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RUN | diff [RUN] [RUN]]",
            show_default=False,
            help="A number shows that run in full. `diff` shows what changed from one run to another: between two numbers, "
            "since one number, or from the run before to the newest.",
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
    words = what or []
    is_diff = words[:1] == ["diff"]
    numbers = _run_numbers(words[1:] if is_diff else words, most=2 if is_diff else 1)
    if numbers and topology is not None:
        raise common.Misused("A number already names one run; leave out --topology.")
    sheet = paper(verbose=verbose, no_color=no_color) if format_ is common.PlainFormat.TEXT else None
    written = _difference_report if is_diff else _runs_report
    say(connection.ask(lambda js: written(js, numbers, topology, sheet)))
    return exits.FINE


def _run_numbers(words: Sequence[str], most: int) -> list[int]:
    if len(words) > most or not all(word.isdecimal() for word in words):
        line = " ".join(words)
        raise common.Misused(
            f"history {line}: write `history`, `history RUN`, or `history diff [RUN] [RUN]` with numbers."
        )
    return [int(word) for word in words]


async def _difference_report(js: JetStream, numbers: Sequence[int], topology: str | None, sheet: Paper | None) -> str:
    """Write the difference between two runs for people; without paper, for tools."""
    diff = await difference(js, numbers, topology)
    return difference_text(diff, sheet) if sheet else difference_json(diff)


async def _runs_report(js: JetStream, numbers: Sequence[int], topology: str | None, sheet: Paper | None) -> str:
    """Write one run, or all of them, for people; without paper, for tools."""
    if not numbers:
        runs = await history(js, topology)
        return history_text(runs, sheet) if sheet else history_json(runs)
    applied = await stored_run(js, numbers[0])
    return run_text(applied, sheet) if sheet else run_json(applied)
