"""The same rules for what is stored in a stream: KV buckets, object stores, the queues of elastic groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reconciler.model.resource import Address
from tests.agreement.case import Body, Case, Live
from tests.agreement.row import MS, H, S, origin, row

KV: Body = {
    "storage": "memory", "subjects": ["$KV.@b.>"], "max_msgs_per_subject": 1, "discard": "new", "allow_rollup_hdrs": True,
    "deny_delete": True, "allow_direct": True,
}  # fmt: skip
OBJECTS: Body = {
    "storage": "memory", "subjects": ["$O.@b.C.>", "$O.@b.M.>"], "discard": "new", "allow_rollup_hdrs": True, "allow_direct": True,
}  # fmt: skip
MEMORY: Body = {"storage": "memory"}
SHAPES = {"kv_bucket": ("KV_@b", KV), "object_store": ("OBJ_@b", OBJECTS)}
MIRRORED = Live(on=("OBJ_@b",), body={"storage": "memory", "mirror": {"name": "KV_@o"}})
QUEUE: Body = {
    "type": "elastic", "max_members": 2, "partitioning_filters": [{"filter": "@.*", "partitioning_wildcards": [1]}],
}  # fmt: skip
ORIGIN = origin("KV_@o", subjects=["$KV.@o.>"], max_msgs_per_subject=1)


def new(kind: str, *, live: Sequence[Live] = (), **body: Any) -> Case:
    return Case(at=Address.of(kind, "@b"), body={"storage": "memory", **body}, live=tuple(live))


def edited(kind: str, base: Body | None = None, *, live: Sequence[Live] = (), **edit: Any) -> Case:
    name, shape = SHAPES[kind]
    raw = {key: value for key, value in {**shape, **(base or {})}.items() if value is not None}
    return Case(at=Address.of(kind, "@b"), body=edit, live=(*live, Live(on=(name,), body=raw)), edits=True)


def strayed(kind: str, body: Body = MEMORY, /, **raw: Any) -> Case:
    """Declared plainly, beside a live one that somebody set otherwise."""
    name, shape = SHAPES[kind]
    return Case(at=Address.of(kind, "@b"), body=body, live=(Live(on=(name,), body={**shape, **raw}),))


def either(kind: str, *bodies: Body, live: Sequence[Live] = ()) -> list[Case]:
    return [case for body in bodies for case in (new(kind, live=live, **body), edited(kind, live=live, **body))]


Line = tuple[str, int | Sequence[int], Sequence[Case], Sequence[Case], tuple[int, ...], tuple[int, ...]]
"""What it is about, the server's answer, refused, allowed, since, until."""


def _both(kind: str) -> tuple[Line, ...]:
    """What holds for buckets and object stores alike."""
    return (
        ("storage", 10052, [edited(kind, storage="file")], [edited(kind, ttl=H)], (), ()),
        (
            "age",
            10052,
            either(kind, {"ttl": -1}, {"ttl": 99 * MS}),
            either(kind, {"ttl": 100 * MS}, {"ttl": H}),
            (),
            (),
        ),
        (
            "preferred server",
            10052,
            either(kind, {"placement": {"preferred": "n"}}),
            either(kind, {"placement": {"tags": ["a"]}}),
            (),
            (),
        ),
        (
            "numbers",
            (10052, 10133),
            either(kind, {"num_replicas": 6}, {"num_replicas": -1}),
            either(kind, {"num_replicas": 1}),
            (),
            (),
        ),
        ("replicas", 10074, [new(kind, num_replicas=3)], [new(kind)], (), ()),
        (
            "description",
            10052,
            either(kind, {"description": "x" * 4097}),
            either(kind, {"description": "x" * 4096}),
            (),
            (),
        ),
        *(
            (
                f"{field} set by somebody",
                codes,
                [strayed(kind, **{field: True, **others})],
                [edited(kind, max_bytes=1000)],
                since,
                (),
            )
            for field, codes, others, since in (
                ("sealed", 10052, {}, ()),
                ("deny_purge", 10052, {"allow_rollup_hdrs": False}, ()),
                ("allow_msg_counter", 10052, {"discard": "old"}, (2, 12)),
                ("allow_msg_schedules", 10052, {"discard": "old"}, (2, 12)),
            )
        ),
        (
            "retention set by somebody",
            10052,
            [strayed(kind, retention="workqueue")],
            [edited(kind, max_bytes=1000)],
            (),
            (),
        ),
        (
            "writes put off by somebody",
            10052,
            [strayed(kind, {}, storage="file", persist_mode="async")],
            [edited(kind, max_bytes=1000)],
            (2, 12),
            (),
        ),
        (
            "consumers bounded by somebody",
            10052,
            [strayed(kind, max_consumers=5)],
            [edited(kind, max_bytes=1000)],
            (),
            (2, 12),
        ),
        ("replicas later", 10074, [edited(kind, num_replicas=3)], [edited(kind, max_bytes=1000)], (2, 14), ()),
    )


