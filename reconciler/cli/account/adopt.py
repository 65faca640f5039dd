"""`reconciler adopt`: records that this topology owns what is live, without touching it."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from reconciler.changes.events import Finished
from reconciler.cli.account.apply_run import apply_with_progress
from reconciler.cli.account.planning import MadePlan, Selection, open_plan
from reconciler.cli.shared import common, exits
from reconciler.cli.shared.common import takes
from reconciler.cli.shared.connecting import Connection, connection
from reconciler.cli.shared.screen import confirm, paper, say, tell
from reconciler.cli.shared.value_option import Values, values
from reconciler.journeys.adopt import Adoption, adoption
from reconciler.journeys.plan.plan import Planned
from reconciler.report.formats import FORMATS
from reconciler.report.words.diagnostics import report
from reconciler.report.words.paper import Paper
from reconciler.report.words.values import counted
from reconciler.server.connect.options import ConnectOptions

app = common.new_app()


@app.command(name="adopt", epilog=exits.epilog(exits.REFUSED))
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
    selection = Selection(
        only=tuple(only or ()), exclude=tuple(exclude or ()), allow=(), take_over=tuple(take_over or ()),
        values=values,
    )  # fmt: skip
    connection = connection.for_environment(values, paths)
    arguments = selection.arguments(paths, connection)
    if not yes and not sys.stdin.isatty():
        raise common.Misused("There is no terminal to ask on; add --yes to adopt without being asked.")
    run = _Run(as_is=as_is, yes=yes, sheet=paper(verbose=verbose, no_color=no_color), arguments=arguments)
    return asyncio.run(run.adopt(paths, connection.options(), selection))


class _Run:
    def __init__(self, *, as_is: bool, yes: bool, sheet: Paper, arguments: str) -> None:
        self._as_is, self._yes, self._sheet, self._arguments = as_is, yes, sheet, arguments

    async def adopt(self, paths: list[Path], options: ConnectOptions, selection: Selection) -> int:
        """Plan, ask, and record what may be adopted; return the exit code."""
        async with open_plan(paths, options, selection, lambda _: self._arguments) as (made, js):
            adoptable = adoption(made.planned, as_is=self._as_is)
            if adoptable.differing.plan.changes:
                return self._report_refused(made, adoptable)
            if not adoptable.count:
                say(f"Nothing to adopt: this topology owns every declared object.{self._pending_text(adoptable)}\n")
                return exits.FINE
            self._show(made, adoptable.planned)
            if not self._yes and not confirm(f"\nAdopt {counted(adoptable.count, 'resource')}?"):
                tell("Nothing was written.\n")
                return exits.FAILED
            return self._report(await apply_with_progress(adoptable.planned, js), adoptable)

    def _show(self, made: MadePlan, planned: Planned) -> None:
        say(FORMATS["text"](replace(made, planned=planned).document(self._sheet, command="adopt", goes_on=True)))

    def _report_refused(self, made: MadePlan, adoptable: Adoption) -> int:
        self._show(made, adoptable.differing)
        number = counted(len(adoptable.differing.plan.changes), "resource")
        tell(
            f"Nothing was adopted: {number} not live as declared, or not free to own, as shown above.\nWrite the "
            "file as things are (`reconciler export --only ADDRESS`), leave them out (--exclude), adopt them as "
            "they are live (--as-is), or change them (`reconciler apply`).\n"
        )
        return exits.REFUSED

    def _report(self, finished: Finished, adoptable: Adoption) -> int:
        tell(report((*finished.left_alone, *finished.warnings), paper(sys.stderr)))
        if finished.stopped == "interrupted":
            tell("Interrupted. Nothing was written.\n")
            return exits.INTERRUPTED
        if not finished.is_success or finished.warnings:
            if any(warning.code == "LE102" for warning in finished.warnings):
                tell("Nothing was adopted: a record of each object is all that would be written.\n")
            return exits.FAILED
        adopted = counted(adoptable.count, "resource")
        say(f"\nAdopted {adopted}; no object was touched.{self._pending_text(adoptable)}\n")
        return exits.FINE

    def _pending_text(self, adoptable: Adoption) -> str:
        pending = counted(adoptable.later, "change") + " pending. " if adoptable.later else ""
        return f" {pending}Next: reconciler plan {self._arguments}"
