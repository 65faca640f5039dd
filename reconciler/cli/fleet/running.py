"""Runs one fleet command on Spark, and reports what it found in the chosen format, with the right exit code."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from reconciler.cli.fleet.options import FleetFormat, On, Which
from reconciler.cli.shared import common, exits
from reconciler.cli.shared.reporting import ReportFormat, Reports, document
from reconciler.fleet.formats import html, markdown, text
from reconciler.fleet.formats.elements import Report
from reconciler.fleet.report.findings import FleetFindings
from reconciler.fleet.report.json import render as as_json
from reconciler.fleet.report.report import report_of
from reconciler.report.document.document import Document
from reconciler.report.words.paper import Paper

if TYPE_CHECKING:
    from reconciler.fleet.runs.fleet_run import FleetRun

Work = Callable[["FleetRun"], FleetFindings]


def run(which: Which, on: On, reports: Reports, format_: FleetFormat, paper: Paper, work: Work) -> int:
    """Run `work` with the store to itself, report what it found, and return the exit code."""
    check(reports)
    look = on.look(which)
    from reconciler.fleet.session import explain_spark_errors  # noqa: PLC0415 - pyspark is for fleet commands alone

    try:
        with explain_spark_errors(), look.store.alone():
            found = work(look)
    finally:
        look.say.clear()
    found = replace(found, following=(*found.following, *following(found, which, on)))
    say(
        reports,
        format_,
        document_of(found.command, found.fleet, lambda: report_of(found), lambda: as_json(found), paper),
    )
    return code(found)


def following(found: FleetFindings, which: Which, on: On) -> Iterator[str]:
    """Say what to run next."""
    if found.drifted_by_target:
        yield f"To see what an apply would do about it: `reconciler fleet plan {which.arguments()}`"
    if found.command in ("drift", "snapshot"):
        line = shlex.join(
            ["reconciler", "fleet", "report", str(which.file), *on.arguments(), "--report", "html=fleet.html"]
        )
        yield f"All stored runs on one page: `{line}`"


def code(found: FleetFindings) -> int:
    """Return the exit code. Drift outranks targets that could not be read, which have rows of their own and are named
    in the report. A snapshot has succeeded when it reports what it could not read, unless that is everything."""
    if found.drifted_by_target:
        return exits.DRIFT
    if found.targets and len(found.unread) == len(found.targets):
        return exits.FAILED
    asks_all = found.command in ("drift", "skew")
    return exits.FAILED if asks_all and (found.unread or found.unknown) else exits.FINE


def document_of(
    command: str, fleet: str, report: Callable[[], Report], data: Callable[[], str], paper: Paper
) -> Document:
    """Render the report lazily in the four formats."""
    own = {
        "text": lambda one: text.render(report(), one.paper),
        "json": lambda _: data(),
        "markdown": lambda _: markdown.render(report()),
        "html": lambda _: html.render(report()),
    }
    return document(command=f"fleet {command}", topology=fleet, paper=paper, own=own)


def say(reports: Reports, format_: FleetFormat, told: Document) -> None:
    """Print a fleet's report on stdout, and write every file that --report names."""
    reports.say(ReportFormat(format_), told)


def check(reports: Reports) -> None:
    """Refuse formats that exist for plans only."""
    if wrong := [name for name, _ in reports.wanted if name not in [*FleetFormat]]:
        raise common.Misused(f"--report {wrong[0]}: a report about a fleet can be {', '.join(FleetFormat)}.")
