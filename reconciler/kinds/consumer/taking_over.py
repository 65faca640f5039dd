"""What happens to messages that one consumer no longer takes: another one may, in the same plan."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from reconciler.changes.change import Action, Change
from reconciler.changes.view import View, once_per_view
from reconciler.kinds.consumer_position.counts import count_questions, subject_questions, takes_all
from reconciler.kinds.consumer_position.predecessors import leftover_start
from reconciler.kinds.consumer_position.retention import retention_of
from reconciler.kinds.fields.words import few, listed
from reconciler.kinds.losses.over_limit import MANY_SUBJECTS
from reconciler.kinds.losses.unprocessed import consumers_afterwards
from reconciler.kinds.stream_config.origins import copies_afterwards
from reconciler.kinds.subjects.filters import filters_of, wanted_subjects
from reconciler.kinds.subjects.subject_index import SubjectIndex
from reconciler.kinds.subjects.subject_lists import SubjectList, all_inside, any_collide, intersections, not_inside
from reconciler.model.resource import Address
from reconciler.model.wire.questions import MessagesFrom, SubjectCounts

NAMED = 3


def is_taken(change: Change, left: Sequence[str], view: View) -> bool:
    """Do other consumers take everything on these subjects?"""
    return all_inside(left, [filter_ for _, theirs in _taking_consumers(change, left, view) for filter_ in theirs])


def fate_of_left_text(change: Change, before: Sequence[str], after: Sequence[str], view: View) -> str:
    """The fate of messages of a work queue on the subjects that the consumer leaves, in words."""
    left = not_inside(before, after)
    takers = {name: theirs for name, theirs in _taking_consumers(change, left, view) if any_collide(left, theirs)}
    if not takers:
        return "they stay until another consumer takes them"
    gets = f"{_listed_names(takers)} {'takes' if len(takers) == 1 else 'take'}"
    if is_taken(change, left, view):
        return f"{gets} them"
    if clause := successors_clause(change, before, after, view):
        return clause
    return f"{gets} some of them, and the others stay until another consumer does"


def questions(
    change: Change, before: Sequence[str], after: Sequence[str], view: View
) -> Iterator[MessagesFrom | SubjectCounts]:
    """On which subjects that a consumer leaves messages are stored, and how many; of these how many on each that a successor takes."""
    stream = change.address.stream
    if taken := _taken_subjects(_subjects_by_successor(change, before, view), before, after):
        state = (view.snapshot.streams.get(stream) or {}).get("state") or {}
        if 0 < state.get("num_subjects", 0) <= MANY_SUBJECTS:
            yield from subject_questions(stream, before)
        for subjects in (before, intersections(before, after), taken):
            yield from count_questions(stream, subjects)


def successors_clause(change: Change, before: Sequence[str], after: Sequence[str], view: View) -> str:
    """`a and b take those stored now`: who gets every stored message that the consumer leaves. Empty: nobody gets all of
    them, or some were not counted."""
    stream, subjects_by_successor = change.address.stream, _subjects_by_successor(change, before, view)
    taken = _taken_subjects(subjects_by_successor, before, after)
    if not taken or not takes_all(stream, taken, before, intersections(before, after), view):
        return ""
    return f"{_listed_names(subjects_by_successor)} {'takes' if len(subjects_by_successor) == 1 else 'take'} those stored now"


def _subjects_by_successor(change: Change, before: Sequence[str], view: View) -> dict[str, Sequence[str]]:
    """Who gets what is stored on these subjects: any other consumer of a work queue, and of other streams those that the
    plan creates to start no later than with what this one has yet to process. An earlier run may have created them: on an
    interest stream, consumers count that have processed nothing of that."""
    stream = change.address.stream
    if retention_of(stream, view) == "workqueue":
        pairs = _taking_consumers(change, before, view)
    else:
        created = [
            creation
            for taker in _takers_near(stream, before, view)
            if (creation := view.changes.get(Address.of("consumer", stream, taker.label)))
            and creation.action is Action.CREATE
            and _starts_in_time(creation, change, view)
        ]
        pairs = [(creation.address.name, wanted_subjects(creation)) for creation in created]
        narrows = change.action is Action.UPDATE and retention_of(stream, view) == "interest"
        taken = SubjectList(subject for _, theirs in pairs for subject in theirs)
        for name, theirs in _consumers_behind(change, before, view) if narrows else ():
            if not any(map(taken.colliding, theirs)):
                pairs.append((name, theirs))
                taken.extend(theirs)
    return {name: theirs for name, theirs in pairs if intersections(theirs, before)}


def _consumers_behind(change: Change, subjects: Sequence[str], view: View) -> Iterator[tuple[str, Sequence[str]]]:
    """Others that want some of these subjects, stay as they are, take none of what this one keeps, and have acknowledged nothing
    of what it has yet to process."""
    stream, name = change.address.names
    kept = SubjectList(wanted_subjects(change))
    for _, other, theirs in _takers_near(stream, subjects, view):
        info = view.snapshot.consumers.get(stream, {}).get(other)
        if other == name or info is None or filters_of(info["config"]) != theirs:
            continue
        config = consumers_afterwards(stream, view)[other]
        floor = int((info.get("ack_floor") or {}).get("stream_seq") or 0)
        is_behind = floor < leftover_start(change, view) and not str(config.get("deliver_policy")).startswith("last")
        if is_behind and not any(map(kept.colliding, theirs)):
            yield other, theirs


def _starts_in_time(successor: Change, change: Change, view: View) -> bool:
    config = successor.wanted
    policy, start = config.get("deliver_policy") or "all", config.get("opt_start_seq", sys.maxsize)
    is_early = policy == "all" or (policy == "by_start_sequence" and start <= leftover_start(change, view))
    return successor.origin is None and is_early


def _taken_subjects(
    subjects_by_successor: Mapping[str, Sequence[str]], before: Sequence[str], after: Sequence[str]
) -> list[str]:
    """What the successors take of these subjects; nothing if the consumer keeps some of it, since it cannot be counted then."""
    taken = intersections((subject for theirs in subjects_by_successor.values() for subject in theirs), before)
    return [] if any_collide(taken, after) else taken


def _listed_names(names: Collection[str]) -> str:
    return few([*names], NAMED) if len(names) > NAMED else listed([*names])


def _taking_consumers(change: Change, subjects: Sequence[str], view: View) -> list[tuple[str, Sequence[str]]]:
    """Other consumers as they will be, and streams that copy the queue, that may take some of these subjects."""
    stream, name = change.address.names
    return [(taker.label, taker.filters) for taker in _takers_near(stream, subjects, view) if taker.label != name]


class _Taker(NamedTuple):
    """A consumer by its name, or a stream that copies the consumer's."""

    position: int
    label: str
    filters: tuple[str, ...]


def _takers_near(stream: str, subjects: Sequence[str], view: View) -> list[_Taker]:
    index = _takers(stream, view)
    near = {taker.label: taker for subject in subjects for taker, _ in index.near(subject)}
    return sorted(near.values(), key=lambda taker: taker.position)


@once_per_view
def _takers(stream: str, view: View) -> SubjectIndex[_Taker]:
    """Consumers as they will be, and then the copies of the stream, by what they take."""
    consumers = ((name, filters_of(config)) for name, config in consumers_afterwards(stream, view).items())
    copies = ((f"stream {name}", tuple(taken)) for name, taken in sorted(copies_afterwards(stream, view).items()))
    takers = [_Taker(position, *taker) for position, taker in enumerate((*consumers, *copies))]
    return SubjectIndex((taker, subject) for taker in takers for subject in taker.filters)
