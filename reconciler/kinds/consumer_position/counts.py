"""Counts that servers gave for what a consumer matches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from reconciler.changes.change import Change
from reconciler.changes.view import View
from reconciler.kinds.effects.readers import filters
from reconciler.kinds.subjects.subjects import collide
from reconciler.model.wire.questions import MessagesFrom


def number_of(asked: Sequence[MessagesFrom], view: View) -> int | None:
    """Messages counted for all of these questions together; None if one of them has no number for an answer."""
    answers = [view.facts.get(one) for one in asked]
    known = [one["messages"] for one in answers if isinstance(one, Mapping) and "messages" in one]
    return sum(known) if len(known) == len(answers) else None


def counting(stream: str, subjects: Sequence[str], start: int = 1) -> list[MessagesFrom]:
    """What counts the messages on these subjects from there on."""
    return [MessagesFrom(stream=stream, start=start, filter=one) for one in subjects]


def takes_all(stream: str, taken: Sequence[str], held: Sequence[str], kept: Sequence[str], view: View) -> bool:
    """Is every stored message that `held` matches and `kept` does not on the subjects `taken`? False where nobody
    counted, or where two of these overlap and their messages would count twice."""
    if any(collide(one, other) for one, other in combinations(taken, 2)):
        return False
    given, stored, staying = (number_of(counting(stream, subjects), view) for subjects in (taken, held, kept))
    return None not in (given, stored, staying) and given == (stored or 0) - (staying or 0)


def counted_from(change: Change, start: int | str) -> list[MessagesFrom]:
    """What counts the messages that the declared consumer matches from there on."""
    subjects = filters(change.desired.config if change.desired else {})
    return [MessagesFrom(stream=change.address.stream, start=start, filter=one) for one in subjects]
