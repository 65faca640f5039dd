"""How one text becomes another, as `diff -u` shows it: in time, also where a long file differs in thousands of places."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal

AROUND = 3
"""Lines that are shown around what differs."""

_Tag = Literal["replace", "delete", "insert", "equal"]
_Step = tuple[_Tag, int, int, int, int]


def difference(before: Sequence[str], after: Sequence[str], name: str) -> Iterator[str]:
    """Yield the lines of a patch; none where the two are equal."""
    groups = [*_Compared(before, after).get_grouped_opcodes(AROUND)] if before != after else []
    if groups:
        yield from (f"--- {name}", f"+++ {name}")
    for group in groups:
        (_, start, _, other_start, _), (_, _, end, _, other_end) = group[0], group[-1]
        yield f"@@ -{_hunk_range(start, end)} +{_hunk_range(other_start, other_end)} @@"
        for tag, i, j, k, m in group:
            yield from _patch_lines(tag, before[i:j], after[k:m])


class _Compared(SequenceMatcher[str]):
    """Finds out only once what stays, goes and comes."""

    def __init__(self, before: Sequence[str], after: Sequence[str]) -> None:
        super().__init__()
        self._steps = _edit_steps(before, after)

    def get_opcodes(self) -> list[_Step]:
        return self._steps


def _patch_lines(tag: str, before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    if tag == "equal":
        yield from (f" {line}" for line in before)
        return
    yield from (f"-{line}" for line in before)
    yield from (f"+{line}" for line in after)


def _hunk_range(start: int, end: int) -> str:
    """Lines count from 1; where there are none, it is the line before."""
    return f"{start + 1 if end > start else start},{end - start}"


def _edit_steps(before: Sequence[str], after: Sequence[str]) -> list[_Step]:
    """Return what stays, goes and comes. Between lines that are there once in both, there is little to compare with little."""
    steps: list[_Step] = []
    start = other_start = 0
    for end, other_end in [*_anchors(before, after), (len(before), len(after))]:
        matcher = SequenceMatcher(None, before[start:end], after[other_start:other_end])
        for tag, i, j, k, m in matcher.get_opcodes():
            _append_step(steps, (tag, start + i, start + j, other_start + k, other_start + m))
        start, other_start = end, other_end
    return steps


def _append_step(steps: list[_Step], step: _Step) -> None:
    if steps and steps[-1][0] == step[0] == "equal":
        step = ("equal", steps[-1][1], step[2], steps.pop()[3], step[4])
    steps.append(step)


def _anchors(before: Sequence[str], after: Sequence[str]) -> list[tuple[int, int]]:
    """Choose as many lines as can be of those that are there once in both, in an order that both have."""
    once, other_once = ({line for line, count in Counter(lines).items() if count == 1} for lines in (before, after))
    places = {line: place for place, line in enumerate(after) if line in once and line in other_once}
    pairs = [(place, places[line]) for place, line in enumerate(before) if line in places]
    ends: list[int] = []
    last: list[int] = []
    came_from: list[int] = []
    for number, (_, place) in enumerate(pairs):
        length = bisect_left(ends, place)
        ends[length : length + 1], last[length : length + 1] = [place], [number]
        came_from.append(last[length - 1] if length else -1)
    chain, number = [], last[-1] if last else -1
    while number >= 0:
        chain.append(pairs[number])
        number = came_from[number]
    return chain[::-1]
