"""Examines every group: its record, stream, transform and consumers, and what should fit together but does not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from reconciler.kinds.fields.words import some
from reconciler.kinds.group_records.group_record import ELASTIC_BUCKET, key
from reconciler.kinds.group_records.group_steps import write_obstacle
from reconciler.kinds.groups import member_checks, queue_checks, record_checks
from reconciler.kinds.groups.finding import Evidence, error, warning
from reconciler.kinds.groups.live_group import BUCKETS, Group
from reconciler.kinds.subjects.transforms import partition_call
from reconciler.model.diagnostic import Diagnostic, Severity
from reconciler.model.resource import Address, Json
from reconciler.model.wire.snapshot import Snapshot
from reconciler.model.wire.version import Version

CHECKS = (*record_checks.CHECKS, *queue_checks.CHECKS, *member_checks.CHECKS)


def examine(groups: Iterable[Group], evidence: Evidence) -> Iterator[Diagnostic]:
    """Findings about these groups, by address. If a group could not be read, that is its only finding."""
    for group in groups:
        if group.unread:
            yield error(
                "GR190", group.address, f"it cannot be judged: {group.unread}",
                "run this again as a user who may read it",
            )  # fmt: skip
        else:
            for check in CHECKS:
                yield from check(group, evidence)


def account_findings(snapshot: Snapshot, groups: Sequence[Group]) -> Iterator[Diagnostic]:
    """Findings about no single group: queues without a record, and the buckets."""
    yield from _unread_buckets(snapshot)
    yield from _queue_without_record_findings(snapshot)
    yield from _hindered_buckets(snapshot)
    yield from _bucket_replicas(snapshot, groups)


def _unread_buckets(snapshot: Snapshot) -> Iterator[Diagnostic]:
    for bucket in BUCKETS.values():
        if why := snapshot.why_bucket_unknown(bucket):
            yield error(
                "GR190", f"kv_bucket/{bucket}", f"the records of its groups could not be read: {why}",
                "run this again as a user who may read it",
            )  # fmt: skip


def _queue_without_record_findings(snapshot: Snapshot) -> Iterator[Diagnostic]:
    if snapshot.why_bucket_unknown(ELASTIC_BUCKET):
        return
    records = snapshot.entries.get(ELASTIC_BUCKET, {})
    for name, info in sorted(snapshot.streams.items()):
        origin = _divided_stream(info["config"])
        group = name.removeprefix(f"{origin}-")
        if origin is None or not group or group == name:
            continue
        record = records.get(key(origin, group))
        if record is None or record.deleted:
            queued = info["state"]["messages"]
            yield warning(
                "GR102", Address.of("stream", name),
                f"this is the work queue of an elastic group {group} on {origin} that has no record: it still copies new "
                f"messages, and holds {some(queued, 'message')} now",
                "if an apply was interrupted while it recreated the group, apply again: the stream tells where to continue; "
                f"otherwise delete stream {name} if nobody needs the group, or declare the group with the same settings and apply",
            )  # fmt: skip


def _divided_stream(config: Json) -> str | None:
    """The one stream that a work queue divides into partitions; None if it is not the queue of a group."""
    sources = config.get("sources") or []
    if config.get("retention") != "workqueue" or config.get("subjects") or len(sources) != 1:
        return None
    transforms = sources[0].get("subject_transforms") or []
    numbered = transforms and all(partition_call(item.get("dest", "")) for item in transforms)
    return str(sources[0]["name"]) if numbered else None


def _hindered_buckets(snapshot: Snapshot) -> Iterator[Diagnostic]:
    for bucket in BUCKETS.values():
        info = snapshot.streams.get(f"KV_{bucket}")
        if info and (obstacle := write_obstacle(info["config"], bucket)):
            yield error("GR152", f"kv_bucket/{bucket}", *obstacle)


def _bucket_replicas(snapshot: Snapshot, groups: Sequence[Group]) -> Iterator[Diagnostic]:
    for type_, bucket in BUCKETS.items():
        info = snapshot.streams.get(f"KV_{bucket}")
        sources = [group.source for group in groups if group.type == type_ and group.source]
        wanted = max((source["config"].get("num_replicas", 1) for source in sources), default=1)
        own = info["config"].get("num_replicas", 1) if info else wanted
        if own < wanted:
            yield warning(
                "GR151", f"kv_bucket/{bucket}",
                f"it has {some(own, 'replica')}, and a stream with groups has {wanted}: if the bucket's server fails, no member can start",
                f"raise num_replicas of stream KV_{bucket} to {wanted}",
            )  # fmt: skip


def groups_with_queue(groups: Iterable[Group]) -> list[Group]:
    """Groups with messages in a queue of their own; the server must be asked which partitions hold them."""
    return [group for group in groups if group.queued_messages and not group.unread]


def groups_in_doubt(groups: Iterable[Group], version: Version) -> list[Group]:
    """Groups for which the server must be asked which message of the source the newest one in the queue was."""
    return [group for group in groups if queue_checks.is_in_doubt(group, version)]


def has_errors_or_warnings(findings: Iterable[Diagnostic]) -> bool:
    """At least one finding is more than a note."""
    return any(diagnostic.severity is not Severity.NOTE for diagnostic in findings)
