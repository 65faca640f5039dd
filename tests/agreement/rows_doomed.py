"""Server-rules §5.5: what a server may take and then lose when it starts."""

from __future__ import annotations

from tests.agreement.row import M, S, created, neighbour, origin, row, updated

PLAIN = origin("@O", subjects=["@.o.>"])
AB = {"subjects": ["@.a", "@.b"]}

ROWS = (
    row(
        "5.5 source filter invalid by update",
        (),
        (),
        [
            updated(
                {**AB, "sources": [{"name": "@O"}]}, live=[PLAIN], sources=[{"name": "@O", "filter_subject": "a..b"}]
            )
        ],
        allowed_until=(0, 1),
    ),
    row("5.5 sealing a counter", 10052, [updated({"allow_msg_counter": True}, sealed=True)], since=(2, 12)),
    row(
        "5.5 counter with delete markers",
        10052,
        [
            created(allow_msg_counter=True, subject_delete_marker_ttl=S),
            updated({"allow_msg_counter": True}, subject_delete_marker_ttl=S),
        ],
        since=(2, 12),
    ),
    row("5.5 sealing schedules", 10052, [updated({"allow_msg_schedules": True}, sealed=True)], since=(2, 14, 2)),
    row(
        "5.5 subjects over a deliver subject",
        (),
        (),
        [updated({"subjects": ["@.a"]}, then=[neighbour("c", deliver_subject="@.to")], subjects=["@.>"])],
    ),
    row(
        "5.5 an origin's max_msg_size",
        (),
        (),
        [
            updated(
                {"subjects": ["@.a"], "max_msg_size": 50},
                then=[origin("@M", mirror={"name": "@S"}, max_msg_size=50)],
                max_msg_size=100,
            )
        ],
    ),
    row(
        "5.5 a deny_purge stream with markers",
        (),
        (),
        [created(deny_purge=True, subject_delete_marker_ttl=S), created(deny_purge=True)],
    ),
    row(
        "5.5 limits that consumers are given at a restart",
        (),
        (),
        [
            updated(
                {},
                then=[neighbour("c", ack_policy="none", deliver_subject="to.@")],
                consumer_limits={"max_ack_pending": 5},
            ),
            updated({}, then=[neighbour("c", ack_policy="none")], consumer_limits={"max_ack_pending": 5}),
        ],
    ),
    row(
        "5.5 a threshold that consumers are given at a restart",
        (),
        (),
        [updated({}, then=[neighbour("c", max_ack_pending=-1)], consumer_limits={"inactive_threshold": M})],
        allowed_since=(2, 12, 12),
    ),
)
