"""Renders one entry of a plan as lines: a title with its place, the fields, the verdicts, the consequences.

Fields stand one a line: `max_age 7d → 3d`; of long lists, the items that come and go."""

from __future__ import annotations

from collections.abc import Sequence

from reconciler.changes.change import Action, FieldChange, FieldClass
from reconciler.changes.plan import PlannedChange
from reconciler.report.document.entries import ChangeEntry, Section
from reconciler.report.document.judgements import (
    consequence_lines,
    many_consequence_lines,
    many_verdict_lines,
    verdict_lines,
    verdicts_to_show,
)
from reconciler.report.words.paper import Paper, Role
from reconciler.report.words.values import (
    children_by_kind,
    counted,
    kind_noun,
    name_lines,
    name_without_kind,
    show_live,
    show_value,
    show_wanted,
)
from reconciler.report.words.visible import columns, padded, visible

_SINCE = {
    FieldClass.PLAIN: "",
    FieldClass.CONFIG: "",
    FieldClass.DRIFTED: "  (changed outside since the last apply)",
    FieldClass.BOTH: "  (changed here and outside since the last apply)",
    FieldClass.UNFINISHED: "  (left unfinished by an apply)",
}


def first_paths_text(fields: Sequence[FieldChange], most: int = 5) -> str:
    """Return `max_age, max_bytes and 3 more`."""
    names = ", ".join(field.path for field in fields[:most])
    return f"{names} and {len(fields) - most} more" if len(fields) > most else names


def field_lines(fields: Sequence[FieldChange], paper: Paper, indent: int = 4) -> list[str]:
    """Return all fields of a change, with their values in one column."""
    names = [visible(change.path) for change in fields]
    name_width = min(max(map(columns, names), default=0), 40)
    lines: list[str] = []
    for name, change in zip(names, fields, strict=True):
        head = " " * indent + padded(name, name_width) + "  "
        lines += _field_lines(head, change, paper)
    return lines


def _field_lines(head: str, change: FieldChange, paper: Paper) -> list[str]:
    live, desired = show_live(change), show_wanted(change)
    since = _SINCE[change.field_class]
    line = f"{head}{live} → {desired}{since}"
    if columns(line) <= paper.width:
        return [line]
    margin = " " * columns(head)
    if isinstance(change.live, list) and isinstance(change.desired, list):
        first, *rest = _list_difference_lines(change, paper, columns(head))
        return [head + first.lstrip(), *rest, *([margin + since.strip()] if since else [])]
    return [head + live, f"{margin}→ {desired}{since}"]


def _list_difference_lines(change: FieldChange, paper: Paper, indent: int) -> list[str]:
    live, desired, info = change.live, change.desired, change.info
    gone = [item for item in live if item not in desired]
    new = [item for item in desired if item not in live]
    if not gone and not new:
        return [
            *paper.wrapped(show_value(live, info), indent),
            *paper.wrapped("→ " + show_value(desired, info), indent),
        ]
    lines: list[str] = []
    if gone:
        lines += paper.wrapped("without " + show_value(gone, info), indent)
    if new:
        lines += paper.wrapped("with " + show_value(new, info), indent)
    return [*lines, *paper.wrapped(f"({counted(len(desired) - len(new), 'item')} unchanged)", indent)]


MARKS: dict[Section, str] = {
    Section.REFUSED: "!", Section.CONSENT: "!", Section.UNKNOWN: "?", Section.REPLACE: "±", Section.UPDATE: "~",
    Section.CREATE: "+", Section.DELETE: "-", Section.ADOPT: "=", Section.RECORD: "=", Section.ORPHAN: "*", Section.FORGET: "<",
}  # fmt: skip
_ROLES: dict[Section, Role] = {
    Section.REFUSED: "refused", Section.CONSENT: "consent", Section.UNKNOWN: "consent", Section.REPLACE: "delete",
    Section.UPDATE: "update", Section.CREATE: "create", Section.DELETE: "delete",
}  # fmt: skip
AT_REST = {
    Section.ADOPT: "live as declared; an apply records that this topology owns it, and leaves it untouched",
    Section.RECORD: "live as declared; an apply updates its record, and leaves the object untouched",
    Section.ORPHAN: "owned but no longer declared, so it is kept{until}; `removed` deletes it, `forget` gives it up",
    Section.ABSENT: "already gone; you can delete its entry in the file",
}
AS_IT_IS = "adopted as it is live and left untouched; its differences from the file wait for an apply"


def entry_lines(entry: ChangeEntry, paper: Paper) -> list[str]:
    """Return the lines of one entry in a text report; equal changes share a title and are named below it."""
    return _lines_of_many(entry, paper) if len(entry.changes) > 1 else _lines_of_one(entry, paper)


