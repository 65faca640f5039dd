"""Server-rules §2.2: what only pull or only push consumers may say, and acknowledging by flow control."""

from __future__ import annotations

from tests.agreement.case import Body
from tests.agreement.row import MS, S, both, consumed, reconsumed, row

PUSH: Body = {"deliver_subject": "to.@"}

ROWS = (
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
            [consumed(ack_policy="flow_control", **{**PUSH, **bad})],
            [consumed(ack_policy="flow_control", **{**PUSH, **good})],
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
)
