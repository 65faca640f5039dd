"""What runs changed, field by field: as the journal keeps it, and added up from one run to another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from operator import attrgetter
from typing import Annotated, Any, Literal

from reconciler.changes.change import Action, FieldChange
from reconciler.changes.diff import differences, keep_order
from reconciler.changes.kind import Registry
from reconciler.changes.plan import Plan, PlannedChange
from reconciler.memory.journal import UNKNOWN, Run
from reconciler.memory.remembered import record_of
from reconciler.model.dataclass import dataclass
from reconciler.model.fields import FieldInfo, Unit, infos_of_units
from reconciler.model.ledger.records import Owned
from reconciler.model.resource import Address, Config, Json
from reconciler.model.shape import ALWAYS, As, Count, Name, computed
from reconciler.model.wire.snapshot import Snapshot

LONG = 8 << 10
"""How many characters of a field, before and after, are kept; of a longer one the journal only says that it changed."""


def changes_entry(plan: Plan, snapshot: Snapshot, registry: Registry) -> dict[str, Json]:
    """Changes of a plan by resource, with those of records alone: it adopts, gives up, or records what was accepted.
    `snapshot` holds the records before. Created and deleted ones are only named, since the ledger holds their configuration."""
    settled = {str(address) for address in plan.records}
    entries: dict[str, Json] = {}
    for planned in plan.changes:
        if not planned.is_blocked and (planned.action.writes or planned.address in settled):
            address = Address.parse(planned.address)
            before, infos = record_of(address, snapshot), registry.of(address).fields
            if before is None and (old := _old_name(planned)):
                entry = _change_entry(planned, record_of(Address.parse(old), snapshot), infos, plan.topology)
                entries[planned.address] = {**entry, "renamed_from": old}
            else:
                entries[planned.address] = _change_entry(planned, before, infos, plan.topology)
    return entries


def _old_name(change: PlannedChange) -> str | None:
    """The address until now of what is recreated under another one."""
    earlier = change.record.earlier if change.record and change.action is Action.REPLACE else ()
    return next(reversed(earlier), None)


def _change_entry(
    change: PlannedChange, before: Owned | None, infos: Mapping[str, FieldInfo], topology: str
) -> dict[str, Json]:
    taken_over = Action.ADOPT if change.action is Action.ORPHAN else change.action
    entry: dict[str, Json] = {"action": taken_over.value}
    if taken_over not in (Action.UPDATE, Action.REPLACE, Action.ADOPT):
        return entry
    if taken_over is not Action.REPLACE and (before is None or before.topology != topology):
        entry["adopts"] = True
    fields = _changed_fields(change, before, infos)
    return entry | {"fields": {field_change.path: _field_entry(field_change) for field_change in fields}}


def _changed_fields(
    change: PlannedChange, before: Owned | None, infos: Mapping[str, FieldInfo]
) -> Iterator[FieldChange]:
    """The values that are wanted now and were not wanted before, as records tell; without a record, those that were
    not live. A value that somebody changed in between, and that goes back, is as it was."""
    record = change.record
    if before is None or record is None:
        yield from change.fields
        return
    was, is_ = _recorded(before), _recorded(record)
    stated = {*before.fields, *record.fields, *_TERMS}
    was, is_ = ({name: value for name, value in config.items() if name in stated} for config in (was, is_))
    spelled = {name: keep_order(value, was.get(name), infos.get(name)) for name, value in is_.items()}
    left = (*before.left, *record.left)
    for field_change in differences(spelled, was, None, infos):
        if not any(_is_within(field_change.path, path) for path in left):
            yield field_change
    yield from (it for it in change.fields if any(_is_within(it.path, path) for path in before.left))


_TERMS = ("protect", "labels", "unmanaged")
"""What a file says of an object and no server knows."""


def _recorded(record: Owned) -> Config:
    terms = zip(_TERMS, (record.protected, record.labels, list(record.left)), strict=True)
    return {**record.applied, **{name: value for name, value in terms if value}}


def _is_within(path: str, outer: str) -> bool:
    return path == outer or path.startswith((f"{outer}.", f"{outer}["))


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
        return [cls(path=field.path, from_=field.live, to=field.desired, unit=field.info.unit) for field in fields]


@dataclass(frozen=True, slots=True, kw_only=True)
class Differs:
    """One resource after the later run, compared with the same one after the earlier run."""

    address: str
    """The resource."""
    became: Literal["created", "adopted", "deleted", "forgotten", "renamed", "replaced", "updated"]
    """What the runs together did to it. `adopted`: it was live, and belongs to the topology since; `forgotten`: it no
    longer does, and what is live of it stays; `renamed`: recreated at its position under another name; `updated`: in
    place, or only in its record."""
    renamed_from: str | None = None
    """The address that it had after the earlier run; absent: the same."""
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


_Standing = Literal["owned", "gone", "outside"]
"""Of a resource: it belongs to the topology; it does not exist; or it exists and belongs to nobody, or to others."""
_AFTER: Mapping[str, _Standing] = {Action.DELETE: "gone", Action.FORGET: "outside"}
_BECAME: Mapping[tuple[_Standing, _Standing], Literal["created", "adopted", "deleted", "forgotten"]] = {
    ("gone", "owned"): "created", ("outside", "owned"): "adopted", ("owned", "gone"): "deleted",
    ("owned", "outside"): "forgotten", ("gone", "outside"): "created", ("outside", "gone"): "deleted",
}  # fmt: skip


def _state_before(change: Mapping[str, Any]) -> _Standing:
    if change.get("action") == Action.CREATE:
        return "gone"
    return "outside" if change.get("adopts") else "owned"


@dataclass(slots=True)
class _ResourceHistory:
    """What happened to one resource, run by run."""

    began: _Standing
    now: _Standing
    made_anew: bool = False
    renamed_from: str | None = None
    """The first name that it had."""
    fields: dict[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = field(default_factory=dict)
    """Path → what the first run says, and what the last one says."""

    def follow(self, change: Mapping[str, Any]) -> None:
        action = change.get("action")
        after = _AFTER.get(str(action), "owned")
        self.made_anew |= action == Action.REPLACE or (self.now == "gone" and after == "owned")
        self.now = after
        for path, sides in change.get("fields", {}).items():
            first, _ = self.fields.get(path, (sides, sides))
            self.fields[path] = (first, sides)


def difference(first: Run, last: Run, between: Iterable[Run]) -> ChangesBetween:
    """`between`: the runs after `first` up to and including `last`, in any order."""
    runs = sorted(between, key=lambda run: run.number)
    return ChangesBetween(
        first=first, last=last, resources=_differing_resources(runs),
        unsure=tuple(run.number for run in runs if run.ended is None or run.outcome == UNKNOWN),
        untold=tuple(run.number for run in runs if run.changes is None),
    )  # fmt: skip


def changed_by(run: Run) -> tuple[Differs, ...]:
    """Everything that one run changed; nothing of a run whose end is unknown, for nobody knows how much it did."""
    return () if run.ended is None or run.outcome == UNKNOWN else _differing_resources([run])


def _differing_resources(runs: Iterable[Run]) -> tuple[Differs, ...]:
    courses: dict[str, _ResourceHistory] = {}
    for run in runs:
        finished = dict(_finished_changes(run))
        courses |= _renamed_courses(finished, courses)
        for address, change in finished.items():
            before = _state_before(change)
            courses.setdefault(address, _ResourceHistory(began=before, now=before)).follow(change)
    differing = (_difference_of_resource(address, course) for address, course in sorted(courses.items()))
    return tuple(resource for resource in differing if resource)


def _renamed_courses(
    changes: Mapping[str, Mapping[str, Any]], courses: dict[str, _ResourceHistory]
) -> dict[str, _ResourceHistory]:
    """What a run renames, under its new names; taken from `courses`, where it has the old ones."""
    renamed = dict[str, _ResourceHistory]()
    for address, change in changes.items():
        if old := change.get("renamed_from"):
            renamed[address] = courses.pop(old, _ResourceHistory(began="owned", now="owned"))
            renamed[address].renamed_from = renamed[address].renamed_from or old
    return renamed


def _finished_changes(run: Run) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Changes of a run, without those that it says it did not finish."""
    unfinished = set(run.steps.get("unfinished", ()))
    for address, change in (run.changes or {}).items():
        if address not in unfinished:
            yield address, change


