"""One entry of a plan as lines of text: a title with its place at the right edge, and its details below it."""

from __future__ import annotations

from reconciler.changes.plan import PlannedChange
from reconciler.report.document.change_details import children_names, entry_pieces, mark, place_of, removal_reason
from reconciler.report.document.entries import ChangeEntry, Section
from reconciler.report.document.judgements import entry_name
from reconciler.report.document.piece_lines import piece_lines
from reconciler.report.words.paper import Paper, Role
from reconciler.report.words.visible import columns, visible

_ROLES: dict[Section, Role] = {
    Section.REFUSED: "refused", Section.CONSENT: "consent", Section.UNKNOWN: "consent", Section.REPLACE: "delete",
    Section.UPDATE: "update", Section.CREATE: "create", Section.DELETE: "delete",
}  # fmt: skip


def entry_lines(entry: ChangeEntry, paper: Paper) -> list[str]:
    """Return the lines of one entry in a text report. What comes along stands in the title where there is room."""
    title, place = title_and_place(entry)
    children = children_names(entry)
    with_children = f"{title}  {visible(' '.join(' '.join((named.word, *named.names)) for named in children))}"
    if children and columns(with_children) + columns(place) + 4 <= paper.width:
        title, children = with_children, ()
    pieces = (*entry_pieces(entry), *children)
    return [title_line(entry, title, place, paper), *piece_lines(pieces, paper, 4, gap=())]


def title_and_place(entry: ChangeEntry) -> tuple[str, str]:
    """Return the name of an entry, and its place: that of the first change where one entry names many."""
    reason = removal_reason(entry.first)
    title = visible(entry_name(entry)) + (f"  removed: {reason}" if reason else "")
    place, others = _place_text(entry.first), len({_place_text(other) for other in entry.changes}) - 1
    return title, f"{place} and {others:_} more" if place and others else place


def title_line(entry: ChangeEntry, title: str, place: str, paper: Paper) -> str:
    """The mark, the title and, at the right edge, the place."""
    left = f"{mark(entry)} {title}"
    line = paper.with_right(left, place)
    name, space, rest = left[2:].partition(" ")
    painted = paper.paint(left[:2] + name, _ROLES.get(entry.section, "head")) + space + rest
    return painted + (paper.paint(line[len(left) :], "quiet") if place else "")


def _place_text(change: PlannedChange) -> str:
    return visible(str(place_of(change) or ""))
