"""The findings of a fleet command as JSON by its published schema: values are raw, and an absent value is a missing
key."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any

from reconciler.fleet.report.found import FleetFindings, Row, Rows
from reconciler.fleet.report.seen import Field, SeenTarget, StrayedObject
from reconciler.report.codec.json import json_text, present, some

FORMAT = 1
_AS_JSON = {"history": ("live", "desired", "applied"), "outliers": ("value", "usual")}
"""Columns that hold JSON as text."""
TABLES = ("trend", "history", "repairs", "outliers", "capacity", "skew", "falls", "moves", "pins", "acks", "actors")


def render(found: FleetFindings) -> str:
    """Return the text that `fleet COMMAND --format json` prints."""
    return json_text(data(found))


def data(found: FleetFindings) -> dict[str, Any]:
    """Return the findings as plain data; a table that the command did not make is a missing key."""
    tables = {name: _rows(name, getattr(found, name)) for name in TABLES}
    return {
        "format": FORMAT,
        "command": found.command,
        "fleet": found.fleet,
        "unread": list(found.unread),
        **some(run=found.run, left_out=dict(found.left_out), silent=dict(found.silent)),
        **some(earlier=[_row(one, ()) for one in found.earlier]),
        **present(
            targets=None if found.targets is None else [*map(_target, found.targets)],
            drift=None if found.strayed is None else [*map(_strayed, found.strayed)],
            with_peers=None if found.outliers is None else found.with_peers,
            **tables,
        ),
    }


def _target(one: SeenTarget) -> dict[str, Any]:
    if one.error:
        return {"target": one.name, "labels": dict(one.labels), "error": one.error}
    counts = {name: getattr(one, name) for name in ("streams", "consumers", "messages", "bytes", "unknown")}
    return {"target": one.name, "labels": dict(one.labels), "version": one.version, **counts}


def _strayed(one: StrayedObject) -> dict[str, Any]:
    return {
        "target": one.target,
        "standing": one.standing,
        "drift": one.is_drift,
        "fields": [*map(_field, one.fields)],
        "verdicts": [{"code": code, "message": message} for code, message in one.verdicts],
        **some(
            topology=one.topology, address=one.address, team=one.team, reason=one.reason, ignored=one.ignored,
            place=one.place, error=one.error,
        ),
    }  # fmt: skip


def _field(one: Field) -> dict[str, Any]:
    return {
        "path": one.path,
        "class": one.field_class,
        "drift": one.counts,
        "unit": one.info.unit,
        **present(applied=one.applied, live=one.live, desired=one.desired),
        **some(ignored=one.ignored),
    }


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
