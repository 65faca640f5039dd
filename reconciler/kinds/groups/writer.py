"""Which implementation wrote a group: each spells its record and its work-queue stream in its own way."""

from __future__ import annotations

from reconciler.kinds.elastic_group.derived import GO, NET, maker
from reconciler.kinds.groups.model import Group

JAVA, PYTHON = "orbit.java", "natsio-pcgroups"

DIFFERENTLY = "nobody known"


def of_record(group: Group) -> str:
    """The likely writer of the record's spelling."""
    raw = group.record.raw
    if any("-" in name for name in group.record.legacy):
        return "nobody released: the spelling of the design document"
    if group.record.legacy:
        return JAVA if set(group.record.legacy) == {"filter"} and not group.is_elastic else f"{GO} v0.1"
    if '": ' in group.text:
        return PYTHON
    if raw.get("max_buffered_msg") == 0 or raw.get("max_buffered_bytes") == 0:
        return JAVA
    if any(raw.get(name) == [] for name in ("filters", "partitioning_filters", "members", "member_mappings")):
        return NET
    return GO


def of_queue(group: Group) -> str | None:
    """The likely writer of the work-queue stream; `nobody known` if it fits no implementation. None: there is no
    stream."""
    if not group.is_elastic or group.queue is None or group.record.broken:
        return None
    return maker(group.queue["config"], group.stream, group.config) or DIFFERENTLY
