"""Adoption: this topology records that it owns live objects, and changes none of them. The plan has records and no
steps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from reconciler.changes.change import Action
from reconciler.changes.plan import PlannedChange
from reconciler.changes.verdict import Outcome, Verdict
from reconciler.engine.pairing.canonical import recognised_resources
from reconciler.journeys.plan.plan import Planned, PlanPurpose
from reconciler.kinds import REGISTRY
from reconciler.model.dataclass import dataclass
from reconciler.model.ledger.records import Owned
from reconciler.model.resource import Address, Config, Resource

OWNERSHIP = frozenset({"XX101", "XX102", "XX541", "XX543", "XX552"})
"""The rules that apply to an adoption: those about objects that others own or that are part of something else. All
other rules judge changes, and an adoption makes none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adoption:
    """A plan that only writes records, and what stops it."""

    planned: Planned
    differing: Planned
    """Objects that differ from the file, or that somebody else owns."""
    later: int = 0
    """Changes of objects that are owned already, and removals: `apply` makes those."""

    @property
    def count(self) -> int:
        """Count the live objects that this topology takes ownership of."""
        return len(self.planned.plan.changes)


def adoption(planned_all: Planned, *, as_is: bool = False) -> Adoption:
    """Reduce a plan to its adoptions. With `as_is`, an object that differs is adopted as it is live; its differences
    from the file are pending from then on."""
    live = recognised_resources(
        planned_all.snapshot, REGISTRY, [Address.parse(change.address) for change in planned_all.plan.changes]
    )
    adopted: list[PlannedChange] = []
    differing: list[PlannedChange] = []
    for change in planned_all.plan.changes:
        if not _is_to_be_adopted(change):
            continue
        if _is_somebody_elses(change) or change.action is Action.UNKNOWN:
            differing.append(change)
        elif change.action is Action.ADOPT:
            adopted.append(_as_adoption(change, verdicts=_remaining_warnings(change)))
        elif as_is and (live_object := live.get(Address.parse(change.address))) and change.record:
            recorded = replace(change, record=_as_live(change.record, live_object))
            adopted.append(replace(_as_adoption(recorded), fields=change.fields))
        elif not as_is:
            differing.append(change)

    later = sum(change.action.writes and not _is_to_be_adopted(change) for change in planned_all.plan.changes)
    ours = replace(_reduced_plan(planned_all, adopted), purpose=PlanPurpose.ADOPT_AS_IS if as_is else PlanPurpose.ADOPT)
    return Adoption(planned=ours, differing=_reduced_plan(planned_all, differing), later=later)


def _is_to_be_adopted(change: PlannedChange) -> bool:
    """Is it declared, but not owned yet?"""
    if change.action in (Action.ADOPT, Action.UNKNOWN) or _is_somebody_elses(change):
        return True
    return change.record is not None and change.record.revision == 0 and change.action.writes


def _is_somebody_elses(change: PlannedChange) -> bool:
    return any(verdict.blocks and verdict.code in OWNERSHIP for verdict in change.verdicts)


def _as_adoption(change: PlannedChange, verdicts: tuple[Verdict, ...] = ()) -> PlannedChange:
    return replace(
        change, action=Action.ADOPT, fields=(), verdicts=verdicts, consequences=(), blocked_by=None, adopts=True
    )


def _remaining_warnings(change: PlannedChange) -> tuple[Verdict, ...]:
    """Keep the warnings about what exists and stays as it is."""
    return tuple(verdict for verdict in change.verdicts if verdict.outcome is Outcome.WARNS)


def _as_live(record: Owned, live: Resource) -> Owned:
    """Record the object as if its live configuration had been applied."""
    managed = dict(_managed_values(record, live.config))
    filled = {name: value for name, value in record.filled.items() if managed.get(name) == value}
    return replace(record, fields={n: value for n, value in managed.items() if n not in filled}, filled=filled)


def _managed_values(record: Owned, config: Config) -> Iterator[tuple[str, object]]:
    for name, value in config.items():
        if name == "metadata":
            value = {key: label for key, label in value.items() if key in record.fields.get("metadata", {})}  # noqa: PLW2901
        if name not in record.left and value != {}:
            yield name, value


def _reduced_plan(planned_all: Planned, changes: list[PlannedChange]) -> Planned:
    warned = tuple(diagnostic for diagnostic in planned_all.plan.diagnostics if not diagnostic.is_error)
    plan = replace(planned_all.plan, changes=tuple(changes), steps=(), unmanaged=(), diagnostics=warned)
    return replace(planned_all, plan=plan)
