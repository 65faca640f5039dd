"""How drift developed, run by run: what came, what stayed, where, and how long it took until it was gone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from reconciler.fleet.formats.elements import Cell, ColumnChart, Grid, HeatMap, Piece, Prose, ReportPart, Series, cells
from reconciler.report.words.values import counted

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
    if strayed := _worst_targets(labels, by_target):
        values = tuple(tuple(by_target.get(run, {}).get(name) for run in labels) for name in strayed)
        pieces.append(HeatMap(rows=strayed, columns=labels, values=values, what="drifted objects by target and run"))
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
                None, (_open_episodes(episodes), *(_repairs_by(repairs, name) for name in ("target", "field", "team")))
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


def _open_episodes(episodes: Sequence[Row]) -> Piece:
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
