"""How drift developed, run by run: what came, what stayed, where, and how long it took until it was gone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from reconciler.fleet.formats.elements import Cell, Columns, Grid, Heat, Piece, Prose, ReportPart, Series, cells
from reconciler.report.words.values import counted

Row = Mapping[str, Any]
ByTarget = Mapping[str, Mapping[str, int | None]]
"""Drifted objects by run and target; None: it could not be read. A missing target was not looked at."""
RUNS, TARGETS = 60, 40
"""How many are drawn, the newest and the worst."""
_EPISODES = 100


def past_part(trend: Sequence[Row], by_target: ByTarget) -> ReportPart:
    """Show the trend: a row per run, the latest last."""
    shown = trend[-RUNS:]
    labels = tuple(str(one["run"]) for one in shown)
    pieces: list[Piece] = [Columns(labels=labels, series=_series(shown), what="differences that are open")]
    if strayed := _where(labels, by_target):
        values = tuple(tuple(by_target.get(run, {}).get(name) for run in labels) for name in strayed)
        pieces.append(Heat(rows=strayed, columns=labels, values=values, what="drifted objects by target and run"))
    return ReportPart(title="Drift over time", lead=_lead(shown), pieces=tuple(pieces))


def _series(trend: Sequence[Row]) -> tuple[Series, ...]:
    stayed = tuple(max(0, one["open"] - one["opened"] - one["unseen"]) for one in trend)
    unseen = tuple(one["unseen"] for one in trend)
    series = (
        Series(name="open from before", values=stayed, tone="info"),
        Series(name="new in this run", values=tuple(one["opened"] for one in trend), tone="bad"),
    )
    return (*series, Series(name="not looked at again", values=unseen, tone="quiet")) if any(unseen) else series


def _where(runs: Iterable[str], by_target: ByTarget) -> tuple[str, ...]:
    """The targets that ever drifted or could not be read, the worst first."""
    sums: dict[str, int] = {}
    for run in runs:
        for name, count in by_target.get(run, {}).items():
            if count is None or count:
                sums[name] = sums.get(name, 0) + (count or 0)
    return tuple(sorted(sums, key=lambda name: (-sums[name], name))[:TARGETS])


def _lead(trend: Sequence[Row]) -> str:
    if not trend:
        return "No run is stored yet."
    last = trend[-1]
    said = (
        f"{counted(last['open'], 'difference')} {'is' if last['open'] == 1 else 'are'} open after run `{last['run']}`"
    )
    if len(trend) == 1:
        return f"{said}, which is the first one; what comes and goes shows from the second run on."
    return f"{said}: {last['opened']:_} new, {last['closed']:_} closed since the run before."


def repairs_part(repairs: Sequence[Row], episodes: Sequence[Row]) -> ReportPart:
    """Show what has been open the longest, and how long repairs take."""
    whole = next((one for one in repairs if one["dimension"] == "all"), None)
    return ReportPart(
        title="Open, and for how long",
        lead=_repaired(whole) if whole else "",
        pieces=tuple(filter(None, (_open(episodes), *(_by(repairs, name) for name in ("target", "field", "team"))))),
    )


def _repaired(whole: Row) -> str:
    came_back = f" {counted(whole['came_back'], 'difference')} came back after a repair." if whole["came_back"] else ""
    if not whole["repaired"]:
        return f"Nothing was repaired so far.{came_back}"
    if whole["repaired"] == 1:
        return f"1 difference was repaired, within {show_span(whole['longest_seconds'])}.{came_back}"
    return (
        f"{counted(whole['repaired'], 'difference')} {'was' if whole['repaired'] == 1 else 'were'} repaired, half of them "
        f"within {show_span(whole['median_seconds'])}, the slowest in {show_span(whole['longest_seconds'])}.{came_back}"
    )


def _open(episodes: Sequence[Row]) -> Piece:
    found = [one for one in episodes if one["state"] in ("open", "unseen") and one.get("address")]
    found.sort(key=lambda one: (str(one["opened"]), one["target"], one["address"], one.get("path") or ""))
    if not found:
        return Prose(lines=("Nothing is open.",), tone="good")
    rows = tuple(_episode(one) for one in found[:_EPISODES])
    head = ("target", "address", "field", "standing", "since", "looks", "")
    return Grid(head=head, rows=rows, right=frozenset({5}), left_out=max(0, len(found) - _EPISODES))


def _episode(one: Row) -> tuple[Cell, ...]:
    again = f"for the {_nth(one['occurrence'])} time" if (one.get("occurrence") or 1) > 1 else ""
    unseen = "not looked at in the newest run" if one["state"] == "unseen" else ""
    return cells(
        one["target"], Cell(text=one["address"], is_code=True), Cell(text=one.get("path") or "", is_code=True),
        one["standing"], f"{one['opened_run']}" + ("" if one.get("clean") else " or earlier"), f"{one['looks']:_}",
        Cell(text="; ".join(filter(None, (again, unseen))), tone="warn" if again else "quiet"),
    )  # fmt: skip


def _by(repairs: Sequence[Row], dimension: str) -> Piece | None:
    found = [one for one in repairs if one["dimension"] == dimension and one.get("value")]
    if not found:
        return None
    found.sort(key=lambda one: (-one["open"], -one["episodes"], one["value"]))
    most = max(one["episodes"] for one in found)
    rows = tuple(
        cells(
            one["value"], f"{one['open']:_}", Cell(text=f"{one['episodes']:_}", share=one["episodes"] / most),
            f"{one['came_back']:_}", show_span(one.get("median_seconds")), show_span(one.get("longest_seconds")),
        )
        for one in found[:20]
    )  # fmt: skip
    head = (dimension, "open", "differences so far", "came back", "half repaired within", "slowest")
    return Grid(head=head, rows=rows, right=frozenset(range(1, 6)), left_out=max(0, len(found) - 20))


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


def _nth(number: int) -> str:
    return {2: "second", 3: "third"}.get(number, f"{number}th")


def show_time(at: datetime | None) -> str:
    """Return `2026-11-20 02:00 UTC`; empty where there is no time."""
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC") if at else ""
