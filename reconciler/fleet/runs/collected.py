"""Rows of the fleet's tables, as they were collected, in the form that a report needs. Knows no Spark."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from reconciler.changes.kind import Registry
from reconciler.fleet.report.run_rows import Count, Field, SeenTarget, StrayedObject, TargetFinding
from reconciler.fleet.tables.rows import UNREMEMBERED
from reconciler.kinds import REGISTRY
from reconciler.model.diagnostic import Severity
from reconciler.model.fields import FieldInfo, info_at
from reconciler.model.resource import Json

Row = Mapping[str, Any]


def seen_target(row: Row) -> SeenTarget:
    """Convert a row about what a target holds."""
    counts = {name: int(row[name] or 0) for name in ("streams", "consumers", "messages", "bytes", "unknown")}
    return SeenTarget(
        name=row["target"], labels=dict(row["labels"] or {}), version=row["version"] or "", error=row["error"] or "",
        seconds=row["seconds"], **counts,
    )  # fmt: skip


def count(row: Row) -> Count:
    """Convert a row about the standing of a target's objects."""
    numbers = {name: row[name] for name in ("objects", "drifted", "unrecorded")}
    return Count(target=row["target"], standing=row["standing"], **numbers)


def strayed_objects(rows: Iterable[Row], registry: Registry = REGISTRY) -> tuple[StrayedObject, ...]:
    """Convert rows of DRIFT: those of one object on one target become one."""
    by_object = itemgetter("target", "topology", "address")
    ordered = sorted(rows, key=lambda row: tuple(value or "" for value in by_object(row)))
    return tuple(_strayed_object([*same], registry) for _, same in groupby(ordered, key=by_object))


def target_finding(row: Row) -> TargetFinding:
    """Convert a row with the columns of FINDING."""
    return TargetFinding(
        target=row["target"], severity=Severity(row["severity"]), code=row["code"], name=row["name"], message=row["message"],
        address=row["address"] or "", place=_file_and_line(row), fix=row["fix"] or "",
    )  # fmt: skip


def _strayed_object(rows: Sequence[Row], registry: Registry) -> StrayedObject:
    """A row without a path is about the whole object; an unusable record is reported in addition."""
    first = min(rows, key=lambda row: (row["standing"] == UNREMEMBERED, row["path"] is not None))
    of_object = [row for row in rows if row["path"] is None and row["standing"] == first["standing"]]
    reasons = dict.fromkeys(row["reason"] for row in rows if row["reason"])
    verdicts = {verdict["code"]: verdict["message"] for row in rows for verdict in row["verdicts"] or ()}
    return StrayedObject(
        target=first["target"], standing=first["standing"], address=first["address"] or "", topology=first["topology"] or "",
        team=first["team"] or "", reason="; ".join(reasons), ignored=(of_object[0]["ignored"] or "") if of_object else "",
        verdicts=tuple(verdicts.items()), place=_file_and_line(first), error=first["error"] or "",
        fields=tuple(_field(row, registry) for row in rows if row["path"] is not None),
    )  # fmt: skip


def _field(row: Row, registry: Registry) -> Field:
    return Field(
        path=row["path"], field_class=row["class"], live=_parsed_value(row["live"]), desired=_parsed_value(row["desired"]),
        applied=_parsed_value(row["applied"]), drifted=bool(row["drifted"]), ignored=row["ignored"] or "",
        info=_field_info(row["kind"], row["path"], registry),
    )  # fmt: skip


def _field_info(kind: str, path: str, registry: Registry) -> FieldInfo:
    """The information that a comparison has."""
    known_kind = registry.by_name.get(kind)
    return info_at(known_kind.fields, path) if known_kind else FieldInfo()


def field_infos(rows: Iterable[Row], registry: Registry = REGISTRY) -> dict[tuple[str, str], FieldInfo]:
    """Return the information about fields, from rows that name a kind and a path."""
    named = {(row["kind"], row["path"]) for row in rows if row["path"] is not None}
    return {(kind, path): _field_info(kind, path, registry) for kind, path in named}


def _parsed_value(text: str | None) -> Json:
    return None if text is None else json.loads(text)


def _file_and_line(row: Row) -> str:
    return f"{row['file']}:{row['line']}" if row["file"] else ""
