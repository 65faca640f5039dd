"""What settings of a server refuse that no API shows: nobody can know it before."""

from __future__ import annotations

from tests.agreement.rooms import HIDDEN
from tests.agreement.row import MS, M, S, consumed, created, row, updated

ROWS = (
    row(
        "1.2/4 duplicate_window beyond the server's",
        10052,
        [created(room=HIDDEN, duplicate_window=5 * M), updated({}, room=HIDDEN, duplicate_window=M)],
        [
            created(room=HIDDEN, duplicate_window=20 * S),
            created(room=HIDDEN),
            updated({}, room=HIDDEN, max_age=100 * MS, duplicate_window=None),
        ],
    ),
    row(
        "2.2 max_ack_pending beyond the server's",
        10121,
        [consumed(room=HIDDEN, ack_policy="explicit", max_ack_pending=501)],
        [
            consumed(room=HIDDEN, ack_policy="explicit", max_ack_pending=500),
            consumed(room=HIDDEN, ack_policy="explicit"),
        ],
    ),
    row(
        "2.2 max_batch beyond the server's",
        10125,
        [consumed(room=HIDDEN, ack_policy="explicit", max_batch=51)],
        [consumed(room=HIDDEN, ack_policy="explicit", max_batch=50), consumed(room=HIDDEN, ack_policy="explicit")],
    ),
)
