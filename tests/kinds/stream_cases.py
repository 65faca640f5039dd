"""Configurations of streams with what is wrong about each, by rule: what was there before, and what a file then says."""

from __future__ import annotations

from collections.abc import Iterator

from tests.primitives.bodies import MS, Body, S

Case = tuple[Body | None, Body]
"""What a file said that was applied (None: nothing is there yet), and what it says now."""

MIRROR = {"mirror": {"name": "ORIGIN"}}
HUB = {"external": {"api": "hub.api"}}
DURABLE = {"name": "copy", "deliver_subject": "deliver.here"}
ORIGIN = {"name": "ORIGIN"}
NOW = "2026-03-01T08:00:00Z"


def new(*bodies: Body) -> list[Case]:
    return [(None, body) for body in bodies]


def both(*bodies: Body, before: Body | None = None) -> list[Case]:
    """As a new stream, and as an update of one."""
    return [case for body in bodies for case in ((None, body), (before or {}, body))]


def copying(**origin: object) -> list[Case]:
    """As a mirror, as a new source, and as a source that an update adds."""
    body = {"name": "ORIGIN", **origin}
    before = {"sources": [{"name": "OTHER"}]}
    return [(None, {"mirror": body}), (None, {"sources": [body]}), (before, {"sources": [body]})]


def sources(*origins: Body) -> list[Case]:
    return both({"sources": [{**ORIGIN, **origin} for origin in origins]}, before={"sources": [{"name": "OTHER"}]})


def transforms(*of_one: tuple[str, str]) -> dict[str, object]:
    return {"subject_transforms": [{"src": src, "dest": dest} for src, dest in of_one]}


