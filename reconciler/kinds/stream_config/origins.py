"""The origins of mirrors and sources: what they pass on to their copies, and what the copies take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from reconciler.changes.change import Action
from reconciler.changes.kind import Context
from reconciler.changes.view import SubjectsRead, View
from reconciler.kinds.fields.known import V2_12, V2_14
from reconciler.kinds.fields.words import in_words
from reconciler.kinds.stream_config.config_checks import is_since
from reconciler.kinds.stream_config.stream_settle import canonical
from reconciler.kinds.subjects.filters import filters_of
from reconciler.kinds.subjects.subject_lists import intersections, not_inside
from reconciler.kinds.subjects.transforms import outcome
from reconciler.model.resource import Address, Config, Json
from reconciler.model.wire.snapshot import Snapshot, Target
from reconciler.model.wire.version import Version


def copied_entries(config: Config) -> list[Config]:
    """The mirror and all sources, as they stand in a stream's configuration."""
    return [entry for entry in (config.get("mirror"), *(config.get("sources") or ())) if entry]


def origin_names(copy: Config) -> list[str]:
    """Origins of mirrors and sources in the same account. They may be created later, but then copying starts later too,
    and the copy lacks what it takes over from them."""
    return [origin["name"] for origin in copied_entries(copy) if "external" not in origin]


def origin_of_mirror(body: Config, context: Context) -> Config | None:
    """The origin as it will be if it is declared, else as it is live; None if there is no mirror, or no such stream."""
    mirror = body.get("mirror")
    if not mirror:
        return None
    if mirror["name"] in context.lent:
        return context.lent[mirror["name"]]
    info = context.snapshot.streams.get(mirror["name"]) if context.snapshot else None
    return canonical(info["config"]) if info else None


def taken_subjects(copied: Config) -> list[str]:
    """The subjects of its origin that a mirror or a source takes."""
    if copied.get("filter_subject"):
        return [copied["filter_subject"]]
    return [transform.get("src") or ">" for transform in copied.get("subject_transforms") or ()] or [">"]


def given_subjects(copied: Config) -> list[str]:
    """The subjects that a mirror or a source gives to what it takes, before the stream itself renames it."""
    transforms = copied.get("subject_transforms") or ()
    return [
        outcome(transform["dest"]) if transform.get("dest") else transform.get("src") or ">" for transform in transforms
    ] or taken_subjects(copied)


def reads_by_copying(_address: Address, config: Config) -> Iterator[SubjectsRead]:
    """Reads by which a stream, or a bucket, copies from streams of this account."""
    origins = (entry for entry in copied_entries(config) if "external" not in entry)
    yield from (SubjectsRead(origin["name"], tuple(taken_subjects(origin))) for origin in origins)


FED_FOR = 10_000_000_000
"""Nanoseconds without a reader after which the server deletes its own consumer, through which it feeds a copy."""


PENDING, IDLE = "max_ack_pending", "inactive_threshold"


def can_remove_limit(version: Version) -> bool:
    """Does this server take a limit that is removed from `consumer_limits` for none? Older ones take it for 0, and refuse
    it beside consumers that have more."""
    return is_since(version, Version(2, 12, 12), Version(2, 14, 3))


def limits_that_forbid_copying(origin: Config, version: Version) -> Mapping[str, str]:
    """The `consumer_limits` of an origin, in words, to which the server's own consumer does not keep: it copies nothing."""
    if is_fed_durably(origin, version):
        return {}
    limits = origin.get("consumer_limits") or {}
    pending, idle = limits.get(PENDING) or 0, limits.get(IDLE) or 0
    return {
        **({PENDING: in_words(pending, "count")} if pending > 0 else {}),
        **({IDLE: in_words(idle, "duration")} if 0 < idle < FED_FOR else {}),
    }


def is_fed_durably(origin: Config, version: Version) -> bool:
    """Does the server keep a durable consumer for each copy, so that nothing is deleted before it was copied?"""
    return version >= V2_14 and origin.get("retention") in ("interest", "workqueue")


