"""The work-queue stream of an elastic group, exactly as the reference creates it, and what is wrong with a live one."""

from __future__ import annotations

import json
from collections.abc import Mapping

from reconciler.changes.view import View
from reconciler.kinds.group_records.group_record import MOST_PARTITIONS
from reconciler.kinds.stream_config.stream_config import canonical, settle
from reconciler.kinds.subjects.transforms import partition_call
from reconciler.model.resource import Address, Config, Json
from reconciler.model.wire.snapshot import Target
from reconciler.model.wire.version import Version

FOLLOWED_AT_CREATION = ("storage", "num_replicas")
"""Copied from the source stream when the group is created, and never adjusted later."""

TAKING_IN = frozenset({"sources", "subjects", "mirror", "subject_transform", "retention"})
"""Fields that decide which messages the queue holds, and under which subjects."""

BUFFERS = {"max_msgs": "max_buffered_msg", "max_bytes": "max_buffered_bytes"}

EVERYTHING: Config = {"filter": ">", "partitioning_wildcards": []}
"""The filter of a group that names none: all subjects, by the whole subject."""


def stream_name(stream: str, group: str) -> str:
    """The work queue of a group: `ORDERS-workers` for group `workers` of stream `ORDERS`."""
    return f"{stream}-{group}"


def queue_config(stream: str, group: Config, source: Config) -> dict[str, Json]:
    """What to create. It has nothing of reconciler's own on it: the reference's identical create must keep
    succeeding."""
    config: dict[str, Json] = {
        "retention": "workqueue",
        "discard": "new",
        "allow_direct": True,
        "sources": [{"name": stream, "subject_transforms": transforms(group)}],
    }
    config |= {field: group[own] for field, own in BUFFERS.items() if group.get(own)}
    config |= {field: source[field] for field in FOLLOWED_AT_CREATION if field in source}
    return config


def source(stream: str, view: View) -> Mapping[str, Json]:
    """Storage and replicas that the queue copies; for an external source only the live stream tells them."""
    address = Address.of("stream", stream)
    resource = view.desired.get(address) or view.live.get(address)
    if resource is None:
        return {}
    live: Mapping[str, Json] = resource.state.get("config", {})
    return {**{field: live[field] for field in FOLLOWED_AT_CREATION if field in live}, **resource.config}


def start_sequence(config: Config) -> int | None:
    """The start sequence that a recreated queue has until it has stored a message."""
    origins = config.get("sources") or ()
    return next((origin.get("opt_start_seq") for origin in origins), None) if len(origins) == 1 else None


def without_start_sequence(config: Config) -> Config:
    """The queue's configuration without that start."""
    origins = [
        {name: value for name, value in source.items() if name != "opt_start_seq"} for source in config["sources"]
    ]
    return {**config, "sources": origins}


def without_leftover_start(config: Config, *, legacy: bool) -> Config:
    """The queue without the start sequence that a recreation leaves. No group with a record of an earlier version was
    ever recreated, so somebody else set its start."""
    return without_start_sequence(config) if start_sequence(config) and not legacy else config


def transforms(group: Config) -> list[dict[str, str]]:
    """One for each partitioning filter, in the record's order; without any, everything is partitioned by the whole
    subject."""
    filters = group.get("partitioning_filters") or [EVERYTHING]
    return [
        {"src": item["filter"], "dest": _transform_destination(item, group.get("max_members", 0))} for item in filters
    ]


def _transform_destination(item: Mapping[str, Json], partitions: int) -> str:
    arguments = ",".join(map(str, (partitions, *item["partitioning_wildcards"])))
    tokens, wildcard = [], 0
    for token in item["filter"].split("."):
        wildcard += token == "*"
        tokens.append(f"{{{{Wildcard({wildcard})}}}}" if token == "*" else token)
    return f"{{{{Partition({arguments})}}}}." + ".".join(tokens)


def is_queue_of(live: Config, stream: str, group: Config) -> bool:
    """Is this the queue of such a group, apart from the start sequence it may still have?"""
    return not deviations(without_start_sequence(live) if start_sequence(live) else live, stream, group)


def has_resumed(info: Mapping[str, Json], stream: str, group: Config) -> bool:
    """A message is stored, so the start sequence it still has can be removed."""
    live = info["config"]
    return bool(start_sequence(live)) and bool(info["state"].get("last_seq")) and is_queue_of(live, stream, group)


