"""Finds the streams that steps reach through subjects: streams they copy from, republish into, or share subjects
with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from reconciler.kinds.subjects.subject_index import SubjectIndex
from reconciler.kinds.subjects.subjects import collide
from reconciler.model.resource import Config
from reconciler.model.wire.snapshot import Snapshot
from reconciler.model.wire.steps import Call, Step


def met(steps: Iterable[Step], snapshot: Snapshot) -> set[str]:
    """Return the names of live streams that these steps reach. A step that only removes subjects from its own stream
    reaches no other stream."""
    configs = [_says(step) for step in steps if step.call in (Call.STREAM_CREATE, Call.STREAM_UPDATE)]
    names = {name for config in configs for name in _origins(config)} & snapshot.streams.keys()
    subjects = {subject for config in configs for subject in _subjects(config)}
    return names | (_storing(subjects, snapshot) if subjects else set())


def _says(step: Step) -> Config:
    return step.body if step.call is Call.STREAM_CREATE else step.set


def _origins(config: Config) -> Iterator[str]:
    """Origins in this account; those of another account are behind `external`."""
    for one in (config.get("mirror"), *(config.get("sources") or ())):
        if isinstance(one, Mapping) and not one.get("external"):
            yield str(one.get("name"))


def _subjects(config: Config) -> Iterator[str]:
    yield from config.get("subjects") or ()
    if isinstance(republish := config.get("republish"), Mapping):
        yield _anywhere(str(republish.get("dest", "")))


def _anywhere(mapping: str) -> str:
    """The subjects that a mapping may lead to: each placeholder stands for any token."""
    return ".".join("*" if token[:1] in ("{", "$") else token for token in mapping.split("."))


def _storing(subjects: Iterable[str], snapshot: Snapshot) -> set[str]:
    index = SubjectIndex()
    for name, info in snapshot.streams.items():
        for subject in (info.get("config") or {}).get("subjects") or ():
            index.add(name, subject)
    return {name for one in subjects for name, other in index.near(one) if collide(one, other)}
