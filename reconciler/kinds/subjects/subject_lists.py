"""Lists of subjects: what lies in both, what lies in none, what covers what. No list is compared all with all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reconciler.kinds.subjects.subject_index import SubjectIndex
from reconciler.kinds.subjects.subjects import collide, intersection, is_subset


class SubjectList:
    """Subjects of which one is found without going through all."""

    def __init__(self, subjects: Iterable[str] = ()) -> None:
        self._index = SubjectIndex[None]()
        self.extend(subjects)

    def extend(self, subjects: Iterable[str]) -> None:
        """Add these to them."""
        for subject in subjects:
            self._index.add(None, subject)

    def near(self, subject: str) -> list[str]:
        """Those of them that may have something in common with this one."""
        return [other for _, other in self._index.near(subject)]

    def colliding(self, subject: str) -> list[str]:
        """Those of them that have something in common with this one."""
        return [other for other in self.near(subject) if collide(subject, other)]

    def inside(self, subject: str) -> list[str]:
        """Those of them that lie inside this one."""
        return [other for other in self.near(subject) if is_subset(other, subject)]

    def holds(self, subject: str) -> bool:
        """Does it lie inside one of them?"""
        return any(is_subset(subject, other) for other in self.near(subject))

    def covers(self, subject: str) -> bool:
        """Does everything that matches `subject` match one of them? `a.*` and `a.*.>` are all of `a.>`. Literals never are all
        of `*`."""
        return _is_covered(subject, self.near(subject))

    def parts(self, subject: str) -> list[str]:
        """What lies in this one and in one of them, nothing twice."""
        return widest_subjects(both for other in self.near(subject) if (both := intersection(subject, other)))


def colliding(subjects: Iterable[str], others: Iterable[str]) -> list[str]:
    """The subjects that have something in common with one of the others."""
    theirs = SubjectList(others)
    return [subject for subject in subjects if theirs.colliding(subject)]


def any_collide(subjects: Iterable[str], others: Iterable[str]) -> bool:
    """Can some literal subject match one of these and one of the others?"""
    theirs = SubjectList(others)
    return any(theirs.colliding(subject) for subject in subjects)


def any_collide_among(subjects: Sequence[str]) -> bool:
    """Can some literal subject match two of these?"""
    every = SubjectList(subjects)
    return any(len(every.colliding(subject)) > 1 for subject in subjects)


def not_inside(subjects: Iterable[str], others: Iterable[str]) -> list[str]:
    """The subjects that lie inside none of the others."""
    wider = SubjectList(others)
    return [subject for subject in subjects if not wider.holds(subject)]


def all_inside(subjects: Iterable[str], others: Iterable[str]) -> bool:
    """Does each subject lie inside one of the others?"""
    wider = SubjectList(others)
    return all(wider.holds(subject) for subject in subjects)


def intersections(subjects: Iterable[str], others: Iterable[str]) -> list[str]:
    """What lies in both lists, nothing twice."""
    theirs = SubjectList(others)
    return widest_subjects(
        both for subject in subjects for other in theirs.near(subject) if (both := intersection(subject, other))
    )


def widest_subjects(subjects: Iterable[str]) -> list[str]:
    """The subjects without those that lie inside another, nothing twice."""
    once = list(dict.fromkeys(subjects))
    if len(once) < 2:
        return once
    every = SubjectList(once)
    return [
        subject
        for subject in once
        if not any(subject != wider and is_subset(subject, wider) for wider in every.near(subject))
    ]


def _is_covered(subject: str, others: Sequence[str]) -> bool:
    if any(is_subset(subject, other) for other in others):
        return True
    longest = max((other.count(".") for other in others), default=-1)
    return (
        subject.endswith(">")
        and subject.count(".") < longest
        and all(_is_covered(subject[:-1] + one, others) for one in ("*", "*.>"))
    )
