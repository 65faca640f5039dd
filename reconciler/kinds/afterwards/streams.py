"""Every stream of the account as it will be once this plan is applied: declared ones, live ones, those of buckets and
groups.

Raw and canonical configurations are mixed here, so readers treat `-1` and absent as the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import lru_cache

from reconciler.changes.change import Action, Change
from reconciler.changes.view import View
from reconciler.kinds.group_records.group_record import BUCKET_SHAPE
from reconciler.kinds.group_records.group_steps import bucket_replicas
from reconciler.model.dataclass import dataclass
from reconciler.model.resource import Address, Config, Json, Resource

GONE = (Action.DELETE, Action.ABSENT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """A mirror or a source: `stream` copies `origin`, as its field `path` says."""

    stream: str
    origin: str
    path: str
    entry: Mapping[str, Json]

    @property
    def is_mirror(self) -> bool:
        """The stream mirrors this origin; otherwise the origin is one of its sources."""
        return self.path == "mirror"

    @property
    def filters(self) -> list[str]:
        """Subjects that are copied; empty: all."""
        if self.entry.get("filter_subject"):
            return [self.entry["filter_subject"]]
        return [transform.get("src") or ">" for transform in self.entry.get("subject_transforms") or ()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Afterwards:
    """The streams by name, and the changes they belong to."""

    streams: Mapping[str, Config]
    made_by: Mapping[str, Change] = field(default_factory=dict)
    """The change of this plan that a stream belongs to; absent for a stream that this topology does not touch."""
    copiers: Mapping[str, list[Copy]] = field(default_factory=dict)
    """The copies of a stream, by the origin's name."""


def copies(name: str, config: Config) -> Iterator[Copy]:
    """What a stream copies from this very account."""
    mirror = config.get("mirror")
    entries = [("mirror", mirror)] if mirror else []
    entries += [(f"sources[{i}]", source) for i, source in enumerate(config.get("sources") or ())]
    for path, entry in entries:
        if "external" not in entry:
            yield Copy(stream=name, origin=entry["name"], path=path, entry=entry)


@lru_cache(maxsize=4)
def live_streams(view: View) -> Mapping[str, Config]:
    """Every stream as it is now."""
    return {name: info["config"] for name, info in view.snapshot.streams.items()}


@lru_cache(maxsize=4)
def afterwards(view: View) -> Afterwards:
    """Computed once per view, which is compared by identity."""
    streams = dict(live_streams(view))
    made_by: dict[str, Change] = {}
    for address, change in view.changes.items():
        if (own := view.stream_of(address)) is None:
            continue
        made_by[own] = change
        if change.action in GONE:
            streams.pop(own, None)
        elif (config := _config_after(change, view)) is not None:
            streams[own] = config
    for name, change in _buckets_of_records(view):
        if name not in streams:
            shape = {**BUCKET_SHAPE, "num_replicas": bucket_replicas(view)}
            streams[name], made_by[name] = {"subjects": [f"$KV.{name[3:]}.>"], **shape}, change
    copiers: dict[str, list[Copy]] = {}
    for name, config in streams.items():
        for copy in copies(name, config):
            copiers.setdefault(copy.origin, []).append(copy)
    return Afterwards(streams=streams, made_by=made_by, copiers=copiers)


def config_of(change: Change, view: View) -> Config:
    """The stream behind this change, as it will be."""
    name = view.stream_of(change.address)
    return afterwards(view).streams.get(name, {}) if name else {}


def _config_after(change: Change, view: View) -> Config | None:
    """None: as it is live, or it never exists."""
    desired = change.desired
    if desired is None or desired.external:
        return None
    if change.address.kind == "elastic_group":
        return _queue_config(desired, view) if change.action is Action.CREATE or change.was("queue_stream") else None
    return view.kinds[change.address.kind].as_stream(desired)


def _queue_config(group: Resource, view: View) -> Config:
    """An elastic group's work-queue stream, as far as rules across resources concern it."""
    source = Address.of("stream", group.address.stream)
    above = view.desired.get(source)
    live = view.snapshot.config_of(source.name)
    followed = {**live, **(above.config if above and not above.external else {})}
    filters = group.config.get("partitioning_filters") or [{"filter": ">"}]
    return {
        "retention": "workqueue",
        "discard": "new",
        "sources": [{"name": source.name, "subject_transforms": [{"src": subject["filter"]} for subject in filters]}],
        "max_msgs": group.config.get("max_buffered_msg", -1),
        "max_bytes": group.config.get("max_buffered_bytes", -1),
        "storage": followed.get("storage", "file"),
        "num_replicas": followed.get("num_replicas", 1),
    }


def _buckets_of_records(view: View) -> Iterator[tuple[str, Change]]:
    """Buckets that are created with the first group of a type."""
    for address, change in view.changes.items():
        if change.action is Action.CREATE and (bucket := view.kinds[address.kind].record_bucket(address)):
            yield f"KV_{bucket}", change
