"""Subjects that one stream of a plan gives up and another takes, and the subject for an object that has no other for a
moment.

A stream without subjects would capture its own name, and a consumer without a filter everything. Nobody publishes to the
parking subject, and it collides with nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import product

from reconciler.changes.change import Action, Change
from reconciler.changes.view import View
from reconciler.kinds.fields.known import PARKED
from reconciler.kinds.subjects.subject_index import SubjectIndex
from reconciler.kinds.subjects.subjects import collide
from reconciler.model.resource import Address

MOST = 8


def parking_subject(name: str, is_free: Callable[[str], bool]) -> str | None:
    """`_parked.NAME`, or a variation of it if that is taken; None if all are."""
    return next((subject for subject in _possible_subjects(name) if is_free(subject)), None)


def is_parking_subject(subject: str) -> bool:
    """Its first token begins with `_parked`: an apply put it there for a moment."""
    return subject.split(".", maxsplit=1)[0].startswith(PARKED)


def _possible_subjects(name: str) -> Iterator[str]:
    """Wildcards of others may cover a number of tokens, or a first token; hardly all of these."""
    for first, more in product(range(MOST), range(MOST)):
        yield ".".join([PARKED + "_" * first, name, *["_"] * more])


def passed_on_subjects(stream: str, view: View) -> list[str]:
    """What this stream gives up, as far as another takes any of it. An interest stream does so before its consumers
    change: otherwise it would drop what somebody publishes meanwhile."""
    change = view.changes.get(Address.of("stream", stream))
    if change is None or change.action is not Action.UPDATE or not change.touches("subjects"):
        return []
    lost = set(change.was("subjects") or ()) - _subjects_after(change)
    return sorted(subject for subject in lost if _is_taken_by_another(subject, stream, view))


def subjects_at_consumer_deletions(stream: str, view: View) -> set[str]:
    """What a stream takes when consumers of it are deleted: the new subjects where it passes some on, since it does that
    first, and otherwise those of now."""
    change = view.changes.get(Address.of("stream", stream))
    if change and passed_on_subjects(stream, view):
        return _subjects_after(change)
    return set(view.snapshot.config_of(stream).get("subjects") or ())


def _is_taken_by_another(subject: str, giver: str, view: View) -> bool:
    near = _newly_taken(view).near(subject)
    return any(taker != giver and collide(subject, theirs) for taker, theirs in near)


@lru_cache(maxsize=4)
def _newly_taken(view: View) -> SubjectIndex[str]:
    """What streams of this plan take that they did not have; computed once per view."""
    return SubjectIndex(
        (address.name, subject)
        for address, change in view.changes.items()
        if address.kind == "stream" and change.action.writes
        for subject in _subjects_after(change) - set(change.was("subjects") or ())
    )


def _subjects_after(change: Change) -> set[str]:
    return set() if change.action is Action.DELETE else set(change.becomes("subjects") or ())
