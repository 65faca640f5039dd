"""Server-rules §2.2 to §2.5: what a consumer may say, and what an update may do to it."""

from __future__ import annotations

from dataclasses import replace

from tests.agreement.row import MS, M, S, both, consumed, neighbour, reconsumed, row

PUSH = {"deliver_subject": "to.@"}
PINNED = {"priority_policy": "pinned_client", "priority_groups": ["a"]}
OVERFLOW = {"priority_policy": "overflow", "priority_groups": ["a"]}
PRIORITIZED = {"priority_policy": "prioritized", "priority_groups": ["a"]}
QUEUE = {"retention": "workqueue"}
LONG = "x" * 4097

CREATION = (
    row(
        "2.2 name",
        (10127, 10052, 10103, 10102),
        [
            consumed(name="a/b", ack_policy="explicit"),
            consumed(name="a\\b"),
            consumed(name="a*b"),
            consumed(name="n" * 256),
        ],
        [consumed(name="Ümläut", ack_policy="explicit"), consumed(name="n" * 240), consumed(name="'$%{")],
    ),
    row("2.2 description", 10107, both({"description": LONG}), both({"description": LONG[1:]})),
    row("2.2 metadata", 10135, both({"metadata": {"a": "x" * 131_100}}), both({"metadata": {"a": "x" * 131_000}})),
    row(
        "2.2 enums",
        10025,
        both({"ack_policy": "sometimes"}, {"deliver_policy": "none"}, {"replay_policy": "fast"}),
        both({"replay_policy": "instant"}),
    ),
    row(
        "2.2 both filters",
        10136,
        both({"filter_subject": "@.a", "filter_subjects": ["@.b"]}),
        both({"filter_subject": "@.a"}, {"filter_subjects": ["@.b"]}),
    ),
    row("2.2 empty filter", 10139, both({"filter_subjects": ["@.a", ""]}), both({"filter_subjects": ["@.a", "@.b"]})),
    row(
        "2.2 invalid filter",
        10052,
        both({"filter_subject": "a..b"}, {"filter_subjects": ["a.>.b", "c"]}),
        both({"filter_subject": "@.*.>"}),
    ),
    row(
        "2.2 overlapping filters",
        10138,
        both({"filter_subjects": ["@.a", "@.a"]}, {"filter_subjects": ["@.*", "@.a"]}),
        both({"filter_subjects": ["@.a", "@.*.b"]}),
    ),
    row(
        "2.2 colliding filters",
        10138,
        both({"filter_subjects": ["@.*.x", "@.y.*"]}),
        both({"filter_subjects": ["@.*.x", "@.*.y"]}),
        until=(2, 12, 5),
    ),
    row(
        "2.2 colliding filters since 2.12.5",
        (),
        (),
        both({"filter_subjects": ["@.*.x", "@.y.*"]}),
        allowed_since=(2, 12, 5),
    ),
    row(
        "2.2 filters outside the stream", (), (), both({"filter_subject": "zzz.>"}, {"filter_subjects": ["zzz", "yyy"]})
    ),
    row(
        "2.2 start and policy",
        10094,
        [
            consumed(ack_policy="explicit", **body)
            for body in (
                {"opt_start_seq": 5},
                {"deliver_policy": "by_start_sequence"},
                {"deliver_policy": "by_start_time"},
                {"deliver_policy": "new", "opt_start_seq": 5},
                {"deliver_policy": "all", "opt_start_time": "2026-01-01T00:00:00Z"},
                {"deliver_policy": "last_per_subject"},
                {"deliver_policy": "by_start_sequence", "opt_start_seq": 5, "opt_start_time": "2026-01-01T00:00:00Z"},
            )
        ],
        [
            consumed(ack_policy="explicit", **body)
            for body in (
                {"deliver_policy": "by_start_sequence", "opt_start_seq": 5},
                {"deliver_policy": "by_start_time", "opt_start_time": "2026-01-01T00:00:00Z"},
                {"deliver_policy": "last_per_subject", "filter_subject": "@.>"},
                {"deliver_policy": "last"},
                {"deliver_policy": "new"},
            )
        ],
    ),
    row("2.2 negative ack_wait", 10183, both({"ack_wait": -1}), both({"ack_wait": S}), since=(2, 12)),
    row(
        "2.2 negative backoff",
        10184,
        both({"backoff": [-1, S]}, {"backoff": [S, -1]}),
        both({"backoff": [S, M]}),
        since=(2, 12),
    ),
    row("2.2 negative waits on 2.11", (), (), both({"ack_wait": -1}), allowed_until=(2, 12)),
    row(
        "2.2 backoff longer than max_deliver",
        10116,
        both({"backoff": [S, M, M], "max_deliver": 2}),
        both({"backoff": [S, M], "max_deliver": 2}, {"backoff": [S, M]}),
    ),
    row(
        "2.2 sample_freq",
        10095,
        both({"sample_freq": "x"}, {"sample_freq": "-5"}, {"sample_freq": "1.5"}),
        both({"sample_freq": "200"}, {"sample_freq": "30%"}),
    ),
    row(
        "2.2 negatives that mean no limit",
        (),
        (),
        [consumed(ack_policy="explicit", max_waiting=-3), *both({"max_batch": -3}, {"max_bytes": -3})],
    ),
    row(
        "2.2 max_expires",
        10115,
        both({"max_expires": 1}, {"max_expires": MS - 1}),
        both({"max_expires": MS}, {"max_expires": 0}),
    ),
    row("2.2 pull with rate limit", 10086, both({"rate_limit_bps": 1000}), [consumed(rate_limit_bps=1000, **PUSH)]),
    row(
        "2.2 pull with heartbeat",
        10088,
        [consumed(ack_policy="explicit", idle_heartbeat=S)],
        [consumed(idle_heartbeat=S, **PUSH)],
    ),
    row(
        "2.2 pull with flow control",
        10089,
        [consumed(ack_policy="explicit", flow_control=True)],
        [consumed(idle_heartbeat=S, flow_control=True, **PUSH)],
    ),
    row(
        "2.2 push, deliver wildcard",
        10079,
        [consumed(deliver_subject="to.@.*"), reconsumed(PUSH, deliver_subject="to.>")],
        [consumed(**PUSH), reconsumed(PUSH, deliver_subject="to.other.@")],
    ),
    row(
        "2.2 push, deliver invalid",
        10112,
        [consumed(deliver_subject="to..@"), reconsumed(PUSH, deliver_subject="to. x")],
        [consumed(**PUSH), reconsumed(PUSH, deliver_subject="too.@")],
    ),
    row(
        "2.2 push, deliver cycle",
        10081,
        [consumed(deliver_subject="@.to"), reconsumed(PUSH, deliver_subject="@.to")],
        [consumed(**PUSH), consumed(deliver_subject="@")],
    ),
    row("2.2 push with max_waiting", 10080, [consumed(max_waiting=5, **PUSH)], [consumed(max_waiting=0, **PUSH)]),
    row(
        "2.2 push, ack none, max_ack_pending",
        10082,
        [consumed(max_ack_pending=5, **PUSH), reconsumed({**PUSH, "ack_policy": "none"}, max_ack_pending=5)],
        [consumed(max_ack_pending=5, ack_policy="explicit", **PUSH), consumed(max_ack_pending=5, ack_policy="none")],
    ),
    row(
        "2.2 push, inherited max_ack_pending",
        10082,
        [consumed(on={"consumer_limits": {"max_ack_pending": 5}}, **PUSH)],
        [
            consumed(on={"consumer_limits": {"max_ack_pending": 5}}, ack_policy="explicit", **PUSH),
            consumed(on={"consumer_limits": {"max_ack_pending": 5}}, max_ack_pending=-1, **PUSH),
        ],
    ),
    row(
        "2.2 push heartbeat",
        10083,
        [consumed(idle_heartbeat=1, **PUSH), consumed(idle_heartbeat=99 * MS, **PUSH)],
        [consumed(idle_heartbeat=100 * MS, **PUSH)],
    ),
    row(
        "2.2 push, flow control alone",
        10108,
        [consumed(flow_control=True, **PUSH)],
        [consumed(flow_control=True, idle_heartbeat=S, **PUSH)],
    ),
    row(
        "2.2 max_ack_pending of the account",
        10121,
        [
            consumed(ack_policy="explicit", max_ack_pending=101, room="few-pending"),
            reconsumed({}, room="few-pending", max_ack_pending=200),
        ],
        [
            consumed(ack_policy="explicit", max_ack_pending=100, room="few-pending"),
            consumed(ack_policy="explicit", max_ack_pending=-1, room="few-pending"),
            consumed(ack_policy="explicit", room="few-pending"),
        ],
    ),
    row(
        "2.2 max_ack_pending of the stream",
        10121,
        both({"max_ack_pending": 51}, on={"consumer_limits": {"max_ack_pending": 50}}),
        both({"max_ack_pending": 50}, {"max_ack_pending": 7}, on={"consumer_limits": {"max_ack_pending": 50}}),
    ),
    row(
        "2.2 inactive_threshold of the stream",
        10153,
        both({"inactive_threshold": 2 * M}, on={"consumer_limits": {"inactive_threshold": M}}),
        both(
            {"inactive_threshold": M}, {"inactive_threshold": 30 * S}, on={"consumer_limits": {"inactive_threshold": M}}
        ),
    ),
    row("2.2 negative replicas", 10133, both({"num_replicas": -1}), both({"num_replicas": 0})),
    row(
        "2.2 replicas on a single server",
        10074,
        both({"num_replicas": 3}),
        both({"num_replicas": 1}, {"num_replicas": 1}),
    ),
    row(
        "2.2 replicas of a work queue", 10074, both({"num_replicas": 3}, on=QUEUE), both({"num_replicas": 1}, on=QUEUE)
    ),
    row(
        "2.2 flow control acks need push",
        10218,
        [consumed(ack_policy="flow_control")],
        [consumed(ack_policy="flow_control", **PUSH)],
        since=(2, 14),
        allowed_since=(2, 14),
    ),
    *(
        row(
            f"2.2 flow control acks, {what}",
            code,
            [consumed(ack_policy="flow_control", **PUSH, **bad)],
            [consumed(ack_policy="flow_control", **PUSH, **good)],
            since=(2, 14),
            allowed_since=(2, 14),
        )
        for what, code, bad, good in (
            ("max_ack_pending", 10220, {"max_ack_pending": -1}, {"max_ack_pending": 10}),
            ("ack_wait", 10221, {"ack_wait": S}, {}),
            ("backoff", 10221, {"backoff": [S]}, {}),
            ("max_deliver", 10222, {"max_deliver": 5}, {}),
        )
    ),
    row(
        "2.2 work queue, ack none",
        10084,
        [consumed(on=QUEUE), consumed(on=QUEUE, ack_policy="none")],
        [consumed(on=QUEUE, ack_policy="explicit")],
    ),
    row(
        "2.2 work queue, not explicit",
        10098,
        [consumed(on=QUEUE, ack_policy="all"), consumed(on=QUEUE, **PUSH)],
        [consumed(on=QUEUE, ack_policy="explicit", **PUSH)],
    ),
    row(
        "2.2 work queue, deliver policy",
        10101,
        [
            consumed(on=QUEUE, ack_policy="explicit", deliver_policy="new"),
            consumed(on=QUEUE, ack_policy="explicit", deliver_policy="by_start_sequence", opt_start_seq=5),
        ],
        [consumed(on=QUEUE, ack_policy="explicit", deliver_policy="all")],
    ),
    row(
        "2.2 work queue, second without filter",
        10099,
        [consumed(on=QUEUE, others=[neighbour("d", filter_subject="@.a")], ack_policy="explicit")],
        [
            consumed(
                on=QUEUE, others=[neighbour("d", filter_subject="@.a")], ack_policy="explicit", filter_subject="@.b"
            )
        ],
    ),
    row(
        "2.2 work queue, colliding filters",
        10100,
        [
            consumed(
                on=QUEUE, others=[neighbour("d", filter_subject="@.*.x")], ack_policy="explicit", filter_subject="@.y.*"
            ),
            consumed(
                on=QUEUE,
                others=[neighbour("d", filter_subjects=["@.a", "@.b"])],
                ack_policy="explicit",
                filter_subjects=["@.c", "@.b"],
            ),
            consumed(on=QUEUE, others=[neighbour("d")], ack_policy="explicit", filter_subject="@.b"),
            reconsumed(
                {"filter_subject": "@.b"}, on=QUEUE, others=[neighbour("d", filter_subject="@.a")], filter_subject="@.*"
            ),
        ],
        [
            consumed(
                on=QUEUE, others=[neighbour("d", filter_subject="@.*.x")], ack_policy="explicit", filter_subject="@.*.y"
            ),
            reconsumed(
                {"filter_subject": "@.b"}, on=QUEUE, others=[neighbour("d", filter_subject="@.a")], filter_subject="@.c"
            ),
        ],
    ),
    row(
        "2.5 consumer count",
        10026,
        [
            consumed(on={"max_consumers": 1}, others=[neighbour("d")], ack_policy="explicit"),
            consumed(room="few-consumers", others=[neighbour("d"), neighbour("e")], ack_policy="explicit"),
            consumed(
                on={"max_consumers": 2},
                room="few-consumers",
                others=[neighbour("d"), neighbour("e")],
                ack_policy="explicit",
            ),
        ],
        [
            consumed(on={"max_consumers": 2}, others=[neighbour("d")], ack_policy="explicit"),
            reconsumed({}, on={"max_consumers": 1}, max_deliver=5),
            consumed(room="few-consumers", others=[neighbour("d")], ack_policy="explicit"),
        ],
    ),
    row("2.2 pause_until in the past", (), (), [consumed(ack_policy="explicit", pause_until="2024-01-01T00:00:00Z")]),
)

