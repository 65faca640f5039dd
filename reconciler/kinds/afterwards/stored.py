"""Under which subjects does a stream store messages? Its own, those it copies, and what transforms make of both.

The answer is always rather too much than too little: what matches nothing here really matches nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field

from reconciler.kinds.afterwards.streams import Copy, copies
from reconciler.kinds.subjects.subjects import collide, is_subset, is_valid, storable
from reconciler.kinds.subjects.transforms import outcome, problem, transformed
from reconciler.model.dataclass import dataclass
from reconciler.model.resource import Config, Json
from reconciler.model.wire.version import SUPPORTED

DEEPEST = 30
"""How many origins of origins are followed; beyond that, anything may be stored."""

Patterns = tuple[str, ...] | None
"""Subjects, possibly with wildcards; None: nobody knows, so anything."""


def narrowed(subjects: Iterable[str], filter_subject: str) -> Iterator[str]:
    """The part of these subjects that a filter matches."""
    for subject in subjects:
        if collide(subject, filter_subject):
            yield filter_subject if is_subset(filter_subject, subject) else subject


@dataclass(slots=True)
class StoredSubjects:
    """Answers for many streams of one account, each computed once."""

    streams: Mapping[str, Config]
    known: dict[str, Patterns] = field(default_factory=dict)

    def by(self, name: str, way: tuple[str, ...] = ()) -> Patterns:
        """Subjects under which a stream stores messages; None: anything may be stored. `way`: streams not to be
        followed again."""
        if name not in self.known or way:
            subjects = self._find(name, (*way, name))
            if way:
                return subjects
            self.known[name] = subjects
        return self.known[name]

    def taken_in(self, name: str) -> Patterns:
        """The same before the stream's own transform."""
        config = self.streams.get(name)
        return self._found(name, config and {**config, "subject_transform": None}, (name,))

    def _find(self, name: str, way: tuple[str, ...]) -> Patterns:
        return self._found(name, self.streams.get(name), way)

    def _found(self, name: str, config: Config | None, way: tuple[str, ...]) -> Patterns:
        if config is None or len(way) > DEEPEST or _copies_from_elsewhere(config) or not is_clear(config):
            return None
        subjects = list(config.get("subjects") or ())
        for copy in copies(name, config):
            if copy.origin in way:
                continue
            if (copied := self.copied(copy, way)) is None:
                return None
            subjects += copied
        transform = config.get("subject_transform")
        return tuple(dict.fromkeys([*transformed(subjects, transform), *_maybe_untransformed(name, config, subjects)]))

    def copied(self, copy: Copy, way: tuple[str, ...] = ()) -> Patterns:
        """What a mirror or source brings in."""
        theirs = self.by(copy.origin, way) or ((">",) if copy.filters else None)
        if theirs is None:
            return None
        if transforms := copy.said.get("subject_transforms"):
            return tuple(subject for one in transforms for subject in self._renamed(theirs, one))
        if only := copy.said.get("filter_subject"):
            return tuple(narrowed(theirs, only))
        return theirs

    @staticmethod
    def _renamed(theirs: Iterable[str], transform: Mapping[str, Json]) -> Iterator[str]:
        src = transform.get("src") or ">"
        through = list(narrowed(theirs, src))
        if through and transform.get("dest"):
            yield outcome(transform["dest"])
        else:
            yield from through


def is_clear(config: Config) -> bool:
    """Does it say which subjects it stores? Nobody knows what an impossible subject or transform was meant for."""
    if len(storable(config)) < len(config.get("subjects") or ()):
        return False
    transforms = [
        config.get("subject_transform"),
        *(one for entry in _copied_entries(config) for one in _transforms_of(entry)),
    ]
    filters = [entry["filter_subject"] for entry in _copied_entries(config) if entry.get("filter_subject")]
    return all(map(is_valid, filters)) and not any(
        problem(one.get("src") or "", one.get("dest") or "", SUPPORTED[-1]) for one in transforms if one
    )


def _maybe_untransformed(name: str, config: Config, subjects: list[str]) -> list[str]:
    """It is not certain whether copied messages go through the stream's own transform."""
    return subjects if any(copies(name, config)) else []


def _copies_from_elsewhere(config: Config) -> bool:
    return any("external" in entry for entry in _copied_entries(config))


def _copied_entries(config: Config) -> list[Json]:
    """The mirror's origin, and all sources."""
    return [entry for entry in (config.get("mirror"), *(config.get("sources") or ())) if entry]


def _transforms_of(entry: Json) -> Iterable[Json]:
    return entry.get("subject_transforms") or ()
