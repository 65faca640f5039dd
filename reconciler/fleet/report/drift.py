"""Drift over all targets: equal drift is shown once, with the targets that have it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from reconciler.fleet.formats.elements import Cell, Fold, Folds, Grid, Piece, Prose, ReportPart, cells
from reconciler.fleet.report.run_rows import UNREACHABLE, UNREMEMBERED, Count, Field, StrayedObject
from reconciler.journeys.drift.drift import Standing
from reconciler.report.words.values import counted, show_side

MARKS = {
    UNREACHABLE: "?", Standing.UNKNOWN: "?", UNREMEMBERED: "?", Standing.FOREIGN: "!", Standing.MISSING: "-", Standing.RECREATED: "±",
    Standing.CHANGED: "~", Standing.PENDING: "·", Standing.ORPHANED: "*",
}  # fmt: skip
STYLES = {
    UNREACHABLE: "unknown", Standing.UNKNOWN: "unknown", UNREMEMBERED: "unknown", Standing.FOREIGN: "refused", Standing.MISSING: "delete",
    Standing.RECREATED: "replace", Standing.CHANGED: "update", Standing.PENDING: "waits", Standing.ORPHANED: "orphan",
}  # fmt: skip
_ORDER = [*STYLES]
_UNTOLD = (Standing.UNKNOWN, UNREMEMBERED)
_NAMES = 12
MOST = 300
"""How many entries a report shows."""


def drift_part(
    strayed: Sequence[StrayedObject], left_out: int = 0, title: str = "Drift", since: Sequence[str] = ()
) -> ReportPart:
    """Show the drift. `left_out` counts objects that are not listed; `since` has a sentence about each target that this
    run did not look at."""
    groups = alike(one for one in strayed if one.is_drift or one.is_unread or one.standing in _UNTOLD)
    if not groups:
        return ReportPart(
            title=title,
            lead=" ".join(since),
            pieces=(Prose(lines=("None: everything that is declared is live as it was applied.",), tone="good"),),
        )
    shown = tuple(map(_fold, groups[:MOST]))
    lead = " ".join(("Equal drift is one entry, however many targets have it.", *since))
    return ReportPart(
        title=title, lead=lead, pieces=(Folds(folds=shown, left_out=left_out + max(0, len(groups) - MOST)),)
    )


def alike(strayed: Iterable[StrayedObject]) -> list[list[StrayedObject]]:
    """Group equal drift, worst first, then what most targets have."""
    groups: dict[object, list[StrayedObject]] = {}
    for one in strayed:
        groups.setdefault(one.sameness, []).append(one)
    return sorted(groups.values(), key=lambda same: (_ORDER.index(same[0].standing), -len(same), same[0].address))


def _fold(same: Sequence[StrayedObject]) -> Fold:
    first, targets = same[0], [one.target for one in same]
    return Fold(
        mark=MARKS[first.standing], word=first.standing, style=STYLES[first.standing],
        name=first.address or targets[0], about=on_targets(targets) if first.address else "", place=first.place,
        codes=tuple(dict.fromkeys(code for code, _ in first.verdicts)), pieces=tuple(_inside(first, targets)),
    )  # fmt: skip


def on_targets(targets: Sequence[str]) -> str:
    """Return `on eu-1, eu-2, eu-3 and 2 more`: three targets by name, then a count."""
    shown = ", ".join(targets[:3])
    return f"on {shown} and {len(targets) - 3} more" if len(targets) > 3 else f"on {shown}"


def _inside(one: StrayedObject, targets: Sequence[str]) -> Iterable[Piece]:
    said = [text for text in (one.error, one.reason, f"ignored: {one.ignored}" if one.ignored else "") if text]
    if said:
        yield Prose(lines=tuple(said))
    if one.fields:
        yield _fields(one.fields)
    if one.verdicts:
        yield Prose(lines=tuple(f"{code}: {message}" for code, message in dict(one.verdicts).items()))
    if len(targets) > 3:
        yield Prose(lines=(f"{counted(len(targets), 'target')}: {' '.join(targets)}",))


def _fields(fields: Sequence[Field]) -> Grid:
    rows = tuple(
        cells(
            Cell(text=one.path, is_code=True), Cell(text=show_side(one.applied, one.info), is_code=True),
            Cell(text=show_side(one.live, one.info), is_code=True), Cell(text=show_side(one.desired, one.info), is_code=True),
            _since(one),
        )
        for one in fields
    )  # fmt: skip
    return Grid(head=("field", "applied", "live", "in the file", "what happened"), rows=rows)


def _since(one: Field) -> Cell:
    if not one.drifted:
        return Cell(text="pending: not applied yet", tone="quiet")
    if one.ignored:
        return Cell(text=f"ignored: {one.ignored}", tone="quiet")
    both = one.applied != one.desired
    return Cell(text="changed outside and in the file" if both else "changed outside", tone="warn")


def sums(counts: Sequence[Count], compared: Collection[str], unread: Collection[str]) -> str:
    """Return `drift on 3 of 12 targets: 4 changed, 1 missing · 1 target not read · 8 targets as applied`, where the
    last ones are those that were read completely."""
    objects, drifted = Counter[str](), Counter[str]()
    for one in counts:
        objects[one.standing] += one.objects
        drifted[one.standing] += one.drifted
    strayed = {one.target for one in counts if one.drifted}
    unsure = {*unread, *(one.target for one in counts if one.standing == Standing.UNKNOWN)}
    targets = {*compared, *unread}
    said = ", ".join(f"{drifted[name]:_} {name}" for name in _ORDER if drifted[name])
    parts = [f"drift on {len(strayed):_} of {counted(len(targets), 'target')}: {said}" if strayed else _none(unsure)]
    parts += [f"{counted(len(unread), 'target')} not read"] if unread else []
    parts += [f"{objects[name]:_} {name}" for name in (*_UNTOLD, Standing.PENDING) if objects[name]]
    return " · ".join([*parts, f"{counted(len(targets - strayed - unsure), 'target')} as applied"])


def _none(unsure: Collection[str]) -> str:
    return "no drift found" if unsure else "no drift"