Copiers = Mapping[str, list[str]]
"""Streams that copy another one, with the subjects they take."""


def copiers(origin: str, view: View) -> Copiers:
    """Live copies, and copies that this plan creates."""
    return _copies_by_origin(view).get(origin, {})


def copies_now(origin: str, view: View) -> Copiers:
    """Streams that copy it now, with the subjects they take now."""
    return _live_copies_by_origin(view).get(origin, {})


def copies_afterwards(origin: str, view: View) -> Copiers:
    """Streams that copy it once this plan is applied."""
    return {name: subjects for name, subjects in copiers(origin, view).items() if name not in deleted_streams(view)}


def streams_storing(origin: str, subject: str, view: View) -> dict[str, list[str]]:
    """Streams that get messages of a subject then, each with what it gets of them: the origin itself, and what copies it
    directly or through others. Behind a stream that renames subjects, a copy counts as taking all."""
    by_stream, todo = {origin: [subject]}, [(origin, [subject])]
    while todo:
        through, coming = todo.pop()
        for name, taken in copies_afterwards(through, view).items():
            passed = coming if through in _renaming_streams(view) else intersections(coming, taken)
            new = not_inside(passed, by_stream.get(name, ()))
            by_stream[name] = [*by_stream.get(name, ()), *new]
            todo += [(name, new)] if new else []
    return by_stream


@lru_cache(maxsize=4)
def _renaming_streams(view: View) -> frozenset[str]:
    """Streams that store messages under other subjects than they get them."""
    own = {name for name, config in _stream_configs(view) if (config.get("subject_transform") or {}).get("dest")}
    copying = {
        name
        for name, origin in _copied_origins(_stream_configs(view))
        if any(each.get("dest") for each in origin.get("subject_transforms") or ())
    }
    return frozenset(own | copying)


@lru_cache(maxsize=4)
def deleted_streams(view: View) -> frozenset[str]:
    """Streams that this plan deletes, under any kind's name."""
    going = (address for address, change in view.changes.items() if change.action is Action.DELETE)
    return frozenset(name for address in going if (name := view.stream_of(address)))


def streams_fed_now(origin: str, view: View) -> list[str]:
    """Streams that mirror or source this stream now, also elsewhere, as far as the server lists what feeds them."""
    live = (name for name in copiers(origin, view) if name in view.snapshot.streams)
    return sorted({*live, *(feed.copy for feed in feeds_in_other_accounts(origin, view.snapshot))})


def fed_stream(copier: Mapping[str, Json]) -> str:
    """The stream that the server's own consumer feeds, as it says; empty: it does not say."""
    return _copier_metadata_value(copier, "stream")


class Feed(NamedTuple):
    """The consumer by which the server feeds a copy."""

    copy: str
    name: str
    subjects: Sequence[str]


def feeds_in_other_accounts(origin: str, snapshot: Snapshot) -> Iterator[Feed]:
    """What feeds copies in other accounts and domains. If both servers are 2.14 or newer, they list these consumers of work
    queues and interest streams; no server lists any other. Such a copy may have the name of a stream of this account."""
    for name, info in snapshot.copiers.get(origin, {}).items():
        if origin not in origin_names(snapshot.config_of(fed_stream(info))):
            copy = f"{fed_stream(info) or name}{_place_of_copy(info, snapshot)}"
            yield Feed(copy, name, filters_of(info["config"]))


def _place_of_copy(copier: Mapping[str, Json], snapshot: Snapshot) -> str:
    """` (account BILLING)`, or the domain if it is in this account."""
    account, domain = _copier_metadata_value(copier, "acc"), _copier_metadata_value(copier, "domain")
    if account and account != snapshot.target.account:
        return f" (account {account})"
    return f" (domain {domain})" if domain and domain != snapshot.target.domain else ""


def _copier_metadata_value(copier: Mapping[str, Json], key: str) -> str:
    """A server says the same of a mirror and of a source, under different names."""
    metadata = copier["config"].get("metadata") or {}
    return str(metadata.get(f"_nats.mirror.{key}") or metadata.get(f"_nats.src.{key}") or "")


