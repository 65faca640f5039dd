"""Random request bodies: every field a person may write, alone and with what it needs, legal more often than not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from reconciler.model.wire.version import Version

MS, S, M = 1_000_000, 1_000_000_000, 60_000_000_000
Body = dict[str, Any]
Fields = Mapping[str, st.SearchStrategy[Any]]

flag = st.booleans()
limits = st.sampled_from([-1, 0, 1, 5, 1000, 1 << 40])
texts = st.sampled_from(["", "a", "Ümläut", "x" * 200])
metadata = st.dictionaries(st.sampled_from(["", "team", "a.b", "_natsX"]), st.sampled_from(["", "x", "ü"]), max_size=3)
times = st.sampled_from(
    [
        "2026-03-01T08:00:00Z",
        "2026-03-01T10:00:00.500+02:00",
        "2025-12-31T23:30:00.123456789-05:30",
        "2024-02-29T00:00:00.000Z",
    ]
)


def some(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Body]:
    """A mapping with any of these fields."""
    return st.fixed_dictionaries({}, optional=fields)


transforms = st.fixed_dictionaries(
    {"src": st.sampled_from(["a.>", "b.*", "c", ""]), "dest": st.sampled_from(["", "t.>", "u.{{wildcard(1)}}", "v"])}
)
source_filter = st.one_of(
    some(filter_subject=st.sampled_from(["a.>", "b", ""])),
    st.fixed_dictionaries(
        {
            "subject_transforms": st.lists(
                st.sampled_from([{"src": "a.>", "dest": "t.>"}, {"src": "b.*", "dest": ""}]), max_size=2, unique_by=str
            )
        }
    ),
)
source_start: st.SearchStrategy[Body] = st.one_of(
    st.just({}), some(opt_start_seq=st.sampled_from([0, 7])), some(opt_start_time=times)
)
external = st.sampled_from(
    [{}, {"external": {"api": "$JS.hub.API", "deliver": ""}}, {"external": {"api": "hub.api", "deliver": "del.x"}}]
)
durable = st.just({"consumer": {"name": "copy", "deliver_subject": "deliver.here"}})


@st.composite
def sources(draw: st.DrawFn, names: tuple[str, ...], version: Version) -> Body:
    """A mirror, or one of several sources."""
    source = {"name": draw(st.sampled_from(names)), **draw(external)}
    if version >= (2, 14) and draw(st.integers(0, 4)) == 0:
        return {**source, **draw(durable)}
    return {**source, **draw(source_filter), **draw(source_start)}


ORIGINS = ("PLAIN", "DIRECT", "MISSING")
"""Streams a mirror may name: without and with allow_direct, and one that does not exist."""


def stream_fields(version: Version) -> Fields:
    """A strategy of values for every field of a stream."""
    negative = limits if version < (2, 12) else st.one_of(limits, st.just(-7))
    fields: dict[str, st.SearchStrategy[Any]] = {
        "description": texts,
        "subjects": st.sampled_from([["{name}"], ["{name}.a", "{name}.b.>"], ["{name}.*"], []]),
        "retention": st.sampled_from(["limits", "interest", "workqueue"]),
        "max_consumers": negative,
        "max_msgs": negative,
        "max_bytes": st.sampled_from([-1, 0, 1 << 20]),
        "max_age": st.sampled_from([0, 100 * MS, 30 * S, 2 * M, 1 << 50]),
        "max_msgs_per_subject": negative,
        "max_msg_size": st.sampled_from([-1, 0, 1024]),
        "discard": st.sampled_from(["old", "new", "NEW"]),
        "discard_new_per_subject": flag,
        "storage": st.sampled_from(["file", "memory", "memory"]),
        "num_replicas": st.sampled_from([0, 1]),
        "no_ack": flag,
        "duplicate_window": st.sampled_from([0, 100 * MS, 30 * S, 2 * M, 5 * M]),
        "placement": some(
            cluster=st.sampled_from(["", "C1"]),
            tags=st.lists(st.sampled_from("abc"), max_size=2),
            preferred=st.just(""),
        ),
        "mirror": st.one_of(st.none(), sources(ORIGINS, version)),
        "sources": st.lists(sources(("S1", "S2", "PLAIN"), version), max_size=2, unique_by=lambda s: s["name"]),
        "compression": st.sampled_from(["none", "s2"]),
        "first_seq": st.sampled_from([0, 1, 100]),
        "subject_transform": st.one_of(st.none(), transforms, st.just({"src": "{name}", "dest": "x.{name}"})),
        "republish": st.fixed_dictionaries(
            {"dest": st.sampled_from(["rp.{name}.>", ">"])},
            optional={"src": st.sampled_from(["", ">"]), "headers_only": flag},
        ),
        "allow_direct": flag,
        "mirror_direct": flag,
        "sealed": flag,
        "deny_delete": flag,
        "deny_purge": flag,
        "allow_rollup_hdrs": flag,
        "consumer_limits": some(
            inactive_threshold=st.sampled_from([0, 5 * M]), max_ack_pending=st.sampled_from([0, 100])
        ),
        "allow_msg_ttl": flag,
        "subject_delete_marker_ttl": st.sampled_from([0, S, 5 * M]),
        "metadata": metadata,
    }
    if version >= (2, 12):
        fields |= dict.fromkeys(("allow_msg_counter", "allow_atomic", "allow_msg_schedules"), flag)
        fields |= {"persist_mode": st.sampled_from(["default", "async"])}
    if version >= (2, 14):
        fields |= {"allow_batched": flag}
    return fields


STREAM_GROUPS: tuple[tuple[str, ...], ...] = (
    ("mirror", "mirror_direct", "max_age"),
    ("mirror", "description"),
    ("sources", "subjects", "duplicate_window"),
    ("discard", "max_msgs_per_subject", "discard_new_per_subject"),
    ("subject_delete_marker_ttl", "allow_msg_ttl", "allow_rollup_hdrs", "deny_purge"),
    ("allow_msg_schedules", "allow_rollup_hdrs", "deny_purge"),
    ("subject_transform", "republish", "subjects"),
    ("max_age", "duplicate_window", "sealed"),
    ("persist_mode", "compression"),
)
"""Fields that say something together."""


def consumer_fields(version: Version) -> Fields:
    """A strategy of values for every field of a consumer."""
    signed = version >= (2, 12)
    policies = ["none", "overflow", "pinned_client"] + (["prioritized"] if version >= (2, 12) else [])
    acks = ["none", "all", "explicit", "explicit"] + (["flow_control"] if version >= (2, 14) else [])
    return {
        "description": texts,
        "deliver_policy": st.sampled_from(
            ["all", "last", "new", "by_start_sequence", "by_start_time", "last_per_subject"]
        ),
        "opt_start_seq": st.sampled_from([0, 5]),
        "opt_start_time": times,
        "ack_policy": st.sampled_from(acks),
        "ack_wait": st.sampled_from([0, S, 30 * S, M]),
        "max_deliver": st.sampled_from([-1, 0, 5, -7]),
        "backoff": st.lists(st.sampled_from([S, 30 * S, M]), max_size=3),
        "filter_subject": st.sampled_from(["", "a.>", "a.b"]),
        "filter_subjects": st.sampled_from([[], ["a.>"], ["b", "a.*"]]),
        "replay_policy": st.sampled_from(["instant", "original"]),
        "rate_limit_bps": st.sampled_from([0, 1000]),
        "sample_freq": st.sampled_from(["", "30", "30%", "0"]),
        "max_waiting": st.sampled_from([0, 1, 512, 1000, *([-3] if signed else [])]),
        "max_ack_pending": st.sampled_from([-1, 0, 1, 100, 1000, 5000, -9]),
        "flow_control": flag,
        "headers_only": flag,
        "max_batch": st.sampled_from([0, 10, *([-3] if signed else [])]),
        "max_expires": st.sampled_from([0, MS, M]),
        "max_bytes": st.sampled_from([0, 1024]),
        "deliver_subject": st.sampled_from(["", "deliver.{name}"]),
        "deliver_group": st.sampled_from(["", "queue"]),
        "idle_heartbeat": st.sampled_from([0, S, 100 * MS]),
        "inactive_threshold": st.sampled_from([0, 5 * M]),
        "num_replicas": st.sampled_from([0, 1]),
        "mem_storage": flag,
        "metadata": metadata,
        "pause_until": st.one_of(times, st.sampled_from(["2099-01-01T00:00:00Z", "0001-01-01T00:00:00Z"])),
        "priority_groups": st.sampled_from([[], ["a"], ["b", "a"]]),
        "priority_policy": st.sampled_from(policies),
        "priority_timeout": st.sampled_from([0, S, 2 * M, *([-1] if signed else [])]),
    }


CONSUMER_GROUPS: tuple[tuple[str, ...], ...] = (
    ("deliver_policy", "opt_start_seq"),
    ("deliver_policy", "opt_start_time"),
    ("deliver_policy", "filter_subject"),
    ("ack_policy", "ack_wait", "backoff"),
    ("ack_policy", "max_ack_pending"),
    ("priority_policy", "priority_groups", "priority_timeout"),
    ("deliver_subject", "flow_control", "idle_heartbeat", "ack_policy"),
    ("deliver_subject", "deliver_group", "rate_limit_bps"),
)
"""Fields that say something together."""


RECIPES: Mapping[str, tuple[Body, ...]] = {
    "stream": (
        {"discard": "new", "discard_new_per_subject": True, "max_msgs_per_subject": 5},
        {"subject_transform": {"src": "{name}", "dest": "x.{name}"}, "republish": {"src": "", "dest": ">"}},
    ),
    "consumer": (
        {"deliver_policy": "by_start_time", "opt_start_time": "2026-03-01T10:00:00.500+02:00"},
        {"deliver_policy": "by_start_sequence", "opt_start_seq": 5},
        {"deliver_subject": "deliver.{name}", "ack_policy": "explicit", "flow_control": True, "idle_heartbeat": S},
    ),
}
"""What chance alone rarely puts together."""


@st.composite
def bodies(draw: st.DrawFn, fields: Fields, groups: tuple[tuple[str, ...], ...], recipes: tuple[Body, ...]) -> Body:
    """A few fields alone, and sometimes a group of them or a recipe."""
    names = set(draw(st.lists(st.sampled_from(sorted(fields)), max_size=3)))
    if draw(flag):
        names |= {name for name in draw(st.sampled_from(groups)) if name in fields}
    body = {name: draw(fields[name]) for name in sorted(names)}
    return {**body, **draw(st.sampled_from(recipes))} if draw(st.integers(0, 9)) == 0 else body


def named(body: Body, name: str) -> Body:
    """`{name}` stands for the object's own name, so that subjects of many streams do not collide."""
    return {key: _named(value, name) for key, value in body.items()}


def _named(value: Any, name: str) -> Any:
    if isinstance(value, str):
        return value.replace("{name}", name)
    if isinstance(value, dict):
        return {key: _named(inner, name) for key, inner in value.items()}
    return [_named(item, name) for item in value] if isinstance(value, list) else value
