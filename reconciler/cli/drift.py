"""`reconciler drift`: what is not as it was last applied. Writes nothing, needs to read only."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from reconciler.cli import common
from reconciler.cli.connecting import Connection, connection
from reconciler.cli.reporting import ChosenFormat, Format, Reports, document, reports
from reconciler.cli.screen import Progress, paper
from reconciler.cli.sharing import takes
from reconciler.report.document import Document
from reconciler.report.drift import drift_text, place, sums
from reconciler.report.drift_findings import drift_findings
from reconciler.report.drift_json import drift_json
from reconciler.report.paper import Paper
from reconciler.server.options import ConnectOptions
from reconciler.workflow.attribution import attributed
from reconciler.workflow.both import both
from reconciler.workflow.drift import Looked, looked
from reconciler.workflow.plan import PlanOptions

app = common.app()


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Which addresses this is about."""

    only: tuple[str, ...]
    exclude: tuple[str, ...]

    def options(self) -> PlanOptions:
        return PlanOptions(only=self.only, exclude=self.exclude)

    def arguments(self, paths: Sequence[Path], connection: Connection) -> str:
        return connection.arguments(*map(str, paths), options=(("--only", self.only), ("--exclude", self.exclude)))


def part(only: common.Only = None, exclude: common.Exclude = None) -> Part:
    return Part(only=tuple(only or ()), exclude=tuple(exclude or ()))


@app.command(name="drift")
@takes(connection)
@takes(part)
@takes(reports)
def drift_(
    paths: common.Paths,
    reports: Reports,
    part: Part,
    connection: Connection,
    format_: ChosenFormat = Format.TEXT,
    verbose: common.Verbose = False,
    no_color: common.NoColor = False,
) -> int:
    """Show what is live and no longer as it was last applied: exit 3. What is merged and not applied yet is no drift."""
    made: list[tuple[Looked, float]] = []
    with reports.even_of_errors("drift", format_):
        asyncio.run(_look(made, paths, connection.options(), part))
    found, seconds = made[0]
    look = paper(verbose=verbose, no_color=no_color)
    reports.say(format_, _document(found, look, part.arguments(paths, connection), seconds))
    return found.drift.exit_code


def _document(found: Looked, look: Paper, arguments: str, seconds: float) -> Document:
    drift = found.drift
    own = {
        "text": lambda d: drift_text(drift, d.paper, arguments=arguments, seconds=seconds),
        "json": lambda _: drift_json(drift),
    }
    return document(
        command="drift", topology=drift.topology, diagnostics=drift_findings(drift), declared=found.topology,
        summary=f"{place(drift)}: {sums(drift)}", arguments=arguments, seconds=seconds, paper=look, own=own,
    )  # fmt: skip


async def _look(into: list[tuple[Looked, float]], paths: Sequence[Path], options: ConnectOptions, part: Part) -> None:
    progress, began = Progress(), time.monotonic()
    progress.show("reading files and account …")
    try:
        async with both(paths, options) as here:
            found = await attributed(looked(here.topology, here.snapshot, part.options()), here.js)
            whole = replace(found.drift, diagnostics=(*here.loaded.diagnostics, *found.drift.diagnostics))
            into.append((replace(found, drift=whole), time.monotonic() - began))
    finally:
        progress.clear()
