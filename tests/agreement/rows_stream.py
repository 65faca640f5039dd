"""Server-rules §1.2: what a stream's configuration may say, on create and on update alike."""

from __future__ import annotations

from tests.agreement.row import MS, H, M, S, created, either, origin, row, updated

LONG = "x" * 4097
SUBJECTS = {"subjects": ["@.a", "@.b.*"]}
PLAIN = origin("@O", subjects=["@.o.>"])
WIDE = {"a": "x" * 131_100}


def mirror(**body: object) -> dict[str, object]:
    return {"name": "@O", **body}


def transforms(*pairs: tuple[str, str]) -> dict[str, object]:
    return {"subject_transforms": [{"src": src, "dest": dest} for src, dest in pairs]}


def sourced(**body: object) -> dict[str, object]:
    return {"sources": [{"name": "@O", **body}], **SUBJECTS}


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
            created(allow_msg_counter=True, **SUBJECTS, **more)
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
    *(
        row(
            f"1.2/11 mirror with {field}",
            code,
            [created(mirror=mirror(), live=[PLAIN], **{field: value})],
            [created(mirror=mirror(), live=[PLAIN]), updated({"mirror": mirror()}, live=[PLAIN], max_age=H)],
            since=since,
        )
        for field, value, code, since in (
            ("first_seq", 5, 10143, ()),
            ("subjects", ["@.a"], 10034, ()),
            ("sources", [{"name": "@O"}], 10031, ()),
            ("allow_msg_counter", True, 10173, (2, 12)),
            ("allow_atomic", True, 10198, (2, 12)),
            ("allow_batched", True, 10209, (2, 14)),
            ("allow_msg_schedules", True, 10186, (2, 12)),
        )
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
    row(
        "1.2/15 subject invalid",
        10052,
        either(*({"subjects": [s]} for s in ("@..a", "@.>.a", ".@", "@ a.b", "@\ta"))),
        either(*({"subjects": [s]} for s in ("@.a*", "@.foo>", "@.>", "@.*.b", "@.Ümläut"))),
    ),
    row(
        "1.2/15 subjects overlap",
        10052,
        either({"subjects": ["@.a", "@.a"]}, {"subjects": ["@.*", "@.a"]}, {"subjects": ["@.*.b", "@.a.*"]}),
        either({"subjects": ["@.a", "@.b"]}, {"subjects": ["@.*", "@.a.b"]}),
    ),
    row(
        "1.2/15 everything",
        10052,
        [created(subjects=[">"], room="alone"), updated({}, subjects=[">"], room="alone")],
        [created(subjects=[">"], no_ack=True, room="alone"), updated({}, subjects=[">"], no_ack=True, room="alone")],
    ),
    row(
        "1.2/15 subjects of the server",
        10052,
        [
            created(subjects=[s], room="alone")
            for s in ("*.>", "$JS.>", "$JS.API.>", "$JSC.>", "$NRG.>", "$SYS.>", "$SYS.ACC.x", "$JS.*.a", "*.EVENT.a")
        ],
        [
            created(subjects=[s], room="alone")
            for s in ("*", "$JS.EVENT.>", "$JS.EVENT.ADVISORY.a", "$SYS.ACCOUNT.>", "$KV.x.>", "_INBOX.>", "$JS")
        ]
        + [created(subjects=[s], no_ack=True, room="alone") for s in ("*.>", "$JS.>", "$SYS.>")],
    ),
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
        "1.2/17 transform source",
        10155,
        either({"subject_transform": {"src": "a..b", "dest": "c"}}),
        either({"subject_transform": {"src": "a.b", "dest": "c"}}),
    ),
    row(
        "1.2/17 transform destination",
        10156,
        either(
            *(
                {"subject_transform": {"src": src, "dest": dest}}
                for src, dest in (
                    ("a.*", "b.{{wildcard(2)}}"),
                    ("a.*", "b.{{nonsense(1)}}"),
                    ("a.>", "b"),
                    ("a.*", "b.*.*"),
                    ("a.*", "b.{{partition(x,1)}}"),
                    ("a", "b..c"),
                )
            )
        ),
        either(
            *(
                {"subject_transform": {"src": src, "dest": dest}}
                for src, dest in (
                    ("a.*", "b.{{wildcard(1)}}"),
                    ("a.>", "b.>"),
                    ("a.*", "b.$1"),
                    ("a.*", "{{partition(5,1)}}.x"),
                    ("a.*", ""),
                    ("a.*", "b.{{split(1,-)}}"),
                )
            )
        ),
    ),
    row(
        "1.2/17 transform functions by version",
        10156,
        either(
            {"subject_transform": {"src": "a.*", "dest": "b.{{left(1,2)}}"}},
            {"subject_transform": {"src": "a.*", "dest": "b.{{right(1,2)}}"}},
        ),
        either({"subject_transform": {"src": "a.*", "dest": "b.{{splitfromleft(1,2)}}"}}),
        until=(2, 15),
    ),
    row(
        "1.2/17 transforms of 2.12",
        10156,
        either(
            {"subject_transform": {"src": "a.*", "dest": "b.{{partition(3)}}"}},
            {"subject_transform": {"src": "a.*", "dest": "b.{{random(3)}}"}},
        ),
        either({"subject_transform": {"src": "a.*", "dest": "b.{{partition(3,1)}}"}}),
        until=(2, 12),
    ),
    row(
        "1.2/18 republish",
        10052,
        either(
            {"republish": {"src": ">", "dest": "@.r.>"}},
            {"republish": {"src": "@.a", "dest": "@.a"}},
            {"republish": {"src": "@.*", "dest": "r.{{wildcard(2)}}"}},
            {"republish": {"src": ">", "dest": ">"}},
            base={"subjects": ["@.>"]},
        ),
        either(
            {"republish": {"src": ">", "dest": "rp.@.>"}},
            {"republish": {"src": "", "dest": "rp.@.>", "headers_only": True}},
            {"republish": {"src": ">", "dest": ">"}, "subject_transform": {"src": "@.>", "dest": "tr.@.>"}},
            base={"subjects": ["@.>"]},
        ),
    ),
    row(
        "1.2/19 placement preferred",
        10052,
        either({"placement": {"preferred": "n1"}}),
        either({"placement": {"cluster": "C"}}, {"placement": {"tags": ["a"]}}, {"placement": {}}),
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
"""In the server's own order."""
