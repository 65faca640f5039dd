"""Server-rules §1.2, 0 to 10: names, numbers and flags of a stream, on create and on update alike."""

from __future__ import annotations

from tests.agreement.case import Body
from tests.agreement.row import MS, H, M, S, created, either, origin, row, updated

LONG = "x" * 4097
SUBJECTS: Body = {"subjects": ["@.a", "@.b.*"]}
PLAIN = origin("@O", subjects=["@.o.>"])
WIDE = {"a": "x" * 131_100}


def mirror(**body: object) -> dict[str, object]:
    return {"name": "@O", **body}


ROWS = (
    row(
        "1.2/0 name",
        (10128, 10052),
        [created(name="@a/b"), created(name="@a\\b"), created(name="@a*b"), created(name="@" + "n" * 255)],
        [created(name="@Ümläut"), created(name="@'{$%"), created(name="@case"), created(name="@" + "n" * 240)],
    ),
    row("1.2/0 sealed at creation", 10052, [created(sealed=True)], [created(sealed=False), updated({}, sealed=True)]),
    row(
        "1.2/0 mirror_direct without a mirror",
        10052,
        [created(mirror_direct=True)],
        [updated({}, mirror_direct=True), created(mirror=mirror(), mirror_direct=True, live=[PLAIN])],
    ),
    row(
        "1.2/1 description",
        10052,
        either({"description": LONG}),
        either({"description": LONG[1:]}, {"description": "é"}),
    ),
    row(
        "1.2/1 metadata",
        10052,
        either({"metadata": WIDE}),
        either({"metadata": {"a": "x" * 131_000}}, {"metadata": {"a": "b"}}),
    ),
    row(
        "1.2/1 enums",
        10025,
        either({"retention": "never"}, {"storage": "FILE"}, {"compression": "zip"}),
        either({"discard": "NEW"}),
    ),
    row(
        "1.2/2 replicas out of range",
        (10052, 10133),
        either({"num_replicas": 6}, {"num_replicas": -1}),
        either({"num_replicas": 0}, {"num_replicas": 1}),
    ),
    row(
        "1.2/2 replicas on a single server",
        10074,
        [created(num_replicas=3), created(num_replicas=2)],
        [created(num_replicas=1)],
    ),
    row(
        "1.2/3 max_age",
        10052,
        either({"max_age": -1}, {"max_age": 1}, {"max_age": 100 * MS - 1}),
        either({"max_age": 100 * MS}, {"max_age": 5 * M}, {"max_age": 0}),
    ),
    row(
        "1.2/4 duplicate_window",
        10052,
        either({"duplicate_window": -1}, {"duplicate_window": 99 * MS}, {"duplicate_window": 2 * S, "max_age": S}),
        either({"duplicate_window": 100 * MS}, {"duplicate_window": S, "max_age": S}, {"duplicate_window": 10 * M}),
    ),
    row(
        "1.2/5 deny_purge and rollup",
        10052,
        either({"deny_purge": True, "allow_rollup_hdrs": True}),
        either({"deny_purge": True}, {"allow_rollup_hdrs": True}),
    ),
    row(
        "1.2/6 counter with what it cannot count",
        10052,
        [
            created(allow_msg_counter=True, **{**SUBJECTS, **more})
            for more in (
                {"discard": "new"},
                {"allow_msg_ttl": True},
                {"retention": "interest"},
                {"retention": "workqueue"},
            )
        ]
        + [
            updated({"allow_msg_counter": True}, discard="new"),
            updated({"allow_msg_counter": True}, allow_msg_ttl=True),
        ],
        [
            created(allow_msg_counter=True),
            created(allow_msg_counter=True, max_msgs=5),
            updated({"allow_msg_counter": True}, max_age=H),
        ],
        since=(2, 12),
        allowed_since=(2, 12),
    ),
    row(
        "1.2/6 counter with schedules",
        10052,
        [created(allow_msg_counter=True, allow_msg_schedules=True)],
        [created(allow_msg_counter=True), created(allow_msg_schedules=True)],
        since=(2, 14),
        allowed_since=(2, 12),
    ),
    row(
        "1.2/7 discard_new_per_subject",
        10052,
        either(
            {"discard_new_per_subject": True},
            {"discard_new_per_subject": True, "discard": "new"},
            {"discard_new_per_subject": True, "max_msgs_per_subject": 1},
        ),
        either({"discard_new_per_subject": True, "discard": "new", "max_msgs_per_subject": 1}, {"discard": "new"}),
    ),
    row(
        "1.2/8 subject_delete_marker_ttl",
        10052,
        (
            *either({"subject_delete_marker_ttl": S - 1}, {"subject_delete_marker_ttl": -1}),
            created(mirror=mirror(), live=[PLAIN], subject_delete_marker_ttl=S),
        ),
        either({"subject_delete_marker_ttl": S}, {"subject_delete_marker_ttl": 0}),
    ),
    row(
        "1.2/9 schedules with discard new",
        10052,
        either({"allow_msg_schedules": True, "discard": "new"}),
        either({"allow_msg_schedules": True}),
        since=(2, 14, 2),
        allowed_since=(2, 12),
    ),
    row(
        "1.2/10 persist_mode async",
        10052,
        [
            created(persist_mode="async"),
            created(persist_mode="async", storage="file", allow_atomic=True),
            updated({"persist_mode": "async", "storage": "file"}, allow_atomic=True),
        ],
        [
            created(persist_mode="async", storage="file"),
            created(persist_mode="default"),
            updated({"persist_mode": "async", "storage": "file"}, max_age=H),
        ],
        since=(2, 12),
        allowed_since=(2, 12),
    ),
)
