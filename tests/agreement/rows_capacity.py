"""Server-rules §1.2, 16 and 20 to 22: what the account has room for, and whose subjects are whose."""

from __future__ import annotations

from tests.agreement.row import H, created, origin, row, updated

ROWS = (
    row(
        "1.2/16 max_bytes demanded",
        10113,
        [created(room="bytes-required"), created(room="bytes-required", max_bytes=-1)],
        [
            created(room="bytes-required", max_bytes=1000),
            created(room="bytes-required", storage="file", max_bytes=1 << 20),
        ],
    ),
    row(
        "1.2/16 max_bytes above the account's",
        10122,
        [
            created(room="bytes-required", max_bytes=(1 << 20) + 1),
            created(room="bytes-required", max_bytes=(2 << 20) + 1, storage="file"),
        ],
        [
            created(room="bytes-required", max_bytes=1 << 20),
            created(room="bytes-required", max_bytes=2 << 20, storage="file"),
        ],
    ),
    row(
        "1.2/20 streams of the account",
        10027,
        [created(room="few-streams", live=[origin("@A"), origin("@B")])],
        [
            created(room="few-streams", live=[origin("@A")]),
            updated({}, room="few-streams", live=[origin("@A")], max_age=H),
        ],
    ),
    row(
        "1.2/20 max_consumers of the account",
        10026,
        [created(room="few-consumers", max_consumers=3)],
        [created(room="few-consumers", max_consumers=2), created(room="few-consumers")],
    ),
    row(
        "1.2/20 reserved file storage",
        10047,
        [
            created(room="small-store", storage="file", max_bytes=3 << 20),
            created(
                room="small-store",
                storage="file",
                max_bytes=(1 << 20) + 1,
                live=[origin("@A", storage="file", max_bytes=1 << 20)],
            ),
            updated({"storage": "file", "max_bytes": 1 << 20}, room="small-store", max_bytes=(2 << 20) + 1),
        ],
        [
            created(room="small-store", storage="file", max_bytes=2 << 20),
            created(
                room="small-store",
                storage="file",
                max_bytes=1 << 20,
                live=[origin("@A", storage="file", max_bytes=1 << 20)],
            ),
            updated({"storage": "file", "max_bytes": 1 << 20}, room="small-store", max_bytes=2 << 20),
        ],
    ),
    row(
        "1.2/20 reserved memory",
        10028,
        [
            created(room="small-store", max_bytes=2 << 20),
            created(room="small-store", max_bytes=600_000, live=[origin("@A", max_bytes=600_000)]),
            updated({"max_bytes": 1 << 20}, room="small-store", max_bytes=(1 << 20) + 1),
        ],
        [
            created(room="small-store", max_bytes=1 << 20),
            created(room="small-store", max_bytes=400_000, live=[origin("@A", max_bytes=600_000)]),
            updated({"max_bytes": 1 << 19}, room="small-store", max_bytes=1 << 20),
        ],
    ),
    row(
        "1.2/22 subjects of another stream",
        10065,
        [
            created(subjects=["@.a"], live=[origin("@O", subjects=["@.>"])]),
            created(live=[origin("@O", subjects=["@S"])]),
            created(subjects=["@.*.x"], live=[origin("@O", subjects=["@.y.*"])]),
            updated({"subjects": ["@.a"]}, live=[origin("@O", subjects=["@.b"])], subjects=["@.a", "@.b"]),
        ],
        [
            created(subjects=["@.a"], live=[origin("@O", subjects=["@.b"])]),
            created(subjects=["@.a.*"], live=[origin("@O", subjects=["@.*"])]),
            updated({"subjects": ["@.a"]}, live=[origin("@O", subjects=["@.b"])], subjects=["@.a", "@.c"]),
        ],
    ),
)
