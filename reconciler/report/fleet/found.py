"""All that a fleet command found out, before anybody chose a format. What a command did not look for is None."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from reconciler.core.drift import Standing
from reconciler.core.kind import FieldInfo
from reconciler.report.fleet.seen import Strayed, Target

Row = Mapping[str, Any]
"""A row of one of the tables, by column."""
Rows = tuple[Row, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    command: str
    """`snapshot`, `drift`, `report` …"""
    fleet: str
    """Its name, or the file it is in."""
    run: str = ""
    seconds: float | None = None
    targets: tuple[Target, ...] | None = None
    strayed: tuple[Strayed, ...] | None = None
    left_out: Mapping[str, int] = field(default_factory=dict)
    """How many rows of a table (of `drift`: objects) there are beyond what one report takes up; the table has them all."""
    earlier: Rows = ()
    """Targets that this run was not about: `what` was done with them (read, compared) in which other run and when, or never."""
    compared: frozenset[str] = frozenset()
    """Targets that have a topology and could be looked at."""
    trend: Rows | None = None
    by_target: Mapping[str, Mapping[str, int | None]] = field(default_factory=dict)
    history: Rows | None = None
    repairs: Rows | None = None
    outliers: Rows | None = None
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
    """Why a target told nothing new, where others did."""
    following: tuple[str, ...] = ()
    """What to do now, a sentence each."""

    @property
    def drifted(self) -> tuple[Strayed, ...]:
        return tuple(one for one in self.strayed or () if one.is_drift)

    @property
    def unread(self) -> tuple[str, ...]:
        """Targets that could not be read, or not wholly."""
        unread = {one.name for one in self.targets or () if one.error} | {*self.silent}
        if self.command == "skew":  # in a report, that was another look
            unread |= {str(one["target"]) for one in self.skew or () if one.get("error")}
        return tuple(sorted(unread | {one.target for one in self.strayed or () if one.is_unread}))

    @property
    def unknown(self) -> tuple[Strayed, ...]:
        return tuple(one for one in self.strayed or () if one.standing == Standing.UNKNOWN)

    @property
    def drifted_by_target(self) -> Mapping[str, int] | None:
        if self.strayed is None:
            return None
        counts: dict[str, int] = {}
        for one in self.drifted:
            counts[one.target] = counts.get(one.target, 0) + 1
        return counts
