"""Builds the scenes for a user's own topology: what a plan changes, and what such a change may touch, with invented
messages."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from reconciler.changes.change import Action
from reconciler.changes.plan import Plan, PlannedChange
from reconciler.changes.rehearsal import Missing
from reconciler.kinds import REGISTRY
from reconciler.kinds.buckets.kv_bucket import SHAPE as KV
from reconciler.kinds.buckets.object_store import SHAPE as OB
from reconciler.kinds.subjects import subjects
from reconciler.kinds.subjects.subject_lists import intersections
from reconciler.model.dataclass import dataclass
from reconciler.model.resource import Address, Json
from reconciler.model.wire.snapshot import Snapshot
from reconciler.testbed.probes.scene import BEGINS, Scene
from reconciler.testbed.recreate import origins_in_account

MESSAGES = 100
LARGE, SMALL, EVERY = 1500, 20, 5
"""The size of large and small messages in bytes, and how often a large one comes."""
SUBJECTS = 4
"""Subjects of one stream to which clients publish."""
BYSTANDERS = 3
"""Consumers of one stream that do not change themselves."""
ORIGINS = 4
"""Streams that clients publish to, so that a copy of them receives messages."""
NEW = "it is new: no client uses it yet"
GOES = "it is deleted, and every client that uses it fails from then on"
MEMBERS = "no group member runs here; the plan says which partitions move between them"
ELSEWHERE = "it copies from another account or domain"
MANY = "it stays as it is, and others of its stream were played"
KEYS = ("$KV.{0}.one", "$KV.{0}.two", "$KV.{0}.spare")
OBJECTS = ("$O.{0}.C.n1", "$O.{0}.M.bmFtZQ==")
Consumer = tuple[str, str]


@dataclass(frozen=True, slots=True)
class ChosenScenes:
    """The scenes to play, and what no scene shows."""

    scenes: tuple[Scene, ...] = ()
    unplayed: tuple[Missing, ...] = ()


def choose_scenes(live: Snapshot, plan: Plan, missing: Sequence[Missing]) -> ChosenScenes:
    """Choose the scenes. The objects in `missing` could not be recreated."""
    account = _Account(live, plan, frozenset(lacking.what.partition("/")[2].split("/")[0] for lacking in missing))
    scenes = tuple(account.scene(sorted(streams)) for streams in account.groups)
    return ChosenScenes(scenes, tuple(dict.fromkeys([*account.unplayed_changes(scenes), *missing])))


def address_of(stream: str, consumer: str = "") -> str:
    """Return the address that plans use."""
    if consumer:
        return f"consumer/{stream}/{consumer}"
    for shape in (KV, OB):
        if stream.startswith(shape.stream("")):
            return f"{shape.kind}/{stream.removeprefix(shape.stream(''))}"
    return f"stream/{stream}"


def streams_of(change: PlannedChange) -> set[str]:
    """Return the streams that the change of a resource may touch."""
    address = Address.parse(change.address)
    kind = REGISTRY.of(address)
    raw = (kind.primary(address), *kind.derived(address))
    return {raw_object.on[0] for raw_object in raw if raw_object.type in ("stream", "consumer")}


@dataclass(frozen=True)
class _Account:
    live: Snapshot
    plan: Plan
    lost: frozenset[str]

    @cached_property
    def writing_changes(self) -> list[PlannedChange]:
        return [change for change in self.plan.changes if change.action.writes]

    @cached_property
    def changed_streams(self) -> set[str]:
        """Streams that exist before and after, and of which something changes."""
        goes = {
            name
            for change in self.writing_changes
            if change.action is Action.DELETE and not _is_consumer(change)
            for name in streams_of(change)
        }
        altered = {name for change in self.writing_changes if self._matters(change) for name in streams_of(change)}
        return (altered & self.live.streams.keys()) - goes - self.lost - self.mirrors_of_other_accounts

    def _matters(self, change: PlannedChange) -> bool:
        """Does the change matter to stored messages? A consumer that comes or goes matters only where consumers decide
        what is stored."""
        if change.action in (Action.UPDATE, Action.REPLACE):
            return True
        return _is_consumer(change) and any(
            self._config(name).get("retention", "limits") != "limits" for name in streams_of(change)
        )

    @cached_property
    def mirrors_of_other_accounts(self) -> set[str]:
        """Mirrors of other accounts: no message ever arrives there."""
        return {
            name for name, info in self.live.streams.items() if (info["config"].get("mirror") or {}).get("external")
        }

    def _config(self, stream: str) -> Mapping[str, Json]:
        config: Mapping[str, Json] = self.live.streams.get(stream, {}).get("config", {})
        return config

    @cached_property
    def origins(self) -> dict[str, set[str]]:
        """The origins of every stream, before and after."""
        origins = {name: set(origins_in_account(info["config"])) for name, info in self.live.streams.items()}
        for change in self.writing_changes:
            for name in streams_of(change) & origins.keys():
                origins[name] |= {
                    origin
                    for field in change.fields
                    if field.top in ("mirror", "sources")
                    for origin in _named_origins(field.path, field.desired)
                }
        return origins

    @cached_property
    def touched_streams(self) -> set[str]:
        """The streams that change, and every copy of them."""
        streams = set(self.changed_streams)
        while (
            more := {name for name, origins in self.origins.items() if origins & streams}
            - streams
            - self.lost
            - self.mirrors_of_other_accounts
        ):
            streams |= more
        return streams

    @cached_property
    def scene_streams(self) -> set[str]:
        """These and their origins, so that messages arrive."""
        streams, ring = set(self.touched_streams), set(self.changed_streams)
        while (
            ring := {origin for name in ring for origin in sorted(self.origins[name])[:ORIGINS]}
            & self.live.streams.keys() - streams - self.lost
        ):
            streams |= ring
        return streams

    @cached_property
    def groups(self) -> list[set[str]]:
        """Streams that copy one another, or between which subjects move."""
        groups: list[set[str]] = []
        for name in sorted(self.scene_streams):
            near = {name} | {other for other in self.scene_streams if self._are_near(name, other)}
            joined = [group for group in groups if group & near]
            groups = [group for group in groups if not group & near] + [near.union(*joined)]
        return sorted(groups, key=min)

    def _are_near(self, stream: str, other: str) -> bool:
        if other in self.origins[stream] or stream in self.origins[other]:
            return True
        return any(subjects.overlap(mine, theirs) for mine in self.subjects(stream) for theirs in self.subjects(other))

    def subjects(self, stream: str) -> list[str]:
        """The subjects before and after."""
        return list(dict.fromkeys([*(self._config(stream).get("subjects") or ()), *self._become(stream, "subjects")]))

    def _become(self, stream: str, field: str) -> Iterator[Json]:
        for resource_change in self.writing_changes:
            if stream in streams_of(resource_change) and not _is_consumer(resource_change):
                yield from (
                    item for change in resource_change.fields if change.path == field for item in change.desired or ()
                )

    def scene(self, streams: Sequence[str]) -> Scene:
        consumers = {
            key: body for name in streams if name in self.touched_streams for key, body in self._consumers(name).items()
        }
        published = {name: chosen for name in streams if (chosen := self._chosen_subjects(name))}
        stored = [
            _invented_messages(kept)
            for name, chosen in published.items()
            if (kept := self._stored_subjects(name, chosen))
        ]
        return Scene(
            streams={name: self._config(name) for name in streams},
            consumers=consumers,
            messages=tuple(
                message for part in (slice(BEGINS), slice(BEGINS, None)) for many in stored for message in many[part]
            ),
            begins=BEGINS * len(stored),
            subjects=published,
            listen=tuple(dict.fromkeys(subject for name in streams for subject in self._republish_patterns(name))),
        )

    def _consumers(self, stream: str) -> dict[Consumer, Mapping[str, Json]]:
        """The consumers that change, and a few others."""
        configs = {
            name: info["config"]
            for name, info in self.live.consumers.get(stream, {}).items()
            if info["config"].get("durable_name")
        }
        changing = [name for name in configs if (stream, name) in self._changing_consumers]
        chosen = [*changing, *[name for name in configs if name not in changing][:BYSTANDERS]]
        return {(stream, name): configs[name] for name in chosen}

    @cached_property
    def _changing_consumers(self) -> set[Consumer]:
        by_name = {Address.parse(change.address).names for change in self.writing_changes if _is_consumer(change)}
        return {(names[0], names[1]) for names in by_name}

    def _chosen_subjects(self, stream: str) -> tuple[str, ...]:
        """The subjects that clients publish to; messages of the last one need not stay."""
        patterns = self.subjects(stream)
        if not patterns or self._config(stream).get("mirror"):
            return ()
        for shape, usual in ((KV, KEYS), (OB, OBJECTS)):
            if stream.startswith(shape.stream("")):
                return tuple(subject.format(stream.removeprefix(shape.stream(""))) for subject in usual)
        filters = [
            pattern for info in self.live.consumers.get(stream, {}).values() for pattern in _filters(info["config"])
        ]
        before, after = set(self._config(stream).get("subjects") or ()), set(self._become(stream, "subjects"))
        return _literals(patterns, filters, before ^ after if after else set())

    def _stored_subjects(self, stream: str, chosen: Sequence[str]) -> list[str]:
        """Return those of these subjects that are stored before anything changes."""
        patterns = self._config(stream).get("subjects") or ()
        stored = [subject for subject in chosen if any(subjects.matches(subject, pattern) for pattern in patterns)]
        return [subject for subject in stored if subject != chosen[-1]] or stored

    def _republish_patterns(self, stream: str) -> Iterator[str]:
        dests = [(self._config(stream).get("republish") or {}).get("dest")]
        for change in self.writing_changes:
            if stream in streams_of(change):
                dests += [
                    field.desired.get("dest") if isinstance(field.desired, Mapping) else field.desired
                    for field in change.fields
                    if field.path in ("republish", "republish.dest")
                ]
        yield from (_listening_pattern(dest) for dest in dests if dest)

    def unplayed_changes(self, scenes: Sequence[Scene]) -> Iterator[Missing]:
        played = {name for scene in scenes for name in scene.streams}
        for change in self.writing_changes:
            if change.action is Action.CREATE:
                yield Missing(change.address, NEW)
            elif change.action is Action.DELETE:
                yield Missing(change.address, GOES)
            elif streams_of(change) & self.mirrors_of_other_accounts:
                yield Missing(change.address, ELSEWHERE)
            elif change.address.partition("/")[0].endswith("_group"):
                yield Missing(f"members of {change.address}", MEMBERS)
        heard = {key for scene in scenes for key in scene.consumers}
        for stream in sorted(played & self.touched_streams):
            left = [
                name
                for name, info in self.live.consumers.get(stream, {}).items()
                if info["config"].get("durable_name") and (stream, name) not in heard
            ]
            yield from (Missing(address_of(stream, name), MANY) for name in left)
            if any(source.get("external") for source in self._config(stream).get("sources") or ()):
                yield Missing(f"sources of {address_of(stream)}", ELSEWHERE)


def without_consumers(scene: Scene, gone: Iterable[Consumer]) -> Scene:
    """Leave out consumers that no longer exist afterwards."""
    left = set(gone)
    return replace(scene, consumers={key: body for key, body in scene.consumers.items() if key not in left})


def _is_consumer(change: PlannedChange) -> bool:
    return change.address.startswith("consumer/")


def _named_origins(path: str, value: Json) -> Iterator[str]:
    """Streams that the new value of a field copies from."""
    if isinstance(value, str) and path.endswith("name"):
        yield value
    for origin in value if isinstance(value, list | tuple) else [value]:
        if isinstance(origin, Mapping) and "name" in origin and not origin.get("external"):
            yield origin["name"]


def _filters(config: Mapping[str, Json]) -> Iterator[str]:
    yield from (
        pattern for pattern in (config.get("filter_subject"), *(config.get("filter_subjects") or ())) if pattern
    )


def _literals(patterns: Sequence[str], filters: Iterable[str], moving: Collection[str]) -> tuple[str, ...]:
    """Choose pattern subject that stays, those that come or go, two for each wildcard, preferably where consumers look for
    them, and a spare pattern."""
    ours = [pattern for pattern in patterns if subjects.is_valid(pattern) and not pattern.startswith("$")]
    stay = [pattern for pattern in ours if pattern not in moving]
    heard = [*intersections([pattern for pattern in filters if subjects.is_valid(pattern)], stay), *stay]
    wanted = [*heard[:1], *[pattern for pattern in ours if pattern in moving][:SUBJECTS], *heard[1:]]
    literals = list(dict.fromkeys(_literal_subject(pattern, token) for token in "ab" for pattern in wanted))
    literals = literals[: SUBJECTS + len([pattern for pattern in ours if pattern in moving][:SUBJECTS])]
    spare = next((_literal_subject(pattern, "spare") for pattern in stay if not subjects.is_literal(pattern)), None)
    return tuple(dict.fromkeys([*literals, spare or literals[0]])) if literals else ()


def _literal_subject(pattern: str, token: str) -> str:
    return ".".join(token if part in subjects.WILDCARDS else part for part in pattern.split("."))


def _listening_pattern(destination: str) -> str:
    """The pattern that a listener subscribes to, with `*` for each token taken from the message."""
    return ".".join("*" if re.search(r"\{\{|\$\d", token) else token for token in destination.split("."))


def _invented_messages(chosen: Sequence[str]) -> list[tuple[str, int]]:
    return [(chosen[number % len(chosen)], SMALL if number % EVERY else LARGE) for number in range(MESSAGES)]
