"""The findings of a fleet command as JSON by its published schema: values are raw, and an absent value is a missing
key."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any

from reconciler.fleet.report.findings import FleetFindings, Row, Rows
from reconciler.fleet.report.plans import TargetPlan
from reconciler.fleet.report.run_rows import SeenTarget
from reconciler.fleet.report.schema import FORMAT, FleetPlanDocument
from reconciler.report.codec.json import json_text
from reconciler.report.codec.shape import data_of

_AS_JSON = {"history": ("live", "desired", "applied"), "outliers": ("value", "usual")}
"""Columns that hold JSON as text."""
TABLES = ("trend", "history", "repairs", "outliers", "capacity", "skew", "falls", "moves", "pins", "acks", "actors")


def plans_json(fleet: str, plans: Sequence[TargetPlan]) -> str:
    """Return the text that `fleet plan --format json` prints: for each target its plan, or the problems that prevented
    one."""
    return json_text(data_of(FleetPlanDocument(command="plan", fleet=fleet, targets=tuple(plans))))


def render(found: FleetFindings) -> str:
    """Return the text that `fleet COMMAND --format json` prints."""
    return json_text(data(found))


def data(found: FleetFindings) -> dict[str, Any]:
    """Return the findings as plain data; a table that the command did not make is a missing key."""
    around = {
        "run": found.run, "left_out": dict(found.left_out), "silent": dict(found.silent),
        "earlier": [_row(one, ()) for one in found.earlier],
    }  # fmt: skip
    looked = {
        "targets": None if found.targets is None else [*map(_target, found.targets)],
        "drift": None if found.strayed is None else [*map(data_of, found.strayed)],
        "with_peers": None if found.outliers is None else found.with_peers,
    }
    tables = {name: _rows(name, getattr(found, name)) for name in TABLES}
    return {
        "format": FORMAT,
        "command": found.command,
        "fleet": found.fleet,
        "unread": list(found.unread),
        **{name: value for name, value in around.items() if value},
        **{name: value for name, value in (looked | tables).items() if value is not None},
    }


def _target(one: SeenTarget) -> dict[str, Any]:
    """A count of 0 is said, but nothing was counted on a target that could not be read."""
    counts = {name: getattr(one, name) for name in ("streams", "consumers", "messages", "bytes", "unknown")}
    return data_of(one) | ({} if one.error else counts)


def _rows(table: str, rows: Rows | None) -> list[dict[str, Any]] | None:
    return None if rows is None else [_row(one, _AS_JSON.get(table, ())) for one in rows]


def _row(row: Row, texts: tuple[str, ...]) -> dict[str, Any]:
    return {
        name: json.loads(value) if name in texts else _plain(value) for name, value in row.items() if value is not None
    }


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items() if one is not None}
    if isinstance(value, list | tuple):
        return [*map(_plain, value)]
    return value
