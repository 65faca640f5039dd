"""What runs changed, field by field: as the journal keeps it, and added up from one run to another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from operator import attrgetter
from typing import Annotated, Any, Literal

from reconciler.changes.change import Action, FieldChange
from reconciler.changes.plan import Plan, PlannedChange
from reconciler.memory.journal import UNKNOWN, Run
from reconciler.model.dataclass import dataclass
from reconciler.model.fields import FieldInfo, Unit, infos_of_units
from reconciler.model.resource import Json
from reconciler.model.shape import ALWAYS, As, Count, Name, computed

LONG = 8 << 10
"""How many characters of a field, before and after, are kept; of a longer one the journal only says that it changed."""


def changes_entry(plan: Plan) -> dict[str, Json]:
    """Changes of a plan by resource. Created and deleted ones are only named, since the ledger holds their
    configuration."""
    acting = (planned for planned in plan.changes if planned.action.writes and not planned.is_blocked)
    return {planned.address: _change_entry(planned) for planned in acting}


def _change_entry(change: PlannedChange) -> dict[str, Json]:
    if change.action not in (Action.UPDATE, Action.REPLACE):
        return {"action": change.action.value}
    return {
        "action": change.action.value,
        "fields": {field_change.path: _field_entry(field_change) for field_change in change.fields},
    }


def _field_entry(change: FieldChange) -> dict[str, Json]:
    if len(str(change.live)) + len(str(change.desired)) > LONG:
        return {"long": True}
    info = change.info
    values = {
        "from": change.live, "to": change.desired, "unit": info.unit, "default": info.default, "left_out": info.left_out or None,
        "units": info.units or None,
    }  # fmt: skip
    return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldBetween:
    """A field with its values after the earlier and after the later run."""

    path: str
    """The field, with dots and indexes: `sources[1].filter_subject`."""
    from_: Json = None
    """The value after the earlier run, raw: durations in nanoseconds, sizes in bytes."""
    to: Json = None
    """The value after the later run, raw."""
    unit: Unit
    """How to read the values: durations are nanoseconds, sizes are bytes."""

    @classmethod
    def each(cls, fields: Sequence[FieldChange]) -> list[FieldBetween]:
        """Of two runs, live is the earlier value, and desired the later one."""
        return [cls(path=one.path, from_=one.live, to=one.desired, unit=one.info.unit) for one in fields]


@dataclass(frozen=True, slots=True, kw_only=True)
class Differs:
    """One resource after the later run, compared with the same one after the earlier run."""

    address: str
    """The resource."""
    became: Literal["created", "deleted", "replaced", "updated"]
    """What the runs together did to it."""
    fields: Annotated[tuple[FieldChange, ...], ALWAYS, As(tuple[FieldBetween, ...], FieldBetween.each)] = ()
    """The fields that differ; none of a resource that was created or deleted."""
    long: tuple[str, ...] = ()
    """Fields that differ, whose values are too long to be kept."""


_NUMBER = As(Count, attrgetter("number"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangesBetween:
    """Everything that runs of one topology changed after `first`, up to and including `last`."""

    first: Annotated[Run, Name("from"), _NUMBER]
    """Number of the earlier run."""
    last: Annotated[Run, Name("to"), _NUMBER]
    """Number of the later run."""
    resources: Annotated[tuple[Differs, ...], ALWAYS] = ()
    """The resources that differ, by address."""
    unsure: Annotated[tuple[Count, ...], ALWAYS] = ()
    """Runs between them that were interrupted or are still going: nobody knows how much they did."""
    untold: Annotated[tuple[Count, ...], ALWAYS] = ()
    """Runs whose changes are not in the journal."""

    @property
    @computed("topology")
    def topology(self) -> str:
        """The topology that both runs applied."""
        return self.last.topology


@dataclass(slots=True)
class _Course:
    """What happened to one resource, run by run."""

    was_there: bool
    is_there: bool = True
    made_anew: bool = False
    fields: dict[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = field(default_factory=dict)
    """Path → what the first run says, and what the last one says."""

    def follow(self, change: Mapping[str, Any]) -> None:
        action = change.get("action")
        self.made_anew |= action == Action.REPLACE or (action == Action.CREATE and not self.is_there)
        self.is_there = action != Action.DELETE
        for path, sides in change.get("fields", {}).items():
            first, _ = self.fields.get(path, (sides, sides))
            self.fields[path] = (first, sides)


def difference(first: Run, last: Run, between: Iterable[Run]) -> ChangesBetween:
    """`between`: the runs after `first` up to and including `last`, in any order."""
    runs = sorted(between, key=lambda run: run.number)
    courses: dict[str, _Course] = {}
    for run in runs:
        for address, change in _finished_changes(run):
            course = courses.setdefault(address, _Course(was_there=change.get("action") != Action.CREATE))
            course.follow(change)
    differences = (_difference_of_resource(address, course) for address, course in sorted(courses.items()))
    return ChangesBetween(
        first=first, last=last, resources=tuple(one for one in differences if one),
        unsure=tuple(run.number for run in runs if run.ended is None or run.outcome == UNKNOWN),
        untold=tuple(run.number for run in runs if run.changes is None),
    )  # fmt: skip


def _finished_changes(run: Run) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Changes of a run, without those that it says it did not finish."""
    unfinished = set(run.steps.get("unfinished", ()))
    for address, change in (run.changes or {}).items():
        if address not in unfinished:
            yield address, change


def _difference_of_resource(address: str, course: _Course) -> Differs | None:
    if course.was_there != course.is_there:
        return Differs(address=address, became="created" if course.is_there else "deleted")
    if not course.is_there:
        return None
    sides = {path: pair for path, pair in course.fields.items() if not _is_long(*pair)}
    fields = tuple(
        change for path, pair in sorted(sides.items()) if (change := _field_change(path, *pair)).live != change.desired
    )
    long = tuple(sorted(course.fields.keys() - sides.keys()))
    if not (fields or long or course.made_anew):
        return None
    return Differs(address=address, became="replaced" if course.made_anew else "updated", fields=fields, long=long)


def _is_long(first: Mapping[str, Any], last: Mapping[str, Any]) -> bool:
    return bool(first.get("long") or last.get("long"))


def _field_change(path: str, first: Mapping[str, Any], last: Mapping[str, Any]) -> FieldChange:
    info = FieldInfo(
        unit=last.get("unit", "text"), default=last.get("default"), left_out=last.get("left_out", ""),
        nested=infos_of_units(last.get("units", {})),
    )  # fmt: skip
    return FieldChange(path=path, live=first.get("from"), desired=last.get("to"), info=info)
