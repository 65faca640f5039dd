"""Renders differing fields, one line each: `max_age 7d → 3d`; for long lists, the items that come and go."""

from __future__ import annotations

from collections.abc import Sequence

from reconciler.changes.change import FieldChange, FieldClass
from reconciler.report.words.paper import Paper
from reconciler.report.words.values import counted, show, show_live, show_wanted
from reconciler.report.words.visible import columns, padded, visible

_SINCE = {
    FieldClass.PLAIN: "",
    FieldClass.CONFIG: "",
    FieldClass.DRIFTED: "  (changed outside since the last apply)",
    FieldClass.BOTH: "  (changed here and outside since the last apply)",
    FieldClass.UNFINISHED: "  (left by an interrupted apply)",
}


def paths(fields: Sequence[FieldChange], most: int = 5) -> str:
    """Return `max_age, max_bytes and 3 more`."""
    shown = ", ".join(field.path for field in fields[:most])
    return f"{shown} and {len(fields) - most} more" if len(fields) > most else shown


def field_lines(fields: Sequence[FieldChange], paper: Paper, indent: int = 4) -> list[str]:
    """Return all fields of a change, with their values in one column."""
    names = [visible(change.path) for change in fields]
    name_width = min(max(map(columns, names), default=0), 40)
    lines: list[str] = []
    for name, change in zip(names, fields, strict=True):
        head = " " * indent + padded(name, name_width) + "  "
        lines += _one(head, change, paper)
    return lines


def _one(head: str, change: FieldChange, paper: Paper) -> list[str]:
    live, desired = show_live(change), show_wanted(change)
    since = _SINCE[change.field_class]
    line = f"{head}{live} → {desired}{since}"
    if columns(line) <= paper.width:
        return [line]
    margin = " " * columns(head)
    if isinstance(change.live, list) and isinstance(change.desired, list):
        first, *rest = _list_difference(change, paper, columns(head))
        return [head + first.lstrip(), *rest, *([margin + since.strip()] if since else [])]
    return [head + live, f"{margin}→ {desired}{since}"]


def _list_difference(change: FieldChange, paper: Paper, indent: int) -> list[str]:
    live, desired, info = change.live, change.desired, change.info
    gone = [item for item in live if item not in desired]
    new = [item for item in desired if item not in live]
    if not gone and not new:
        return [*paper.wrapped(show(live, info), indent), *paper.wrapped("→ " + show(desired, info), indent)]
    lines: list[str] = []
    if gone:
        lines += paper.wrapped("without " + show(gone, info), indent)
    if new:
        lines += paper.wrapped("with " + show(new, info), indent)
    return [*lines, *paper.wrapped(f"({counted(len(desired) - len(new), 'item')} unchanged)", indent)]
