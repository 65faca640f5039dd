"""The table: act, tests, how long until they noticed; and what is wrong with those that nobody did."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tests.sabotage.trying import Trial


def lines(trials: Sequence[Trial]) -> Iterator[str]:
    width = max((len(one.act.name) for one in trials), default=3)
    beside = max((len(", ".join(one.act.seen_by)) for one in trials), default=5)
    yield f"{'act':{width}}  {'tests':{beside}}  outcome"
    for one in trials:
        after = f"caught after {one.seconds:.1f} s" if one.is_caught else f"{one.verdict} ({one.by})"
        yield f"{one.act.name:{width}}  {', '.join(one.act.seen_by):{beside}}  {after}"
    caught = [one.seconds for one in trials if one.is_caught]
    slowest = f", the slowest after {max(caught):.1f} s" if caught else ""
    yield f"{len(caught)} of {len(trials)} acts caught{slowest}"
