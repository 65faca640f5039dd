"""`drift --accept` and `drift --restore`: write drift into the files, or put back what was applied."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from reconciler.changes.events import Finished
from reconciler.cli.account.apply_run import ApplyRun, Manner
from reconciler.cli.account.planning import Made
from reconciler.cli.shared import exits
from reconciler.cli.shared.common import PlainFormat
from reconciler.cli.shared.screen import paper, say, tell
from reconciler.cli.shared.status_line import LINE
from reconciler.documents.parse.files import Tree
from reconciler.journeys.drift.accept import accept
from reconciler.journeys.drift.look import Looked, look
from reconciler.journeys.drift.restore import restore
from reconciler.journeys.drift.text import accepted_json, accepted_text, drift_text, restored_sentence
from reconciler.journeys.drift.way_back import restorable
from reconciler.journeys.files_and_account import both
from reconciler.model.run_options import RunOptions
from reconciler.report.codec.outcome_json import outcome_json
from reconciler.report.words.commands import CommandLines
from reconciler.report.words.diagnostics import report
from reconciler.report.words.paper import Paper
from reconciler.server.connect.options import ConnectOptions


def accept_drift(
    looked: Looked, paths: Sequence[Path], options: RunOptions, *, sheet: Paper, arguments: str, as_json: bool
) -> int:
    """Accept the drift, and return 0 if all of it is in the files now, 3 if no file can take the rest, 1 if a file
    could not be edited."""
    accepted = accept(looked, paths, options)
    if as_json:
        left = accepted.left.drift
        say(accepted_json(accepted.written, replace(left, diagnostics=(*left.diagnostics, *accepted.refused))))
    else:
        say(accepted_text(accepted.written, accepted.left.drift, sheet, arguments=arguments))
    if accepted.refused:
        tell(report(accepted.refused, paper()))
    return exits.FAILED if accepted.refused else accepted.left.drift.exit_code


async def restore_drift(
    paths: Sequence[Path], connecting: ConnectOptions, options: RunOptions, manner: Manner, arguments: str, tree: Tree,
    commands: CommandLines,
) -> int:  # fmt: skip
    """Apply the restoration: show it, ask, carry it out. Return the exit code of that apply, or 3 where the drift that is
    left belongs to somebody else."""
    began = time.monotonic()
    LINE.show("reading files and account …")
    async with both(paths, connecting, tree) as state:
        LINE.show("")
        looked = look(state.topology, state.snapshot, options)
        if looked.drift.is_partial or not restorable(looked.drift):
            _report_nothing_restored(looked, manner, arguments)
            return looked.drift.exit_code
        planned = await restore(looked, state.js)
        made = Made(
            planned=planned, topology=state.topology, arguments=arguments, seconds=time.monotonic() - began,
            commands=replace(commands, then=restored_sentence(planned.plan, looked.drift)),
        )  # fmt: skip
        code = await ApplyRun(manner).show_and_apply(made, state.js)
        return exits.DRIFT if code == exits.FINE and any(item.is_left for item in looked.drift.items) else code


def _report_nothing_restored(looked: Looked, manner: Manner, arguments: str) -> None:
    drift = looked.drift
    if manner.format is PlainFormat.JSON:
        say(outcome_json(Finished(), topology=drift.topology, exit_code=drift.exit_code))
    else:
        say(drift_text(drift, manner.paper, arguments=arguments, goes_on=True))
