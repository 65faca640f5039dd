"""Server-rules §2.3: priority groups."""

from __future__ import annotations

from tests.agreement.case import Body
from tests.agreement.row import S, both, consumed, reconsumed, row

PUSH: Body = {"deliver_subject": "to.@"}
PINNED: Body = {"priority_policy": "pinned_client", "priority_groups": ["a"]}
OVERFLOW: Body = {"priority_policy": "overflow", "priority_groups": ["a"]}
PRIORITIZED: Body = {"priority_policy": "prioritized", "priority_groups": ["a"]}
QUEUE: Body = {"retention": "workqueue"}

ROWS = (
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
