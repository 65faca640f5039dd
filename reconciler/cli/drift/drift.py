"""`reconciler drift`: shows what differs from the last apply, writes it into the files, or puts it back."""

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

from reconciler.changes.events import Finished
from reconciler.cli.account.apply_run import ApplyRun, Manner
from reconciler.cli.account.planning import Made, Selection
from reconciler.cli.drift.watch import Outlets, Teller, parse_address, run_watch, write_metrics_file
from reconciler.cli.shared import common, exits
from reconciler.cli.shared.common import PlainFormat, takes
from reconciler.cli.shared.connecting import Connection, connection, result_of
from reconciler.cli.shared.each_topology import (
    AT_ONCE,
    Parallel,
    Unit,
    UnitResults,
    UnitRun,
    failure_document,
    results,
    summary_line,
    units,
)
from reconciler.cli.shared.reporting import ChosenFormat, ReportFormat, Reports, document, reports
from reconciler.cli.shared.screen import doing, paper, say, tell
from reconciler.cli.shared.status_line import LINE
from reconciler.cli.shared.value_option import Values, values
from reconciler.documents.parse.files import Tree
from reconciler.journeys.drift.accept import accept
from reconciler.journeys.drift.attribute import attribute_drift
from reconciler.journeys.drift.codec import drift_json
from reconciler.journeys.drift.findings import drift_findings
from reconciler.journeys.drift.look import Looked, look
from reconciler.journeys.drift.metrics import Gauges, metrics_text
from reconciler.journeys.drift.restore import restore
from reconciler.journeys.drift.text import (
    accepted_json,
    accepted_text,
    drift_sums_line,
    drift_text,
    place_text,
    restored_sentence,
)
from reconciler.journeys.drift.watch import Watch
from reconciler.journeys.drift.way_back import restorable
from reconciler.journeys.files_and_account import both
from reconciler.model.diagnostic import CannotContinue
from reconciler.model.run_options import RunOptions
from reconciler.report.codec.outcome_json import outcome_json
from reconciler.report.document.document import Document
from reconciler.report.words.commands import CommandLines, restore_commands
from reconciler.report.words.diagnostics import report
from reconciler.report.words.paper import Paper
from reconciler.server.connect.options import ConnectOptions
from reconciler.server.connect.options import seconds as seconds_of

app = common.app()
EVERY = "15m"


@takes(values)
def drift_selection(
    values: Values,
    only: common.Only = None,
    exclude: common.Exclude = None,
    allow: common.Allow = None,
) -> Selection:
    """Declare --only, --exclude and --allow. Raises Misused where a consent cannot be read."""
    common.parse_consents(allow)
    return Selection(
        only=tuple(only or ()), exclude=tuple(exclude or ()), allow=tuple(allow or ()), take_over=(), values=values
    )


