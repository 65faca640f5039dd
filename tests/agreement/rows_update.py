"""Server-rules §1.3: what an update may do to a live stream."""

from __future__ import annotations

from tests.agreement.row import H, M, S, neighbour, origin, row, updated

PLAIN = origin("@O", subjects=["@.o.>"])
AB = {"subjects": ["@.a", "@.b"]}
SEALED = {**AB, "sealed": True}

ROWS = (
    row(
        "1.3 storage",
        10052,
        [
            updated({}, storage="file"),
            updated({"storage": "file"}, storage="memory"),
            updated({"storage": "memory"}, storage=None),
        ],
        [updated({"storage": "file"}, max_age=H), updated({"storage": "file"}, storage=None)],
    ),
    row(
        "1.3 retention limits and interest",
        (),
        (),
        [updated({}, retention="interest"), updated({"retention": "interest"}, retention="limits")],
    ),
    row(
        "1.3 retention and work queues",
        10052,
        [
            updated({}, retention="workqueue"),
            updated({"retention": "interest"}, retention="workqueue"),
            updated({"retention": "workqueue"}, retention="limits"),
            updated({"retention": "workqueue"}, retention=None),
        ],
        [updated({"retention": "workqueue"}, max_age=H)],
    ),
    row(
        "1.3 max_consumers",
        10052,
        [
            updated({}, max_consumers=5),
            updated({"max_consumers": 5}, max_consumers=6),
            updated({"max_consumers": 5}, max_consumers=-1),
        ],
        [updated({"max_consumers": 5}, max_age=H)],
        until=(2, 12, 5),
    ),
    row(
        "1.3 max_consumers of 2.12.5",
        (),
        (),
        [
            updated({}, max_consumers=5),
            updated({"max_consumers": 5}, max_consumers=6),
            updated({}, then=[neighbour("c1"), neighbour("c2")], max_consumers=1),
        ],
        allowed_since=(2, 12, 5),
    ),
    row(
        "1.3 mirror added or changed",
        10055,
        [
            updated({}, live=[PLAIN], mirror={"name": "@O"}, subjects=None),
            updated({"mirror": {"name": "@O"}}, live=[PLAIN], mirror={"name": "@P"}),
            updated({"mirror": {"name": "@O"}}, live=[PLAIN], mirror={"name": "@O", "filter_subject": "@.o.a"}),
        ],
        [updated({"mirror": {"name": "@O"}}, live=[PLAIN], max_msgs=5)],
    ),
    row(
        "1.3 mirror promoted",
        10055,
        [
            updated({"mirror": {"name": "@O"}}, live=[PLAIN], mirror=None),
            updated({"mirror": {"name": "@O"}}, live=[PLAIN], mirror=None, subjects=["@.new"]),
        ],
        [updated({"mirror": {"name": "@O"}}, live=[PLAIN], max_msgs=5)],
        until=(2, 12),
    ),
    row(
        "1.3 mirror promoted since 2.12",
        (),
        (),
        [
            updated({"mirror": {"name": "@O"}}, live=[PLAIN], mirror=None),
            updated({"mirror": {"name": "@O"}}, live=[PLAIN], mirror=None, subjects=["@.new"]),
        ],
        allowed_since=(2, 12),
    ),
    row(
        "1.3 sources",
        (),
        (),
        [
            updated(AB, live=[PLAIN], sources=[{"name": "@O"}]),
            updated({**AB, "sources": [{"name": "@O"}]}, live=[PLAIN], sources=None),
            updated(
                {**AB, "sources": [{"name": "@O"}]}, live=[PLAIN], sources=[{"name": "@O", "filter_subject": "@.o.a"}]
            ),
            updated({**AB, "sources": [{"name": "@O"}]}, live=[PLAIN], sources=[{"name": "@O", "opt_start_seq": 5}]),
            updated({"sources": [{"name": "@O"}]}, live=[PLAIN], sources=None),
        ],
    ),
    row(
        "1.3 replicas on a single server",
        10074,
        [updated({}, num_replicas=3)],
        [updated({}, num_replicas=1, max_age=H)],
        since=(2, 14),
    ),
    row(
        "1.3 replicas on a single server, accepted",
        (),
        (),
        [updated({}, num_replicas=3), updated(AB, num_replicas=5)],
        allowed_until=(2, 14),
    ),
    row(
        "1.3 unsealing",
        10052,
        [updated(SEALED, sealed=False), updated(SEALED, sealed=None)],
        [updated({}, sealed=True), updated({}, sealed=False, max_age=H)],
    ),
    row("1.3 sealed stays as it is", (), (), [updated(SEALED, description="kept"), updated(SEALED, max_msgs=5)]),
    row(
        "1.3 deny_delete cancelled",
        10052,
        [updated({"deny_delete": True}, deny_delete=False), updated({"deny_delete": True}, deny_delete=None)],
        [updated({"deny_delete": True}, max_age=H), updated({}, deny_delete=True)],
    ),
    row(
        "1.3 deny_purge cancelled",
        10052,
        [
            updated({"deny_purge": True}, deny_purge=False),
            updated({"deny_purge": True}, deny_purge=None),
            updated({"deny_purge": True}, subject_delete_marker_ttl=S),
        ],
        [updated({"deny_purge": True}, max_age=H), updated({}, deny_purge=True)],
    ),
    row(
        "1.3 message TTL cancelled",
        10052,
        [updated({"allow_msg_ttl": True}, allow_msg_ttl=False), updated({"allow_msg_ttl": True}, allow_msg_ttl=None)],
        [updated({"allow_msg_ttl": True}, max_age=H), updated({}, allow_msg_ttl=True)],
    ),
    row(
        "1.3 delete markers removed",
        10052,
        [updated({"subject_delete_marker_ttl": S}, subject_delete_marker_ttl=None, allow_msg_ttl=None)],
        [
            updated({"subject_delete_marker_ttl": S}, subject_delete_marker_ttl=None, allow_msg_ttl=True),
            updated({"subject_delete_marker_ttl": S}, subject_delete_marker_ttl=M),
        ],
    ),
    row(
        "1.3 counter",
        10052,
        [updated({}, allow_msg_counter=True), updated({"allow_msg_counter": True}, allow_msg_counter=None)],
        [updated({"allow_msg_counter": True}, max_age=H)],
        since=(2, 12),
        allowed_since=(2, 12),
    ),
    row(
        "1.3 schedules cancelled",
        10052,
        [updated({"allow_msg_schedules": True}, allow_msg_schedules=None)],
        [updated({"allow_msg_schedules": True}, max_age=H), updated({}, allow_msg_schedules=True)],
        since=(2, 12),
        allowed_since=(2, 12),
    ),
    row(
        "1.3 persist_mode",
        10052,
        [
            updated({"storage": "file"}, persist_mode="async"),
            updated({"storage": "file", "persist_mode": "async"}, persist_mode=None),
        ],
        [updated({"storage": "file", "persist_mode": "async"}, max_age=H)],
        since=(2, 12),
        allowed_since=(2, 12),
    ),
    row(
        "1.3 atomic batches",
        (),
        (),
        [updated({}, allow_atomic=True), updated({"allow_atomic": True}, allow_atomic=None)],
        allowed_since=(2, 12),
    ),
    row(
        "1.3 fast batches",
        (),
        (),
        [updated({}, allow_batched=True), updated({"allow_batched": True}, allow_batched=None)],
        allowed_since=(2, 14),
    ),
    row(
        "1.3 consumer_limits below a consumer's",
        10069,
        [
            updated({}, then=[neighbour("c", max_ack_pending=100)], consumer_limits={"max_ack_pending": 50}),
            updated(
                {}, then=[neighbour("c", inactive_threshold=10 * M)], consumer_limits={"inactive_threshold": 5 * M}
            ),
            updated({}, then=[neighbour("c")], consumer_limits={"max_ack_pending": 500}),
        ],
        [
            updated({}, then=[neighbour("c", max_ack_pending=100)], consumer_limits={"max_ack_pending": 100}),
            updated({}, then=[neighbour("c", inactive_threshold=5 * M)], consumer_limits={"inactive_threshold": 5 * M}),
            updated({}, consumer_limits={"max_ack_pending": 5}),
        ],
    ),
    row(
        "1.3 consumer_limits removed",
        10069,
        [updated({"consumer_limits": {"max_ack_pending": 50}}, then=[neighbour("c")], consumer_limits=None)],
        [updated({"consumer_limits": {"max_ack_pending": 50}}, consumer_limits=None)],
        until=(2, 14),
    ),
    row("1.3 first_seq", (), (), [updated({}, first_seq=5), updated({"first_seq": 5}, first_seq=7)]),
    row(
        "1.3 subjects removed and added",
        (),
        (),
        [
            updated(AB, subjects=["@.a"]),
            updated(AB, subjects=["@.b", "@.c"], messages=("@.a",)),
            updated({"sources": [{"name": "@O"}]}, live=[PLAIN], subjects=["@.x"]),
        ],
    ),
    row(
        "1.3 limits lowered",
        (),
        (),
        [
            updated(AB, messages=("@.a", "@.a", "@.b"), max_msgs=1),
            updated(AB, messages=("@.a", "@.a"), max_msgs_per_subject=1),
            updated(AB, messages=("@.a", "@.a"), max_bytes=30),
            updated(AB, messages=("@.a",), max_age=H),
            updated({**AB, "discard": "new"}, messages=("@.a", "@.b"), max_msgs=1),
            updated({**AB, "max_msgs": 5}, max_msgs=10),
            updated(AB, messages=("@.a",), retention="interest"),
            updated(AB, messages=("@.a",), then=[neighbour("c")], retention="interest"),
        ],
    ),
    row(
        "1.3 free fields",
        (),
        (),
        [
            updated(AB, **edit)
            for edit in (
                {"description": "x"},
                {"metadata": {"a": "b"}},
                {"max_msgs": 5},
                {"max_age": H},
                {"max_bytes": 1000},
                {"max_msg_size": 100},
                {"max_msgs_per_subject": 3},
                {"discard": "new"},
                {"duplicate_window": S},
                {"no_ack": True},
                {"compression": "s2"},
                {"subject_transform": {"src": "@.a", "dest": "@.x"}},
                {"republish": {"src": ">", "dest": "rp.@.>"}},
                {"allow_direct": True},
                {"allow_rollup_hdrs": True},
                {"discard_new_per_subject": True, "discard": "new", "max_msgs_per_subject": 1},
                {"placement": {"tags": ["a"]}},
            )
        ]
        + [
            updated(
                {
                    **AB,
                    "description": "x",
                    "max_age": H,
                    "compression": "s2",
                    "allow_direct": True,
                    "placement": {"tags": ["a"]},
                },
                description=None,
                max_age=None,
                compression=None,
                allow_direct=None,
                placement=None,
            )
        ],
    ),
)
