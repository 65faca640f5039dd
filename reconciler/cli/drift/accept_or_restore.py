"""`drift --accept` and `drift --restore`: write drift into the files, or put back what was applied."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from reconciler.changes.events import Finished
from reconciler.cli.account.apply_run import ApplyRun, Manner
from reconciler.cli.account.planning import Made
from reconciler.cli.shared import exits
from reconciler.cli.shared.common import PlainFormat
from reconciler.cli.shared.screen import Progress, paper, say, tell
from reconciler.documents.read.files import Tree
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


def accepting(
    found: Looked, paths: Sequence[Path], options: RunOptions, *, look: Paper, arguments: str, as_json: bool
) -> int:
    """Accept the drift, and return 0 if all of it is in the files now, 3 if no file can take the rest, 1 if a file
    could not be edited."""
    made = accept(found, paths, options)
    if as_json:
        left = made.left.drift
        say(accepted_json(made.written, replace(left, diagnostics=(*left.diagnostics, *made.refused))))
    else:
        say(accepted_text(made.written, made.left.drift, look, arguments=arguments))
    if made.refused:
        tell(report(made.refused, paper()))
    return exits.FAILED if made.refused else made.left.drift.exit_code


def restoring(
    paths: Sequence[Path], connecting: ConnectOptions, options: RunOptions, manner: Manner, arguments: str, tree: Tree,
    commands: CommandLines,
) -> int:  # fmt: skip
    """Return the exit code of `drift --restore`: that of its apply, or 3 where the drift that is left belongs to
    somebody else."""
    return asyncio.run(_restored(paths, connecting, options, manner, arguments, tree, commands))


async def _restored(
    paths: Sequence[Path], connecting: ConnectOptions, options: RunOptions, manner: Manner, arguments: str, tree: Tree,
    commands: CommandLines,
) -> int:  # fmt: skip
    """Apply the restoration: show it, ask, carry it out. What this topology may not put back stays drift."""
    began = time.monotonic()
    progress = Progress()
    progress.show("reading files and account …")
    async with both(paths, connecting, tree) as here:
        progress.clear()
        found = look(here.topology, here.snapshot, options)
        if found.drift.is_partial or not restorable(found.drift):
            _say_nothing_done(found, manner, arguments)
            return found.drift.exit_code
        planned = await restore(found, here.js)
        made = Made(
            planned=planned, topology=here.topology, arguments=arguments, seconds=time.monotonic() - began,
            commands=replace(commands, then=restored_sentence(planned.plan, found.drift)),
        )  # fmt: skip
        code = await ApplyRun(manner).offered(made, here.js)
        return exits.DRIFT if code == exits.FINE and any(item.is_left for item in found.drift.items) else code


def _say_nothing_done(found: Looked, manner: Manner, arguments: str) -> None:
    drift = found.drift
    if manner.format is PlainFormat.JSON:
        say(outcome_json(Finished(), topology=drift.topology, exit_code=drift.exit_code))
    else:
        say(drift_text(drift, manner.paper, arguments=arguments, goes_on=True))