PRIORITY = (
    row(
        "2.3 group name",
        10162,
        both(
            {**PINNED, "priority_groups": ["a b"]},
            {**PINNED, "priority_groups": ["a)"]},
            {**PINNED, "priority_groups": ["x" * 17]},
            {**OVERFLOW, "priority_groups": ["ä"]},
        ),
        [consumed(ack_policy="explicit", **{**PINNED, "priority_groups": [name]}) for name in ("a/b=_-", "x" * 16)],
    ),
    row(
        "2.3 empty group name",
        10161,
        both({**PINNED, "priority_groups": [""]}),
        [consumed(ack_policy="explicit", **PINNED)],
    ),
    row(
        "2.3 policy without groups",
        10159,
        both({"priority_policy": "pinned_client"}, {"priority_policy": "overflow"}),
        [consumed(ack_policy="explicit", **OVERFLOW)],
    ),
    row(
        "2.3 push with policy",
        10178,
        [consumed(**PUSH, **PINNED), reconsumed(PUSH, **OVERFLOW)],
        [consumed(ack_policy="explicit", **PINNED)],
    ),
    row(
        "2.3 groups without policy",
        10196,
        both({"priority_groups": ["a"]}, {"priority_groups": ["a"], "priority_policy": "none"}),
        [consumed(ack_policy="explicit", **PINNED)],
        since=(2, 12),
    ),
    row(
        "2.3 timeout without policy",
        10197,
        both({"priority_timeout": S}),
        [consumed(ack_policy="explicit", **PINNED, priority_timeout=S)],
        since=(2, 12),
    ),
    row(
        "2.3 groups without policy on 2.11",
        (),
        (),
        both({"priority_groups": ["a"]}, {"priority_timeout": S}),
        allowed_until=(0, 1),
    ),
    row(
        "2.3 any ack policy and stream",
        (),
        (),
        [
            consumed(**PINNED),
            consumed(ack_policy="all", **OVERFLOW),
            consumed(on=QUEUE, ack_policy="explicit", **PINNED),
            consumed(ack_policy="explicit", **OVERFLOW, priority_timeout=S),
        ],
    ),
    row("2.3 prioritized before 2.12", 10025, both(PRIORITIZED), (), until=(2, 12)),
    row("2.3 prioritized", (), (), [consumed(ack_policy="explicit", **PRIORITIZED)], allowed_since=(2, 12)),
    row("2.3 several groups", (), (), [consumed(ack_policy="explicit", **{**PINNED, "priority_groups": ["a", "b"]})]),
)

UPDATE = (
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
            ("rename", PINNED, {"priority_groups": ["b"]}, ()),
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
        (),
        (),
        [
            reconsumed(
                {"filter_subject": "@.b"}, on=QUEUE, others=[neighbour("d", filter_subject="@.a")], filter_subject=None
            )
        ],
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

ROWS = (*CREATION, *PRIORITY, *UPDATE)
