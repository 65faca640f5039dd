"""`reconciler drift`: shows what differs from the last apply. It writes nothing and only needs to read."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from reconciler.cli.account.planning import Selection
from reconciler.cli.drift.metrics_page import write_metrics_file
from reconciler.cli.shared import common, exits
from reconciler.cli.shared.common import takes
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
from reconciler.cli.shared.reporting import ChosenFormat, ReportFormat, Reports, reports, with_meanings
from reconciler.cli.shared.screen import doing, paper
from reconciler.cli.shared.value_option import Values, values
from reconciler.journeys.drift.attribute import attribute_drift
from reconciler.journeys.drift.look import Looked, look
from reconciler.journeys.drift.metrics import Gauges, metrics_text
from reconciler.journeys.drift.report import drift_document
from reconciler.journeys.files_and_account import both
from reconciler.model.diagnostic import CannotContinue
from reconciler.report.document.document import Document
from reconciler.report.words.paper import Paper
from reconciler.server.connect.options import ConnectOptions

app = common.new_app()

Metrics = Annotated[
    Path | None, typer.Option("--metrics", metavar="FILE.prom", help="Write Prometheus metrics into this file.")
]


@takes(values)
def selection(values: Values, only: common.Only = None, exclude: common.Exclude = None) -> Selection:
    """Declare --only and --exclude."""
    return Selection(only=tuple(only or ()), exclude=tuple(exclude or ()), allow=(), take_over=(), values=values)


@app.command(name="drift", epilog=exits.epilog(exits.DRIFT))
@takes(connection)
@takes(selection)
@takes(reports)
def drift_(
    paths: common.AnyPaths,
    reports: Reports,
    selection: Selection,
    connection: Connection,
    metrics: Metrics = None,
    parallel: Parallel = AT_ONCE,
    format_: ChosenFormat = ReportFormat.TEXT,
    verbose: common.Verbose = False,
    no_color: common.NoColor = False,
) -> int:
    """Show what was changed since it was last applied, and who changed it; end with 3 if anything was. A change of the files
    that is not applied yet is no drift.

    `drift accept` writes what was changed into the files, `drift restore` puts it back, and `drift watch` tells of each
    change when it happens.
    """
    sheet = paper(verbose=verbose, no_color=no_color)

    async def look_at_unit(unit: Unit, files: Sequence[Path]) -> tuple[Looked, float, str]:
        own_connection = connection.for_environment(unit.values, files)
        own_selection = replace(selection, values=unit.values)
        looked, duration = await look_for_drift(files, own_connection.options(), own_selection)
        return looked, duration, own_selection.arguments(files, own_connection)

    single_options = ((metrics, "--metrics"), (selection.only, "--only"), (selection.exclude, "--exclude"))
    with _metrics_of_failure(metrics):
        all_units = units(paths, selection.values, connection, *single_options)
        parts = result_of(UnitRun(lambda: look_at_unit, at_once=parallel).run(all_units, *single_options))
    documents, codes = [], []
    for result in results(parts):
        if isinstance(result, CannotContinue):
            documents.append(failure_document("drift", result, sheet))
            codes.append(exits.FAILED)
            continue
        looked, duration, arguments = result
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


def _drift_document(looked: Looked, sheet: Paper, arguments: str, seconds: float) -> Document:
    return with_meanings(
        drift_document(looked.drift, declared=looked.topology, paper=sheet, arguments=arguments, seconds=seconds)
    )


async def look_for_drift(paths: Sequence[Path], options: ConnectOptions, selection: Selection) -> tuple[Looked, float]:
    """Look for drift, with the warnings about the files, and return how long it took."""
    began = time.monotonic()
    with doing("reading files and account …"):
        async with both(paths, options, selection.values.tree()) as state:
            looked = await attribute_drift(look(state.topology, state.snapshot, selection.options()), state.js)
            drift = replace(looked.drift, diagnostics=(*state.loaded.diagnostics, *looked.drift.diagnostics))
            return replace(looked, drift=drift), time.monotonic() - began
