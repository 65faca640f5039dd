"""What members feel of settings that somebody gave a group's queue."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from reconciler.kinds.elastic_group.derived import BUFFERS
from reconciler.model.resource import Json

REMOVING = frozenset({"max_age", "max_msgs_per_subject", "discard"})
UNFELT = frozenset({"allow_direct", "description", "metadata"})
USED = {"max_msgs": "messages", "max_bytes": "bytes"}


def full(queue: Mapping[str, Json]) -> str | None:
    """The limit that the queue has reached, with its value."""
    config, state = queue["config"], queue["state"]
    for limit, used in USED.items():
        if 0 < config.get(limit, -1) <= state.get(used, 0):
            return f"{limit} {config[limit]:_}"
    return None


def effect(queue: Mapping[str, Json], differing: Collection[str]) -> str:
    """What members feel of these settings, without a capital or a full stop; empty: nobody can tell."""
    config, rest = queue["config"], {*differing} - BUFFERS.keys()
    if REMOVING & rest:
        return "no member gets the messages that they delete"
    if rest - UNFELT:
        return ""
    if reached := full(queue):
        return f"it is full ({reached}), and copies nothing more until members have processed some of it"
    if any(config.get(limit, -1) > 0 for limit in differing if limit in BUFFERS):
        return "once it is full, it copies nothing more until members have processed some of it"
    return "members are not affected"
