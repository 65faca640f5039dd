"""Under which subjects does a stream store messages? Its own, those it copies, and what transforms make of both.

The answer is always rather too much than too little: what matches nothing here really matches nothing. A transform that takes
only some of the subjects leaves a gap in the rest, and so do copies of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field

from reconciler.kinds.afterwards.streams import Copy, copies
from reconciler.kinds.stream_config.origins import copied_entries
from reconciler.kinds.subjects.subject_part import PartList, SubjectPart, transformed_parts
from reconciler.kinds.subjects.subjects import collide, is_subset, is_valid, storable_subjects
from reconciler.kinds.subjects.transforms import outcome, problem
from reconciler.model.dataclass import dataclass
from reconciler.model.resource import Config, Json
from reconciler.model.wire.version import SUPPORTED

DEEPEST = 30
"""How many origins of origins are followed; beyond that, anything may be stored."""

Patterns = tuple[str, ...] | None
"""Subjects, possibly with wildcards; None: nobody knows, so anything."""


StoredParts = tuple[SubjectPart, ...] | None
"""None: nobody knows, so anything."""


def narrowed_subjects(subjects: Iterable[str], filter_subject: str) -> Iterator[str]:
    """The part of these subjects that a filter matches."""
    for subject in subjects:
        if collide(subject, filter_subject):
            yield filter_subject if is_subset(filter_subject, subject) else subject


@dataclass(slots=True)
class StoredSubjects:
    """Answers for many streams of one account, each computed once."""

    streams: Mapping[str, Config]
    known: dict[str, StoredParts] = field(default_factory=dict)

    def by(self, name: str) -> Patterns:
        """Subjects under which a stream stores messages, by patterns that may also match others; None: anything may be
        stored."""
        return _patterns(self.parts(name))

    def parts(self, name: str, way: tuple[str, ...] = ()) -> StoredParts:
        """The same exactly. `way`: streams not to be followed again."""
        if name not in self.known or way:
            parts = self._found(name, self.streams.get(name), (*way, name))
            if way:
                return parts
            self.known[name] = parts
        return self.known[name]

    def taken_in(self, name: str) -> Patterns:
        """The patterns before the stream's own transform."""
        config = self.streams.get(name)
        return _patterns(self._found(name, config and {**config, "subject_transform": None}, (name,)))

    def _found(self, name: str, config: Config | None, way: tuple[str, ...]) -> StoredParts:
        if config is None or len(way) > DEEPEST or _copies_from_elsewhere(config) or not has_known_subjects(config):
            return None
        own, copied = [SubjectPart(subject) for subject in config.get("subjects") or ()], list[SubjectPart]()
        for copy in copies(name, config):
            if copy.origin in way:
                continue
            if (theirs := self._copied_parts(copy, way)) is None:
                return None
            copied += theirs
        # it is not certain whether copied messages go through the stream's own transform
        return tuple(dict.fromkeys([*transformed_parts([*own, *copied], config.get("subject_transform")), *copied]))

    def copied_patterns(self, copy: Copy) -> Patterns:
        """What a mirror or source brings in."""
        return _patterns(self._copied_parts(copy, ()))

    def _copied_parts(self, copy: Copy, way: tuple[str, ...]) -> StoredParts:
        theirs = self.parts(copy.origin, way) or ((SubjectPart(">"),) if copy.filters else None)
        if theirs is None:
            return None
        if transforms := copy.entry.get("subject_transforms"):
            stored = PartList(theirs)
            return tuple(part for transform in transforms for part in self._renamed_parts(stored, transform))
        if only := copy.entry.get("filter_subject"):
            return tuple(PartList(theirs).of(only))
        return theirs

    @staticmethod
    def _renamed_parts(theirs: PartList, transform: Mapping[str, Json]) -> Iterator[SubjectPart]:
        through = theirs.of(transform.get("src") or ">")
        if through and transform.get("dest"):
            yield SubjectPart(outcome(transform["dest"]))
        else:
            yield from through


def _patterns(parts: StoredParts) -> Patterns:
    return None if parts is None else tuple(dict.fromkeys(part.subject for part in parts))


def has_known_subjects(config: Config) -> bool:
    """Does it say which subjects it stores? Nobody knows what an impossible subject or transform was meant for."""
    if len(storable_subjects(config)) < len(config.get("subjects") or ()):
        return False
    transforms = [
        config.get("subject_transform"),
        *(transform for entry in copied_entries(config) for transform in entry.get("subject_transforms") or ()),
    ]
    filters = [entry["filter_subject"] for entry in copied_entries(config) if entry.get("filter_subject")]
    return all(map(is_valid, filters)) and not any(
        problem(transform.get("src") or "", transform.get("dest") or "", SUPPORTED[-1])
        for transform in transforms
        if transform
    )


def _copies_from_elsewhere(config: Config) -> bool:
    return any("external" in entry for entry in copied_entries(config))
