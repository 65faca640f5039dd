"""Server-rules §1.2, 15 to 19: subjects, transforms, republishing, placement."""

from __future__ import annotations

from tests.agreement.row import created, either, row, updated


def transforms(*pairs: tuple[str, str]) -> dict[str, object]:
    return {"subject_transforms": [{"src": src, "dest": dest} for src, dest in pairs]}


ROWS = (
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
)