@lru_cache(maxsize=4)
def _copies_by_origin(view: View) -> dict[str, dict[str, list[str]]]:
    """Copies by their origin; computed once per view, which is compared by identity."""
    return _group_by_origin(_stream_configs(view))


@lru_cache(maxsize=4)
def _live_copies_by_origin(view: View) -> dict[str, dict[str, list[str]]]:
    return _group_by_origin((name, info["config"]) for name, info in view.snapshot.streams.items())


def _group_by_origin(configs: Iterable[tuple[str, Config]]) -> dict[str, dict[str, list[str]]]:
    by_origin: dict[str, dict[str, list[str]]] = {}
    for name, copied in _copied_origins(configs):
        by_origin.setdefault(copied["name"], {}).setdefault(name, []).extend(taken_subjects(copied))
    return by_origin


def copies_through(origin: str, consumer: str, *, view: View) -> list[str]:
    """Streams that copy their origin through this very consumer of it (`consumer: {name: …}`)."""
    return _copies_by_consumer(view).get((origin, consumer), [])


@lru_cache(maxsize=4)
def _copies_by_consumer(view: View) -> dict[tuple[str, str], list[str]]:
    by_consumer: dict[tuple[str, str], list[str]] = {}
    for name, copied in _copied_origins(_stream_configs(view)):
        if consumer := (copied.get("consumer") or {}).get("name"):
            by_consumer.setdefault((copied["name"], consumer), []).append(name)
    return by_consumer


def _copied_origins(configs: Iterable[tuple[str, Config]]) -> Iterator[tuple[str, Config]]:
    """Origins in this very account: the name of each copy, and its configuration of the origin."""
    for name, config in configs:
        yield from ((name, origin) for origin in copied_entries(config) if "external" not in origin)


def _stream_configs(view: View) -> Iterator[tuple[str, Config]]:
    declared = {
        a.name: resource.config for a, resource in view.desired.items() if a.kind == "stream" and not resource.external
    }
    yield from declared.items()
    yield from ((name, info["config"]) for name, info in view.snapshot.streams.items() if name not in declared)


FEEDS_MIRROR, FEEDS_SOURCE = "JS_MIRROR_", "JS_SRC_"
"""How the names of such consumers begin."""
UNREAD_AT_RESTART = "XX212"
"""The rule that asks for consent to it."""


def losing_consumers(feed: Feed, origin: Config, consumers: Mapping[str, Sequence[str]], target: Target) -> list[str]:
    """Of the consumers of a stream with these filters, those whose unprocessed messages such a server or cluster deletes
    because it feeds a copy.

    A single server from 2.14 on does it when it starts, where one in memory is empty. It reads the consumers by their names,
    and deletes what the copy has as soon as none that it has read wants it. A cluster of 2.12 asks no consumer."""
    if origin.get("retention") != "interest":
        return []
    if target.is_clustered:
        is_hit = V2_12 <= target.version < V2_14 and origin.get("num_replicas", 1) > 1
        return [*consumers] if is_hit else []
    if target.version < V2_14 or origin.get("storage") == "memory":
        return []
    return [name for name, filters in consumers.items() if name > feed.name and intersections(filters, feed.subjects)]


def group_creation_consents(stream: str, group: Config, view: View) -> tuple[str, ...]:
    """The codes to which an elastic group of this stream takes consent when it begins to copy it."""
    subjects = [filter_["filter"] for filter_ in group.get("partitioning_filters") or ()] or [">"]
    filters = {name: filters_of(info["config"]) for name, info in view.snapshot.consumers.get(stream, {}).items()}
    feed = Feed(stream, FEEDS_SOURCE, subjects)
    return (UNREAD_AT_RESTART,) if losing_consumers(feed, view.snapshot.config_of(stream), filters, view.target) else ()


def group_removal_consents(stream: str, view: View) -> tuple[str, ...]:
    """The codes to which such a group takes consent when it stops copying: in a cluster that deletes at its end, whatever
    was copied."""
    return group_creation_consents(stream, {}, view) if view.target.is_clustered else ()
