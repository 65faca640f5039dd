"""Subjects that one stream of a plan gives up and another takes."""

from __future__ import annotations

from functools import lru_cache

from reconciler.changes.diff import Action, Change
from reconciler.changes.view import View
from reconciler.kinds.subjects.subjects import collide
from reconciler.model.resource import Address


def passed_on(stream: str, view: View) -> list[str]:
    """What this stream gives up, as far as another takes any of it. An interest stream does so before its consumers
    change: otherwise it would drop what somebody publishes meanwhile."""
    change = view.changes.get(Address.of("stream", stream))
    if change is None or change.action is not Action.UPDATE or not change.touches("subjects"):
        return []
    lost = set(change.was("subjects") or ()) - _subjects(change)
    return sorted(one for one in lost if any(collide(one, theirs) for theirs in _taken(view)))


@lru_cache(maxsize=4)
def _taken(view: View) -> frozenset[str]:
    """What streams of this plan take that they did not have; computed once per view."""
    streams = (change for address, change in view.changes.items() if address.kind == "stream" and change.action.writes)
    return frozenset(one for change in streams for one in _subjects(change) - set(change.was("subjects") or ()))


def _subjects(change: Change) -> set[str]:
    return set() if change.action is Action.DELETE else set(change.becomes("subjects") or ())
