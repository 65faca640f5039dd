"""`reconciler drift`: what is not as it was last applied. Writes nothing, needs to read only."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from reconciler.cli import common
from reconciler.cli.connecting import Connection, connection
from reconciler.cli.exposing import address, write_file
from reconciler.cli.reporting import ChosenFormat, Format, Reports, document, reports
from reconciler.cli.screen import Progress, paper
from reconciler.cli.sharing import takes
from reconciler.cli.watching import Outlets, Teller, through
from reconciler.core.diagnostic import CannotContinue
from reconciler.report.document import Document
from reconciler.report.drift import drift_text, place, sums
from reconciler.report.drift_findings import drift_findings
from reconciler.report.drift_json import drift_json
from reconciler.report.metrics import Gauges, metrics_text
from reconciler.report.paper import Paper
from reconciler.server.options import ConnectOptions
from reconciler.server.options import seconds as seconds_of
from reconciler.workflow.attribution import attributed
from reconciler.workflow.both import both
from reconciler.workflow.drift import Looked, looked
from reconciler.workflow.plan import PlanOptions
from reconciler.workflow.watch import Watch

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
    watch: Annotated[
        bool, typer.Option("--watch", help="Stay, and tell what changes as soon as it does. Ctrl-C ends it.")
    ] = False,
    every: Annotated[
        str, typer.Option("--every", metavar="TIME", help="While watching, look at everything this often.")
    ] = "15m",
    metrics: Annotated[
        Path | None, typer.Option("--metrics", metavar="FILE.prom", help="Write Prometheus metrics into this file.")
    ] = None,
    listen: Annotated[
        str | None, typer.Option("--listen", metavar="HOST:PORT", help="While watching, serve them under /metrics.")
    ] = None,
    format_: ChosenFormat = Format.TEXT,
    verbose: common.Verbose = False,
    no_color: common.NoColor = False,
) -> int:
    """Show what is live and no longer as it was last applied: exit 3. What is merged and not applied yet is no drift."""
    if watch:
        _check(format_, reports)
        outlets = Outlets(file=metrics, listen=address(listen) if listen else None)
        teller = Teller(as_json=format_ is Format.JSON, outlets=outlets)
        at = connection.options()
        return through(
            Watch(paths=paths, connecting=at, options=part.options(), every=_seconds(every), tell=teller), teller
        )
    if listen:
        raise common.Misused("--listen serves metrics while watching; add --watch, or write a file with --metrics.")
    made: list[tuple[Looked, float]] = []
    with reports.even_of_errors("drift", format_):
        asyncio.run(_look(made, paths, connection.options(), part))
    found, seconds = made[0]
    look = paper(verbose=verbose, no_color=no_color)
    if metrics:
        write_file(metrics, metrics_text(Gauges(drift=found.drift, at=time.time(), seconds=seconds)))
    reports.say(format_, _document(found, look, part.arguments(paths, connection), seconds))
    return found.drift.exit_code


def _check(format_: Format, reports: Reports) -> None:
    if format_ not in (Format.TEXT, Format.JSON) or reports.wanted:
        raise common.Misused("--watch tells what happens as text or, with --format json, as JSON lines.")


def _seconds(text: str) -> float:
    try:
        return seconds_of(text)
    except CannotContinue:
        raise common.Misused(f"--every {text}: write for example 15m, 1h or 30s.") from None


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
