"""Counts that servers gave for what a consumer matches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reconciler.changes.change import Change
from reconciler.changes.view import View
from reconciler.kinds.subjects.filters import filters_of
from reconciler.kinds.subjects.subject_lists import all_inside, any_collide_among
from reconciler.model.wire.questions import MessagesFrom, SubjectCounts


def total_count(questions: Sequence[MessagesFrom], view: View) -> int | None:
    """Messages counted for all of these questions together; None if one of them has no number for an answer."""
    answers = [view.facts.get(answer) for answer in questions]
    counts = [answer["messages"] for answer in answers if isinstance(answer, Mapping) and "messages" in answer]
    return sum(counts) if len(counts) == len(answers) else None


def most_count(questions: Sequence[MessagesFrom], view: View) -> int | None:
    """The same at most, where only the numbers of messages bound it."""
    answers = [view.facts.get(answer) for answer in questions]
    counts = [
        answer.get("messages", answer.get("most"))
        for answer in answers
        if isinstance(answer, Mapping) and ("messages" in answer or "most" in answer)
    ]
    return sum(counts) if len(counts) == len(answers) else None


def count_questions(stream: str, subjects: Sequence[str], start: int = 1) -> list[MessagesFrom]:
    """What counts the messages on these subjects from there on."""
    return [MessagesFrom(stream=stream, start=start, filter=subject) for subject in subjects]


def takes_all(stream: str, taken: Sequence[str], held: Sequence[str], kept: Sequence[str], view: View) -> bool:
    """Is every stored message that `held` matches and `kept` does not on the subjects `taken`? The subjects of what is stored tell,
    whoever publishes meanwhile. Without them the numbers do: false where nobody counted, or where two of these overlap and their
    messages would count twice."""
    if (stored_on := _stored_subjects(stream, held, view)) is not None:
        return all_inside(stored_on, [*taken, *kept])
    if any_collide_among(taken):
        return False
    given, stored, staying = (total_count(count_questions(stream, subjects), view) for subjects in (taken, held, kept))
    return None not in (given, stored, staying) and given == (stored or 0) - (staying or 0)


def _stored_subjects(stream: str, filters: Sequence[str], view: View) -> set[str] | None:
    answers = [view.facts.get(counts) for counts in subject_questions(stream, filters)]
    listed = [answer for answer in answers if isinstance(answer, Mapping)]
    return {subject for subjects in listed for subject in subjects} if answers and len(listed) == len(answers) else None


def subject_questions(stream: str, filters: Sequence[str]) -> list[SubjectCounts]:
    """What names the subjects on which messages are stored that these match."""
    return [SubjectCounts(stream=stream, filter=subject) for subject in filters]


def count_questions_from(change: Change, start: int | str) -> list[MessagesFrom]:
    """What counts the messages that the declared consumer matches from there on."""
    subjects = filters_of(change.wanted)
    return [MessagesFrom(stream=change.address.stream, start=start, filter=subject) for subject in subjects]
