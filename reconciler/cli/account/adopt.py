"""`reconciler adopt`: records that this topology owns what is live, without touching it."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from reconciler.changes.events import Finished
from reconciler.cli.account.apply_run import followed
from reconciler.cli.account.planning import Made, Selection, making
from reconciler.cli.shared import common, exits
from reconciler.cli.shared.common import takes
from reconciler.cli.shared.connecting import Connection, connection
from reconciler.cli.shared.screen import is_agreed, paper, say, tell
from reconciler.cli.shared.value_option import Values, values
from reconciler.journeys.adopt import Adoption, adoption
from reconciler.journeys.plan.plan import Planned
from reconciler.report.formats import FORMATS
from reconciler.report.words.diagnostics import report
from reconciler.report.words.paper import Paper
from reconciler.report.words.values import counted
from reconciler.server.connect.options import ConnectOptions

app = common.app()


@app.command(name="adopt", epilog=exits.named(exits.REFUSED))
@takes(connection)
@takes(values)
def adopt_(
    paths: common.Paths,
    connection: Connection,
    values: Values,
    only: common.Only = None,
    exclude: common.Exclude = None,
    take_over: common.TakeOver = None,
    as_is: Annotated[
        bool,
        typer.Option(
            "--as-is", help="Adopt as well what differs from the file, as it is live. The difference is pending then."
        ),
    ] = False,
    yes: common.Yes = False,
    verbose: common.Verbose = False,
    no_color: common.NoColor = False,
) -> int:
    """Record what is declared and live as this topology's. No object is touched: only bucket `reconciler` is written.

    If anything differs from the file, nothing is adopted, and the difference is shown (exit 4).
    """
    chosen = Selection(
        only=tuple(only or ()), exclude=tuple(exclude or ()), allow=(), take_over=tuple(take_over or ()),
        values=values,
    )  # fmt: skip
    connection = connection.in_environment(values, paths)
    arguments = chosen.arguments(paths, connection)
    if not yes and not sys.stdin.isatty():
        raise common.Misused("There is no terminal to ask on; add --yes to adopt without being asked.")
    run = _Run(as_is=as_is, yes=yes, look=paper(verbose=verbose, no_color=no_color), arguments=arguments)
    return asyncio.run(run.through(paths, connection.options(), chosen))


class _Run:
    def __init__(self, *, as_is: bool, yes: bool, look: Paper, arguments: str) -> None:
        self._as_is, self._yes, self._look, self._arguments = as_is, yes, look, arguments

    async def through(self, paths: list[Path], options: ConnectOptions, chosen: Selection) -> int:
        async with making(paths, options, chosen, lambda _: self._arguments) as (made, js):
            found = adoption(made.planned, as_is=self._as_is)
            if found.differing.plan.changes:
                return self._refused(made, found)
            if not found.count:
                say(f"Nothing to adopt: this topology owns every declared object.{self._later(found)}\n")
                return exits.FINE
            self._show(made, found.planned)
            if not self._yes and not is_agreed(f"\nAdopt {counted(found.count, 'resource')}?"):
                tell("Nothing was written.\n")
                return exits.FAILED
            return self._told(await followed(found.planned, js), found)

    def _show(self, made: Made, planned: Planned) -> None:
        say(FORMATS["text"](replace(made, planned=planned).document(self._look, command="adopt", goes_on=True)))

    def _refused(self, made: Made, found: Adoption) -> int:
        self._show(made, found.differing)
        number = counted(len(found.differing.plan.changes), "resource")
        tell(
            f"Nothing was adopted: {number} not live as declared, or not free to own, as shown above.\nWrite the "
            "file as things are (`reconciler export --only ADDRESS`), leave them out (--exclude), adopt them as "
            "they are live (--as-is), or change them (`reconciler apply`).\n"
        )
        return exits.REFUSED

    def _told(self, finished: Finished, found: Adoption) -> int:
        tell(report((*finished.left_alone, *finished.warnings), paper(sys.stderr)))
        if finished.stopped == "interrupted":
            tell("Interrupted. Nothing was written.\n")
            return exits.INTERRUPTED
        if not finished.is_success or finished.warnings:
            return exits.FAILED
        say(f"\nAdopted {counted(found.count, 'resource')}; no object was touched.{self._later(found)}\n")
        return exits.FINE

    def _later(self, found: Adoption) -> str:
        pending = counted(found.later, "change") + " pending. " if found.later else ""
        return f" {pending}Next: reconciler plan {self._arguments}"
