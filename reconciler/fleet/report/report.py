"""Findings as a report: its parts, in the order in which people need them."""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.fleet.report.drift import drift_part, repairs_part, trend_part
from reconciler.fleet.report.events import acks_part, actors_part, pins_part
from reconciler.fleet.report.findings import FleetFindings
from reconciler.fleet.report.outliers_and_capacity import capacity_part, outliers_part
from reconciler.fleet.report.overview import NOT_COMPARED, earlier_runs_sentences, overview, totals_line
from reconciler.fleet.report.plans import findings_part
from reconciler.fleet.report.skew import skew_parts
from reconciler.fleet.report.targets import targets_part
from reconciler.report.document.document import Document
from reconciler.report.document.pieces import Prose, ReportPart
from reconciler.report.words.values import counted, show_seconds


def report_of(findings: FleetFindings) -> Document:
    """Return the report of a fleet command, with a part for everything it looked for."""
    return Document(
        command=f"fleet {findings.command}", topology=findings.fleet, title=_heading(findings), summary=totals_line(findings),
        about=_about_text(findings), parts=tuple(_parts(findings)), closing="\n".join(findings.following),
    )  # fmt: skip


def _heading(findings: FleetFindings) -> str:
    count = f": {counted(len(findings.targets), 'target')}" if findings.targets is not None else ""
    return f"{findings.fleet}{count}"


def _about_text(findings: FleetFindings) -> str:
    took = f"in {show_seconds(findings.seconds)}" if findings.seconds is not None else ""
    return ", ".join(filter(None, (f"run {findings.run}" if findings.run else "", took)))


def _parts(findings: FleetFindings) -> Iterator[ReportPart]:
    if findings.command == "report":
        yield overview(findings)
    if findings.trend:
        yield trend_part(findings.trend, findings.by_target)
    if findings.drift is not None:
        yield drift_part(
            findings.drift,
            findings.left_out.get("drift", 0),
            sum(findings.unrecorded.values()),
            since=tuple(earlier_runs_sentences(findings, "compared")),
        )
    elif findings.command == "report":
        yield ReportPart(title="Drift", pieces=(Prose(lines=(NOT_COMPARED,), tone="warn"),))
    yield from findings_part(findings.diagnostics)
    if findings.repairs is not None:
        yield repairs_part(findings.repairs, findings.history or ())
    if findings.outliers is not None:
        yield outliers_part(findings.outliers, findings.infos, findings.with_peers)
    if findings.capacity is not None:
        yield capacity_part(findings.capacity)
    if findings.skew is not None:
        yield from skew_parts(findings.skew, findings.falls or (), findings.moves or ())
    yield from (
        part(rows) for part, rows in ((pins_part, findings.pins), (acks_part, findings.acks)) if rows is not None
    )
    if findings.actors is not None:
        yield actors_part(findings.actors)
    if findings.targets is not None:
        yield targets_part(findings.targets, findings.drifted_by_target, findings.uncompared_targets)
    if more := [_more_rows_text(name, count) for name, count in findings.left_out.items() if name != "drift"]:
        yield ReportPart(title="Left out", pieces=(Prose(lines=tuple(more)),))


def _more_rows_text(table: str, count: int) -> str:
    return f"{counted(count, 'row')} of `{table}` beyond those that this report is made of; the table has them all."
