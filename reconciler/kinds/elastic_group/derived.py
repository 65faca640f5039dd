"""The work-queue stream of an elastic group, exactly as the reference creates it, and what is wrong with a live one."""

from __future__ import annotations

from collections.abc import Mapping

from reconciler.core.resource import Config, Json
from reconciler.kinds.primitives.stream_config import canonical

FOLLOWED_AT_CREATION = ("storage", "num_replicas")
"""Copied from the source stream when the group is created, and never followed later."""

BUFFERS = {"max_msgs": "max_buffered_msg", "max_bytes": "max_buffered_bytes"}


def stream_name(stream: str, group: str) -> str:
    return f"{stream}-{group}"


def body(stream: str, group: Config, source: Config) -> dict[str, Json]:
    """What to create. Nothing of our own on it: the reference's identical create must keep succeeding."""
    config: dict[str, Json] = {
        "retention": "workqueue",
        "discard": "new",
        "allow_direct": True,
        "sources": [{"name": stream, "subject_transforms": transforms(group)}],
    }
    config |= {field: group[own] for field, own in BUFFERS.items() if group.get(own)}
    config |= {field: source[field] for field in FOLLOWED_AT_CREATION if field in source}
    return config


def transforms(group: Config) -> list[dict[str, str]]:
    """One per partitioning filter, in the record's order; none partition everything by the whole subject."""
    filters = group.get("partitioning_filters") or [{"filter": ">", "partitioning_wildcards": []}]
    return [{"src": item["filter"], "dest": _destination(item, group.get("max_members", 0))} for item in filters]


def _destination(item: Mapping[str, Json], partitions: int) -> str:
    arguments = ",".join(map(str, (partitions, *item["partitioning_wildcards"])))
    tokens, wildcard = [], 0
    for token in item["filter"].split("."):
        wildcard += token == "*"
        tokens.append(f"{{{{Wildcard({wildcard})}}}}" if token == "*" else token)
    return f"{{{{Partition({arguments})}}}}." + ".".join(tokens)


def deviations(live: Config, stream: str, group: Config) -> list[str]:
    """Fields of a live work-queue stream that are not as the record says, in a stable order."""
    wanted, found = canonical(body(stream, group, {})), canonical(live)
    ignored = {"duplicate_window", *FOLLOWED_AT_CREATION}
    return sorted(
        name for name in wanted.keys() | found.keys() if name not in ignored and wanted.get(name) != found.get(name)
    )
