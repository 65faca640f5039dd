"""Draws which partitions of a group move: a column per partition, or a line per move where columns do not fit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from reconciler.model.resource import Json
from reconciler.report.words.paper import Paper
from reconciler.report.words.visible import columns, visible

SAME, NOBODY, UNCOUNTED = "·", "-", "?"
_LABELS = ("partition", "now", "then", "queued")
_LABEL_WIDTH = max(map(len, _LABELS))


def partition_lines(drawn: Mapping[str, Json], paper: Paper, indent: int = 6) -> list[str]:
    """Draw the map {"now": [member], "then": [member], "queued": [count]} as lines."""
    rows = _partition_rows(drawn)
    cell = max(map(columns, chain(*rows)), default=1) + 2
    per_line = (paper.width - indent - _LABEL_WIDTH) // cell
    if per_line < 4 or len(rows[0]) > 4 * per_line:
        return _move_lines(drawn, paper, indent)
    chunks = range(0, len(rows[0]), per_line)
    return [line for start in chunks for line in _column_lines(rows, start, per_line, cell, indent)]


class Column(NamedTuple):
    """One partition as it is drawn."""

    partition: str
    now: str
    then: str
    queued: str = ""
    """Empty where nothing was counted."""


def columns_of(drawn: Mapping[str, Json]) -> list[Column]:
    """Return a column for each partition before or after the change; `-` marks a partition without an owner."""
    now, then, queued = _now_then_queued(drawn)
    counts = [_count_text(count) for count in queued] if queued else [""] * len(now)
    names = (Column(str(n), _member_name(now[n]), _member_name(then[n]), counts[n]) for n in range(len(now)))
    return list(names)


def _partition_rows(drawn: Mapping[str, Json]) -> list[list[str]]:
    now, then, queued = _now_then_queued(drawn)
    numbers = [str(number) for number in range(len(now))]
    moved = [SAME if before == after else _member_name(after) for before, after in zip(now, then, strict=True)]
    rows = [numbers, [_member_name(member) for member in now], moved]
    return [*rows, [_count_text(count) for count in queued]] if queued else rows


def _now_then_queued(drawn: Mapping[str, Json]) -> tuple[list[Json], list[Json], list[Json]]:
    """Bring now, then and queued to one length: a group that grows or shrinks has partitions on one side only."""
    now, then, queued = (list(drawn.get(key) or ()) for key in ("now", "then", "queued"))
    length = max(len(now), len(then))
    for side in (now, then, *([queued] if queued else [])):
        side.extend([None] * (length - len(side)))
    return now, then, queued


def _member_name(name: Json) -> str:
    return NOBODY if name is None else visible(str(name))


def _count_text(number: Json) -> str:
    return UNCOUNTED if number is None else f"{number:_}"


def _column_lines(rows: Sequence[Sequence[str]], start: int, count: int, cell: int, indent: int) -> list[str]:
    lines = []
    for label, row in zip(_LABELS, rows, strict=False):
        cells = (" " * (cell - columns(text)) + text for text in row[start : start + count])
        lines.append(" " * indent + label.ljust(_LABEL_WIDTH) + "".join(cells))
    return lines


def _move_lines(drawn: Mapping[str, Json], paper: Paper, indent: int) -> list[str]:
    """Return `b1 → b4: partitions 9-11 14, 708 queued`, for groups that are too large to draw."""
    now, then, queued = _now_then_queued(drawn)
    moves: dict[tuple[str, str], list[int]] = {}
    for number, (before, after) in enumerate(zip(now, then, strict=True)):
        if before != after:
            moves.setdefault((_member_name(before), _member_name(after)), []).append(number)
    lines: list[str] = []
    for (before, after), numbers in moves.items():
        waiting = f", {_queued_sum_text(queued, numbers)} queued" if queued else ""
        lines += paper.wrapped(f"{before} → {after}: partitions {ranges_text(numbers)}{waiting}", indent)
    return lines


def _queued_sum_text(queued: Sequence[Json], numbers: Sequence[int]) -> str:
    counts = [queued[number] for number in numbers]
    return UNCOUNTED if None in counts else f"{sum(counts):_}"


def ranges_text(numbers: Iterable[int]) -> str:
    """Return `0-3 7 9-11`, in the order in which they came."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return " ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
