"""The first part of a report: a few figures, and what needs attention today."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from reconciler.fleet.report.drift import drift_totals_line, show_span, show_time
from reconciler.fleet.report.findings import FleetFindings, Row
from reconciler.fleet.report.outliers_and_capacity import days_to_refusal, show_days
from reconciler.fleet.report.targets import quoted_names_text, sentences_with_reasons, show_size
from reconciler.fleet.tables.rows import UNCOMPARED, UNREMEMBERED
from reconciler.journeys.drift.drift import Standing
from reconciler.report.document.pieces import Prose, ReportPart, Tile, Tiles, Tone
from reconciler.report.words.values import counted

_SOON = 14
"""Days."""
_EARLIER = 5
"""How many other runs are named."""
_REASONS = 5
"""How many reasons why targets could not be read, or compared, are named."""
_FULL = 5
"""How many streams that will be full are named."""
_HOW = (
    (Standing.FOREIGN, True, ("belongs to somebody else", "belong to somebody else")),
    (Standing.MISSING, True, ("is missing", "are missing")),
    (Standing.RECREATED, True, ("was recreated", "were recreated")),
    (Standing.CHANGED, True, ("was changed outside", "were changed outside")),
    (
        Standing.CHANGED,
        False,
        ("has no record of an apply and differs from the file", "have no record of an apply and differ from the file"),
    ),
)
"""What happened to one object, or to several, with a record of an apply or without one."""
_DRIFT = "`reconciler fleet drift` does that"
NOT_COMPARED = f"Drift is unknown: nothing was compared with what was applied; {_DRIFT}."


def overview(findings: FleetFindings) -> ReportPart:
    """Return the first part of a report: the figures, then what needs attention, the worst first."""
    tiles = tuple(_tiles(findings))
    attention = tuple(_attention_sentences(findings))
    sentences = (
        Prose(lines=attention, is_list=True) if attention else Prose(lines=("Nothing needs attention.",), tone="good")
    )
    return ReportPart(title="", pieces=(Tiles(tiles=tiles), sentences) if tiles else (sentences,))


def _tiles(findings: FleetFindings) -> Iterator[Tile]:
    targets, unread = findings.targets or (), findings.unread_targets
    if targets:
        read = len(targets) - len(unread)
        note = f"not: {', '.join(unread[:3])}{' …' if len(unread) > 3 else ''}" if unread else "all of them"
        yield Tile(
            label="Targets read", value=f"{read:_} of {len(targets):_}", note=note, tone="odd" if unread else "good"
        )
    if findings.drift is not None:
        yield _drift_tile(findings)
    if findings.trend:
        last = findings.trend[-1]
        note = f"{last['opened']:_} new, {last['closed']:_} closed in this run"
        yield Tile(
            label="Differences open", value=f"{last['open']:_}", note=note, tone="warn" if last["open"] else "good"
        )
    if totals_of_repairs := _repair_totals(findings):
        note = (
            f"half of {counted(totals_of_repairs['repaired'], 'repair')} within that"
            if totals_of_repairs["repaired"]
            else "nothing repaired so far"
        )
        yield Tile(label="Time to repair", value=show_span(totals_of_repairs.get("median_seconds")), note=note)
    if findings.capacity:
        soon = min((days for item in findings.capacity if (days := days_to_refusal(item)) is not None), default=None)
        note = (
            "until the first stream refuses messages" if soon is not None else "nothing grows towards refusing messages"
        )
        tone: Tone = "bad" if soon is not None and soon <= _SOON else "good"
        yield Tile(label="Room", value=show_days(soon), note=note, tone=tone)
    if targets:
        held = sum(item.bytes or 0 for item in targets)
        streams, consumers = sum(item.streams or 0 for item in targets), sum(item.consumers or 0 for item in targets)
        note = f"{counted(streams, 'stream')}, {counted(consumers, 'consumer')}"
        yield Tile(label="Stored", value=show_size(held), note=note)


def _repair_totals(findings: FleetFindings) -> Row | None:
    """The totals of repairs."""
    return next((row for row in findings.repairs or () if row["dimension"] == "all"), None)


def _drift_tile(findings: FleetFindings) -> Tile:
    drifted_targets = findings.drifted_by_target or {}
    untold = {"unknown": findings.unknown_counts, "unremembered": findings.unremembered_counts}
    notes = [counted(sum(drifted_targets.values()), "object")] if drifted_targets else []
    notes += [f"{sum(count.objects for count in these):_} {name}" for name, these in untold.items() if these]
    notes += [f"{len(findings.uncompared_targets):_} not compared"] if findings.uncompared_targets else []
    notes += [f"{number:_} without a record"] if (number := sum(findings.unrecorded.values())) else []
    return Tile(
        label="Targets with drift", value=f"{len(drifted_targets):_} of {len(findings.compared):_}",
        note=", ".join(notes) or "all as applied", tone="bad" if drifted_targets else "odd" if notes else "good",
    )  # fmt: skip


def _attention_sentences(findings: FleetFindings) -> Iterator[str]:
    """At most a handful of sentences, the worst first."""
    unread = [(target.name, target.error) for target in findings.targets or () if target.error]
    yield from sentences_with_reasons(unread, ("could not be read", "could not be read"), _REASONS)
    uncompared = [(item.target, item.error) for item in findings.drift or () if item.standing == UNCOMPARED]
    yield from sentences_with_reasons(uncompared, ("could not be compared", "could not be compared"), _REASONS)
    yield from earlier_runs_sentences(findings, "read")
    yield from [NOT_COMPARED] if findings.drift is None else earlier_runs_sentences(findings, "compared")
    yield from _drift_sentences(findings)
    yield from _capacity_sentences(findings.capacity or ())


def _drift_sentences(findings: FleetFindings) -> Iterator[str]:
    """`stream/A` is missing on `eu-1`. 287 objects were changed outside on `eu-1`, `eu-2` and 3 more."""
    for standing, is_recorded, how in _HOW:
        of = {
            item.target: number
            for item in findings.counts
            if item.standing == standing
            and (number := item.drifted - item.unrecorded if is_recorded else item.unrecorded)
        }
        number = sum(of.values())
        alike = (
            f"`{item.address}`"
            for item in findings.drifted_objects
            if item.standing == standing and item.is_recorded is is_recorded
        )
        name = next(alike, "") if number == 1 else ""
        if number:
            yield f"{name or counted(number, 'object')} {how[number > 1]} on {quoted_names_text(_names_most_first(of))}."
    unknown = {item.target: item.objects for item in findings.unknown_counts}
    if unknown:
        yield f"Not everything could be read on {quoted_names_text(_names_most_first(unknown))}: {sum(unknown.values()):_} unknown."
    yield from _unremembered_sentences(findings)


def _unremembered_sentences(findings: FleetFindings) -> Iterator[str]:
    lost = {item.target: item.objects for item in findings.unremembered_counts}
    if number := sum(lost.values()):
        names = [f"`{item.address}`" for item in findings.drift or () if item.standing == UNREMEMBERED]
        objects = names[0] if number == len(names) == 1 else counted(number, "object")
        yield f"Records cannot be used: nobody knows what was applied of {objects} on {quoted_names_text(_names_most_first(lost))}."


def _names_most_first(numbers: Mapping[str, int]) -> list[str]:
    return sorted(numbers, key=lambda name: (-numbers[name], name))


def earlier_runs_sentences(findings: FleetFindings, how: str) -> Iterator[str]:
    """Yield `eu-1`, `eu-2` and 3 more were last compared in run `a` (2026-11-20 02:00 UTC)."""
    runs = [run for run in findings.earlier if run["what"] == how]
    for run in runs[:_EARLIER]:
        names = run["targets"]
        targets = quoted_names_text(names)
        was = "was" if len(names) == 1 else "were"
        when = f"in run `{run['run']}` ({show_time(run['at'])})" if run.get("run") else ""
        yield f"{targets} {was} last {how} {when}." if when else f"{targets} {was} never {how}; {_DRIFT}."
    if more := sum(len(run["targets"]) for run in runs[_EARLIER:]):
        yield f"{more:_} more {'was' if more == 1 else 'were'} last {how} in other runs."


def _capacity_sentences(capacity: Sequence[Row]) -> Iterator[str]:
    """The same stream on several targets is one sentence, and another one where it is already full."""
    soon = [
        (days, stream_row)
        for stream_row in capacity
        if (days := days_to_refusal(stream_row)) is not None and days <= _SOON
    ]
    streams: dict[tuple[str, bool], list[tuple[float, Row]]] = {}
    for days, stream_row in sorted(soon, key=lambda it: it[0]):
        streams.setdefault((stream_row["stream"], days > 0), []).append((days, stream_row))
    for (stream, is_later), same in [*streams.items()][:_FULL]:
        names = quoted_names_text([stream_row["target"] for _, stream_row in same])
        within = "in" if len(same) == 1 else "first in"
        full = (
            f"full {within} about {show_days(same[0][0])} at the growth of the last looks, and refuses new messages then"
            if is_later
            else "full and refuses new messages"
        )
        yield f"`{stream}` on {names} is {full}."
    if more := sum(map(len, [*streams.values()][_FULL:])):
        yield f"{counted(more, 'more stream')} will refuse messages within {_SOON} days."


def totals_line(findings: FleetFindings) -> str:
    """Return one line of sums."""
    if findings.drift is not None and (findings.compared or findings.unread_targets or findings.uncompared_targets):
        return drift_totals_line(
            findings.counts,
            findings.compared,
            findings.unread_targets,
            findings.uncompared_targets,
            findings.unrecorded,
        )
    if findings.targets is not None:
        unread = f", {len(findings.unread_targets):_} not read" if findings.unread_targets else ""
        streams, consumers = (
            sum(target.streams or 0 for target in findings.targets),
            sum(target.consumers or 0 for target in findings.targets),
        )
        return f"{counted(len(findings.targets), 'target')}{unread} · {counted(streams, 'stream')}, {counted(consumers, 'consumer')}"
    return _totals_line_of_other_commands(findings)


def _totals_line_of_other_commands(findings: FleetFindings) -> str:
    if findings.skew is not None:
        candidates = {(row["choice"], row["partitions"]) for row in findings.skew if row.get("choice")}
        streams = {(row["target"], row["stream"]) for row in findings.skew}
        unread = (
            f" · {counted(len(findings.unread_targets), 'target')} not read completely"
            if findings.unread_targets
            else ""
        )
        return f"{counted(len(candidates), 'candidate')} for {counted(len(streams), 'stream')}{unread}"
    so_far = [] if findings.repairs is None else [_counted_text(_difference_count(findings), "difference so far")]
    tables = (
        (findings.outliers, "outlier"), (findings.capacity, "stream"), (findings.pins, "pinned group"),
        (findings.acks, "day of samples"), (findings.actors, "change"),
    )  # fmt: skip
    return " · ".join([*so_far, *(_counted_text(len(rows), words) for rows, words in tables if rows is not None)])


def _difference_count(findings: FleetFindings) -> int:
    """Differences that are not listed; the rows of history also say what was looked at and has no drift."""
    totals_of_repairs = _repair_totals(findings)
    return totals_of_repairs["episodes"] if totals_of_repairs else 0


def _counted_text(number: int, words: str) -> str:
    """Put the first word that counts into the plural: `3 days of samples`, `4 pinned groups`."""
    noun, of, rest = words.partition(" of ")
    noun, so_far, more = noun.partition(" so far")
    return f"{counted(number, noun)}{so_far}{more}{of}{rest}"