BOTH = tuple(
    row(f"{kind}, {what}", code, refused, allowed, since=since, until=until)
    for kind in SHAPES
    for what, code, refused, allowed, since, until in _both(kind)
)

ROWS = (
    *BOTH,
    row(
        "kv_bucket, mirror",
        10055,
        [edited("kv_bucket", {"mirror": {"name": "KV_@o"}, "subjects": None}, live=[ORIGIN], mirror={"name": "KV_@p"})],
        [new("kv_bucket", live=[ORIGIN], mirror={"name": "KV_@o"})],
    ),
    row(
        "kv_bucket, mirror with more",
        (10052, 10031),
        [
            new("kv_bucket", live=[ORIGIN], mirror={"name": "KV_@o"}, sources=[{"name": "KV_@o"}]),
            new("kv_bucket", live=[ORIGIN], mirror={"name": "KV_@o"}, limit_marker_ttl=S),
        ],
        [new("kv_bucket", live=[ORIGIN], mirror={"name": "KV_@o"})],
    ),
    row(
        "kv_bucket, origin",
        (10141, 10142, 10144),
        [new("kv_bucket", mirror={"name": "a.b"}), *either("kv_bucket", {"sources": [{"name": "a.b"}]})],
        either("kv_bucket", {"sources": [{"name": "KV_@o"}]}, live=[ORIGIN]),
    ),
    row(
        "kv_bucket, transform",
        (10145, 10146),
        either(
            "kv_bucket",
            {"sources": [{"name": "KV_@o", "subject_transforms": [{"src": "a..b", "dest": "x"}]}]},
            live=[ORIGIN],
        ),
        either(
            "kv_bucket",
            {"sources": [{"name": "KV_@o", "subject_transforms": [{"src": "$KV.@o.>", "dest": "$KV.@b.>"}]}]},
            live=[ORIGIN],
        ),
    ),
    row(
        "kv_bucket, republish",
        10052,
        either("kv_bucket", {"republish": {"src": ">", "dest": "$KV.@b.>"}}),
        either("kv_bucket", {"republish": {"src": ">", "dest": "rp.@.>"}}),
    ),
    row(
        "kv_bucket, markers",
        10052,
        either("kv_bucket", {"limit_marker_ttl": S - 1}, {"limit_marker_ttl": -1}),
        either("kv_bucket", {"limit_marker_ttl": S}),
    ),
    row(
        "kv_bucket, deletions denied",
        10052,
        [edited("kv_bucket", deny_delete=False)],
        [edited("kv_bucket", {"deny_delete": False}, deny_delete=None), new("kv_bucket", deny_delete=False)],
    ),
    row(
        "kv_bucket, values with a time to live",
        10052,
        [
            edited("kv_bucket", {"allow_msg_ttl": True}, allow_msg_ttl=None),
            edited(
                "kv_bucket",
                {"allow_msg_ttl": True, "subject_delete_marker_ttl": S},
                allow_msg_ttl=None,
                limit_marker_ttl=None,
            ),
        ],
        [
            edited("kv_bucket", allow_msg_ttl=True),
            edited(
                "kv_bucket",
                {"allow_msg_ttl": True, "subject_delete_marker_ttl": S},
                limit_marker_ttl=None,
                allow_msg_ttl=True,
            ),
        ],
    ),
    row(
        "kv_bucket, too young",
        10025,
        either(
            "kv_bucket",
            {"sources": [{"name": "KV_@o", "consumer": {"name": "c", "deliver_subject": "x"}}]},
            live=[ORIGIN],
        ),
        (),
        since=(2, 12),
        until=(2, 14),
    ),
    row("object_store, sealed", 10052, [new("object_store", sealed=True)], [edited("object_store", sealed=True)]),
    row(
        "object_store, deletions denied by somebody",
        10052,
        [strayed("object_store", deny_delete=True), strayed("object_store", allow_msg_ttl=True)],
        [edited("object_store", ttl=H)],
    ),
    row(
        "object_store, mirror promoted",
        10055,
        [Case(at=Address.of("object_store", "@b"), body={"storage": "memory"}, live=(ORIGIN, MIRRORED))],
        until=(2, 12),
    ),
    row(
        "elastic group, queue's name taken",
        10058,
        [
            Case(
                at=Address.of("elastic_group", "@S", "g"),
                body=QUEUE,
                live=(origin("@S", subjects=["@.>"]), origin("@S-g", subjects=["@x.>"])),
            )
        ],
        [
            Case(
                at=Address.of("elastic_group", "@S", "g"),
                room="alone",
                body={
                    "type": "elastic",
                    "max_members": 2,
                    "partitioning_filters": [{"filter": "@.*", "partitioning_wildcards": [1]}],
                },
                live=(origin("@S", subjects=["@.>"]),),
            )
        ],
    ),
    row(
        "elastic group, whole subject",
        10146,
        [
            Case(
                at=Address.of("elastic_group", "@S", "g"),
                room="alone",
                body={"type": "elastic", "max_members": 2},
                live=(origin("@S", subjects=["@.>"]),),
            )
        ],
        (),
        until=(2, 12),
    ),
)
