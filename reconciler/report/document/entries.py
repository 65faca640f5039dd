"""The entries of a plan: a change with its bare children, or many equal changes at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import IntEnum

from reconciler.changes.change import Action
from reconciler.changes.plan import PlannedChange
from reconciler.changes.verdict import Outcome
from reconciler.model.dataclass import dataclass


class Section(IntEnum):
    """The order that a reviewer needs: what stops, what hurts, what changes, what is new, what goes, what stays."""

    REFUSED = 0
    CONSENT = 1
    UNKNOWN = 2
    WAITS = 3
    REPLACE = 4
    UPDATE = 5
    CREATE = 6
    DELETE = 7
    KEEP = 8
    ADOPT = 9
    RECORD = 10
    """Only the record is updated: the object is owned already, or taken over from another topology."""
    ORPHAN = 11
    FORGET = 12
    ABSENT = 13


SAME_ENOUGH = 3
"""From this many on, equal changes become one entry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeEntry:
    section: Section
    changes: tuple[PlannedChange, ...]
    children: tuple[PlannedChange, ...] = ()
    """Objects that are created or deleted with the changes of this entry, with nothing to say about them. They have the same
    names below each of them."""

    @property
    def first(self) -> PlannedChange:
        """Return the change that represents the entry: the only one, or the first of several equal ones."""
        return self.changes[0]


def section_of(change: PlannedChange) -> Section:
    """Return the section of a change: what stops it decides first, then its action."""
    if change.is_refused:
        return Section.REFUSED
    if change.needs_consent:
        return Section.CONSENT
    if change.blocked_by is not None:
        return Section.WAITS
    if change.action is Action.ADOPT and not change.adopts:
        return Section.RECORD
    return Section[change.action.name]


def entries(changes: Sequence[PlannedChange]) -> list[ChangeEntry]:
    """Return all entries in reading order."""
    children = _children_by_parent(changes)
    folded = {child.address for bare in children.values() for child in bare}
    by_section: dict[Section, list[PlannedChange]] = {}
    for change in changes:
        if change.address not in folded:
            by_section.setdefault(section_of(change), []).append(change)
    return [
        entry for section in sorted(by_section) for entry in _grouped_entries(section, by_section[section], children)
    ]


def _children_by_parent(changes: Sequence[PlannedChange]) -> dict[str, tuple[PlannedChange, ...]]:
    """Plain creates and deletes that go with the stream they belong to, by its address."""
    streams = {change.address: change for change in changes if change.address.startswith("stream/")}
    by_parent: dict[str, list[PlannedChange]] = {}
    for change in changes:
        names = change.address.split("/")[1:]
        if len(names) < 2 or change.action not in (Action.CREATE, Action.DELETE):
            continue
        parent = streams.get(f"stream/{names[0]}")
        if parent and parent.action is change.action and _is_included_in_parent(change, parent):
            by_parent.setdefault(parent.address, []).append(change)
    return {address: tuple(bare) for address, bare in by_parent.items()}


def _is_included_in_parent(child: PlannedChange, parent: PlannedChange) -> bool:
    if not is_bare(child) or (child.reason and child.reason != parent.reason):
        return False
    return child.blocked_by == parent.address if child.is_blocked else not parent.is_blocked


def is_bare(change: PlannedChange) -> bool:
    """Is there no verdict about it that a reader must know?"""
    return not change.consequences and all(verdict.outcome is Outcome.ALLOWED for verdict in change.verdicts)


def _grouped_entries(
    section: Section, changes: Iterable[PlannedChange], children: dict[str, tuple[PlannedChange, ...]]
) -> list[ChangeEntry]:
    """Group equal changes at the place of the first; the changes with most to say come first."""
    groups: dict[object, list[PlannedChange]] = {}
    for change in changes:
        below = tuple(_kind_and_name(child) for child in children.get(change.address, ()))
        groups.setdefault((_grouping_key(section, change), below), []).append(change)
    grouped: list[ChangeEntry] = []
    for group in groups.values():
        if len(group) >= SAME_ENOUGH:
            along = tuple(child for change in group for child in children.get(change.address, ()))
            grouped.append(ChangeEntry(section=section, changes=tuple(group), children=along))
        else:
            grouped += (
                ChangeEntry(section=section, changes=(change,), children=children.get(change.address, ()))
                for change in group
            )
    return sorted(grouped, key=lambda entry: is_bare(entry.first))


def _kind_and_name(child: PlannedChange) -> tuple[str, str]:
    """The kind of a child, and its name below its stream."""
    kind, _, name = child.address.split("/", 2)
    return kind, name


def _grouping_key(section: Section, change: PlannedChange) -> object:
    """Changes with an equal key read the same except for their names and quantities."""
    kind = change.address.split("/")[0]
    fields = tuple((f.path, repr(f.live), repr(f.desired), f.field_class) for f in change.fields)
    if section in (Section.ADOPT, Section.RECORD, Section.ORPHAN, Section.FORGET, Section.ABSENT):
        return (kind, change.reason, fields) if is_bare(change) else change.address
    if section is Section.CREATE:  # what one entry with `for_each` declares has one place
        return (kind, str(change.span), change.reason) if is_bare(change) and change.span else change.address
    verdicts = tuple((v.code, v.outcome, v.consented) for v in change.verdicts)
    words: object = len(change.consequences)
    if not change.fields:  # without fields the words are all there is
        words = (*(v.message for v in change.verdicts), *(c.message for c in change.consequences))
    drawn = any(consequence.detail for consequence in change.consequences)
    return (
        kind,
        change.action,
        change.reason,
        change.blocked_by,
        fields,
        verdicts,
        words,
        change.address if drawn else "",
    )
