"""`reconciler history`: who applied what and when, newest first; with a number, one run in full; `diff`: what changed
between two runs. Changes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated

import typer

from reconciler.cli.shared import common, exits
from reconciler.cli.shared.common import takes
from reconciler.cli.shared.connecting import Connection, connection
from reconciler.cli.shared.screen import paper, say
from reconciler.journeys.history import history as asking
from reconciler.journeys.history import text as report
from reconciler.journeys.history.text import difference_json, difference_text
from reconciler.report.words.paper import Paper

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
    format_: Annotated[
        common.PlainFormat, typer.Option("--format", help=common.PLAIN_FORMAT_HELP)
    ] = common.PlainFormat.TEXT,
    verbose: common.Verbose = False,
    no_color: common.NoColor = False,
) -> int:
    """Show who applied what to this account and when, and how it ended. The newest 50 runs of each topology are kept."""
    words = what or []
    numbers = _numbers(words[1:] if words[:1] == ["diff"] else words, most=2 if words[:1] == ["diff"] else 1)
    if numbers and topology is not None:
        raise common.Misused("A number already names one run; leave out --topology.")
    look = paper(verbose=verbose, no_color=no_color) if format_ is common.PlainFormat.TEXT else None
    told = _difference(connection, numbers, topology, look) if words[:1] == ["diff"] else None
    say(asyncio.run(told or _said(connection, numbers, topology, look)))
    return exits.FINE


def _numbers(words: Sequence[str], most: int) -> list[int]:
    if len(words) > most or not all(word.isdecimal() for word in words):
        said = " ".join(words)
        raise common.Misused(
            f"history {said}: write `history`, `history RUN`, or `history diff [RUN] [RUN]` with numbers."
        )
    return [int(word) for word in words]


async def _difference(connection: Connection, numbers: Sequence[int], topology: str | None, look: Paper | None) -> str:
    async with connection.open() as js:
        found = await asking.difference(js, numbers, topology)
    return difference_text(found, look) if look else difference_json(found)


async def _said(connection: Connection, numbers: Sequence[int], topology: str | None, look: Paper | None) -> str:
    """Format without paper, for tools."""
    async with connection.open() as js:
        if not numbers:
            runs = await asking.history(js, topology)
            return report.history_text(runs, look) if look else report.history_json(runs)
        one = await asking.stored_run(js, numbers[0])
        return report.run_text(one, look) if look else report.run_json(one)
