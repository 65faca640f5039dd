"""Part of the subjects that match a pattern, with what is left out of it: `a.> outside a.bill.>`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from reconciler.kinds.fields.words import outside
from reconciler.kinds.subjects.subject_index import SubjectIndex
from reconciler.kinds.subjects.subject_lists import intersections
from reconciler.kinds.subjects.subjects import collide, intersection, is_subset
from reconciler.kinds.subjects.transforms import outcome
from reconciler.model.resource import Json


class SubjectPart(NamedTuple):
    """Subjects that match a pattern, without those that match another."""

    subject: str
    without: tuple[str, ...] = ()

    def of(self, wanted: str) -> SubjectPart | None:
        """Those of them that a filter matches; None: not one."""
        if not collide(self.subject, wanted):
            return None
        both = intersection(self.subject, wanted) or self.subject
        without = tuple(subject for subject in self.without if collide(subject, both))
        return None if any(is_subset(both, subject) for subject in without) else SubjectPart(both, without)

    def outside(self, taken: str) -> SubjectPart | None:
        """Those of them that a pattern does not match; None: not one."""
        both = intersection(self.subject, taken)
        if both is None or is_subset(self.subject, taken):
            return None if both else self
        return SubjectPart(self.subject, tuple(dict.fromkeys([*self.without, both])))

    def holds(self, subject: str) -> bool:
        """Are all that match this subject among them?"""
        return is_subset(subject, self.subject) and not any(collide(subject, gap) for gap in self.without)

    def __str__(self) -> str:
        return outside(self.subject, self.without)


def transformed_parts(parts: Iterable[SubjectPart], transform: Mapping[str, Json] | None) -> Iterator[SubjectPart]:
    """Parts after a transform: what it makes of those it touches, and the rest."""
    if not transform or not transform.get("dest"):
        yield from parts
        return
    src = transform.get("src") or ">"
    for part in parts:
        if part.of(src):
            yield SubjectPart(outcome(transform["dest"]))
        if rest := part.outside(src):
            yield rest


def transformed_subjects(subjects: Iterable[str], transform: Mapping[str, Json] | None) -> Iterator[str]:
    """The same of whole subjects; what remains of one that the transform touches in part counts as all of it."""
    return (part.subject for part in transformed_parts(map(SubjectPart, subjects), transform))


class PartList:
    """Parts of which one is found without going through all."""

    def __init__(self, parts: Iterable[SubjectPart]) -> None:
        self._index = SubjectIndex((part, part.subject) for part in parts)

    def near(self, subject: str) -> list[SubjectPart]:
        """Those of them that may have something in common with this subject."""
        return [part for part, _ in self._index.near(subject)]

    def colliding(self, subject: str) -> list[SubjectPart]:
        """Those of them whose pattern has something in common with this subject."""
        return [part for part in self.near(subject) if collide(subject, part.subject)]

    def of(self, wanted: str) -> list[SubjectPart]:
        """What a filter matches of them."""
        return [both for part in self.near(wanted) if (both := part.of(wanted))]

    def holds(self, subject: str) -> bool:
        """Are all that match this subject in one of them?"""
        return any(part.holds(subject) for part in self.near(subject))


def lost_parts(before: Iterable[SubjectPart], after: PartList) -> list[SubjectPart]:
    """What is stored until now, and no longer."""
    return list(dict.fromkeys(gone for part in before for gone in _lost_of(part, after.near(part.subject))))


def _lost_of(part: SubjectPart, after: Sequence[SubjectPart]) -> Iterator[SubjectPart]:
    gaps = [gap for wider in after for gap in intersections([part.subject], wider.without)]
    if not any(is_subset(part.subject, wider.subject) for wider in after):
        gaps.insert(0, part.subject)
    for gap in gaps:
        was = part.of(gap)
        if was and not any(wider.holds(gap) for wider in after):
            kept = (both.subject for wider in after if (both := wider.of(gap)))
            yield SubjectPart(gap, tuple(dict.fromkeys([*was.without, *kept])))
