"""`reconciler drift`: shows what differs from the last apply. It writes nothing and only needs to read."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from reconciler.cli.account.apply_run import Manner
from reconciler.cli.drift.accept_or_restore import accepting, restoring
from reconciler.cli.drift.metrics_page import address, write_file
from reconciler.cli.drift.watch import Outlets, Teller, through
from reconciler.cli.shared import common, exits
from reconciler.cli.shared.common import takes
from reconciler.cli.shared.connecting import Connection, connection
from reconciler.cli.shared.each_topology import (
    AT_ONCE,
    Parallel,
    Unit,
    UnitResults,
    UnitRun,
    results,
    stopped,
    summed_up,
    units,
)
from reconciler.cli.shared.reporting import ChosenFormat, ReportFormat, Reports, document, reports
from reconciler.cli.shared.screen import Progress, paper
from reconciler.cli.shared.value_option import NO_VALUES, Values, values
from reconciler.journeys.drift.attribute import attributed
from reconciler.journeys.drift.codec import drift_json
from reconciler.journeys.drift.findings import drift_findings
from reconciler.journeys.drift.look import Looked, look
from reconciler.journeys.drift.metrics import Gauges, metrics_text
from reconciler.journeys.drift.text import drift_text, place, sums
from reconciler.journeys.drift.watch import Watch
from reconciler.journeys.files_and_account import both
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import CannotContinue
from reconciler.model.run_options import RunOptions
from reconciler.report.document.document import Document
from reconciler.report.words.commands import restore_commands
from reconciler.report.words.paper import Paper
from reconciler.server.connect.options import ConnectOptions
from reconciler.server.connect.options import seconds as seconds_of

app = common.app()
EVERY = "15m"


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftScope:
    """The addresses that a run covers."""

    only: tuple[str, ...]
    exclude: tuple[str, ...]
    allow: tuple[str, ...] = ()
    """Consents for what --restore changes."""
    values: Values = NO_VALUES
    """Values of names that stand in the files."""

    def options(self) -> RunOptions:
        """Return the addresses to look at, and the consents for --restore."""
        return RunOptions(only=self.only, exclude=self.exclude, allow=common.consents([*self.allow]))

    def arguments(self, paths: Sequence[Path], connection: Connection, *, consents: bool = False) -> str:
        """Return what the next command line repeats; --allow is included only with `consents`, because only --restore
        takes it."""
        options = (("--only", self.only), ("--exclude", self.exclude), ("--allow", self.allow if consents else ()))
        return connection.arguments(*self.values.files(paths), options=options)


@takes(values)
def part(
    values: Values,
    only: common.Only = None,
    exclude: common.Exclude = None,
    allow: common.Allow = None,
) -> DriftScope:
    """Declares --only, --exclude and --allow. Raises Misused where a consent cannot be read."""
    common.consents(allow)
    return DriftScope(only=tuple(only or ()), exclude=tuple(exclude or ()), allow=tuple(allow or ()), values=values)


@app.command(name="drift", epilog=exits.named(exits.DRIFT, exits.REFUSED))
@takes(connection)
@takes(part)
@takes(reports)
def drift_(
    paths: common.AnyPaths,
    reports: Reports,
    part: DriftScope,
    connection: Connection,
    accept: Annotated[
        bool,
        typer.Option(
            "--accept", help="Write the live values into the files of one topology. Comments and layout stay."
        ),
    ] = False,
    restore: Annotated[
        bool,
        typer.Option(
            "--restore",
            help="Put back what drifted in one topology, and nothing else: show the plan, ask, and carry it out.",
        ),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="With --restore, do not ask.")] = False,
    partial: Annotated[
        bool, typer.Option("--partial", help="With --restore, put back what does not depend on anything refused.")
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Stay, and tell of each change when it happens. Ctrl-C ends it.")
    ] = False,
    every: Annotated[
        str | None, typer.Option("--every", metavar="TIME", help="With --watch, look at everything this often. [15m]")
    ] = None,
    metrics: Annotated[
        Path | None, typer.Option("--metrics", metavar="FILE.prom", help="Write Prometheus metrics into this file.")
    ] = None,
    listen: Annotated[
        str | None,
        typer.Option("--listen", metavar="HOST:PORT", help="With --watch, serve the metrics under /metrics."),
    ] = None,
    parallel: Parallel = AT_ONCE,
    format_: ChosenFormat = ReportFormat.TEXT,
    verbose: common.Verbose = False,
    no_color: common.NoColor = False,
) -> int:
    """Show what was changed since it was last applied, and who changed it; end with 3 if anything was. A change of the files
    that is not applied yet is no drift."""
    in_words = format_ in (ReportFormat.TEXT, ReportFormat.JSON) and not reports.wanted
    common.never(
        (accept + restore + watch > 1, "--accept, --restore and --watch do different things; choose one of them."),
        (listen and not watch, "--listen serves metrics while watching; add --watch, or write a file with --metrics."),
        (every and not watch, "--every says how often --watch takes a full look; add --watch, or leave it out."),
        ((accept or restore or watch) and not in_words,
         "--accept, --restore and --watch report as text, or with --format json."),
        (accept and bool(part.values),
         ("--accept writes live values into the files, but these files hold for other environments or values "
          "too; edit them by hand.")),
        (part.allow and not restore, "--allow is consent to what --restore changes; add --restore, or leave it out."),
        (yes and not restore, "--yes answers what --restore asks; add --restore, or leave it out."),
        (partial and not restore, "--partial is about what --restore puts back; add --restore, or leave it out."),
        (metrics and (accept or restore),
         ("--metrics reports what was seen, and --accept and --restore change that; write the metrics with "
          "a look afterwards.")),
    )  # fmt: skip
    if restore or watch:
        connection = connection.in_environment(part.values, paths)
    if restore:
        manner = _manner(yes, partial, format_, paper(verbose=verbose, no_color=no_color))
        return _restore(paths, part, connection, manner)
    if watch:
        outlets = Outlets(file=metrics, listen=address(listen) if listen else None)
        teller = Teller(as_json=format_ is ReportFormat.JSON, outlets=outlets)
        at, often, tree = connection.options(), _seconds(every or EVERY), part.values.tree()
        watched = Watch(paths=paths, connecting=at, options=part.options(), every=often, tell=teller, tree=tree)
        return through(watched, teller)
    look = paper(verbose=verbose, no_color=no_color)

    async def one(unit: Unit, files: Sequence[Path]) -> tuple[Looked, float, str]:
        there, own = connection.in_environment(unit.values, files), replace(part, values=unit.values)
        return *await _look(files, there.options(), own), own.arguments(files, there)

    of_one = ((accept, "--accept"), (metrics, "--metrics"), (part.only, "--only"), (part.exclude, "--exclude"))
    parts = list[UnitResults[tuple[Looked, float, str]]]()

    async def all_of_them() -> None:
        parts.extend(
            await UnitRun(lambda: one, at_once=parallel).over(units(paths, part.values, connection, *of_one), *of_one)
        )

    with _down_where_nothing_is_seen(metrics):
        asyncio.run(all_of_them())
    told, codes = [], []
    for seen in results(parts):
        if isinstance(seen, CannotContinue):
            told.append(stopped("drift", seen, look))
            codes.append(exits.FAILED)
            continue
        looked_, seconds, said = seen
        if accept:
            as_json = format_ is ReportFormat.JSON
            return accepting(looked_, paths, part.options(), look=look, arguments=said, as_json=as_json)
        if metrics:
            write_file(metrics, metrics_text(Gauges(drift=looked_.drift, at=time.time(), seconds=seconds)))
        told.append(_document(looked_, look, said, seconds))
        codes.append(looked_.drift.exit_code)
    reports.say(format_, *told, ending=summed_up(parts, _outcome))
    return exits.worst(codes)


def _outcome(part: UnitResults[tuple[Looked, float, str]]) -> str:
    codes = [exits.FAILED if isinstance(one, CannotContinue) else one[0].drift.exit_code for one in part.results]
    return {exits.FAILED: "failed", exits.DRIFT: "with drift"}.get(exits.worst(codes), "without drift")


@contextmanager
def _down_where_nothing_is_seen(metrics: Path | None) -> Iterator[None]:
    """Write the metrics of a failed look, so that those of an earlier one do not pass for current."""
    try:
        yield
    except CannotContinue as problem:
        if metrics:
            write_file(metrics, metrics_text(Gauges(drift=None, up=False, topology=problem.topology, looks=0)))
        raise


def _manner(yes: bool, partial: bool, format_: ReportFormat, look: Paper) -> Manner:
    told = common.PlainFormat.JSON if format_ is ReportFormat.JSON else common.PlainFormat.TEXT
    return Manner(yes=yes, partial=partial, format=told, paper=look, reports=Reports())


def _restore(paths: Sequence[Path], part: DriftScope, connection: Connection, manner: Manner) -> int:
    arguments = part.arguments(paths, connection)
    if not manner.yes and not sys.stdin.isatty():
        raise common.Misused(
            f"There is no terminal to ask on. Look first with `reconciler drift {arguments}`, then add --yes to put "
            "it back without being asked."
        )
    commands = restore_commands(arguments, part.arguments(paths, connection, consents=True))
    return restoring(paths, connection.options(), part.options(), manner, arguments, part.values.tree(), commands)


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


async def _look(paths: Sequence[Path], options: ConnectOptions, part: DriftScope) -> tuple[Looked, float]:
    progress, began = Progress(), time.monotonic()
    progress.show("reading files and account …")
    try:
        async with both(paths, options, part.values.tree()) as here:
            found = await attributed(look(here.topology, here.snapshot, part.options()), here.js)
            whole = replace(found.drift, diagnostics=(*here.loaded.diagnostics, *found.drift.diagnostics))
            return replace(found, drift=whole), time.monotonic() - began
    finally:
        progress.clear()