FLAGGED: dict[str, list[Case]] = {
    "ST110": [
        ({"sources": [ORIGIN]}, {"sources": [{**ORIGIN, "opt_start_seq": 5}]}),
        ({"sources": [{**ORIGIN, "opt_start_seq": 5}]}, {"sources": [{**ORIGIN, "opt_start_time": NOW}]}),
    ],
    "ST511": [*both({"num_replicas": 3}, {"num_replicas": 5, "storage": "memory"})],
    "ST544": [
        *both({"max_age": -1}, {"max_age": 50 * MS}, {"max_age": 100 * MS - 1}),
        *both({"duplicate_window": -1}, {"duplicate_window": 50 * MS}),
        *both({"max_age": S, "duplicate_window": S + 1}, {**MIRROR, "max_age": S, "duplicate_window": 2 * S})[:3],
        *both({"subject_delete_marker_ttl": -S}, {"subject_delete_marker_ttl": S - 1}),
        ({"duplicate_window": 60 * S}, {"duplicate_window": 60 * S, "max_age": 30 * S}),
    ],
    "ST545": [
        *both({"deny_purge": True, "allow_rollup_hdrs": True}),
        ({"deny_purge": True}, {"deny_purge": True, "allow_rollup_hdrs": True}),
        *new({"allow_msg_schedules": True, "deny_purge": True, "allow_rollup_hdrs": True}),
        *new({"subject_delete_marker_ttl": S, "deny_purge": True, "allow_rollup_hdrs": True}),
        *new({"allow_msg_counter": True, "discard": "new"}, {"allow_msg_counter": True, "allow_msg_ttl": True}),
        *new({"allow_msg_counter": True, "subject_delete_marker_ttl": S}),
        *new({"allow_msg_counter": True, "retention": "interest"}),
        *new({"allow_msg_counter": True, "retention": "workqueue"}),
        *new({"allow_msg_counter": True, "allow_msg_schedules": True}),
        ({"allow_msg_counter": True}, {"allow_msg_counter": True, "discard": "new"}),
        ({"allow_msg_counter": True}, {"allow_msg_counter": True, "retention": "interest"}),
        ({"allow_msg_counter": True}, {"allow_msg_counter": True, "sealed": True}),
        *both({"allow_msg_schedules": True, "discard": "new"}),
        ({"allow_msg_schedules": True}, {"allow_msg_schedules": True, "sealed": True}),
        *both({"allow_msg_schedules": True, "sources": [ORIGIN]}),
        *both({"discard_new_per_subject": True}, {"discard_new_per_subject": True, "discard": "new"}),
        *both({"discard_new_per_subject": True, "max_msgs_per_subject": 5}),
        *new({"persist_mode": "async", "storage": "memory"}, {"persist_mode": "async", "allow_atomic": True}),
        *new({"persist_mode": "async", "num_replicas": 3}),
        ({"persist_mode": "async"}, {"persist_mode": "async", "allow_atomic": True}),
        *both({"mirror_direct": True}),
    ],
    "ST546": [
        *new(*({**MIRROR, name: True} for name in ("allow_msg_counter", "allow_atomic", "allow_batched"))),
        *new({**MIRROR, "allow_msg_schedules": True}, {**MIRROR, "first_seq": 5}),
        *new({**MIRROR, "subjects": ["{name}"]}, {**MIRROR, "sources": [{"name": "OTHER"}]}),
        *new({**MIRROR, "subject_delete_marker_ttl": S}),
        (MIRROR, {**MIRROR, "subjects": ["{name}"]}),
        (MIRROR, {**MIRROR, "first_seq": 5}),
        (MIRROR, {**MIRROR, "allow_atomic": True}),
    ],
    "ST547": [
        *copying(name="a.b"),
        *copying(name="a b"),
            *copying(name="a/b"),
        *copying(name="x" * 256),
        *copying(name="a.b", **HUB),
        *copying(name="a/b", **HUB),
        *copying(filter_subject="a", **transforms(("a", "b"))),
        *copying(filter_subject="a", **transforms(("a", "b")), **HUB),
        *copying(filter_subject="a..b"),
        *copying(filter_subject="a b"),
        *copying(filter_subject=">.a", **HUB),
        *copying(external={"api": "hub.api", "deliver": "d.*"}),
        *copying(external={"api": "hub.api", "deliver": "d..a"}),
        *copying(external={"api": "hub.*"}),
        *copying(external={"api": "hub..a"}),
        *copying(external={"api": "$JS.API"}),
        *(case for broken in (
            {"name": "copy"}, {"deliver_subject": "d"}, {"name": "a.b", "deliver_subject": "d"},
            {"name": "copy", "deliver_subject": "d.*"}, {"name": "copy", "deliver_subject": "d..a"},
            {"name": "c" * 256, "deliver_subject": "d"},
        ) for case in copying(consumer=broken)),
        *copying(consumer=DURABLE, opt_start_seq=4),
        *copying(consumer=DURABLE, opt_start_time=NOW),
        *copying(consumer=DURABLE, filter_subject="a"),
        *sources({}, {}),
        *sources({}, {"opt_start_seq": 5}),
        *sources({}, {"filter_subject": ">"}),
        *sources({}, transforms((">", ""))),
        *sources({"filter_subject": "a"}, transforms(("a", ">"))),
        *sources(HUB, {"external": {"api": "hub.api", "deliver": "d"}}),
        *sources({"consumer": DURABLE}, {"consumer": DURABLE}),
        *sources({"consumer": DURABLE, **transforms(("a", ""))}, {"consumer": DURABLE, **transforms(("b", ""))}),
    ],
    "ST548": [
        *new(*({"subjects": [subject]} for subject in (
            "$JS.x", "$JS.API.>", "$JSC.x", "$NRG.x", "$SYS.x", "*.a", "$JS.*", "*.EVENT.q", "*.>", "*.*.c.>",
            "$SYS.*.b", ">",
        ))),
        *both({"subjects": [">"], "num_replicas": 3, "no_ack": True}),
        ({"subjects": ["$JS.API.{name}"], "no_ack": True}, {"subjects": ["$JS.API.{name}"]}),
    ],
    "ST549": [
        *both(*({"subject_transform": {"src": src, "dest": dest}} for src, dest in (
            ("a..b", "b"), ("a..b", ""), ("a.*", "b.*"), ("a.*", "b.{{wildcard(2)}}"), ("a.>", "b"), ("a", "b.>"), ("a.*", "b c"),
            ("a.*", "{{foo(1)}}"), ("a.*", "{{partition(0,1)}}"), ("a.*", "{{wildcard(0)}}"),
        ))),
        *copying(**transforms(("a..b", "b"))),
        *copying(**transforms(("a..b", ""))),
        *copying(**transforms(("a.*", "b.*"))),
        *copying(**transforms(("a.*", "b.*")), **HUB),
        *copying(**transforms(("a..b", "b")), **HUB),
        *copying(**transforms(("a.*", ""), ("a.b", "x"))),
        *copying(**transforms(("a.b", ""), ("a.*", ""))),
        *copying(**transforms(("a.*", ""), ("a.*", "x.{{wildcard(1)}}"))),
        *copying(**transforms(("", ""), (">", ""))),
        *copying(**transforms(("a.*", ""), ("a.b", "x")), **HUB),
        (None, {"mirror": {**ORIGIN, **transforms(("a.*", ""), ("*.b", ""))}}),
        (None, {"mirror": {**ORIGIN, **transforms(("", "b.>"), ("", "c.>"))}}),
    ],
    "ST550": [
        *both(*({"republish": republish} for republish in (
            {"src": ">", "dest": ">"}, {"dest": ">"}, {"src": ">"}, {"headers_only": True},
            {"src": "a..b", "dest": "x"}, {"src": "a.*", "dest": "x.*"}, {"src": ">", "dest": "x"},
            {"src": "a", "dest": "{name}"}, {"src": "a.*", "dest": "x.{{foo(1)}}"},
            {"src": "a.*", "dest": "x.{{partition(0,1)}}"}, {"src": "a.*", "dest": "x y.{{wildcard(1)}}"},
        ))),
        *both({"subjects": ["{name}.*"], "republish": {"src": "{name}.*", "dest": "{name}.{{wildcard(1)}}"}}),
        ({"republish": {"src": ">", "dest": "{name}.x.>"}},
         {"subjects": ["{name}.>"], "republish": {"src": ">", "dest": "{name}.x.>"}}),
    ],
    "ST551": [*both({"placement": {"preferred": "n1"}}, {"placement": {"cluster": "C", "preferred": "n1"}})],
    "ST552": [
        *both({"num_replicas": 6}, {"num_replicas": -1}, {"max_msg_size": 1 << 31}, {"first_seq": -1}),
        *both({"description": "x" * 4097}, {"description": "ü" * 2049}),
        *both({"metadata": {"a": "x" * 131_056}}, {"metadata": {"a": "x" * 131_055, "b": "ü"}}),
        *copying(opt_start_seq=-5),
    ],
}  # fmt: skip
"""By the rule that must speak, on the newest server at least."""

