"""Subjects that pass between the consumers of an interest stream: whoever takes them comes before whoever lets go, since
the stream drops what nobody wants. Consumers that exchange subjects have both for a moment.
"""

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
    """Whoever takes subjects comes before whoever lets go of them; the tie is weak where the taker is a new consumer."""
    for taker, giver in handovers(view):
        if (taker.action, giver.action) == (Action.CREATE, Action.DELETE):
            continue  # which of them goes first is a matter of room
        is_there = taker.action is not Action.CREATE
        yield Tie(taker.address, giver.address, gives=GIVES if is_there else "", weak=not is_there)


def _widen(change: Change, view: View) -> Opening | None:
    both = _widest([*wanted(change), *held(change)])
    if view.target.version < OVERLAPPING_FILTERS and any(collide(*pair) for pair in combinations(both, 2)):
        return None
    stream, name = change.address.names
    effect = f"let consumer {name} of {stream} take what others give, before it lets go of anything"
    return Opening(fields=written(both), cost=(0, 1), effect=effect)


def _widest(subjects: Sequence[str]) -> list[str]:
    """Without those that lie inside another, which no server accepts beside it."""
    once = list(dict.fromkeys(subjects))
    return [one for one in once if not any(one != other and is_subset(one, other) for other in once)]


OPENS = {GIVES: _widen}