@app.command(name="drift", epilog=exits.epilog(exits.DRIFT, exits.REFUSED))
@takes(connection)
@takes(drift_selection)
@takes(reports)
def drift_(
    paths: common.AnyPaths,
    reports: Reports,
    drift_selection: Selection,
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
    common.refuse_if_any(
        (accept + restore + watch > 1, "--accept, --restore and --watch do different things; choose one of them."),
        (listen and not watch, "--listen serves metrics while watching; add --watch, or write a file with --metrics."),
        (every and not watch, "--every says how often --watch takes a full look; add --watch, or leave it out."),
        ((accept or restore or watch) and not in_words,
         "--accept, --restore and --watch report as text, or with --format json."),
        (accept and bool(drift_selection.values),
         ("--accept writes live values into the files, but these files hold for other environments or values "
          "too; edit them by hand.")),
        (drift_selection.allow and not restore, "--allow is consent to what --restore changes; add --restore, or leave it out."),
        (yes and not restore, "--yes answers what --restore asks; add --restore, or leave it out."),
        (partial and not restore, "--partial is about what --restore puts back; add --restore, or leave it out."),
        (metrics and (accept or restore),
         ("--metrics reports what was seen, and --accept and --restore change that; write the metrics with "
          "a look afterwards.")),
    )  # fmt: skip
    if restore or watch:
        connection = connection.in_environment(drift_selection.values, paths)
    if restore:
        manner = _restore_manner(yes, partial, format_, paper(verbose=verbose, no_color=no_color))
        return _restore(paths, drift_selection, connection, manner)
    if watch:
        outlets = Outlets(file=metrics, listen=parse_address(listen) if listen else None)
        teller = Teller(as_json=format_ is ReportFormat.JSON, outlets=outlets)
        options, interval, tree = connection.options(), _interval(every or EVERY), drift_selection.values.tree()
        watch_ = Watch(
            paths=paths, connecting=options, options=drift_selection.options(), every=interval, tell=teller, tree=tree
        )
        return run_watch(watch_, teller)
    sheet = paper(verbose=verbose, no_color=no_color)

    async def look_at_unit(unit: Unit, files: Sequence[Path]) -> tuple[Looked, float, str]:
        own_connection = connection.in_environment(unit.values, files)
        own_selection = replace(drift_selection, values=unit.values)
        looked, duration = await _look_for_drift(files, own_connection.options(), own_selection)
        return looked, duration, own_selection.arguments(files, own_connection)

    single_options = (
        (accept, "--accept"),
        (metrics, "--metrics"),
        (drift_selection.only, "--only"),
        (drift_selection.exclude, "--exclude"),
    )
    with _metrics_of_failure(metrics):
        all_units = units(paths, drift_selection.values, connection, *single_options)
        parts = result_of(UnitRun(lambda: look_at_unit, at_once=parallel).run(all_units, *single_options))
    documents, codes = [], []
    for result in results(parts):
        if isinstance(result, CannotContinue):
            documents.append(failure_document("drift", result, sheet))
            codes.append(exits.FAILED)
            continue
        looked, duration, arguments = result
        if accept:
            as_json = format_ is ReportFormat.JSON
            return accept_drift(
                looked, paths, drift_selection.options(), sheet=sheet, arguments=arguments, as_json=as_json
            )
        if metrics:
            write_metrics_file(metrics, metrics_text(Gauges(drift=looked.drift, at=time.time(), seconds=duration)))
        documents.append(_drift_document(looked, sheet, arguments, duration))
        codes.append(looked.drift.exit_code)
    reports.publish(format_, *documents, ending=summary_line(parts, _outcome_word))
    return exits.worst(codes)


def _outcome_word(part: UnitResults[tuple[Looked, float, str]]) -> str:
    codes = [
        exits.FAILED if isinstance(result, CannotContinue) else result[0].drift.exit_code for result in part.results
    ]
    return {exits.FAILED: "failed", exits.DRIFT: "with drift"}.get(exits.worst(codes), "without drift")


@contextmanager
def _metrics_of_failure(metrics: Path | None) -> Iterator[None]:
    """Write the metrics of a failed look, so that those of an earlier one do not pass for current."""
    try:
        yield
    except CannotContinue as problem:
        if metrics:
            write_metrics_file(metrics, metrics_text(Gauges(drift=None, up=False, topology=problem.topology, looks=0)))
        raise


def _restore_manner(yes: bool, partial: bool, format_: ReportFormat, sheet: Paper) -> Manner:
    plain_format = common.PlainFormat.JSON if format_ is ReportFormat.JSON else common.PlainFormat.TEXT
    return Manner(yes=yes, partial=partial, format=plain_format, paper=sheet, reports=Reports())


def _restore(paths: Sequence[Path], drift_selection: Selection, connection: Connection, manner: Manner) -> int:
    """Restore what drifted. Only --restore takes --allow, so no other command line repeats it."""
    arguments = replace(drift_selection, allow=()).arguments(paths, connection)
    if not manner.yes and not sys.stdin.isatty():
        raise common.Misused(
            f"There is no terminal to ask on. Look first with `reconciler drift {arguments}`, then add --yes to put "
            "it back without being asked."
        )
    commands = restore_commands(arguments, drift_selection.arguments(paths, connection))
    options, tree = drift_selection.options(), drift_selection.values.tree()
    return asyncio.run(restore_drift(paths, connection.options(), options, manner, arguments, tree, commands))


def _interval(text: str) -> float:
    try:
        return seconds_of(text)
    except CannotContinue:
        raise common.Misused(f"--every {text}: write for example 15m, 1h or 30s.") from None


def _drift_document(looked: Looked, sheet: Paper, arguments: str, seconds: float) -> Document:
    drift = looked.drift
    formats = {
        "text": lambda d: drift_text(drift, d.paper, arguments=arguments, seconds=seconds),
        "json": lambda _: drift_json(drift),
    }
    return document(
        command="drift", topology=drift.topology, diagnostics=drift_findings(drift), declared=looked.topology,
        title=place_text(drift), summary=drift_sums_line(drift), arguments=arguments, seconds=seconds, paper=sheet, own=formats,
    )  # fmt: skip


async def _look_for_drift(
    paths: Sequence[Path], options: ConnectOptions, drift_selection: Selection
) -> tuple[Looked, float]:
    """Look for drift, with the warnings about the files, and return how long it took."""
    began = time.monotonic()
    with doing("reading files and account …"):
        async with both(paths, options, drift_selection.values.tree()) as state:
            looked = await attribute_drift(look(state.topology, state.snapshot, drift_selection.options()), state.js)
            drift = replace(looked.drift, diagnostics=(*state.loaded.diagnostics, *looked.drift.diagnostics))
            return replace(looked, drift=drift), time.monotonic() - began


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
