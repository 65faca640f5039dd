"""Server-rules §2.2 and §2.5: what the stream, its retention and the account leave to a consumer."""

from __future__ import annotations

from tests.agreement.case import Body
from tests.agreement.row import M, S, both, consumed, neighbour, reconsumed, row

PUSH: Body = {"deliver_subject": "to.@"}
QUEUE: Body = {"retention": "workqueue"}

ROWS = (
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
)
