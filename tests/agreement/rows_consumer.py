"""Server-rules §2.2: names, filters, starts and numbers of a consumer."""

from __future__ import annotations

from tests.agreement.row import MS, M, S, both, consumed, reconsumed, row

LONG = "x" * 4097

ROWS = (
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
        "2.2 backoff beside a negative max_deliver",
        10116,
        [reconsumed({"max_deliver": -7}, backoff=[S])],
        [reconsumed({"max_deliver": -7}, backoff=[S], max_deliver=5), reconsumed({"max_deliver": -7}, ack_wait=S)],
        until=(2, 12),
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
    row("2.2 pause_until in the past", (), (), [consumed(ack_policy="explicit", pause_until="2024-01-01T00:00:00Z")]),
)