FINE: list[Case] = [
    ({"sources": [ORIGIN]}, {"sources": [{**ORIGIN, "opt_start_seq": 5, "filter_subject": "a"}]}),
    ({"sources": [{**ORIGIN, "opt_start_seq": 5}]}, {"sources": [{"name": "OTHER"}, {**ORIGIN, "opt_start_seq": 5}]}),
    *both({"max_age": 100 * MS}, {"duplicate_window": 100 * MS}, {"max_age": S, "duplicate_window": S}),
    *both({"duplicate_window": 3600 * S}, {"subject_delete_marker_ttl": S}, {"subject_delete_marker_ttl": 9 * S, "max_age": S}),
    ({"max_age": 3600 * S}, {"max_age": S}),
    *new({"num_replicas": 1}, {"max_msg_size": (1 << 31) - 1}, {"first_seq": 7}),
    *both({"description": "ü" * 2048}, {"metadata": {"a": "x" * 131_000}}),
    *new({"metadata": {"a": "x" * 131_055}}),
    *both({"max_msgs": -7, "description": "x"}, {"max_msg_size": -1, "description": "x"}, {"consumer_limits": {"max_ack_pending": -4}}),
    *both({"placement": {"cluster": "C", "tags": ["a"]}}),
    *both({"deny_purge": True}, {"allow_rollup_hdrs": True}, {"deny_purge": True, "deny_delete": True}),
    *new({"subject_delete_marker_ttl": S, "deny_purge": True}, {"allow_msg_schedules": True, "deny_purge": True}),
    *new({"allow_msg_counter": True, "max_age": S, "max_msgs": 5, "discard": "old"}),
    *both({"allow_msg_schedules": True, "subject_transform": {"src": "{name}", "dest": "b"}}),
    *new({"allow_msg_schedules": True, "retention": "workqueue"}),
    *both({"discard_new_per_subject": True, "discard": "new", "max_msgs_per_subject": 1}),
    *new({"persist_mode": "async", "allow_batched": True}, {**MIRROR, "mirror_direct": True}),
    *new(*({**MIRROR, **more} for more in (
        {"retention": "workqueue"}, {"allow_msg_ttl": True}, {"deny_delete": True}, {"discard": "new"}, {"no_ack": True},
        {"persist_mode": "async"}, {"consumer_limits": {"max_ack_pending": 4}}, {"max_consumers": 3},
        {"subject_transform": {"src": "a", "dest": "b"}}, {"republish": {"src": ">", "dest": ">"}},
    ))),
    (MIRROR, {**MIRROR, "max_age": S}),
    ({}, {"sealed": True}),
    *copying(),
    *copying(filter_subject="a.*.>"),
    *copying(opt_start_seq=5, opt_start_time=NOW),
    *copying(external={"api": "hub.api", "deliver": "d.e"}),
    *copying(external={"deliver": "d"}),
    *copying(external={"api": "$JS.API.x"}),
    *copying(consumer=DURABLE),
    *copying(consumer=DURABLE, **transforms(("a", "b"))),
    *copying(**transforms(("a.*", ""))),
    *copying(**transforms(("", "b.>"))),
    *copying(**transforms(("", ""), ("a", ""))),
    *copying(**transforms(("a.*", "{{partition(3,1)}}.b"), ("b", ""))),
    (None, {"sources": [{**ORIGIN, **transforms(("a.*", ""), ("*.b", ""))}]}),
    (None, {"sources": [{**ORIGIN, **transforms(("", "b.>"), ("", "c.>"))}]}),
    *sources({"filter_subject": "a"}, {"filter_subject": "b"}),
    *sources({"filter_subject": "a.>"}, {"filter_subject": "a.b"}),
    *sources({}, HUB, {"external": {"api": "other.api"}}),
    *sources(transforms(("a", ""), ("b", "")), transforms(("b", ""), ("a", ""))),
    *both(*({"subjects": [subject]} for subject in (
        "$JS.EVENT.{name}.>", "$SYS.ACCOUNT.{name}", "$JS.{name}", "$KV.{name}.>", "_INBOX.{name}", "{name}.*a.>",
    )[0:2])),
    *new({"subjects": ["$JS"]}, {"subjects": ["$SYS"]}, {"subjects": ["$JS.API.{name}"], "no_ack": True}),
    *new({"subjects": ["$SYS.q.{name}"], "no_ack": True}),
    *both(*({"subject_transform": {"src": src, "dest": dest}} for src, dest in (
        ("a.*", "b.{{wildcard(1)}}"), ("a.>", "b.>"), ("", "b.>"), ("a", "b"), ("a.*", "b"),
    ))),
    *both(*({"republish": republish} for republish in (
        {"dest": "r.>"}, {"src": "a.*", "dest": "x.{{wildcard(1)}}"}, {"src": "zz", "dest": "x"},
        {"src": "a.*", "dest": "x.{{left(1,2)}}"}, {"src": "a", "dest": "$JS.API.x"},
    ))),
    ({"subjects": ["{name}"]}, {"subjects": ["{name}"], "subject_transform": {"src": "{name}", "dest": "x.{name}"},
                                "republish": {"src": ">", "dest": ">"}}),
]  # fmt: skip
"""Nothing is wrong, on any version that knows the fields."""

