"""Topologies that between them take every step, and users of a real server who have exactly the printed permissions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from reconciler.journeys.permissions.permissions import permissions
from reconciler.journeys.permissions.text import config_block
from reconciler.kinds import REGISTRY
from reconciler.model.topology import Topology
from reconciler.model.wire.permissions import Needs, Purpose
from reconciler.server.read.permission_subjects import Api
from tests.support.servers import NatsServer
from tests.support.topologies import read

CONSENTED = tuple((rule.code, "*") for rule in REGISTRY.rules())


def queue(one: str, two: str) -> str:
    """A work queue of two consumers."""
    return f"""  W:
    subjects: [w.*]
    retention: workqueue
    consumers:
      one: {{ack_policy: explicit, filter_subject: {one}}}
      two: {{ack_policy: explicit, filter_subject: {two}}}
"""


FIRST = (
    """
streams:
  A:
    subjects: [a.*]
    allow_direct: true
    retention: interest
    consumers:
      c: {ack_policy: explicit}
      pinned: {ack_policy: explicit, priority_policy: pinned_client, priority_groups: [g], priority_timeout: 2m}
      paused: {ack_policy: explicit}
      before: {ack_policy: explicit}
"""
    + queue("w.1", "w.2")
    + """  JOBS:
    subjects: [jobs.*]
    groups:
      g: {type: elastic, max_members: 4, partitioning_filters: [{filter: jobs.*, partitioning_wildcards: [1]}], members: [a, b]}
      old: {type: elastic, max_members: 2, partitioning_filters: [{filter: jobs.*, partitioning_wildcards: [1]}], members: [a]}
      fixed: {type: static, max_members: 4, members: [a]}
  GONE: {subjects: [gone.*], consumers: {c: {ack_policy: explicit}}}
kv_buckets: {CONFIG: {ttl: 30d}}
object_stores: {FILES: {}}
"""
)

THEN = (
    """
streams:
  A:
    subjects: [a.*]
    allow_direct: true
    retention: interest
    max_age: 1h
    consumers:
      c: {ack_policy: explicit, deliver_policy: new}
      pinned: {ack_policy: explicit, priority_policy: overflow, priority_groups: [g]}
      paused: {ack_policy: explicit, pause_until: "2099-01-01T00:00:00Z", description: stands still}
      after: {ack_policy: explicit}
"""
    + queue("w.2", "w.1")
    + """  JOBS:
    subjects: [jobs.*]
    groups:
      g: {type: elastic, max_members: 6, partitioning_filters: [{filter: jobs.*, partitioning_wildcards: [1]}], members: [a, b, c]}
kv_buckets: {CONFIG: {ttl: 1h}}
object_stores: {FILES: {description: of people}}
moved:
  - {from: consumer/A/before, to: consumer/A/after, reason: said better}
removed:
  - {address: elastic_group/JOBS/old, reason: done}
  - {address: static_group/JOBS/fixed, reason: done}
  - {address: consumer/GONE/c, reason: done}
  - {address: stream/GONE, reason: done}
"""
)

_DENIED = re.compile(r'user:(\w+)" - (?:Publish|Subscription) Violation - Subject "([^"]+)"')
_PUBLISHED = re.compile(r"<<- \[H?PUB (\S+) _INBOX")


def topologies(folder: Path) -> tuple[Topology, Topology]:
    return read(folder / "first", FIRST), read(folder / "then", THEN)


def needs(topology: Topology, purpose: Purpose = Purpose.APPLY, api: Api | None = None) -> Needs:
    return permissions(topology, purpose, api or Api(), allow=CONSENTED)


def users(bounded: Mapping[str, Needs], account: str = "A") -> str:
    """An account with an admin and these users, in the very words that are printed."""
    entries = "\n".join(
        f"{{user: {name}, password: {name}\n{config_block(own, name)}}}" for name, own in bounded.items()
    )
    return f"accounts {{ {account}: {{ jetstream: enabled, users: [{{user: admin, password: admin}}\n{entries}] }} }}\n"


def denied(server: NatsServer, user: str | None = None) -> set[str]:
    """Subjects the server would not let them use."""
    return {subject for who, subject in _DENIED.findall(server.log) if user in (None, who)}


def published(log: str) -> set[str]:
    """Every subject somebody asked at, as a server that traces has seen it."""
    return set(_PUBLISHED.findall(log))
