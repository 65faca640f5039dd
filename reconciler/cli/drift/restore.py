"""`reconciler drift restore`: puts back what drifted in one topology, and nothing else."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from reconciler.changes.events import Finished
from reconciler.cli.account.apply_run import ApplyRun, Manner
from reconciler.cli.account.planning import MadePlan, Selection
from reconciler.cli.drift.drift import selection
from reconciler.cli.shared import common, exits
from reconciler.cli.shared.common import OutcomeFormat, PlainFormat, takes
from reconciler.cli.shared.connecting import Connection, connection
from reconciler.cli.shared.reporting import Reports
from reconciler.cli.shared.screen import paper, say
from reconciler.cli.shared.status_line import LINE
from reconciler.journeys.drift.look import Looked, look
from reconciler.journeys.drift.report import drift_document, restored_sentence
from reconciler.journeys.drift.restore import restore
from reconciler.journeys.drift.way_back import restorable
from reconciler.journeys.files_and_account import both
from reconciler.report.codec.json import json_of
from reconciler.report.codec.outcome_json import outcome_report
from reconciler.report.formats import FORMATS
from reconciler.report.words.commands import CommandLines, restore_commands
from reconciler.server.connect.options import ConnectOptions

app = common.new_app()


@app.command(name="drift restore", epilog=exits.epilog(exits.DRIFT, exits.REFUSED))
@takes(connection)
@takes(selection)
def restore_(
    paths: common.Paths,
    selection: Selection,
    connection: Connection,
    allow: common.Allow = None,
    yes: common.Yes = False,
    partial: common.Partial = False,
    format_: OutcomeFormat = PlainFormat.TEXT,
    verbose: common.Verbose = False,
    no_color: common.NoColor = False,
) -> int:
    """Put back what was changed since the last apply in one topology, and nothing else: show the plan, ask, and carry it
    out. End with 3 where drift is left that is no matter of this topology."""
    selection = replace(selection, allow=tuple(allow or ()))
    common.parse_consents(allow)
    connection = connection.for_environment(selection.values, paths)
    arguments = replace(selection, allow=()).arguments(paths, connection)  # a look takes no consents
    if not yes and not sys.stdin.isatty():
        raise common.Misused(
            f"There is no terminal to ask on. Look first with `reconciler drift {arguments}`, then add --yes to put "
            "it back without being asked."
        )
    sheet = paper(verbose=verbose, no_color=no_color)
    manner = Manner(yes=yes, partial=partial, format=format_, paper=sheet, reports=Reports())
    commands = restore_commands(arguments, selection.arguments(paths, connection))
    return asyncio.run(_restore_drift(paths, connection.options(), selection, manner, arguments, commands))


async def _restore_drift(
    paths: Sequence[Path], connecting: ConnectOptions, selection: Selection, manner: Manner, arguments: str,
    commands: CommandLines,
) -> int:  # fmt: skip
    """Apply the restoration: show it, ask, carry it out. Return the exit code of that apply, or 3 where the drift that is
    left belongs to somebody else."""
    began = time.monotonic()
    LINE.show("reading files and account …")
    async with both(paths, connecting, selection.values.tree()) as state:
        LINE.show("")
        looked = look(state.topology, state.snapshot, selection.options())
        if looked.drift.is_partial or not restorable(looked.drift):
            _report_nothing_restored(looked, manner, arguments)
            return looked.drift.exit_code
        planned = await restore(looked, state.js)
        made = MadePlan(
            planned=planned, topology=state.topology, arguments=arguments, seconds=time.monotonic() - began,
            commands=replace(commands, then=restored_sentence(planned.plan, looked.drift)),
        )  # fmt: skip
        code = await ApplyRun(manner).show_and_apply(made, state.js)
        return exits.DRIFT if code == exits.FINE and any(item.has_drift_left for item in looked.drift.items) else code


def _report_nothing_restored(looked: Looked, manner: Manner, arguments: str) -> None:
    drift = looked.drift
    if manner.format is PlainFormat.JSON:
        say(json_of(outcome_report(Finished(), topology=drift.topology, exit_code=drift.exit_code)))
    else:
        say(FORMATS["text"](drift_document(drift, paper=manner.paper, arguments=arguments, goes_on=True)))
