"""Everything that a fleet command found, before a format is chosen. None: the command did not look for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from reconciler.fleet.report.run_rows import Count, DriftEntry, SeenTarget, TargetFinding
from reconciler.fleet.tables.rows import UNCOMPARED, UNREACHABLE, UNREMEMBERED
from reconciler.journeys.drift.drift import Standing
from reconciler.model.dataclass import dataclass
from reconciler.model.fields import FieldInfo

Row = Mapping[str, Any]
"""A row of one of the tables, by column."""
Rows = tuple[Row, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetFindings:
    command: str
    """`snapshot`, `drift`, `report` …"""
    fleet: str
    """Its name, or its file."""
    run: str = ""
    seconds: float | None = None
    targets: tuple[SeenTarget, ...] | None = None
    drift: tuple[DriftEntry, ...] | None = None
    """The listed objects; there may be more."""
    counts: tuple[Count, ...] = ()
    """All drift, listed or not."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """How many rows of a table (of `drift`: objects) there are beyond those that one report takes up; the table has
    them all."""
    earlier: Rows = ()
    """Targets that this run was not about: the run that last did `what` with them (read, compared) and when, or
    never."""
    compared: frozenset[str] = frozenset()
    """Targets that have a topology and could be looked at."""
    unrecorded: Mapping[str, int] = field(default_factory=dict)
    """How many objects are as declared while no record tells that an apply made them so, by target."""
    diagnostics: tuple[TargetFinding, ...] = ()
    """What the looks say besides drift."""
    trend: Rows | None = None
    by_target: Mapping[str, Mapping[str, int | None]] = field(default_factory=dict)
    history: Rows | None = None
    repairs: Rows | None = None
    outliers: Rows | None = None
    with_peers: int = 0
    """Targets that were compared with others of the same labels: those that have any."""
    infos: Mapping[tuple[str, str], FieldInfo] = field(default_factory=dict)
    """How values of outliers are shown, by kind and path."""
    capacity: Rows | None = None
    skew: Rows | None = None
    falls: Rows | None = None
    moves: Rows | None = None
    pins: Rows | None = None
    acks: Rows | None = None
    actors: Rows | None = None
    silent: Mapping[str, str] = field(default_factory=dict)
    """Why a target reported nothing new, where others did."""
    following: tuple[str, ...] = ()
    """What to do now, a sentence each."""

    @property
    def drifted_objects(self) -> tuple[DriftEntry, ...]:
        """Return the listed objects that drifted."""
        return tuple(entry for entry in self.drift or () if entry.is_drift)

    @property
    def unread_targets(self) -> tuple[str, ...]:
        """Return the targets that could not be read, or not completely."""
        unread = {item.name for item in self.targets or () if item.error} | {*self.silent}
        if self.command == "skew":  # in a report, that was another look
            unread |= {str(item["target"]) for item in self.skew or () if item.get("error")}
        return tuple(sorted(unread | {item.target for item in self.counts if item.standing == UNREACHABLE}))

    @property
    def uncompared_targets(self) -> tuple[str, ...]:
        """Return the targets that could be read, but not compared with what is declared for them."""
        return tuple(
            sorted({item.target for item in self.counts if item.standing == UNCOMPARED} - {*self.unread_targets})
        )

    @property
    def unknown_counts(self) -> tuple[Count, ...]:
        """Return counts of objects whose state is unknown, one for each target that has any."""
        return tuple(count for count in self.counts if count.standing == Standing.UNKNOWN)

    @property
    def unremembered_counts(self) -> tuple[Count, ...]:
        """Return counts of objects whose record cannot be used, one for each target that has any."""
        return tuple(count for count in self.counts if count.standing == UNREMEMBERED)

    @property
    def drifted_by_target(self) -> Mapping[str, int] | None:
        """Return the number of drifted objects of each target that has any; None where the command compared nothing."""
        if self.drift is None:
            return None
        sums = Counter[str]()
        for count in self.counts:
            sums[count.target] += count.drifted
        return +sums
