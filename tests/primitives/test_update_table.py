"""What the tables say an update may do is what real servers answer, field by field and version by version."""

from __future__ import annotations

import pytest

from reconciler.kinds.consumer_config import consumer_config
from reconciler.kinds.fields.known import Known
from reconciler.kinds.stream_config import stream_config
from reconciler.model.wire.version import Version
from tests.primitives.bodies import MS, Body, M, S, named
from tests.primitives.echo import Reply, Server
from tests.support.accounts import Account
from tests.support.versions import on_every_version

Case = tuple[str, Body, Body]
"""The field that changes, the configuration before, and after."""

ON, OFF = True, False
_PUSH = {"deliver_subject": "push.a"}


def _both(field: str, one: object, other: object, **around: object) -> list[Case]:
    """From absent or one value to the other, and back."""
    first = {**around, **({field: one} if one is not None else {})}
    second = {**around, **({field: other} if other is not None else {})}
    return [(field, first, second), (field, second, first)]


STREAM_CASES: list[Case] = [
    *_both("description", None, "x"),
    *_both("subjects", ["{name}.a"], ["{name}.a", "{name}.b"]),
    *_both("retention", None, "interest"),
    *_both("retention", None, "workqueue"),
    *_both("retention", "interest", "workqueue"),
    *_both("max_consumers", None, 5),
    *_both("max_consumers", 7, 5),
    *_both("max_msgs", None, 5),
    *_both("max_bytes", None, 1 << 20),
    *_both("max_age", None, M),
    *_both("max_msgs_per_subject", None, 5),
    *_both("max_msg_size", None, 1024),
    *_both("discard", None, "new"),
    *_both("discard_new_per_subject", OFF, ON, discard="new", max_msgs_per_subject=1),
    *_both("storage", None, "memory"),
    *_both("num_replicas", None, 1),
    *_both("no_ack", OFF, ON),
    *_both("duplicate_window", None, 5 * S),
    *_both("placement", None, {"cluster": "C1"}),
    *_both("mirror", None, {"name": "PLAIN"}),
    *_both("mirror", {"name": "PLAIN"}, {"name": "DIRECT"}),
    *_both("sources", None, [{"name": "PLAIN"}]),
    *_both("compression", None, "s2"),
    *_both("first_seq", None, 100),
    *_both("subject_transform", None, {"src": "{name}", "dest": "x.{name}"}),
    *_both("republish", None, {"src": ">", "dest": "rp.{name}.>"}),
    *_both("allow_direct", OFF, ON),
    ("mirror_direct", {}, {"mirror_direct": ON}),
    *_both("deny_delete", OFF, ON),
    *_both("deny_purge", OFF, ON),
    ("sealed", {}, {"sealed": ON}),
    *_both("allow_rollup_hdrs", OFF, ON),
    *_both("consumer_limits", None, {"max_ack_pending": 5}),
    *_both("allow_msg_ttl", OFF, ON),
    *_both("subject_delete_marker_ttl", None, 5 * S, allow_msg_ttl=ON, allow_rollup_hdrs=ON),
    *_both("allow_msg_counter", OFF, ON),
    *_both("allow_atomic", OFF, ON),
    *_both("allow_msg_schedules", OFF, ON, allow_rollup_hdrs=ON),
    *_both("persist_mode", None, "async"),
    *_both("allow_batched", OFF, ON),
    *_both("metadata", None, {"a": "b"}),
]

CONSUMER_CASES: list[Case] = [
    *_both("description", None, "x"),
    *_both("deliver_policy", None, "new"),
    *_both("opt_start_seq", 5, 6, deliver_policy="by_start_sequence"),
    *_both("opt_start_time", "2026-03-01T08:00:00Z", "2026-03-02T08:00:00Z", deliver_policy="by_start_time"),
    *_both("ack_policy", None, "explicit"),
    *_both("ack_policy", "all", "explicit"),
    *_both("ack_wait", None, M, ack_policy="explicit"),
    *_both("max_deliver", None, 5),
    *_both("backoff", None, [S, 2 * S], ack_policy="explicit"),
    *_both("filter_subject", None, "a.>"),
    *_both("filter_subjects", None, ["a.>", "b"]),
    *_both("replay_policy", None, "original"),
    *_both("rate_limit_bps", None, 1000, **_PUSH),
    *_both("sample_freq", None, "30"),
    *_both("max_waiting", 5, 6),
    *_both("max_ack_pending", 5, -1, ack_policy="explicit"),
    *_both("flow_control", OFF, ON, idle_heartbeat=S, **_PUSH),
    *_both("headers_only", OFF, ON),
    *_both("max_batch", None, 5),
    *_both("max_expires", None, S),
    *_both("max_bytes", None, 5),
    *_both("deliver_subject", None, "push.a"),
    *_both("deliver_subject", "push.a", "push.b"),
    *_both("deliver_group", None, "q", **_PUSH),
    *_both("idle_heartbeat", None, S, **_PUSH),
    *_both("idle_heartbeat", 100 * MS, S, **_PUSH),
    *_both("inactive_threshold", None, M),
    *_both("num_replicas", None, 1),
    *_both("mem_storage", OFF, ON),
    *_both("metadata", None, {"a": "b"}),
    *_both("pause_until", None, "2099-01-01T00:00:00Z"),
    *_both("priority_groups", ["a"], ["b"], priority_policy="overflow"),
    *_both("priority_policy", "overflow", "pinned_client", priority_groups=["a"]),
    *_both("priority_policy", "prioritized", "pinned_client", priority_groups=["a"]),
    *_both("priority_timeout", S, M, priority_policy="pinned_client", priority_groups=["a"]),
]


