"""What an INFO answer shows of a stream, a copy or a consumer: moving, current, heard."""

from __future__ import annotations

from collections.abc import Mapping

from reconciler.model.resource import Json


def is_moving(info: Mapping[str, Json], replicas: int) -> bool:
    """Does an INFO reply show a stream whose servers are being changed? Where it says nothing of them, it may be."""
    cluster = info.get("cluster")
    if not cluster:
        return True
    return "desired" in cluster or len(cluster.get("replicas") or ()) != replicas - 1


def stands_still(info: Mapping[str, Json], replicas: int) -> bool:
    """Does it show all replicas there and current, and nothing being changed?"""
    cluster = info.get("cluster") or {}
    current = all(peer.get("current") for peer in cluster.get("replicas") or ())
    return bool(cluster.get("leader")) and current and not is_moving(info, replicas)


def is_copier(consumer: Mapping[str, Json]) -> bool:
    """Does a server keep this consumer for itself, to feed a copy of the stream? From 2.14 on it lists some of them."""
    return bool(consumer["config"].get("sourcing") or consumer["config"].get("direct"))


HEARD = 3_000_000_000
"""Nanoseconds. An origin or a replica that is there speaks once a second."""


def is_heard(info: Mapping[str, Json], within: float = HEARD) -> bool:
    """Has its leader heard all replicas so short a time ago? For ten seconds one that is away counts as current."""
    return not lagging_servers(info, within)


def lagging_servers(info: Mapping[str, Json], within: float = HEARD) -> list[str]:
    """Servers whose replicas are behind, or were not heard."""
    replicas = (info.get("cluster") or {}).get("replicas") or ()
    return [peer["name"] for peer in replicas if not peer.get("current") or peer.get("active", 0) >= within]


def mirror_hears(info: Mapping[str, Json]) -> bool:
    """Does a mirror hear from its origin?"""
    return hears(info.get("mirror") or {})


def hears(origin: Mapping[str, Json]) -> bool:
    """Does a mirror or a source hear from its origin, by what a server tells of it?"""
    return not origin.get("error") and 0 <= origin.get("active", -1) < HEARD


def partitions_of(consumer: Mapping[str, Json]) -> list[int]:
    """Return which partitions a member's consumer is for: the first token of its filters."""
    filters = consumer.get("filter_subjects") or [consumer.get("filter_subject") or ""]
    return sorted({int(token) for subject in filters if (token := subject.partition(".")[0]).isdecimal()})
