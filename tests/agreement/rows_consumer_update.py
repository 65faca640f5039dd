"""Server-rules §2.4: what an update may do to a live consumer."""

from __future__ import annotations

from dataclasses import replace

from tests.agreement.case import Body
from tests.agreement.row import M, S, consumed, neighbour, reconsumed, row

PUSH: Body = {"deliver_subject": "to.@"}
PINNED: Body = {"priority_policy": "pinned_client", "priority_groups": ["a"]}
OVERFLOW: Body = {"priority_policy": "overflow", "priority_groups": ["a"]}
PRIORITIZED: Body = {"priority_policy": "prioritized", "priority_groups": ["a"]}
QUEUE: Body = {"retention": "workqueue"}

ROWS = (
    *(
        row(f"2.4 priority {what}", (), (), [reconsumed(base, **edit)], allowed_since=since)
        for what, base, edit, since in (
            ("none to overflow", {}, OVERFLOW, ()),
            ("none to pinned_client", {}, PINNED, ()),
            ("none to prioritized", {}, PRIORITIZED, (2, 12)),
            ("overflow to none", OVERFLOW, {"priority_policy": None, "priority_groups": None}, ()),
            ("overflow to pinned_client", OVERFLOW, PINNED, ()),
            ("overflow to prioritized", OVERFLOW, PRIORITIZED, (2, 12)),
            (
                "pinned_client to none",
                PINNED,
                {"priority_policy": None, "priority_groups": None, "priority_timeout": None},
                (),
            ),
            ("pinned_client to overflow", PINNED, OVERFLOW, ()),
            ("pinned_client to prioritized", PINNED, PRIORITIZED, (2, 12)),
            ("prioritized to overflow", PRIORITIZED, OVERFLOW, (2, 12)),
            ("prioritized to pinned_client", PRIORITIZED, PINNED, (2, 12)),
            ("prioritized to none", PRIORITIZED, {"priority_policy": None, "priority_groups": None}, (2, 12)),
            ("pinned_client to overflow, timeout kept", {**PINNED, "priority_timeout": S}, OVERFLOW, ()),
            ("rename", PINNED, {"priority_groups": ["b"]}, ()),
            ("group removed", {**PINNED, "priority_groups": ["a", "b"]}, {"priority_groups": ["a"]}, ()),
            ("timeout left out", {**PINNED, "priority_timeout": S}, {"priority_timeout": None}, ()),
            ("group added", PINNED, {"priority_groups": ["a", "b"]}, ()),
            ("timeout", PINNED, {"priority_timeout": S}, ()),
        )
    ),
    row(
        "2.4 pinned to none with groups left in",
        10196,
        [reconsumed(PINNED, priority_policy=None, priority_timeout=None)],
        (),
        since=(2, 12),
    ),
    row(
        "2.4 mem_storage",
        10012,
        [reconsumed({}, mem_storage=True), reconsumed({"mem_storage": True}, mem_storage=None)],
        [reconsumed({"mem_storage": True}, max_deliver=3)],
        since=(2, 14, 4),
    ),
    row(
        "2.4 mem_storage before 2.14.4",
        (),
        (),
        [reconsumed({}, mem_storage=True), reconsumed({"mem_storage": True}, mem_storage=None)],
        allowed_until=(2, 14, 4),
    ),
    row(
        "2.4 fixed at creation",
        10012,
        [
            reconsumed({}, deliver_policy="new"),
            reconsumed({}, ack_policy="all"),
            reconsumed({}, ack_policy=None),
            reconsumed({}, replay_policy="original"),
            reconsumed({}, max_waiting=5),
            reconsumed({"max_waiting": 5}, max_waiting=None),
            reconsumed({"deliver_policy": "by_start_sequence", "opt_start_seq": 5}, opt_start_seq=6),
            reconsumed(
                {"deliver_policy": "by_start_time", "opt_start_time": "2026-01-01T00:00:00Z"},
                opt_start_time="2026-01-01T00:00:01Z",
            ),
            reconsumed(PUSH, idle_heartbeat=S),
            reconsumed({**PUSH, "idle_heartbeat": S}, flow_control=True),
            reconsumed({"max_waiting": 0}, max_waiting=None, **PUSH),
            reconsumed(PUSH, deliver_subject=None),
        ],
        [
            reconsumed({}, max_deliver=5),
            reconsumed(
                {"deliver_policy": "by_start_time", "opt_start_time": "2026-01-01T00:00:00Z"},
                opt_start_time="2026-01-01T01:00:00+01:00",
                max_deliver=3,
            ),
        ],
    ),
    row("2.4 replicas", (10074, 10126), [reconsumed({}, num_replicas=3)], [reconsumed({}, num_replicas=1)]),
    row(
        "2.4 work queue, filter removed",
        10100,
        [
            reconsumed(
                {"filter_subject": "@.b"}, on=QUEUE, others=[neighbour("d", filter_subject="@.a")], filter_subject=None
            )
        ],
        [reconsumed({"filter_subject": "@.b"}, on=QUEUE, filter_subject=None)],
    ),
    row("2.4 pause_until", (), (), [reconsumed({"pause_until": "2099-01-01T00:00:00Z"}, max_deliver=5)]),
    row(
        "2.1 deliver subject somebody listens on",
        10013,
        [replace(reconsumed(PUSH, deliver_subject="to.other.@"), listens=("to.@",))],
        [replace(reconsumed(PUSH, deliver_subject="to.other.@"), listens=("to.elsewhere.@",))],
    ),
    row(
        "5.1 an ephemeral of that name",
        10148,
        [
            consumed(
                others=[neighbour("c", durable_name=None, inactive_threshold=M)], ack_policy="explicit", max_deliver=5
            )
        ],
        [
            consumed(
                others=[neighbour("d", durable_name=None, inactive_threshold=M)], ack_policy="explicit", max_deliver=5
            )
        ],
    ),
    row("2.4 deliver subject changed", (), (), [reconsumed(PUSH, deliver_subject="to.other.@")]),
    row(
        "2.4 free fields",
        (),
        (),
        [
            reconsumed({"filter_subject": "@.a"} if "filter_subject" in edit else {}, **edit)
            for edit in (
                {"description": "x"},
                {"metadata": {"a": "b"}},
                {"ack_wait": S},
                {"max_deliver": 7},
                {"backoff": [S, M]},
                {"filter_subject": "@.b"},
                {"filter_subjects": ["@.a", "@.b"]},
                {"sample_freq": "10"},
                {"max_ack_pending": 7},
                {"headers_only": True},
                {"max_batch": 5},
                {"max_expires": S},
                {"max_bytes": 100},
                {"inactive_threshold": M},
            )
        ]
        + [reconsumed(PUSH, rate_limit_bps=1000), reconsumed(PUSH, deliver_group="q")],
    ),
    row(
        "2.2 stream missing",
        10059,
        [replace(consumed(ack_policy="explicit"), live=())],
        [consumed(ack_policy="explicit")],
    ),
)