def _applicable(cases: list[Case], fields: dict[str, Known], version: Version) -> list[Case]:
    """Cases whose fields and values this version knows."""
    young = {
        (field, value)
        for field, about in fields.items()
        for value, since in about.values_since.items()
        if since > version
    }
    return [
        case
        for case in cases
        if fields[case[0]].since <= version
        and not young & {(k, v) for body in case[1:] for k, v in body.items() if isinstance(v, str)}
    ]


def _judge(case: Case, reply: Reply, about: Known, version: Version, live: object, desired: object) -> str | None:
    """What the table says against what the server answered; None when they agree."""
    allowed, done = about.may_become(live, desired, version), reply.config is not None
    if allowed != done:
        return f"{case}: the table says {'ok' if allowed else 'refused'}, the server {reply.err_code} {reply.words or 'ok'}"
    if not done and (reply.err_code != about.err_code or about.says not in reply.words):
        return f"{case}: refused with {reply.err_code} `{reply.words}`, the table says {about.err_code} `{about.says}`"
    return None


@on_every_version
def test_streams_take_the_updates_the_table_allows(account: Account) -> None:
    with Server(account) as server:
        server.create_streams({"PLAIN": {}, "DIRECT": {}})
        cases = _applicable(STREAM_CASES, dict(stream_config.FIELDS), server.version)
        names = [f"N{number}" for number in range(len(cases))]
        before = {name: named(case[1], name) for name, case in zip(names, cases, strict=True)}
        after = {name: named(case[2], name) for name, case in zip(names, cases, strict=True)}
        assert [r.words for r in server.create_streams(before) if r.config is None] == []
        wrong = [
            _judge(case, reply, stream_config.FIELDS[case[0]], server.version,
                   stream_config.canonical(before[name]).get(case[0]), stream_config.canonical(after[name]).get(case[0]))
            for name, case, reply in zip(names, cases, server.update_streams(after), strict=True)
        ]  # fmt: skip
    assert [w for w in wrong if w] == []


@on_every_version
def test_consumers_take_the_updates_the_table_allows(account: Account) -> None:
    with Server(account) as server:
        server.create_streams({"S": {"subjects": ["a.>", "b"]}})
        cases = _applicable(CONSUMER_CASES, dict(consumer_config.FIELDS), server.version)
        names = [f"n{number}" for number in range(len(cases))]
        before = {name: case[1] for name, case in zip(names, cases, strict=True)}
        after = {name: case[2] for name, case in zip(names, cases, strict=True)}
        assert [r.words for r in server.consumers("S", before) if r.config is None] == []
        replies = server.consumers("S", after, "update")
        wrong = [
            _judge(case, reply, consumer_config.FIELDS[case[0]], server.version,
                   consumer_config.canonical(case[1]).get(case[0]), consumer_config.canonical(case[2]).get(case[0]))
            for case, reply in zip(cases, replies, strict=True)
        ]  # fmt: skip
    assert [w for w in wrong if w] == []


def test_every_field_has_a_case() -> None:
    assert stream_config.FIELDS.keys() == {case[0] for case in STREAM_CASES}
    assert consumer_config.FIELDS.keys() == {case[0] for case in CONSUMER_CASES}


@on_every_version
def test_a_sealed_stream_stays_sealed(account: Account) -> None:
    with Server(account) as server:
        server.create_streams({"A": {}})
        server.update_streams({"A": {"sealed": True}})
        (reply,) = server.update_streams({"A": {"deny_delete": True, "deny_purge": True, "discard": "new"}})
    about = stream_config.FIELDS["sealed"]
    assert (reply.err_code, about.says in reply.words) == (about.err_code, True)


@on_every_version
def test_a_field_that_updates_ignore_is_left_as_it_was(account: Account) -> None:
    with Server(account) as server:
        server.create_streams({"S": {}})
        server.consumers("S", {"c": {}})
        (reply,) = server.consumers("S", {"c": {"pause_until": "2099-01-01T00:00:00Z"}}, "update")
    assert reply.config is not None
    assert "pause_until" not in reply.config


@on_every_version
@pytest.mark.parametrize("config", [{"sealed": True}, {"mirror_direct": True}])
def test_what_only_an_update_may_set_is_refused_at_creation(account: Account, config: Body) -> None:
    with Server(account) as server:
        (reply,) = server.create_streams({"A": config})
    assert reply.err_code == stream_config.FIELDS["sealed"].err_code
