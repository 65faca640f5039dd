"""What becomes of subjects that a stream no longer captures: their publishers, their readers, and what is stored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from reconciler.changes.amount import exactly
from reconciler.changes.diff import Action, Change
from reconciler.changes.rule import Found, rule
from reconciler.changes.verdict import Finding, Outcome, Reaction
from reconciler.changes.view import View
from reconciler.kinds.effects import surplus
from reconciler.kinds.effects.readers import (
    Going,
    filters,
    is_durable,
    unread,
)
from reconciler.kinds.fields.words import few, listed, outside, some, verb
from reconciler.kinds.stream_config.origins import copying_on
from reconciler.kinds.subjects.subject_index import SubjectIndex
from reconciler.kinds.subjects.subjects import collide, is_subset, matches
from reconciler.model.resource import Address
from reconciler.model.wire.questions import SubjectCounts, Unanswered


def no_longer_covered(change: Change) -> list[str]:
    """Subjects that are stored now and that no subject covers any more; of some, a part may be."""
    kept = change.becomes("subjects") or ()
    before = set(change.was("subjects") or ()) - set(kept)
    return sorted(one for one in before if not any(is_subset(one, other) for other in kept))


@rule("ST303", "subject-removed", on=(Action.UPDATE,), needs=("live", "facts"), reaction=Reaction.HARMS)
def subject_removed(change: Change, view: View) -> Found:
    """A subject is no longer captured: its publishers get "no responders" from then on; stored messages stay.

    Message schedules that are stored stay too and go on: what they fire is stored here, on subjects that are no longer
    captured as well.

    Where another stream takes it, that one has consumers and copies of its own: those of this stream get nothing more of it.
    No two streams may store one subject, so this one lets go of it first: for a moment, or for as long as an apply that is
    cut off there, nobody stores it.

    Instead: move the publishers first.
    """
    if not (gone := no_longer_covered(change)):
        return None
    words, stored = _stored(change, gone, view)
    taken, parts = _takers(change, gone, view)
    lost = [_without(change, subject, parts) for subject in gone if subject not in taken]
    said = (
        [f"what is published on {listed(lost)} will no longer be stored, and publishers get no answer"] if lost else []
    )
    said += _stored_elsewhere(change, taken, parts, view)
    return Finding(
        outcome=Outcome.WARNS,
        path="subjects",
        quantities=stored,
        message=f"{'; '.join(said)}{BETWEEN if taken or parts else ''}{words}{_fired(change)}",
        fix="move the publishers first; the plan cannot see who they are" if lost else None,
    )


def stored_elsewhere(change: Change, view: View) -> str:
    """Of a stream that goes: which of its subjects other streams take, and what that means for publishers."""
    taken, parts = _takers(change, sorted(change.was("subjects") or ()), view)
    return f"{'; '.join(_stored_elsewhere(change, taken, parts, view))}{BETWEEN}" if taken or parts else ""


def _takers(change: Change, gone: Sequence[str], view: View) -> tuple[dict[str, str], dict[str, str]]:
    """Streams that take subjects whole, and those that take a part of one, by what they take."""
    taken = {subject: other for subject in gone if (other := _taken_over(change, subject, view))}
    parts = {part: other for subject in gone if subject not in taken for part, other in _partly(change, subject, view)}
    return taken, parts


def _stored_elsewhere(change: Change, taken: dict[str, str], parts: dict[str, str], view: View) -> list[str]:
    return [
        f"what is published on {subject if subject in parts else _without(change, subject)} is stored in {other} from then on"
        f"{_not_followed(change, subject, other, view)}"
        for subject, other in (taken | parts).items()
    ]


BETWEEN = ". Between the two steps publishers get no answer, and have to try again"


def _fired(change: Change) -> str:
    """Which of the stored messages are schedules only their headers tell, and nobody reads those."""
    if not (change.was("allow_msg_schedules") and surplus.state_of(change).get("messages")):
        return ""
    return ". Message schedules among those it holds go on: what they fire is still stored here, on these subjects too"


def _not_followed(change: Change, subject: str, taker: str, view: View) -> str:
    """Who reads it here, and does not read it where it is stored from then on, unless that comes back through a source."""
    if change.action is Action.DELETE:
        return ""  # what reads it here goes too, and is named for itself
    coming = {f"stream/{one['name']}" for one in change.becomes("sources") or ()}
    readers = _reading(change.address.name, view) if taker not in coming else ()
    reading = [name for name, wanted in readers if any(collide(one, subject) for one in wanted)]
    return f", and {few(reading)} {'gets' if len(reading) == 1 else 'get'} none of it" if reading else ""


def _reading(stream: str, view: View) -> Iterator[tuple[str, Sequence[str]]]:
    """Durable consumers that stay, and streams that copy this one, with what they want."""
    for name, info in sorted(view.snapshot.consumers.get(stream, {}).items()):
        change = view.changes.get(Address.of("consumer", stream, name))
        if is_durable(info) and (change is None or change.action is not Action.DELETE):
            yield name, filters(change.desired.config if change and change.desired else info["config"])
    there = view.snapshot.streams
    yield from ((name, subjects) for name, subjects in sorted(copying_on(stream, view).items()) if name in there)


def _without(change: Change, subject: str, elsewhere: Iterable[str] = ()) -> str:
    """A subject, but for what is stored of it all the same."""
    return outside(subject, [one for one in (*(change.becomes("subjects") or ()), *elsewhere) if collide(one, subject)])


def _taken_over(change: Change, subject: str, view: View) -> str | None:
    """The stream that stores it once this plan is applied."""
    near = _capturing(view).near(subject)
    takers = (name for name, theirs in near if name != change.address.name and is_subset(subject, theirs))
    return next((f"stream/{name}" for name in takers), None)


def _partly(change: Change, subject: str, view: View) -> Iterator[tuple[str, str]]:
    """Narrower subjects of it, and the streams that store them once this plan is applied."""
    for name, theirs in _capturing(view).near(subject):
        if name != change.address.name and is_subset(theirs, subject):
            yield theirs, f"stream/{name}"


@lru_cache(maxsize=4)
def _capturing(view: View) -> SubjectIndex:
    """What declared streams store; computed once per view."""
    index = SubjectIndex()
    for address, resource in view.desired.items():
        if address.kind == "stream" and not resource.external:
            for subject in resource.config.get("subjects") or ():
                index.add(address.name, subject)
    return index


def _stored(change: Change, gone: list[str], view: View) -> tuple[str, dict[str, int]]:
    """What is there under subjects that nothing covers any more, and who has not read it."""
    kept = change.becomes("subjects") or ()
    staying: dict[str, int] = {}
    if not surplus.state_of(change).get("messages"):
        return "", {"stored": 0}
    for subject in gone:
        answer = view.facts.get(SubjectCounts(stream=change.address.name, filter=subject))
        if not isinstance(answer, Mapping):
            why = f" ({answer.reason})" if isinstance(answer, Unanswered) else ""
            return f". How many messages are stored under it was not counted{why}", {}
        staying |= {said: many for said, many in answer.items() if not any(matches(said, other) for other in kept)}
    if not (number := sum(staying.values())):
        return ". Nothing is stored under it", {"stored": 0}
    leaving = Going(messages=exactly(number))
    late = unread(
        change.address.name,
        surplus.state_of(change),
        leaving,
        view,
        by=staying,
        goes_whole=lambda one: (
            any(is_subset(one, other) for other in gone) and not any(collide(one, other) for other in kept)
        ),
    )
    return f". {some(number, 'stored message')} under it {verb(number, 'stay')}{late.words}", {"stored": number}
