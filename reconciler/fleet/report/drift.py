"""Drift over all targets: equal drift is shown once, with the targets that have it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from reconciler.changes.change import FieldClass
from reconciler.fleet.formats.elements import Cell, Fold, Folds, Grid, Piece, Prose, ReportPart, cells
from reconciler.fleet.report.run_rows import Count, Field, StrayedObject
from reconciler.fleet.tables.rows import UNCOMPARED, UNREACHABLE, UNREMEMBERED
from reconciler.journeys.drift.drift import Standing
from reconciler.report.words.values import counted, show_side

MARKS = {
    UNREACHABLE: "?", UNCOMPARED: "?", Standing.UNKNOWN: "?", Standing.FOREIGN: "!", Standing.MISSING: "-", Standing.RECREATED: "±",
    Standing.CHANGED: "~", Standing.PENDING: "·", Standing.ORPHANED: "*",
}  # fmt: skip
STYLES = {
    UNREACHABLE: "unknown", UNCOMPARED: "unknown", Standing.UNKNOWN: "unknown", Standing.FOREIGN: "refused", Standing.MISSING: "delete",
    Standing.RECREATED: "replace", Standing.CHANGED: "update", Standing.PENDING: "waits", Standing.ORPHANED: "orphan",
}  # fmt: skip
_ORDER = [*STYLES]
_UNTOLD = (Standing.UNKNOWN, UNREMEMBERED)
MOST = 300
"""How many entries a report shows."""
NO_OBJECTS: Mapping[str, int] = {}


def drift_part(
    strayed: Sequence[StrayedObject], left_out: int = 0, unrecorded: int = 0, since: Sequence[str] = ()
) -> ReportPart:
    """Show the drift. `left_out` counts objects that are not listed; `unrecorded` those that are as declared without a
    record; `since` has a sentence about each target that this run did not look at."""
    title = "Drift"
    groups = equal_drift(
        stray for stray in strayed if stray.is_drift or stray.is_of_target or stray.standing == Standing.UNKNOWN
    )
    if not groups:
        none = Prose(lines=(_none_sentence(unrecorded),), tone="good")
        return ReportPart(title=title, lead=" ".join(since), pieces=(none,))
    shown = tuple(map(_drift_entry, groups[:MOST]))
    lead = " ".join(("Equal drift is one entry, however many targets have it.", *since))
    return ReportPart(
        title=title, lead=lead, pieces=(Folds(folds=shown, left_out=left_out + max(0, len(groups) - MOST)),)
    )


def _none_sentence(unrecorded: int) -> str:
    if not unrecorded:
        return "None: everything that is declared is live as it was applied."
    return f"None: everything that is declared is live, {unrecorded_objects_text(unrecorded)}."


def unrecorded_objects_text(number: int) -> str:
    """Return `3 objects without a record of an apply`."""
    return f"{counted(number, 'object')} without a record of an apply"


def equal_drift(strayed: Iterable[StrayedObject]) -> list[list[StrayedObject]]:
    """Group equal drift, worst first, then what most targets have."""
    groups: dict[object, list[StrayedObject]] = {}
    for stray in strayed:
        groups.setdefault(stray.sameness, []).append(stray)
    return sorted(groups.values(), key=lambda same: (_ORDER.index(same[0].standing), -len(same), same[0].address))


def _drift_entry(same: Sequence[StrayedObject]) -> Fold:
    first, targets = same[0], [*dict.fromkeys(stray.target for stray in same)]
    return Fold(
        mark=MARKS[first.standing], word=first.standing, style=STYLES[first.standing],
        name=first.address or few_names(targets), about=on_targets_text(targets) if first.address else "", place=first.place,
        codes=tuple(dict.fromkeys(code for code, _ in first.verdicts)), pieces=tuple(_details(first, targets)),
    )  # fmt: skip


def on_targets_text(targets: Sequence[str]) -> str:
    """Return `on eu-1, eu-2, eu-3 and 2 more`: three targets by name, then a count."""
    return f"on {few_names(targets)}"


def few_names(names: Sequence[str]) -> str:
    """Return `eu-1, eu-2, eu-3 and 2 more`."""
    more = f" and {len(names) - 3:_} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


def all_names(targets: Sequence[str]) -> Iterator[Prose]:
    """Yield all targets by name, where `on_targets_text` leaves some out."""
    if len(targets) > 3:
        yield Prose(lines=(f"{counted(len(targets), 'target')}: {' '.join(targets)}",))


def _details(stray: StrayedObject, targets: Sequence[str]) -> Iterable[Piece]:
    lines = [text for text in (stray.error, stray.reason, f"ignored: {stray.ignored}" if stray.ignored else "") if text]
    if lines:
        yield Prose(lines=tuple(lines))
    if stray.fields:
        yield _fields_grid(stray.fields)
    if stray.verdicts:
        yield Prose(lines=tuple(f"{code}: {message}" for code, message in dict(stray.verdicts).items()))
    yield from all_names(targets)


def _fields_grid(fields: Sequence[Field]) -> Grid:
    rows = tuple(
        cells(
            Cell(text=field.path, is_code=True), _applied_cell(field),
            Cell(text=show_side(field.live, field.info), is_code=True), Cell(text=show_side(field.desired, field.info), is_code=True),
            _cause_cell(field),
        )
        for field in fields
    )  # fmt: skip
    return Grid(head=("field", "applied", "live", "in the file", "what happened"), rows=rows)


def _applied_cell(field: Field) -> Cell:
    if field.field_class == FieldClass.PLAIN:
        return Cell(text="unknown", tone="quiet")
    return Cell(text=show_side(field.applied, field.info), is_code=True)


def _cause_cell(field: Field) -> Cell:
    also = " and in the file" if field.counts and field.field_class == FieldClass.BOTH else ""
    return Cell(text=f"{field.cause}{also}", tone="warn" if field.counts else "quiet")


def drift_totals_line(
    counts: Sequence[Count],
    compared: Collection[str],
    unread: Collection[str],
    uncompared: Collection[str] = (),
    unrecorded: Mapping[str, int] = NO_OBJECTS,
) -> str:
    """Return `drift on 3 of 12 targets: 4 changed, 1 missing · 1 target not read · 8 targets as applied`, where the
    last ones were read completely and have not drifted. `unrecorded` counts what is as declared without a record, by
    target."""
    objects, drifted = Counter[str](), Counter[str]()
    for count in counts:
        objects[count.standing] += count.objects
        drifted[count.standing] += count.drifted
    strayed = {count.target for count in counts if count.drifted}
    unsure = {*unread, *uncompared, *(count.target for count in counts if count.standing == Standing.UNKNOWN)}
    targets = {*compared, *unread, *uncompared}
    calm = targets - strayed - unsure
    by_standing = ", ".join(f"{drifted[name]:_} {name}" for name in _ORDER if drifted[name])
    parts = [
        f"drift on {len(strayed):_} of {counted(len(targets), 'target')}: {by_standing}"
        if strayed
        else _no_drift_text(unsure)
    ]
    parts += [f"{counted(len(unread), 'target')} not read"] if unread else []
    parts += [f"{counted(len(uncompared), 'target')} not compared"] if uncompared else []
    parts += [f"{objects[name]:_} {name}" for name in (*_UNTOLD, Standing.PENDING) if objects[name]]
    return " · ".join([*parts, *_undrifted_targets_texts(calm, unrecorded)])


def _undrifted_targets_texts(calm: Collection[str], unrecorded: Mapping[str, int]) -> Iterator[str]:
    """`8 targets as applied`; a target where no record tells that of some objects is `as declared`."""
    declared = [unrecorded[target] for target in calm if unrecorded.get(target)]
    if len(declared) < len(calm) or not declared:
        yield f"{counted(len(calm) - len(declared), 'target')} as applied"
    if declared:
        yield f"{counted(len(declared), 'target')} as declared ({unrecorded_objects_text(sum(declared))})"


def _no_drift_text(unsure: Collection[str]) -> str:
    return "no drift found" if unsure else "no drift"
