"""A record of an earlier version in today's form: what it will say, where that is known from, and what prevents the
migration.

Current instances ignore the old keys, and the next change of members drops them permanently. The transforms of the
group's work-queue stream tell what the group really does, since no version ever changed them afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from reconciler.kinds.elastic_group.members import has_a_client
from reconciler.kinds.elastic_group.queue_stream import EVERYTHING, divisions, normalised_transforms, transforms
from reconciler.kinds.fields.words import some
from reconciler.kinds.group_records import group_record
from reconciler.kinds.group_records.group_record import ELASTIC_BUCKET, LEGACY_KEYS
from reconciler.kinds.groups.live_group import Group
from reconciler.model.dataclass import dataclass
from reconciler.model.resource import Config, Json

KNOWN = LEGACY_KEYS | {
    "max_members", "filters", "partitioning_filters", "max_buffered_msg", "max_buffered_bytes", "members", "member_mappings",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """One record, before and after."""

    group: Group
    text: str
    """The record as it would be written."""
    notes: tuple[str, ...] = ()
    """Where new values in it come from, and what it means for instances."""
    obstacles: tuple[tuple[str, str], ...] = ()
    """Why it must not be written now, each with what to do."""


def migration(group: Group, *, while_running: bool = False) -> Migration | None:
    """The migration of a record; None if the record needs none."""
    if group.record.broken or not (group.record.legacy or _lost_filters(group)):
        return None
    config = _recovered_config(group)
    record = group_record.new_record_text(config, elastic=group.is_elastic)
    return Migration(
        group=group, text=_with_unknown_keys(record, group.record.raw), notes=tuple(_notes(group)),
        obstacles=(*_contradictions(group, config), *(() if while_running else _running_obstacles(group))),
    )  # fmt: skip


def _lost_filters(group: Group) -> bool:
    """A current instance has already dropped the old keys at a change of members; the queue still divides by them."""
    filters = _queue_filters(group)
    return bool(filters) and not group.config.get("partitioning_filters") and filters != [EVERYTHING]


def _recovered_config(group: Group) -> Config:
    """Today's keys. The filters are those by which the queue really copies. An old static `filter` was never
    applied."""
    config = {name: value for name, value in group.config.items() if name != "partitioning_filters"}
    if not group.is_elastic:
        return config
    filters = _queue_filters(group) or group.config.get("partitioning_filters") or []
    return config if filters in ([], [EVERYTHING]) else {**config, "partitioning_filters": filters}


def _queue_filters(group: Group) -> list[Config]:
    """The filters in the transforms of the work-queue stream; empty if there is no stream, or no transform that
    divides."""
    return [item for _, item in divisions((group.queue or {}).get("config", {}))] if group.is_elastic else []


def _live_transforms(group: Group) -> list[Mapping[str, str]]:
    sources = (group.queue or {}).get("config", {}).get("sources") or [] if group.is_elastic else []
    return [transform for source in sources for transform in source.get("subject_transforms") or ()]


def _with_unknown_keys(text: str, raw: Mapping[str, Json]) -> str:
    """Keys that nobody knows are kept."""
    unknown = {name: value for name, value in raw.items() if name not in KNOWN}
    return f"{text[:-1]},{group_record.encode(unknown)[1:]}" if unknown else text


def _notes(group: Group) -> Iterator[str]:
    if group.is_elastic and _queue_filters(group):
        filters = ", ".join(f"`{queue_filter['filter']}`" for queue_filter in _queue_filters(group))
        yield f"the filters ({filters}) are those by which its stream {group.queue_name} copies messages"
    elif group.is_elastic:
        why = "does not exist" if group.queue is None else "copies nothing"
        yield f"its stream {group.queue_name} {why}, so the filters are those of the old keys"
    if not group.is_elastic and "filter" in group.record.raw:
        yield f"`filter` {group.record.raw['filter']} is dropped: no version ever applied it, and members consumed all of their partitions"
    if group.is_elastic and not group_record.members(group.config):
        yield "it has no members; declare some and apply afterwards"
    yield _consequence_for_instances_text(group)
    yield "then start instances of one current version; `reconciler groups doctor` finds what is left of older ones"


def _consequence_for_instances_text(group: Group) -> str:
    if group.is_elastic:
        return "as soon as the record changes, every running instance ends with an error; queued messages stay"
    return (
        "as soon as the record changes, every running instance deletes its durable consumer with its position, and ends"
    )


def _contradictions(group: Group, config: Config) -> Iterator[tuple[str, str]]:
    """The new record must describe the existing stream, or every instance works in the wrong partitions. A stream
    without a source, which somebody removed, contradicts nothing."""
    if group.is_elastic and group.queue is not None and group.queue["config"].get("sources"):
        wanted, live = normalised_transforms(transforms(config)), normalised_transforms(_live_transforms(group))
        if wanted != live:
            yield (
                f"{group.queue_name} divides messages in a way that no record with {some(group.partitions, 'partition')} describes",
                f"let its members process what is queued, and stop them; delete its record and its stream (nats kv del {ELASTIC_BUCKET} "
                f"{group_record.key(group.stream, group.name)}; nats stream rm {group.queue_name}), and apply, which creates both; "
                "never edit its stream in place",
            )


def _running_obstacles(group: Group) -> Iterator[tuple[str, str]]:
    """An elastic member's consumer disappears soon after its last instance; a static member's consumer stays."""
    names = [
        name
        for name, info in group.consumers.items()
        if group.is_elastic or (name in {member.consumer for member in group.members} and has_a_client(info))
    ]
    if names:
        shown = ", ".join(sorted(names)[:5])
        yield (
            f"instances seem to run: {some(len(names), 'consumer')} ({shown})",
            "stop them, and wait until their consumers are gone; or add --while-running, which ends the instances",
        )
