"""The first part of a report: a few figures, and what needs attention today."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from reconciler.fleet.formats.elements import Prose, ReportPart, Tile, Tiles, Tone
from reconciler.fleet.report.drift import sums
from reconciler.fleet.report.drift_trend import show_span, show_time
from reconciler.fleet.report.findings import FleetFindings, Row
from reconciler.fleet.report.outliers_and_capacity import refuses_in, show_days
from reconciler.fleet.report.run_rows import UNREMEMBERED
from reconciler.fleet.report.targets import show_size
from reconciler.journeys.drift.drift import Standing
from reconciler.report.words.values import counted

_SOON = 14
"""Days."""
_EARLIER = 5
"""How many other runs are named."""
_HOW = {
    Standing.FOREIGN: ("belongs to somebody else", "belong to somebody else"),
    Standing.MISSING: ("is missing", "are missing"),
    Standing.RECREATED: ("was recreated", "were recreated"),
    Standing.CHANGED: ("was changed outside", "were changed outside"),
}
"""What happened to one object, or to several."""
_DRIFT = "`reconciler fleet drift` does that"
NOT_COMPARED = f"Drift is unknown: nothing was compared with what was applied; {_DRIFT}."


def overview(found: FleetFindings) -> ReportPart:
    """Return the first part of a report: the figures, then what needs attention, the worst first."""
    tiles = tuple(_tiles(found))
    attention = tuple(_attention(found))
    said = (
        Prose(lines=attention, is_list=True) if attention else Prose(lines=("Nothing needs attention.",), tone="good")
    )
    return ReportPart(title="", pieces=(Tiles(tiles=tiles), said) if tiles else (said,))


def _tiles(found: FleetFindings) -> Iterator[Tile]:
    targets, unread = found.targets or (), found.unread
    if targets:
        read = len(targets) - len(unread)
        note = f"not: {', '.join(unread[:3])}{' …' if len(unread) > 3 else ''}" if unread else "all of them"
        yield Tile(
            label="Targets read", value=f"{read:_} of {len(targets):_}", note=note, tone="odd" if unread else "good"
        )
    if found.strayed is not None:
        yield _drift(found)
    if found.trend:
        last = found.trend[-1]
        note = f"{last['opened']:_} new, {last['closed']:_} closed in this run"
        yield Tile(
            label="Differences open", value=f"{last['open']:_}", note=note, tone="warn" if last["open"] else "good"
        )
    if whole := _whole(found):
        note = (
            f"half of {counted(whole['repaired'], 'repair')} within that"
            if whole["repaired"]
            else "nothing repaired so far"
        )
        yield Tile(label="Time to repair", value=show_span(whole.get("median_seconds")), note=note)
    if found.capacity:
        soon = min((days for one in found.capacity if (days := refuses_in(one)) is not None), default=None)
        note = (
            "until the first stream refuses messages" if soon is not None else "nothing grows towards refusing messages"
        )
        tone: Tone = "bad" if soon is not None and soon <= _SOON else "good"
        yield Tile(label="Room", value=show_days(soon), note=note, tone=tone)
    if targets:
        held = sum(one.bytes for one in targets)
        streams, consumers = sum(one.streams for one in targets), sum(one.consumers for one in targets)
        note = f"{counted(streams, 'stream')}, {counted(consumers, 'consumer')}"
        yield Tile(label="Stored", value=show_size(held), note=note)


def _whole(found: FleetFindings) -> Row | None:
    """The totals of repairs."""
    return next((one for one in found.repairs or () if one["dimension"] == "all"), None)


def _drift(found: FleetFindings) -> Tile:
    strayed = found.drifted_by_target or {}
    untold = {"unknown": found.unknown, "unremembered": found.unremembered}
    notes = [counted(sum(strayed.values()), "object")] if strayed else []
    notes += [f"{sum(one.objects for one in these):_} {name}" for name, these in untold.items() if these]
    return Tile(
        label="Targets with drift", value=f"{len(strayed):_} of {len(found.compared):_}",
        note=", ".join(notes) or "all as applied", tone="bad" if strayed else "odd" if notes else "good",
    )  # fmt: skip


def _attention(found: FleetFindings) -> Iterator[str]:
    """At most a handful of sentences, the worst first."""
    for one in [one for one in found.targets or () if one.error][:5]:
        yield f"`{one.name}` could not be read: {one.error}"
    yield from earlier(found, "read")
    yield from [NOT_COMPARED] if found.strayed is None else earlier(found, "compared")
    yield from _strayed(found)
    yield from _filling(found.capacity or ())


def _strayed(found: FleetFindings) -> Iterator[str]:
    """`stream/A` is missing on `eu-1`. 287 objects were changed outside on `eu-1`, `eu-2` and 3 more."""
    for standing, how in _HOW.items():
        of = {one.target: one.drifted for one in found.counts if one.standing == standing and one.drifted}
        number = sum(of.values())
        name = (
            next((f"`{one.address}`" for one in found.drifted if one.standing == standing), "") if number == 1 else ""
        )
        if number:
            yield f"{name or counted(number, 'object')} {how[number > 1]} on {_named(_most_first(of))}."
    unknown = {one.target: one.objects for one in found.unknown}
    if unknown:
        yield f"Not everything could be read on {_named(_most_first(unknown))}: {sum(unknown.values()):_} unknown."
    yield from _unremembered(found)


def _unremembered(found: FleetFindings) -> Iterator[str]:
    lost = {one.target: one.objects for one in found.unremembered}
    if number := sum(lost.values()):
        names = [f"`{one.address}`" for one in found.strayed or () if one.standing == UNREMEMBERED]
        what = names[0] if number == len(names) == 1 else counted(number, "object")
        yield f"Records cannot be used: nobody knows what was applied of {what} on {_named(_most_first(lost))}."


def _most_first(numbers: Mapping[str, int]) -> list[str]:
    return sorted(numbers, key=lambda name: (-numbers[name], name))


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3:_} more" if len(names) > 3 else ""
    return ", ".join(f"`{name}`" for name in names[:3]) + more


def earlier(found: FleetFindings, what: str) -> Iterator[str]:
    """Yield `eu-1`, `eu-2` and 3 more were last compared in run `a` (2026-11-20 02:00 UTC)."""
    for one in [one for one in found.earlier if one["what"] == what][:_EARLIER]:
        names = one["targets"]
        said = _named(names)
        was = "was" if len(names) == 1 else "were"
        when = f"in run `{one['run']}` ({show_time(one['at'])})" if one.get("run") else ""
        yield f"{said} {was} last {what} {when}." if when else f"{said} {was} never {what}; {_DRIFT}."


def _filling(capacity: Sequence[Row]) -> Iterator[str]:
    """The same stream on several targets is one sentence, and another one where it is already full."""
    soon = [(days, one) for one in capacity if (days := refuses_in(one)) is not None and days <= _SOON]
    streams: dict[tuple[str, bool], list[tuple[float, Row]]] = {}
    for days, one in sorted(soon, key=lambda it: it[0]):
        streams.setdefault((one["stream"], days > 0), []).append((days, one))
    for (stream, is_later), same in [*streams.items()][:5]:
        names = _named([one["target"] for _, one in same])
        within = "in" if len(same) == 1 else "first in"
        full = (
            f"full {within} about {show_days(same[0][0])} at the growth of the last looks, and refuses new messages then"
            if is_later
            else "full and refuses new messages"
        )
        yield f"`{stream}` on {names} is {full}."


def totals(found: FleetFindings) -> str:
    """Return one line of sums."""
    if found.strayed is not None and (found.compared or found.unread):
        return sums(found.counts, found.compared, found.unread)
    if found.targets is not None:
        unread = f", {len(found.unread):_} not read" if found.unread else ""
        streams, consumers = sum(one.streams for one in found.targets), sum(one.consumers for one in found.targets)
        return f"{counted(len(found.targets), 'target')}{unread} · {counted(streams, 'stream')}, {counted(consumers, 'consumer')}"
    return _others(found)


def _others(found: FleetFindings) -> str:
    if found.skew is not None:
        candidates = {(one["choice"], one["partitions"]) for one in found.skew if one.get("choice")}
        streams = {(one["target"], one["stream"]) for one in found.skew}
        unread = f" · {counted(len(found.unread), 'target')} not read completely" if found.unread else ""
        return f"{counted(len(candidates), 'candidate')} for {counted(len(streams), 'stream')}{unread}"
    so_far = [] if found.repairs is None else [_said(_differences(found), "difference so far")]
    said = (
        (found.outliers, "outlier"), (found.capacity, "stream"), (found.pins, "pinned group"),
        (found.acks, "day of samples"), (found.actors, "change"),
    )  # fmt: skip
    return " · ".join([*so_far, *(_said(len(rows), words) for rows, words in said if rows is not None)])


def _differences(found: FleetFindings) -> int:
    """Differences that are not listed; the rows of history also say what was looked at and has no drift."""
    whole = _whole(found)
    return whole["episodes"] if whole else 0


def _said(number: int, words: str) -> str:
    """Put the first word that counts into the plural: `3 days of samples`, `4 pinned groups`."""
    what, of, rest = words.partition(" of ")
    what, so_far, more = what.partition(" so far")
    return f"{counted(number, what)}{so_far}{more}{of}{rest}"