def deviations(live: Config, stream: str, group: Config) -> list[str]:
    """Fields of a live work-queue stream that are not as the record says, in a stable order."""
    wanted, actual = canonical(queue_config(stream, group, {})), canonical(live)
    ignored = {"duplicate_window", *FOLLOWED_AT_CREATION}
    return sorted(
        name for name in wanted.keys() | actual.keys() if name not in ignored and wanted.get(name) != actual.get(name)
    )


def other_record(live: Config, stream: str, group: Config) -> Config:
    """What a record would say that is made for this queue, where the group's own says something else (null: nothing). Empty:
    its own is made for the queue, or no record is."""
    queue = without_leftover_start(live, legacy=False)
    parts = divisions(queue)
    if not parts or parts[0][0] > MOST_PARTITIONS or maker(queue, stream, group) is not None:
        return {}
    fixed: dict[str, Json] = {"max_members": parts[0][0], "partitioning_filters": [item for _, item in parts]}
    fixed |= {own: canonical(queue).get(limit) for limit, own in BUFFERS.items()}
    if maker(queue, stream, fixed) is None:
        return {}
    recorded = {**group, "partitioning_filters": group.get("partitioning_filters") or [EVERYTHING]}
    other = {field: value for field, value in fixed.items() if value != recorded.get(field)}
    return {} if other.keys() <= {*BUFFERS.values()} else other  # limits are set in place


def divisions(live: Config) -> list[tuple[int, Config]]:
    """Into how many partitions each transform of a live queue divides, and what; empty if one of them does not divide."""
    transforms = [item for origin in live.get("sources") or () for item in origin.get("subject_transforms") or ()]
    calls = [(item, partition_call(item.get("dest", ""))) for item in transforms]
    divided: list[tuple[int, Config]] = [
        (call.numbers[0], {"filter": item.get("src") or ">", "partitioning_wildcards": list(call.numbers[1:])})
        for item, call in calls
        if call is not None
    ]
    return divided if len(divided) == len(calls) else []


def record_fields_text(fields: Config) -> str:
    """These fields for people to write into a record, or into a file: `"max_members": 4`."""
    return f"`{json.dumps(fields, ensure_ascii=False)[1:-1]}`"


def has_other_duplicate_window(live: Config, version: Version) -> bool:
    """Does it remember message ids for another time than a stock server fills in? A server's own limits shorten that
    time, so this does not tell two implementations apart."""
    bare_source = {"sources": live.get("sources")}
    stock = settle(bare_source, Target(version=version), name="queue").config.get("duplicate_window")
    return canonical(live).get("duplicate_window") != stock


GO, NET = "orbit.go", "orbit.net"


def maker(live: Config, stream: str, group: Config) -> str | None:
    """The likely maker of a live work-queue stream; None if it fits no known one."""
    differing = set(deviations(live, stream, group))
    if not differing:
        return GO
    wanted = queue_config(stream, group, {})["sources"]
    as_net = differing <= {"sources", "discard", "allow_direct"} and "sources" in differing
    return NET if as_net and _normalised_sources(live.get("sources")) == _normalised_sources(wanted) else None


def _normalised_sources(sources: Json) -> list[tuple[str, list[tuple[str, str]], list[str]]]:
    return [
        (
            source["name"],
            normalised_transforms(source.get("subject_transforms")),
            sorted(source.keys() - {"name", "subject_transforms"}),
        )
        for source in sources or ()
    ]


def normalised_transforms(transforms: Json) -> list[tuple[str, str]]:
    """Function names in transforms may begin in upper or lower case. Servers allow both, and treat them as different.
    In this form, transforms with the same meaning are equal."""
    return [
        (transform.get("src", ""), _lowercase_functions(transform.get("dest", ""))) for transform in transforms or ()
    ]


def _lowercase_functions(dest: str) -> str:
    return dest.replace("{{Partition(", "{{partition(").replace("{{Wildcard(", "{{wildcard(")


def own_and_source_replicas(queue: Config, source: Config) -> tuple[int, int] | None:
    """Replicas of the queue and of its source, if the queue has fewer: they are copied once, and nobody adjusts them
    later."""
    own, wanted = int(queue.get("num_replicas", 1)), int(source.get("num_replicas", 1))
    return (own, wanted) if own < wanted else None