def _difference_of_resource(address: str, course: _ResourceHistory) -> Differs | None:
    became = _BECAME.get((course.began, course.now))
    if course.now != "owned" or became == "created":
        return Differs(address=address, became=became) if became else None
    sides = {path: pair for path, pair in course.fields.items() if not _is_long(*pair)}
    fields = tuple(
        change for path, pair in sorted(sides.items()) if (change := _field_change(path, *pair)).live != change.desired
    )
    long = tuple(sorted(course.fields.keys() - sides.keys()))
    if not (became or fields or long or course.made_anew):
        return None
    old = course.renamed_from if course.renamed_from != address and not became else None
    how: Literal["renamed", "replaced", "updated"] = "replaced" if course.made_anew else "updated"
    return Differs(
        address=address, became=became or ("renamed" if old else how), renamed_from=old, fields=fields, long=long
    )


def _is_long(first: Mapping[str, Any], last: Mapping[str, Any]) -> bool:
    return bool(first.get("long") or last.get("long"))


def _field_change(path: str, first: Mapping[str, Any], last: Mapping[str, Any]) -> FieldChange:
    info = FieldInfo(
        unit=last.get("unit", "text"), default=last.get("default"), left_out=last.get("left_out", ""),
        nested=infos_of_units(last.get("units", {})),
    )  # fmt: skip
    return FieldChange(path=path, live=first.get("from"), desired=last.get("to"), info=info)
