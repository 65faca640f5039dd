"""The findings of a fleet command as JSON by its published schema: values are raw, and an absent value is a missing
key."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any

from reconciler.fleet.report.findings import FleetFindings, Row, Rows
from reconciler.fleet.report.json_schema import FORMAT, FleetPlanDocument
from reconciler.fleet.report.plans import TargetPlan
from reconciler.fleet.report.run_rows import SeenTarget
from reconciler.report.codec.json import json_text
from reconciler.report.codec.shape import data_of

_AS_JSON = {"history": ("live", "desired", "applied"), "outliers": ("value", "usual")}
"""Columns that hold JSON as text."""
TABLES = ("trend", "history", "repairs", "outliers", "capacity", "skew", "falls", "moves", "pins", "acks", "actors")


def plans_json(fleet: str, plans: Sequence[TargetPlan]) -> str:
    """Return the text that `fleet plan --format json` prints: for each target its plan, or the problems that prevented
    one."""
    return json_text(data_of(FleetPlanDocument(command="plan", fleet=fleet, targets=tuple(plans))))


def render(findings: FleetFindings) -> str:
    """Return the text that `fleet COMMAND --format json` prints."""
    return json_text(findings_data(findings))


def findings_data(findings: FleetFindings) -> dict[str, Any]:
    """Return the findings as plain data; a table that the command did not make is a missing key."""
    around = {
        "run": findings.run, "left_out": dict(findings.left_out), "silent": dict(findings.silent),
        "earlier": [_row_data(row, ()) for row in findings.earlier], "uncompared": list(findings.uncompared_targets),
        "without_record": dict(findings.unrecorded), "diagnostics": [*map(data_of, findings.diagnostics)],
    }  # fmt: skip
    looked = {
        "targets": None if findings.targets is None else [*map(_target_data, findings.targets)],
        "drift": None if findings.strayed is None else [*map(data_of, findings.strayed)],
        "with_peers": None if findings.outliers is None else findings.with_peers,
    }
    tables = {name: _rows_data(name, getattr(findings, name)) for name in TABLES}
    return {
        "format": FORMAT,
        "command": findings.command,
        "fleet": findings.fleet,
        "unread": list(findings.unread_targets),
        **{name: value for name, value in around.items() if value},
        **{name: value for name, value in (looked | tables).items() if value is not None},
    }


def _target_data(target: SeenTarget) -> dict[str, Any]:
    """A count of 0 is said, but nothing was counted on a target that could not be read."""
    counts = {name: getattr(target, name) for name in ("streams", "consumers", "messages", "bytes", "unknown")}
    return data_of(target) | ({} if target.error else counts)


def _rows_data(table: str, rows: Rows | None) -> list[dict[str, Any]] | None:
    return None if rows is None else [_row_data(row, _AS_JSON.get(table, ())) for row in rows]


def _row_data(row: Row, texts: tuple[str, ...]) -> dict[str, Any]:
    return {
        name: json.loads(value) if name in texts else _plain(value) for name, value in row.items() if value is not None
    }


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [*map(_plain, value)]
    return value
