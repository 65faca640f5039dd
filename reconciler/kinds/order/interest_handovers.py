"""Subjects that pass between the consumers of an interest stream. A consumer takes them over before another gives them
up, since the stream drops what no consumer wants. Consumers that exchange subjects both have them for a moment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from reconciler.changes.diff import Action, Change
from reconciler.changes.stages import Opening, Tie
from reconciler.changes.view import View
from reconciler.kinds.consumer.handovers import handovers
from reconciler.kinds.fields.known import OVERLAPPING_FILTERS
from reconciler.kinds.subjects.filters import held, wanted, written
from reconciler.kinds.subjects.subjects import collide, is_subset

GIVES = "filter_subjects"


def ties(view: View) -> Iterator[Tie]:
    """Consumers that take over subjects come before consumers that give them up; the tie is weak if the taker is a new
    consumer."""
    for taker, giver in handovers(view):
        if (taker.action, giver.action) == (Action.CREATE, Action.DELETE):
            continue  # room decides which of them comes first
        is_there = taker.action is not Action.CREATE
        yield Tie(taker.address, giver.address, gives=GIVES if is_there else "", weak=not is_there)


def _widen(change: Change, view: View) -> Opening | None:
    both = _widest([*wanted(change), *held(change)])
    if view.target.version < OVERLAPPING_FILTERS and any(collide(*pair) for pair in combinations(both, 2)):
        return None
    stream, name = change.address.names
    effect = f"let consumer {name} of {stream} take over subjects before it gives up any"
    return Opening(fields=written(both), cost=(0, 1), effect=effect)


def _widest(subjects: Sequence[str]) -> list[str]:
    """The subjects without those that lie inside another, which no server accepts beside it."""
    once = list(dict.fromkeys(subjects))
    return [one for one in once if not any(one != other and is_subset(one, other) for other in once)]


OPENS = {GIVES: _widen}
