"""Which implementation wrote a group: each spells its record and its work-queue stream in its own way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from reconciler.core.resource import Json
from reconciler.kinds.elastic_group.derived import body, deviations
from reconciler.kinds.groups.model import Group

GO, NET, JAVA, PYTHON = "orbit.go", "orbit.net", "orbit.java", "natsio-pcgroups"

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
    """The likely writer of the work-queue stream; `nobody known` when it fits no one's. None: there is none."""
    if not group.is_elastic or group.queue is None or group.record.broken:
        return None
    config = group.queue["config"]
    differing = set(deviations(config, group.stream, group.config))
    if not differing:
        return GO
    as_net = differing <= {"sources", "discard", "allow_direct"} and same_but_for_case(group)
    return NET if as_net and config.get("sources") != wanted_sources(group) else DIFFERENTLY


def wanted_sources(group: Group) -> list[Mapping[str, Json]]:
    sources: list[Mapping[str, Json]] = body(group.stream, group.config, {})["sources"]
    return sources


def same_but_for_case(group: Group) -> bool:
    """Function names in transforms may begin in either case; servers do the same and compare them as different."""
    live = (group.queue or {}).get("config", {}).get("sources") or []
    return [_folded(item) for item in live] == [_folded(item) for item in wanted_sources(group)]


def _folded(source: Mapping[str, Json]) -> tuple[str, list[tuple[str, str]], list[str]]:
    pairs = folded_transforms(source.get("subject_transforms") or ())
    return source["name"], pairs, sorted(source.keys() - {"name", "subject_transforms"})


def folded_transforms(live: Iterable[Mapping[str, str]]) -> list[tuple[str, str]]:
    """Transforms that mean the same are equal in this form."""
    return [(one.get("src", ""), _lowered(one.get("dest", ""))) for one in live]


def _lowered(dest: str) -> str:
    return dest.replace("{{Partition(", "{{partition(").replace("{{Wildcard(", "{{wildcard(")
