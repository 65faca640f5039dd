"""The findings of a fleet command as JSON by its published schema: values are raw, and an absent value is a missing
key.

What `fleet COMMAND --format json` prints: a contract for each command, of the same parts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Annotated, Any

from reconciler.fleet.report.findings import FleetFindings, Row, Rows
from reconciler.fleet.report.plans import TargetPlan
from reconciler.fleet.report.run_rows import DriftEntry, SeenTarget, TargetFinding
from reconciler.fleet.tables.rows import (
    AcksRow,
    ActorsRow,
    CapacityRow,
    EarlierRow,
    Episode,
    FallsRow,
    MovesRow,
    Outlier,
    PinsRow,
    RepairsRow,
    SkewRow,
    TrendRow,
)
from reconciler.model.dataclass import dataclass
from reconciler.model.shape import ALWAYS, Count, Like, format_of
from reconciler.report.codec.schema import published_schema
from reconciler.report.codec.shape import data_of

_AS_JSON = {"history": ("live", "desired", "applied"), "outliers": ("value", "usual")}
"""Columns that hold JSON as text."""
TABLES = ("trend", "history", "repairs", "outliers", "capacity", "skew", "falls", "moves", "pins", "acks", "actors")


def fleet_plan_document(fleet: str, plans: Sequence[TargetPlan]) -> FleetPlanDocument:
    """Return what `fleet plan --format json` prints: for each target its plan, or the problems that prevented one."""
    return FleetPlanDocument(command="plan", fleet=fleet, targets=tuple(plans))


def findings_data(findings: FleetFindings) -> dict[str, Any]:
    """Return the findings as plain data; a table that the command did not make is a missing key."""
    around = {
        "run": findings.run, "left_out": dict(findings.left_out), "silent": dict(findings.silent),
        "earlier": [_row_data(row, ()) for row in findings.earlier], "uncompared": list(findings.uncompared_targets),
        "without_record": dict(findings.unrecorded), "diagnostics": [*map(data_of, findings.diagnostics)],
    }  # fmt: skip
    looked = {
        "targets": None if findings.targets is None else [*map(_target_data, findings.targets)],
        "drift": None if findings.drift is None else [*map(data_of, findings.drift)],
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


FORMAT = 1

Targets = Annotated[tuple[SeenTarget, ...], Like(description="What each target holds.")]
DriftEntries = Annotated[tuple[DriftEntry, ...], Like(description="What differs from the last apply, on every target.")]
Findings = Annotated[tuple[TargetFinding, ...], Like(description="Findings besides drift, on every target.")]
WithoutRecord = Annotated[
    Mapping[str, Count],
    Like(description="How many objects are as declared while no record says that an apply made them so, by target."),
]
Trend = Annotated[tuple[TrendRow, ...], Like(description="Drift from run to run.")]
History = Annotated[tuple[Episode, ...], Like(description="Every stretch of time over which one thing had drifted.")]
Repairs = Annotated[
    tuple[RepairsRow, ...], Like(description="How often things drift, and how long until they are repaired.")
]
Outliers = Annotated[tuple[Outlier, ...], Like(description="What differs from most of a target's peers.")]
Capacity = Annotated[tuple[CapacityRow, ...], Like(description="How full streams are, and when they will be.")]
Skew = Annotated[
    tuple[SkewRow, ...],
    Like(description="How evenly each candidate spreads keys over partitions and members."),
]
Falls = Annotated[tuple[FallsRow, ...], Like(description="How much falls on each partition.")]
Moves = Annotated[tuple[MovesRow, ...], Like(description="What changes its owner from one membership to the next.")]
Pins = Annotated[tuple[PinsRow, ...], Like(description="Pins of consumers' clients that change hands.")]
Acks = Annotated[tuple[AcksRow, ...], Like(description="How long consumers take to acknowledge, by day.")]
Actors = Annotated[tuple[ActorsRow, ...], Like(description="Who did what, according to audit events.")]
WithPeers = Annotated[Count, Like(description="How many targets have peers at all.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetHead:
    """What every command about a fleet says."""

    format: Annotated[int, ALWAYS, format_of(FORMAT)] = FORMAT
    """Version of this contract. If you do not know the number, stop reading."""
    command: str
    """The command that made this document."""
    fleet: str
    """Name of the fleet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetLook(FleetHead):
    """What every command that looks at a fleet says."""

    unread: tuple[str, ...]
    """Targets that could not be read, or not completely."""
    uncompared: tuple[str, ...] | None = None
    """Targets that could be read, but not compared with what is declared for them."""
    run: str | None = None
    """Name of the run."""
    left_out: Mapping[str, Count] | None = None
    """How many rows of a table are not in this document, by table."""
    silent: Mapping[str, str] | None = None
    """Why a target reported nothing new, by target."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetSnapshotDocument(FleetLook):
    """What each target holds."""

    targets: Targets


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetDriftDocument(FleetLook):
    """What differs from the last apply, on every target."""

    targets: Targets
    drift: DriftEntries
    diagnostics: Findings | None = None
    without_record: WithoutRecord | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetHistoryDocument(FleetLook):
    """How drift and streams developed over the runs."""

    trend: Trend
    history: History
    repairs: Repairs
    capacity: Capacity


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetOutliersDocument(FleetLook):
    """What differs from most of a target's peers."""

    outliers: Outliers
    with_peers: WithPeers | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetSkewDocument(FleetLook):
    """How evenly candidates for groups would spread what streams hold."""

    skew: Skew
    falls: Falls
    moves: Moves


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetEventsDocument(FleetLook):
    """What servers reported about themselves."""

    pins: Pins
    acks: Acks
    actors: Actors
    targets: Targets | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetReportDocument(FleetLook):
    """Everything that is known about a fleet."""

    targets: Targets
    trend: Trend
    history: History
    repairs: Repairs
    outliers: Outliers
    capacity: Capacity
    with_peers: WithPeers | None = None
    earlier: tuple[EarlierRow, ...] | None = None
    """Targets that this run was not about."""
    drift: DriftEntries | None = None
    diagnostics: Findings | None = None
    without_record: WithoutRecord | None = None
    skew: Skew | None = None
    falls: Falls | None = None
    moves: Moves | None = None
    pins: Pins | None = None
    acks: Acks | None = None
    actors: Actors | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetPlanDocument(FleetHead):
    """What would be done to each target, or why that is unknown."""

    targets: tuple[TargetPlan, ...]
    """Every target that was planned."""


COMMANDS: dict[str, type[FleetLook]] = {
    "snapshot": FleetSnapshotDocument,
    "drift": FleetDriftDocument,
    "history": FleetHistoryDocument,
    "outliers": FleetOutliersDocument,
    "skew": FleetSkewDocument,
    "events": FleetEventsDocument,
    "report": FleetReportDocument,
}


def fleet_schema(command: str) -> str:
    """Return the schema of `fleet COMMAND --format json`. Raises KeyError for a command that is not in COMMANDS."""
    return _command_schema(command, COMMANDS[command])


def fleet_plan_schema() -> str:
    """Return the schema of `fleet plan`; a plan in it is what `plan --format json` prints."""
    return _command_schema("plan", FleetPlanDocument)


def _command_schema(command: str, document: type[FleetHead]) -> str:
    return published_schema(f"reconciler fleet {command}", document.__doc__ or "", document, command={"const": command})
