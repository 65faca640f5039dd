"""Subjects that one stream of a plan gives up and another takes."""

from __future__ import annotations

from functools import lru_cache

from reconciler.changes.change import Action, Change
from reconciler.changes.view import View
from reconciler.kinds.subjects.subject_index import SubjectIndex
from reconciler.kinds.subjects.subjects import collide
from reconciler.model.resource import Address


def passed_on(stream: str, view: View) -> list[str]:
    """What this stream gives up, as far as another takes any of it. An interest stream does so before its consumers
    change: otherwise it would drop what somebody publishes meanwhile."""
    change = view.changes.get(Address.of("stream", stream))
    if change is None or change.action is not Action.UPDATE or not change.touches("subjects"):
        return []
    lost = set(change.was("subjects") or ()) - _subjects(change)
    return sorted(one for one in lost if _is_taken(one, stream, view))


def taken_at_deletions(stream: str, view: View) -> set[str]:
    """What a stream takes when consumers of it are deleted: the new subjects where it passes some on, since it does that
    first, and otherwise those of now."""
    change = view.changes.get(Address.of("stream", stream))
    if change and passed_on(stream, view):
        return _subjects(change)
    return set((view.snapshot.streams.get(stream, {}).get("config") or {}).get("subjects") or ())


def _is_taken(subject: str, giver: str, view: View) -> bool:
    near = _taken(view).near(subject)
    return any(taker != giver and collide(subject, theirs) for taker, theirs in near)


@lru_cache(maxsize=4)
def _taken(view: View) -> SubjectIndex:
    """What streams of this plan take that they did not have; computed once per view."""
    index = SubjectIndex()
    for address, change in view.changes.items():
        if address.kind == "stream" and change.action.writes:
            for subject in _subjects(change) - set(change.was("subjects") or ()):
                index.add(address.name, subject)
    return index


def _subjects(change: Change) -> set[str]:
    return set() if change.action is Action.DELETE else set(change.becomes("subjects") or ())