VARYING: list[Case] = [
    *both(*({part: {"src": "a.*", "dest": f"x.{function}"}} for part in ("subject_transform", "republish") for function in (
        "{{left(1,2)}}", "{{random(3)}}", "{{partition(3)}}", "{{random(0)}}",
    ))),
    *both(*({part: {"src": "a.b", "dest": "x.{{partition(3,1)}}"}} for part in ("subject_transform", "republish"))),
    *copying(**transforms(("a.*", "{{right(1,2)}}"))),
    *sources({"consumer": DURABLE}, {}),
    *sources({"consumer": DURABLE, **HUB}, {"consumer": {**DURABLE, "name": "other"}, **HUB}),
    *both({"allow_batched": True}, {"allow_atomic": True}),
    ({"subject_delete_marker_ttl": S}, {"subject_delete_marker_ttl": S, "sealed": True}),
    *new({"persist_mode": "async", "allow_msg_counter": True}),
]  # fmt: skip
"""Right on one version, refused or dropped on another."""

_COMMON: list[Case] = [
    *both({"ttl": 50 * MS}, {"ttl": -1}, {"ttl": S}, {"num_replicas": 3}, {"num_replicas": -1}, {"num_replicas": 9}),
    *both({"placement": {"preferred": "n1"}}, {"placement": {"cluster": "C"}}, {"description": "x" * 4097}),
    *both({"metadata": {"a": "x" * 131_056}}, {"metadata": {"a": "x" * 131_000}}),
]
BUCKETS: dict[str, list[Case]] = {
    "object_store": _COMMON,
    "kv_bucket": [
        *_COMMON,
        *both({"limit_marker_ttl": S - 1}, {"limit_marker_ttl": S}, {"max_value_size": 1 << 31}, {"max_value_size": 5}),
        *both(*({"republish": {"src": ">", "dest": dest}} for dest in (">", "$KV.{name}.>", "changed.{name}.>", "a", "x.*"))),
        *new({"mirror": {"name": "KV_other"}, "limit_marker_ttl": S}, {"mirror": {"name": "KV_other"}}),
        *new({"mirror": {"name": "KV_other"}, "sources": [ORIGIN]}, {"mirror": {"name": "KV.other"}}),
        *both(*({"sources": [{**ORIGIN, **more}]} for more in (
            {}, {"name": "a.b"}, {"filter_subject": "a", **transforms(("a", "b"))}, transforms(("a.*", "b.*")),
            {"external": {"api": "hub.*"}}, transforms(("$KV.x.>", "$KV.{name}.>")), {"opt_start_seq": -1},
        ))),
        *both({"sources": [ORIGIN, ORIGIN]}),
        ({}, {"mirror": {"name": "KV_other"}}),
    ],
}  # fmt: skip
"""What can go wrong in streams through the fields of buckets, and what is fine."""


def every_case() -> Iterator[Case]:
    for cases in FLAGGED.values():
        yield from cases
    yield from FINE
    yield from VARYING