def _lines_of_one(entry: ChangeEntry, paper: Paper) -> list[str]:
    change = entry.first
    title, place = title_and_place(entry)
    title, children = _title_with_children(entry, title, place, paper)
    lines = [
        title_line(entry, title, place, paper),
        *_untouched_lines(entry, paper),
        *field_lines(change.fields, paper),
    ]
    for verdict in verdicts_to_show(change.verdicts):
        lines += verdict_lines(verdict, change, paper)
    for consequence in change.consequences:
        lines += consequence_lines(consequence, paper)
    return [*lines, *aside_lines(change, paper), *children]


def _lines_of_many(entry: ChangeEntry, paper: Paper) -> list[str]:
    """Show equal changes as one entry with a count and the first names; deleted objects are always all named."""
    changes = entry.changes
    title, place = title_and_place(entry)
    title, children = _title_with_children(entry, title, place, paper)
    lines = [title_line(entry, title, place, paper)]
    lines += [*_untouched_lines(entry, paper), *field_lines(changes[0].fields, paper)]
    lines += many_verdict_lines(changes, paper)
    lines += many_consequence_lines(changes, paper)
    lines += aside_lines(changes[0], paper)
    return [
        *lines,
        *name_lines("namely", [*map(name_without_kind, changes)], paper, 4, entry.section is Section.DELETE),
        *children,
    ]


def title_and_place(entry: ChangeEntry) -> tuple[str, str]:
    """Return the name of an entry, and its place: that of the first change where one entry names many."""
    change, number = entry.first, len(entry.changes)
    place = _place_of(change)
    if number == 1:
        return visible(change.address) + removal_reason(change), place
    kind = kind_noun(change.address.split("/")[0], number)
    others = len({_place_of(other) for other in entry.changes}) - 1
    return f"{number:_} {kind}{removal_reason(change)}", f"{place} and {others:_} more" if place and others else place


def title_line(entry: ChangeEntry, title: str, place: str, paper: Paper) -> str:
    """The mark, the title and, at the right edge, the place."""
    left = f"{mark(entry)} {title}"
    line = paper.with_right(left, place)
    name, space, rest = left[2:].partition(" ")
    painted = paper.paint(left[:2] + name, _ROLES.get(entry.section, "head")) + space + rest
    return painted + (paper.paint(line[len(left) :], "quiet") if place else "")


def mark(entry: ChangeEntry) -> str:
    """Return the first character of an entry: `~` for a change, `+` for a new object."""
    section = Section[entry.first.action.name] if entry.section is Section.WAITS else entry.section
    return MARKS.get(section, " ")


def removal_reason(change: PlannedChange) -> str:
    """Return the reason that the file gives for a removal."""
    return f'  removed: "{visible(change.reason)}"' if change.action is Action.DELETE and change.reason else ""


def _place_of(change: PlannedChange) -> str:
    """The place of the worst verdict, otherwise that of the resource."""
    spans = [verdict.span for verdict in verdicts_to_show(change.verdicts) if verdict.span]
    span = spans[0] if spans else change.span
    return visible(str(span)) if span else ""


def _title_with_children(entry: ChangeEntry, title: str, place: str, paper: Paper) -> tuple[str, list[str]]:
    """The title with everything that comes along, or lines below it where that is too much for one."""
    groups = children_by_kind(entry.children, len(entry.changes))
    if not groups:
        return title, []
    together = f"{title}  " + visible(" ".join(f"{word} {' '.join(names)}" for word, names in groups))
    if columns(together) + columns(place) + 4 <= paper.width:
        return together, []
    everything = entry.section is Section.DELETE
    return title, [line for word, names in groups for line in name_lines(word, names, paper, 4, everything)]


def _untouched_lines(entry: ChangeEntry, paper: Paper) -> list[str]:
    return paper.wrapped(note, 4) if (note := untouched_note(entry)) else []


def untouched_note(entry: ChangeEntry) -> str:
    """Say what happens to an object that is not touched; an orphaned consumer or group stays as long as its stream."""
    if entry.section is Section.ADOPT and entry.first.fields:
        return AS_IT_IS
    if entry.section is Section.FORGET:
        return entry.first.reason
    until = " as long as its stream" if entry.first.address.count("/") > 1 else ""
    return AT_REST.get(entry.section, "").format(until=until)


def aside_lines(change: PlannedChange, paper: Paper) -> list[str]:
    """Return what is neither field, verdict nor consequence."""
    lines: list[str] = []
    if change.action is Action.UNKNOWN and change.reason:
        lines += paper.wrapped(f"unknown, so nothing is done here: {change.reason}", 4)
    if change.action in (Action.ORPHAN, Action.UPDATE, Action.REPLACE) and change.reason:
        lines += paper.wrapped(change.reason, 4)
    if change.blocked_by is not None:
        lines += paper.wrapped(f"waits for {change.blocked_by}", 4)
    if change.action is Action.ADOPT and change.reason:
        lines += paper.wrapped(change.reason, 4)
    if change.adopts and change.action.writes:
        lines += paper.wrapped("live but not owned yet; an apply adopts it", 4)
    return lines
