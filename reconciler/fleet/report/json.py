"""The findings of a fleet command as JSON by its published schema: values are raw, and an absent value is a missing
key.

What `fleet COMMAND --format json` prints: a contract for each command, of the same parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, fields
from functools import partial
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
from reconciler.model.shape import ALWAYS, As, Count, Like, format_of
from reconciler.report.codec.schema import published_schema
from reconciler.report.codec.shape import members

FORMAT = 1


def as_objects(row_type: Any) -> As:
    """Return the mark of a table: rows as Spark gives them, which are written as objects of this type."""
    return As(tuple[row_type, ...], partial(_objects, row_type))


def _objects(row_type: Any, rows: Iterable[Row]) -> list[Any]:
    attributes = {key.key: key.attribute for key in members(row_type)}
    return [row_type(**{attributes[column]: value for column, value in row.items()}) for row in rows]


Targets = Annotated[tuple[SeenTarget, ...], Like(description="What each target holds.")]
DriftEntries = Annotated[tuple[DriftEntry, ...], Like(description="What differs from the last apply, on every target.")]
Findings = Annotated[tuple[TargetFinding, ...], Like(description="Findings besides drift, on every target.")]
WithoutRecord = Annotated[
    Mapping[str, Count],
    Like(description="How many objects are as declared while no record says that an apply made them so, by target."),
]
Trend = Annotated[Rows, as_objects(TrendRow), Like(description="Drift from run to run.")]
History = Annotated[
    Rows, as_objects(Episode), Like(description="Every stretch of time over which one thing had drifted.")
]
Repairs = Annotated[
    Rows, as_objects(RepairsRow), Like(description="How often things drift, and how long until they are repaired.")
]
Outliers = Annotated[Rows, as_objects(Outlier), Like(description="What differs from most of a target's peers.")]
Capacity = Annotated[Rows, as_objects(CapacityRow), Like(description="How full streams are, and when they will be.")]
Skew = Annotated[
    Rows, as_objects(SkewRow), Like(description="How evenly each candidate spreads keys over partitions and members.")
]
Falls = Annotated[Rows, as_objects(FallsRow), Like(description="How much falls on each partition.")]
Moves = Annotated[
    Rows, as_objects(MovesRow), Like(description="What changes its owner from one membership to the next.")
]
Pins = Annotated[Rows, as_objects(PinsRow), Like(description="Pins of consumers' clients that change hands.")]
Acks = Annotated[Rows, as_objects(AcksRow), Like(description="How long consumers take to acknowledge, by day.")]
Earlier = Annotated[Rows, as_objects(EarlierRow), Like(description="Targets that this run was not about.")]
Actors = Annotated[Rows, as_objects(ActorsRow), Like(description="Who did what, according to audit events.")]
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
    uncompared: tuple[str, ...] = ()
    """Targets that could be read, but not compared with what is declared for them."""
    run: str = ""
    """Name of the run."""
    left_out: Mapping[str, Count] = field(default_factory=dict)
    """How many rows of a table are not in this document, by table."""
    silent: Mapping[str, str] = field(default_factory=dict)
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
    diagnostics: Findings = ()
    without_record: WithoutRecord = field(default_factory=dict)


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
    earlier: Earlier = ()
    drift: DriftEntries | None = None
    diagnostics: Findings = ()
    without_record: WithoutRecord = field(default_factory=dict)
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


def fleet_plan_document(fleet: str, plans: Sequence[TargetPlan]) -> FleetPlanDocument:
    """Return what `fleet plan --format json` prints: for each target its plan, or the problems that prevented one."""
    return FleetPlanDocument(command="plan", fleet=fleet, targets=tuple(plans))


def findings_document(findings: FleetFindings) -> FleetLook:
    """Return what the command prints as JSON; a table that it did not make is a missing key."""
    document = COMMANDS[findings.command]
    named_otherwise: dict[str, Any] = {
        "unread": findings.unread_targets,
        "uncompared": findings.uncompared_targets,
        "without_record": findings.unrecorded,
        "with_peers": None if findings.outliers is None else findings.with_peers,
    }
    names = [attribute.name for attribute in fields(document) if attribute.name != "format"]
    values: dict[str, Any] = {name: named_otherwise.get(name, getattr(findings, name, None)) for name in names}
    return document(**values)


def fleet_schema(command: str) -> str:
    """Return the schema of `fleet COMMAND --format json`. Raises KeyError for a command that is not in COMMANDS."""
    return _command_schema(command, COMMANDS[command])


def fleet_plan_schema() -> str:
    """Return the schema of `fleet plan`; a plan in it is what `plan --format json` prints."""
    return _command_schema("plan", FleetPlanDocument)


def _command_schema(command: str, document: type[FleetHead]) -> str:
    return published_schema(f"reconciler fleet {command}", document.__doc__ or "", document, command={"const": command})
