"""Server-rules §1.2, 11 to 14: mirrors, sources, what is elsewhere, and cycles."""

from __future__ import annotations

from typing import Any

from tests.agreement.row import H, created, either, origin, row, updated

SUBJECTS = {"subjects": ["@.a", "@.b.*"]}
PLAIN = origin("@O", subjects=["@.o.>"])


def mirror(**body: object) -> dict[str, object]:
    return {"name": "@O", **body}


def transforms(*pairs: tuple[str, str]) -> dict[str, object]:
    return {"subject_transforms": [{"src": src, "dest": dest} for src, dest in pairs]}


def sourced(**body: object) -> dict[str, object]:
    return {"sources": [{"name": "@O", **body}], **SUBJECTS}


FORBIDDEN_TO_MIRRORS: tuple[tuple[str, Any, int, tuple[int, ...]], ...] = (
    ("first_seq", 5, 10143, ()),
    ("subjects", ["@.a"], 10034, ()),
    ("sources", [{"name": "@O"}], 10031, ()),
    ("allow_msg_counter", True, 10173, (2, 12)),
    ("allow_atomic", True, 10198, (2, 12)),
    ("allow_batched", True, 10209, (2, 14)),
    ("allow_msg_schedules", True, 10186, (2, 12)),
)

ROWS = (
    *(
        row(
            f"1.2/11 mirror with {field}",
            code,
            [created(mirror=mirror(), live=[PLAIN], **{field: value})],
            [created(mirror=mirror(), live=[PLAIN]), updated({"mirror": mirror()}, live=[PLAIN], max_age=H)],
            since=since,
        )
        for field, value, code, since in FORBIDDEN_TO_MIRRORS
    ),
    row(
        "1.2/11 mirror filter and transforms",
        (10150, 10151, 10154, 10152),
        [
            created(mirror=mirror(filter_subject="@.o.a", **transforms(("@.o.b", "x"))), live=[PLAIN]),
            created(mirror=mirror(**transforms(("a..b", "x"))), live=[PLAIN]),
            created(mirror=mirror(**transforms(("@.o.*", "x.{{wildcard(2)}}"))), live=[PLAIN]),
            created(mirror=mirror(**transforms(("@.o.*", "x.>"), ("@.o.a", "y"))), live=[PLAIN]),
        ],
        [
            created(mirror=mirror(filter_subject="@.o.a"), live=[PLAIN]),
            created(mirror=mirror(**transforms(("@.o.a", "x"), ("@.o.b", "y"))), live=[PLAIN]),
            created(mirror=mirror(**transforms(("@.o.*", "x.{{wildcard(1)}}"))), live=[PLAIN]),
        ],
    ),
    *(
        row(
            f"1.2/11 mirror transform, {what}",
            code,
            [created(mirror=mirror(**more), live=[PLAIN])],
            [created(mirror=mirror(**fine), live=[PLAIN])],
        )
        for what, code, more, fine in (
            (
                "with a filter",
                10150,
                {"filter_subject": "@.o.a", **transforms(("@.o.b", "x"))},
                transforms(("@.o.b", "x")),
            ),
            ("source invalid", 10151, transforms(("a..b", "x")), transforms(("a.b", "x"))),
            (
                "destination invalid",
                10154,
                transforms(("@.o.*", "x.{{wildcard(2)}}")),
                transforms(("@.o.*", "x.{{wildcard(1)}}")),
            ),
            (
                "sources collide",
                10152,
                transforms(("@.o.*", "x.a"), ("@.o.a", "y")),
                transforms(("@.o.b", "x.a"), ("@.o.a", "y")),
            ),
        )
    ),
    row(
        "1.2/11 mirror name",
        10142,
        [created(mirror={"name": "a.b"}), created(mirror={"name": ""})],
        [created(mirror={"name": "@missing"})],
    ),
    row(
        "1.2/11 mirror max_msg_size",
        10030,
        [created(mirror=mirror(), max_msg_size=10, live=[origin("@O", subjects=["@.o"], max_msg_size=20)])],
        [
            created(mirror=mirror(), max_msg_size=20, live=[origin("@O", subjects=["@.o"], max_msg_size=20)]),
            created(mirror=mirror(), max_msg_size=10, live=[PLAIN]),
        ],
    ),
    row(
        "1.2/11 mirror of itself",
        10052,
        [created(mirror={"name": "@S"}), created(mirror=mirror(), live=[origin("@O", mirror={"name": "@S"})])],
        [created(mirror=mirror(), live=[origin("@O", mirror={"name": "@P"})])],
    ),
    row(
        "1.2/11 mirror filter invalid",
        10049,
        [created(mirror=mirror(filter_subject="a..b"), live=[PLAIN])],
        [created(mirror=mirror(filter_subject="a.b"), live=[PLAIN])],
    ),
    row(
        "1.2/11 mirror consumer",
        10213,
        [
            created(mirror=mirror(consumer={"name": name, "deliver_subject": to}, **more), live=[PLAIN])
            for name, to, more in (
                ("a.b", "x", {}),
                ("c", "x.*", {}),
                ("c", "x", {"opt_start_seq": 5}),
                ("c", "x", {"filter_subject": "a"}),
            )
        ],
        [created(mirror=mirror(consumer={"name": "c", "deliver_subject": "x"}), live=[PLAIN])],
        since=(2, 14),
        allowed_since=(2, 14),
    ),
    row(
        "1.2/11 mirrors may",
        (),
        (),
        [
            created(mirror=mirror(opt_start_seq=5, opt_start_time="2026-01-01T00:00:00Z"), live=[PLAIN]),
            created(mirror=mirror(), retention="interest", live=[PLAIN]),
            created(mirror=mirror(), subject_transform={"src": ">", "dest": "m.>"}, live=[PLAIN]),
        ],
    ),
    row(
        "1.2/12 sources and schedules",
        10187,
        either({**sourced(), "allow_msg_schedules": True}, live=[PLAIN], base=SUBJECTS),
        either({**sourced()}, live=[PLAIN], base=SUBJECTS),
        since=(2, 12),
    ),
    *(
        row(
            f"1.2/12 source, {what}",
            code,
            either(bad, live=[PLAIN], base=SUBJECTS),
            either(good, live=[PLAIN], base=SUBJECTS),
        )
        for what, code, bad, good in (
            ("name", 10141, {"sources": [{"name": "a.b"}]}, {"sources": [{"name": "@missing"}]}),
            (
                "twice",
                10140,
                {"sources": [{"name": "@O"}, {"name": "@O"}]},
                {"sources": [{"name": "@O", "filter_subject": "@.o.a"}, {"name": "@O", "filter_subject": "@.o.b"}]},
            ),
            (
                "filter and transforms",
                10144,
                sourced(filter_subject="@.o.a", **transforms(("@.o.b", "x"))),
                sourced(filter_subject="@.o.a"),
            ),
            ("transform source", 10145, sourced(**transforms(("a..b", "x"))), sourced(**transforms(("a.b", "x")))),
            (
                "transform destination",
                10146,
                sourced(**transforms(("a.*", "x.{{wildcard(2)}}"))),
                sourced(**transforms(("a.*", "x.{{wildcard(1)}}"))),
            ),
            (
                "transform sources overlap",
                10147,
                sourced(**transforms(("a.*", "x.{{wildcard(1)}}"), ("a.b", "y"))),
                sourced(**transforms(("a.*.c", "x.{{wildcard(1)}}"), ("a.b.*", "y.{{wildcard(1)}}"))),
            ),
            ("filter invalid", (10049, 10052), sourced(filter_subject="a..b"), sourced(filter_subject="a.b")),
        )
    ),
    row(
        "1.2/12 source max_msg_size",
        10046,
        either(
            {**sourced(), "max_msg_size": 10}, live=[origin("@O", subjects=["@.o"], max_msg_size=20)], base=SUBJECTS
        ),
        either(
            {**sourced(), "max_msg_size": 20}, live=[origin("@O", subjects=["@.o"], max_msg_size=20)], base=SUBJECTS
        ),
    ),
    row(
        "1.2/12 source consumer",
        10215,
        either(
            sourced(consumer={"name": "a.b", "deliver_subject": "x"}),
            sourced(consumer={"name": "c", "deliver_subject": "x.*"}),
            live=[PLAIN],
            base=SUBJECTS,
        ),
        either(sourced(consumer={"name": "c", "deliver_subject": "x"}), live=[PLAIN], base=SUBJECTS),
        since=(2, 14),
        allowed_since=(2, 14),
    ),
    row(
        "1.2/12 source consumer twice",
        10216,
        either(
            {
                "sources": [
                    {"name": "@O", "consumer": {"name": "c", "deliver_subject": "x"}, **transforms((src, "t"))}
                    for src in ("@.o.a", "@.o.b")
                ]
            },
            live=[PLAIN],
            base=SUBJECTS,
        ),
        either(
            {"sources": [{"name": name, "consumer": {"name": "c", "deliver_subject": "x"}} for name in ("@O", "@P")]},
            live=[PLAIN],
            base=SUBJECTS,
        ),
        since=(2, 14),
        allowed_since=(2, 14),
    ),
    *(
        row(
            f"1.2/13 external, {what}",
            code,
            (
                created(mirror=mirror(external=bad), live=[PLAIN]),
                *either(sourced(external=bad), live=[PLAIN], base=SUBJECTS),
            ),
            (
                created(mirror=mirror(external=good), live=[PLAIN]),
                *either(sourced(external=good), live=[PLAIN], base=SUBJECTS),
            ),
        )
        for what, code, bad, good in (
            ("deliver wildcard", 10024, {"api": "hub.api", "deliver": "x.*"}, {"api": "hub.api", "deliver": "x"}),
            ("api wildcard", 10052, {"api": "hub.*.api", "deliver": ""}, {"api": "hub.api", "deliver": ""}),
            ("api is our own", 10021, {"api": "$JS.API", "deliver": ""}, {"api": "$JS.hub.API", "deliver": ""}),
        )
    ),
    row(
        "1.2/13 external, deliver overlaps an origin",
        10022,
        either(
            {"sources": [{"name": "@O"}, {"name": "@far", "external": {"api": "$JS.hub.API", "deliver": "@"}}]},
            live=[origin("@O", subjects=["@.>"])],
            base={"subjects": ["own.@"]},
        ),
        either(
            {"sources": [{"name": "@O"}, {"name": "@far", "external": {"api": "$JS.hub.API", "deliver": "far.@"}}]},
            live=[origin("@O", subjects=["@.>"])],
            base={"subjects": ["own.@"]},
        ),
    ),
    row(
        "1.2/14 cycle",
        10052,
        [
            created(
                subjects=["@.s"],
                sources=[{"name": "@O"}],
                live=[origin("@O", subjects=["@.o"], sources=[{"name": "@S"}])],
            ),
            updated(
                {"subjects": ["@.s"]},
                then=[origin("@O", subjects=["@.o"], sources=[{"name": "@S"}])],
                sources=[{"name": "@O"}],
            ),
            updated(
                {"subjects": ["@.s"]},
                then=[origin("@P", mirror={"name": "@S"}), origin("@O", subjects=["@.o"], sources=[{"name": "@P"}])],
                sources=[{"name": "@O"}],
            ),
        ],
        [
            created(
                subjects=["@.s"],
                sources=[{"name": "@O"}],
                live=[origin("@O", subjects=["@.o"], sources=[{"name": "@P"}])],
            ),
            updated(
                {"subjects": ["@.s"]},
                then=[origin("@O", subjects=["@.o"], sources=[{"name": "@S", "filter_subject": "@.s"}])],
                sources=[{"name": "@O", "filter_subject": "zzz"}],
            ),
        ],
    ),
)
