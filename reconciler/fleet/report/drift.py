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
    groups = equal_drift(stray for stray in strayed if stray.is_drift or stray.is_unread or stray.standing in _UNTOLD)
    if not groups:
        return ReportPart(
            title=title,
            lead=" ".join(since),
            pieces=(Prose(lines=("None: everything that is declared is live as it was applied.",), tone="good"),),
        )
    shown = tuple(map(_drift_entry, groups[:MOST]))
    lead = " ".join(("Equal drift is one entry, however many targets have it.", *since))
    return ReportPart(
        title=title, lead=lead, pieces=(Folds(folds=shown, left_out=left_out + max(0, len(groups) - MOST)),)
    )


def equal_drift(strayed: Iterable[StrayedObject]) -> list[list[StrayedObject]]:
    """Group equal drift, worst first, then what most targets have."""
    groups: dict[object, list[StrayedObject]] = {}
    for stray in strayed:
        groups.setdefault(stray.sameness, []).append(stray)
    return sorted(groups.values(), key=lambda same: (_ORDER.index(same[0].standing), -len(same), same[0].address))


def _drift_entry(same: Sequence[StrayedObject]) -> Fold:
    first, targets = same[0], [stray.target for stray in same]
    return Fold(
        mark=MARKS[first.standing], word=first.standing, style=STYLES[first.standing],
        name=first.address or targets[0], about=on_targets(targets) if first.address else "", place=first.place,
        codes=tuple(dict.fromkeys(code for code, _ in first.verdicts)), pieces=tuple(_details(first, targets)),
    )  # fmt: skip


def on_targets(targets: Sequence[str]) -> str:
    """Return `on eu-1, eu-2, eu-3 and 2 more`: three targets by name, then a count."""
    shown = ", ".join(targets[:3])
    return f"on {shown} and {len(targets) - 3} more" if len(targets) > 3 else f"on {shown}"


def _details(stray: StrayedObject, targets: Sequence[str]) -> Iterable[Piece]:
    lines = [text for text in (stray.error, stray.reason, f"ignored: {stray.ignored}" if stray.ignored else "") if text]
    if lines:
        yield Prose(lines=tuple(lines))
    if stray.fields:
        yield _fields_grid(stray.fields)
    if stray.verdicts:
        yield Prose(lines=tuple(f"{code}: {message}" for code, message in dict(stray.verdicts).items()))
    if len(targets) > 3:
        yield Prose(lines=(f"{counted(len(targets), 'target')}: {' '.join(targets)}",))


def _fields_grid(fields: Sequence[Field]) -> Grid:
    rows = tuple(
        cells(
            Cell(text=field.path, is_code=True), Cell(text=show_side(field.applied, field.info), is_code=True),
            Cell(text=show_side(field.live, field.info), is_code=True), Cell(text=show_side(field.desired, field.info), is_code=True),
            _cause_cell(field),
        )
        for field in fields
    )  # fmt: skip
    return Grid(head=("field", "applied", "live", "in the file", "what happened"), rows=rows)


def _cause_cell(field: Field) -> Cell:
    if not field.drifted:
        return Cell(text="pending: not applied yet", tone="quiet")
    if field.ignored:
        return Cell(text=f"ignored: {field.ignored}", tone="quiet")
    both = field.applied != field.desired
    return Cell(text="changed outside and in the file" if both else "changed outside", tone="warn")


def drift_totals(counts: Sequence[Count], compared: Collection[str], unread: Collection[str]) -> str:
    """Return `drift on 3 of 12 targets: 4 changed, 1 missing · 1 target not read · 8 targets as applied`, where the
    last ones were read completely and have not drifted."""
    objects, drifted = Counter[str](), Counter[str]()
    for count in counts:
        objects[count.standing] += count.objects
        drifted[count.standing] += count.drifted
    strayed = {count.target for count in counts if count.drifted}
    unsure = {*unread, *(count.target for count in counts if count.standing == Standing.UNKNOWN)}
    targets = {*compared, *unread}
    by_standing = ", ".join(f"{drifted[name]:_} {name}" for name in _ORDER if drifted[name])
    parts = [
        f"drift on {len(strayed):_} of {counted(len(targets), 'target')}: {by_standing}"
        if strayed
        else _no_drift(unsure)
    ]
    parts += [f"{counted(len(unread), 'target')} not read"] if unread else []
    parts += [f"{objects[name]:_} {name}" for name in (*_UNTOLD, Standing.PENDING) if objects[name]]
    return " · ".join([*parts, f"{counted(len(targets - strayed - unsure), 'target')} as applied"])


def _no_drift(unsure: Collection[str]) -> str:
    return "no drift found" if unsure else "no drift"
