"""Runs one fleet command on Spark, and reports what it found in the chosen format, with the right exit code."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from reconciler.cli.fleet.options import (
    FleetFormat,
    FleetSelection,
    Format,
    SparkOptions,
    fleet_selection,
    spark_options,
)
from reconciler.cli.shared import common, exits
from reconciler.cli.shared.common import takes
from reconciler.cli.shared.reporting import ReportFormat, Reports, reports, with_meanings
from reconciler.cli.shared.screen import paper
from reconciler.fleet.report.findings import FleetFindings
from reconciler.fleet.report.json import findings_document
from reconciler.fleet.report.report import report_of
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import Severity
from reconciler.report.words.paper import Paper

if TYPE_CHECKING:
    from reconciler.fleet.runs.fleet_run import FleetRun

Work = Callable[["FleetRun"], FleetFindings]


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkCommand:
    """A command on Spark: which fleet and which tables it is about, and how it reports."""

    fleet_selection: FleetSelection
    spark_options: SparkOptions
    reports: Reports
    format: FleetFormat
    paper: Paper

    def run(self, work: Work) -> int:
        """Run `work` with the store to itself, report what it found, and return the exit code."""
        check_formats(self.reports)
        fleet_run = self.spark_options.open_run(self.fleet_selection)
        from reconciler.fleet.session import explain_spark_errors  # noqa: PLC0415 - pyspark is for fleet commands alone

        try:
            with explain_spark_errors(), fleet_run.store.exclusive():
                findings = work(fleet_run)
        finally:
            fleet_run.say.clear()
        commands = next_steps(findings, self.fleet_selection, self.spark_options)
        findings = replace(findings, following=(*findings.following, *commands))
        document = with_meanings(replace(report_of(findings), data=findings_document(findings), paper=self.paper))
        self.reports.publish(ReportFormat(self.format), document)
        return findings_exit_code(findings)


@takes(fleet_selection)
@takes(spark_options)
@takes(reports)
def spark(
    fleet_selection: FleetSelection,
    spark_options: SparkOptions,
    reports: Reports,
    format_: Format = FleetFormat.TEXT,
    no_color: common.NoColor = False,
) -> SparkCommand:
    """Declare the argument and the options of every fleet command on Spark."""
    return SparkCommand(
        fleet_selection=fleet_selection,
        spark_options=spark_options,
        reports=reports,
        format=format_,
        paper=paper(no_color=no_color),
    )


def next_steps(findings: FleetFindings, fleet_selection: FleetSelection, spark_options: SparkOptions) -> Iterator[str]:
    """Yield the commands to run next, each with its reason."""
    if findings.drifted_by_target:
        yield f"To see what an apply would do about it: reconciler fleet plan {fleet_selection.arguments()}"
    options = shlex.join(spark_options.arguments())
    if findings.drifted_by_target and findings.command == "drift":
        events = f"reconciler fleet events {fleet_selection.arguments()} {options}".rstrip()
        yield f"Who did it, where streams capture $JS.EVENT.ADVISORY.API: {events}"
    if findings.command in ("drift", "snapshot"):
        report = " ".join(filter(None, (shlex.join([str(fleet_selection.file)]), options, "--report html=fleet.html")))
        yield f"All stored runs on one page: reconciler fleet report {report}"


def findings_exit_code(findings: FleetFindings) -> int:
    """Return the exit code: drift never hides errors, nor targets that could not be read or compared. A snapshot has
    succeeded when it reports those, unless they are all."""
    shut = (*findings.unread_targets, *findings.uncompared_targets)
    asks_all = findings.command in ("drift", "skew")
    has_error = any(finding.severity is Severity.ERROR for finding in findings.diagnostics)
    is_partial = bool(shut or findings.unknown_counts or has_error)
    has_failed = is_partial if asks_all else 0 < len(shut) == len(findings.targets or ())
    has_drifted = bool(findings.drifted_by_target)
    return exits.worst(code for code, holds in ((exits.FAILED, has_failed), (exits.DRIFT, has_drifted)) if holds)


def check_formats(reports: Reports) -> None:
    """Refuse formats that exist for plans only."""
    if unknown := [name for name, _ in reports.wanted if name not in [*FleetFormat]]:
        raise common.Misused(f"--report {unknown[0]}: a report about a fleet can be {', '.join(FleetFormat)}.")
