"""The topologies these tests share, and what must be true of the account afterwards."""

from __future__ import annotations

import json
from typing import Any

from reconciler.model.wire.snapshot import Entry
from reconciler.server.read.read_kv import entry
from reconciler.server.wire.api import JetStream

FILTERS = "[{filter: jobs.*.*, partitioning_wildcards: [1]}]"


def elastic(membership: str = "members: [a, b]", *, filters: str = FILTERS, more: str = "", replicas: int = 1) -> str:
    filtered = f"partitioning_filters: {filters}, " if filters else ""
    group = f"{{type: elastic, max_members: 6, {filtered}{membership}{more}}}"
    return f"streams:\n  JOBS:\n    subjects: [jobs.*.*]\n    num_replicas: {replicas}\n    groups:\n      g: {group}\n"


STATIC = """streams:
  JOBS:
    subjects: [jobs.*.*]
    subject_transform: {src: jobs.*.*, dest: '{{partition(6,1)}}.jobs.{{wildcard(1)}}.{{wildcard(2)}}'}
"""


def static(membership: str = "members: [a, b]", *, filters: str = "") -> str:
    said = f"filters: {filters}, " if filters else ""
    return STATIC + f"    groups:\n      g: {{type: static, max_members: 6, {said}{membership}}}\n"


async def record(js: JetStream, type_: str = "elastic") -> dict[str, Any]:
    """What the record says now."""
    found = await entry(js, f"{type_}-consumer-groups", "JOBS.g")
    assert isinstance(found, Entry), found
    said: dict[str, Any] = json.loads(found.value)
    return said


async def names(js: JetStream, endpoint: str) -> list[str]:
    """STREAM.NAMES, or CONSUMER.NAMES.<stream>."""
    said = await js.read(endpoint)
    assert isinstance(said, dict), said
    return sorted(said.get("streams") or said.get("consumers") or ())
