"""Drift over all targets: equal drift is shown once, with the targets that have it.

How drift developed, run by run: what came, what stayed, where, and how long it took until it was gone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from reconciler.changes.change import FieldClass
from reconciler.fleet.report.run_rows import Count, DriftEntry, Field
from reconciler.fleet.tables.rows import UNCOMPARED, UNREACHABLE, UNREMEMBERED
from reconciler.journeys.drift.drift import Standing
from reconciler.journeys.drift.report import MARKS as MARKS_OF_OBJECTS
from reconciler.journeys.drift.report import STYLES as STYLES_OF_OBJECTS
from reconciler.report.document.pieces import (
    Cell,
    ColumnChart,
    Fold,
    Folds,
    Grid,
    HeatMap,
    Piece,
    Prose,
    ReportPart,
    Series,
    cells,
)
from reconciler.report.words.values import counted, show_side

MARKS = {UNREACHABLE: "?", UNCOMPARED: "?", **MARKS_OF_OBJECTS}
STYLES = {UNREACHABLE: "unknown", UNCOMPARED: "unknown", **STYLES_OF_OBJECTS}
_ORDER = [*STYLES]
_UNTOLD = (Standing.UNKNOWN, UNREMEMBERED)
MOST = 300
"""How many entries a report shows."""
NO_OBJECTS: Mapping[str, int] = {}


def drift_part(
    entries: Sequence[DriftEntry], left_out: int = 0, unrecorded: int = 0, since: Sequence[str] = ()
) -> ReportPart:
    """Show the drift. `left_out` counts objects that are not listed; `unrecorded` those that are as declared without a
    record; `since` has a sentence about each target that this run did not look at."""
    title = "Drift"
    groups = equal_drift(
        entry for entry in entries if entry.is_drift or entry.is_of_target or entry.standing == Standing.UNKNOWN
    )
    if not groups:
        none = Prose(lines=(_none_sentence(unrecorded),), tone="good")
        return ReportPart(title=title, lead=" ".join(since), pieces=(none,))
    shown = tuple(map(_fold, groups[:MOST]))
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


def equal_drift(entries: Iterable[DriftEntry]) -> list[list[DriftEntry]]:
    """Group equal drift, worst first, then what most targets have."""
    groups: dict[object, list[DriftEntry]] = {}
    for entry in entries:
        groups.setdefault(entry.equality_key, []).append(entry)
    return sorted(groups.values(), key=lambda same: (_ORDER.index(same[0].standing), -len(same), same[0].address))


def _fold(same: Sequence[DriftEntry]) -> Fold:
    first, targets = same[0], [*dict.fromkeys(entry.target for entry in same)]
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


def _details(entry: DriftEntry, targets: Sequence[str]) -> Iterable[Piece]:
    lines = [text for text in (entry.error, entry.reason, f"ignored: {entry.ignored}" if entry.ignored else "") if text]
    if lines:
        yield Prose(lines=tuple(lines))
    if entry.fields:
        yield _fields_grid(entry.fields)
    if entry.verdicts:
        yield Prose(lines=tuple(f"{code}: {message}" for code, message in dict(entry.verdicts).items()))
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
    also = " and in the file" if field.is_drift and field.field_class == FieldClass.BOTH else ""
    return Cell(text=f"{field.cause}{also}", tone="warn" if field.is_drift else "quiet")


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
    drifted_targets = {count.target for count in counts if count.drifted}
    unsure = {*unread, *uncompared, *(count.target for count in counts if count.standing == Standing.UNKNOWN)}
    targets = {*compared, *unread, *uncompared}
    calm = targets - drifted_targets - unsure
    by_standing = ", ".join(f"{drifted[name]:_} {name}" for name in _ORDER if drifted[name])
    parts = [
        f"drift on {len(drifted_targets):_} of {counted(len(targets), 'target')}: {by_standing}"
        if drifted_targets
        else "no drift found"
        if unsure
        else "no drift"
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


Row = Mapping[str, Any]
ByTarget = Mapping[str, Mapping[str, int | None]]
"""Drifted objects by run and target; None: it could not be read. A missing target was not looked at."""
RUNS, TARGETS = 60, 40
"""How many are drawn, the newest and the worst."""
_EPISODES = 100


def trend_part(trend: Sequence[Row], by_target: ByTarget) -> ReportPart:
    """Show the trend: a row per run, the latest last."""
    shown = trend[-RUNS:]
    labels = tuple(str(row["run"]) for row in shown)
    pieces: list[Piece] = [ColumnChart(labels=labels, series=_series(shown), what="differences that are open")]
    if drifted_targets := _worst_targets(labels, by_target):
        values = tuple(tuple(by_target.get(run, {}).get(name) for run in labels) for name in drifted_targets)
        pieces.append(
            HeatMap(rows=drifted_targets, columns=labels, values=values, what="drifted objects by target and run")
        )
    return ReportPart(title="Drift over time", lead=_lead_text(shown), pieces=tuple(pieces))


def _series(trend: Sequence[Row]) -> tuple[Series, ...]:
    stayed = tuple(max(0, run["open"] - run["opened"] - run["unseen"]) for run in trend)
    unseen = tuple(run["unseen"] for run in trend)
    series = (
        Series(name="open from before", values=stayed, tone="info"),
        Series(name="new in this run", values=tuple(run["opened"] for run in trend), tone="bad"),
    )
    return (*series, Series(name="not looked at again", values=unseen, tone="quiet")) if any(unseen) else series


def _worst_targets(runs: Iterable[str], by_target: ByTarget) -> tuple[str, ...]:
    """The targets that ever drifted or could not be read, the worst first."""
    sums: dict[str, int] = {}
    for run in runs:
        for name, count in by_target.get(run, {}).items():
            if count is None or count:
                sums[name] = sums.get(name, 0) + (count or 0)
    return tuple(sorted(sums, key=lambda name: (-sums[name], name))[:TARGETS])


def _lead_text(trend: Sequence[Row]) -> str:
    if not trend:
        return "No run is stored yet."
    last = trend[-1]
    sentence = (
        f"{counted(last['open'], 'difference')} {'is' if last['open'] == 1 else 'are'} open after run `{last['run']}`"
    )
    if len(trend) == 1:
        return f"{sentence}, which is the first one; what comes and goes shows from the second run on."
    return f"{sentence}: {last['opened']:_} new, {last['closed']:_} closed since the run before."


def repairs_part(repairs: Sequence[Row], episodes: Sequence[Row]) -> ReportPart:
    """Show what has been open the longest, and how long repairs take."""
    totals = next((row for row in repairs if row["dimension"] == "all"), None)
    return ReportPart(
        title="Open, and for how long",
        lead=_repairs_lead_text(totals) if totals else "",
        pieces=tuple(
            filter(
                None,
                (_open_episodes_grid(episodes), *(_repairs_by(repairs, name) for name in ("target", "field", "team"))),
            )
        ),
    )


def _repairs_lead_text(totals: Row) -> str:
    came_back = (
        f" {counted(totals['came_back'], 'difference')} came back after a repair." if totals["came_back"] else ""
    )
    if not totals["repaired"]:
        return f"Nothing was repaired so far.{came_back}"
    if totals["repaired"] == 1:
        return f"1 difference was repaired, within {show_span(totals['longest_seconds'])}.{came_back}"
    return (
        f"{counted(totals['repaired'], 'difference')} {'was' if totals['repaired'] == 1 else 'were'} repaired, half of them "
        f"within {show_span(totals['median_seconds'])}, the slowest in {show_span(totals['longest_seconds'])}.{came_back}"
    )


def _open_episodes_grid(episodes: Sequence[Row]) -> Piece:
    open_episodes = [
        episode for episode in episodes if episode["state"] in ("open", "unseen") and episode.get("address")
    ]
    open_episodes.sort(
        key=lambda episode: (str(episode["opened"]), episode["target"], episode["address"], episode.get("path") or "")
    )
    if not open_episodes:
        return Prose(lines=("Nothing is open.",), tone="good")
    rows = tuple(_episode_row(episode) for episode in open_episodes[:_EPISODES])
    head = ("target", "address", "field", "standing", "since", "looks", "")
    return Grid(head=head, rows=rows, right=frozenset({5}), left_out=max(0, len(open_episodes) - _EPISODES))


def _episode_row(episode: Row) -> tuple[Cell, ...]:
    again = f"for the {_ordinal(episode['occurrence'])} time" if (episode.get("occurrence") or 1) > 1 else ""
    unseen = "not looked at in the newest run" if episode["state"] == "unseen" else ""
    return cells(
        episode["target"], Cell(text=episode["address"], is_code=True), Cell(text=episode.get("path") or "", is_code=True),
        episode["standing"], f"{episode['opened_run']}" + ("" if episode.get("clean") else " or earlier"), f"{episode['looks']:_}",
        Cell(text="; ".join(filter(None, (again, unseen))), tone="warn" if again else "quiet"),
    )  # fmt: skip


def _repairs_by(repairs: Sequence[Row], dimension: str) -> Piece | None:
    rows_of_dimension = [row for row in repairs if row["dimension"] == dimension and row.get("value")]
    if not rows_of_dimension:
        return None
    rows_of_dimension.sort(key=lambda row: (-row["open"], -row["episodes"], row["value"]))
    most = max(row["episodes"] for row in rows_of_dimension)
    rows = tuple(
        cells(
            row["value"], f"{row['open']:_}", Cell(text=f"{row['episodes']:_}", share=row["episodes"] / most),
            f"{row['came_back']:_}", show_span(row.get("median_seconds")), show_span(row.get("longest_seconds")),
        )
        for row in rows_of_dimension[:20]
    )  # fmt: skip
    head = (dimension, "open", "differences so far", "came back", "half repaired within", "slowest")
    return Grid(head=head, rows=rows, right=frozenset(range(1, 6)), left_out=max(0, len(rows_of_dimension) - 20))


def show_span(seconds: float | None) -> str:
    """Return `2 h`, `3 days`: two figures at most, because looks are hours apart."""
    if seconds is None:
        return "–"
    for unit, size in (("day", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size:
            number = seconds / size
            text = f"{number:.0f}" if number >= 10 or round(number, 1) == round(number) else f"{number:.1f}"
            return f"{text} {unit}{'s' if unit == 'day' and text != '1' else ''}"
    return f"{seconds:.0f} s"


def _ordinal(number: int) -> str:
    return {2: "second", 3: "third"}.get(number, f"{number}th")


def show_time(time: datetime | None) -> str:
    """Return `2026-11-20 02:00 UTC`; empty where there is no time."""
    return time.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC") if time else ""
