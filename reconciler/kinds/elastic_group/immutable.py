"""What no update changes in an elastic group: it is recreated for that. The rest is its membership, and the upkeep of
its queue.

The replicas of a group's own stream. They are copied from its source at creation, and nobody adjusts them later, so
reconciler raises them.

If the last of its few servers fails, the queue is lost while the source survives. Raising the replicas harms no running
member, and the reference's own create expects it. If the queue has more replicas than the source, somebody wants that,
and they stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reconciler.changes.change import Action, Change, Consequence
from reconciler.changes.kind import Context
from reconciler.changes.view import View
from reconciler.kinds.elastic_group.queue_stream import stream_name
from reconciler.kinds.fields.words import size, some
from reconciler.kinds.group_records import group_record
from reconciler.kinds.group_records.group_record import paths_beyond_membership
from reconciler.kinds.stream_config.calls import wait_for_replicas
from reconciler.kinds.stream_config.stream_config import required_level
from reconciler.model.resource import Address, Config
from reconciler.model.wire.snapshot import Snapshot, is_moving
from reconciler.model.wire.steps import Call, Step

REPLICAS = "queue_replicas"
"""Not a field of any file: how many replicas the work-queue stream has, and shall have."""


def live_replicas(address: Address, snapshot: Snapshot) -> Config:
    """The live number; a single replica is the server's default, and is left out."""
    replicas = _queue_replicas(address, snapshot)
    return {REPLICAS: replicas} if replicas and replicas > 1 else {}


def wanted_replicas(address: Address, context: Context) -> Config:
    """At least as many as the source has, or will have. If nobody understands the record, it is left alone, and so is
    its queue."""
    own = _queue_replicas(address, context.snapshot) if context.snapshot else None
    if own is None or context.parent is None or not _is_current(address, context):
        return {REPLICAS: own} if own and own > 1 else {}
    most = max(own, int(context.parent.config.get("num_replicas", 1)))
    return {REPLICAS: most} if most > 1 else {}


def _queue_replicas(address: Address, snapshot: Snapshot) -> int | None:
    info = snapshot.streams.get(stream_name(*address.names))
    return int(info["config"].get("num_replicas", 1)) if info else None


def _is_current(address: Address, context: Context) -> bool:
    entries = context.snapshot.entries.get(group_record.ELASTIC_BUCKET, {}) if context.snapshot else {}
    entry = entries.get(group_record.key(*address.names))
    if entry is None or entry.deleted:
        return False
    record = group_record.read_record(entry)
    return not (record.broken or record.legacy)


def replica_steps(change: Change, view: View) -> Iterator[Step]:
    """Only the replicas of the stream change, after a cluster has finished what it is doing to the stream."""
    if not change.touches(REPLICAS):
        return
    name = stream_name(*change.address.names)
    info, number = view.snapshot.streams[name], change.becomes(REPLICAS)
    own = int(info["config"].get("num_replicas", 1))
    gate = wait_for_replicas(change, name, own)
    waits = view.target.is_clustered and is_moving(info, own)
    if waits:
        yield gate
    yield Step(
        id=f"update stream/{name}", call=Call.STREAM_UPDATE, on=(name,), address=str(change.address),
        set={"num_replicas": number}, before={"num_replicas": info["config"].get("num_replicas")},
        level=required_level({"num_replicas": number}), after=(gate.id,) if waits else (),
        effect=f"raise stream {name} to {some(number, 'replica')}",
    )  # fmt: skip


def replica_consequences(change: Change, view: View) -> Iterable[Consequence]:
    """One line if the queue gets more replicas: how many bytes the servers copy for that."""
    if change.action is not Action.UPDATE or not change.touches(REPLICAS):
        return
    name, stream = stream_name(*change.address.names), change.address.stream
    queued = size(view.snapshot.streams[name]["state"].get("bytes", 0))
    yield Consequence(
        message=f"Its queue {name} gets as many replicas as {stream}: the servers copy what is queued ({queued}); members continue"
    )


QUEUE = "queue_stream"
"""Not a field of any file. Its live value is `missing` if the record exists without its work-queue stream, `resumed` if
the stream was recreated and no longer needs the start sequence it still has, or says how the stream's settings differ."""
RESUMED = "resumed"

AS_NEEDED = "as the group needs it"
"""Where the queue's form comes from."""

OF_THE_QUEUE = (QUEUE, REPLICAS)
"""What changes in place without touching the record."""


def fixed_fields(change: Change) -> list[str]:
    """The fields of this change for which the group must be recreated."""
    tops = dict.fromkeys(path.partition("[")[0].partition(".")[0] for path in paths_beyond_membership(change))
    return [field for field in tops if field not in OF_THE_QUEUE]
