"""Findings as a report: its parts, in the order in which people need them."""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.fleet.formats.elements import Prose, Report, ReportPart
from reconciler.fleet.report.drift import drift_part
from reconciler.fleet.report.drift_trend import past_part, repairs_part
from reconciler.fleet.report.events import acks_part, actors_part, pins_part
from reconciler.fleet.report.findings import FleetFindings
from reconciler.fleet.report.outliers_and_capacity import capacity_part, outliers_part
from reconciler.fleet.report.overview import NOT_COMPARED, earlier, overview, totals
from reconciler.fleet.report.skew import skew_parts
from reconciler.fleet.report.targets import targets_part
from reconciler.report.words.values import counted, show_seconds


def report_of(found: FleetFindings) -> Report:
    """Return the report of a fleet command, with a part for everything it looked for."""
    return Report(
        command=f"fleet {found.command}", heading=_heading(found), totals=totals(found), about=_about(found),
        parts=tuple(_parts(found)), following=found.following,
    )  # fmt: skip


def _heading(found: FleetFindings) -> str:
    count = f": {counted(len(found.targets), 'target')}" if found.targets is not None else ""
    return f"{found.fleet}{count}"


def _about(found: FleetFindings) -> str:
    took = f"in {show_seconds(found.seconds)}" if found.seconds is not None else ""
    return ", ".join(filter(None, (f"run {found.run}" if found.run else "", took)))


def _parts(found: FleetFindings) -> Iterator[ReportPart]:
    if found.command == "report":
        yield overview(found)
    if found.trend:
        yield past_part(found.trend, found.by_target)
    if found.strayed is not None:
        yield drift_part(found.strayed, found.left_out.get("drift", 0), since=tuple(earlier(found, "compared")))
    elif found.command == "report":
        yield ReportPart(title="Drift", pieces=(Prose(lines=(NOT_COMPARED,), tone="warn"),))
    if found.repairs is not None:
        yield repairs_part(found.repairs, found.history or ())
    if found.outliers is not None:
        yield outliers_part(found.outliers, found.infos, found.with_peers)
    if found.capacity is not None:
        yield capacity_part(found.capacity)
    if found.skew is not None:
        yield from skew_parts(found.skew, found.falls or (), found.moves or ())
    yield from (part(rows) for part, rows in ((pins_part, found.pins), (acks_part, found.acks)) if rows is not None)
    if found.actors is not None:
        yield actors_part(found.actors)
    if found.targets is not None:
        yield targets_part(found.targets, found.drifted_by_target)
    if more := [_more(name, count) for name, count in found.left_out.items() if name != "drift"]:
        yield ReportPart(title="Left out", pieces=(Prose(lines=tuple(more)),))


def _more(table: str, count: int) -> str:
    return f"{counted(count, 'row')} of `{table}` beyond those that this report is made of; the table has them all."
