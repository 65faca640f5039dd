"""Cases that were untrue once, or that nothing drawn comes near."""

from __future__ import annotations

from typing import Any

from tests.truth import measuring
from tests.truth.account import Work
from tests.truth.case import Case

ALL = frozenset(range(1000))


def stream(consumers: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"streams": {"S": {"subjects": ["s.>"], "consumers": consumers, **fields}}}


def taking(*subjects: str) -> dict[str, Any]:
    found = {"ack_policy": "explicit"}
    return found | (
        {} if not subjects else {"filter_subjects": list(subjects)} if subjects[1:] else {"filter_subject": subjects[0]}
    )


def mirrored(consumer: dict[str, Any]) -> dict[str, Any]:
    file = stream({"c": consumer}, allow_direct=True)
    file["streams"]["COPY"] = {"mirror": {"name": "S", "filter_subject": "s.a"}, "mirror_direct": True}
    return file


DISJOINT = {"a": taking("s.a"), "b": taking("s.b")}
FIRST_A_THEN_B = (*[("s.a", 10)] * 100, *[("s.b", 10)] * 100)
SOME = tuple((f"s.{letter}", 10) for letter in "aabcbcabcc")

BY_HAND = (
    *(
        Case(
            codes=("ST301",), before=stream(DISJOINT, retention="workqueue", allow_direct=direct), messages=FIRST_A_THEN_B,
            work={"a": Work(), "b": Work(10, ALL)}, measure=measuring.trimmed,
            after=stream(DISJOINT, retention="workqueue", allow_direct=direct, **lowered),
        )
        for direct in (True, False)
        for lowered in ({"max_msgs": 90}, {"max_bytes": 4000})
    ),
    *(
        Case(  # where messages were deleted, nats-server 2.11 finds another one at a time than the first
            codes=("ST301",), before=stream({}, storage=storage), messages=SOME, pause=5, young=3.5, later=SOME * 2,
            deleted=deleted, after=stream({}, storage=storage, max_age="4s"), measure=measuring.trimmed,
        )
        for storage in ("file", "memory")
        for deleted in (tuple(range(12, 24)), tuple(range(2, 30, 2)), tuple(range(11, 31)))
    ),
    Case(  # the default is a limit
        codes=("KV301",), stream="KV_B", messages=(("$KV.B.a", 1),) * 5, before={"kv_buckets": {"B": {"history": 10}}},
        after={"kv_buckets": {"B": {"history": 1}}}, measure=measuring.bucket_trimmed,
    ),
    Case(  # subjects that refuse what is new are trimmed as well
        codes=("ST301",), before=stream({}, discard="new", max_msgs_per_subject=10), messages=SOME, measure=measuring.trimmed,
        after=stream({}, discard="new", max_msgs_per_subject=2, discard_new_per_subject=True), replacing=("ST601",),
    ),
    Case(  # what it had passed is given to it from the beginning on
        codes=("CO301",), before=stream({"c": taking("s.b", "s.c")}, retention="workqueue"), messages=SOME,
        work={"c": Work(5, ALL)}, after=stream({"c": taking()}, retention="workqueue"), measure=measuring.filtered,
    ),
    Case(  # neither narrower nor wider
        codes=("CO301",), before=stream({"c": taking("s.a", "s.b")}, allow_direct=True), messages=SOME,
        work={"c": Work(4, ALL)}, after=stream({"c": taking("s.b", "s.c")}, allow_direct=True), measure=measuring.filtered,
    ),
    *(
        Case(  # a mirror of a part answers direct gets of the stream as well
            codes=("CO301",), before=mirrored(taking()), messages=SOME * 3, work={"c": Work(4, ALL)}, after=mirrored(taking(one)),
            measure=measuring.filtered,
        )
        for one in ("s.a", "s.b", "s.c")
    ),
    Case(  # a subject is narrowed, and a consumer takes nothing of what is left out
        codes=("ST303",), before=stream({"c": taking("s.b")}), messages=SOME, work={"c": Work(1, ALL)},
        after=stream({"c": taking("s.b")}, subjects=["s.b"]), measure=measuring.no_longer_taken,
    ),
    *(
        Case(  # the same change lowers a limit, which deletes some of what is under the subject that goes
            codes=("ST303",), before=stream({"c": taking("s.b")}, allow_direct=True), messages=SOME, work={"c": Work(1, ALL)},
            after=stream({"c": taking("s.b")}, allow_direct=True, subjects=["s.b"], **limit), measure=measuring.no_longer_taken,
            replacing=("ST301",),
        )
        for limit in ({"max_msgs": 4}, {"max_msgs": 1}, {"max_msgs_per_subject": 2}, {"max_bytes": 200})
    ),
    *(
        Case(  # what the filter has left out, or what is purged, is in flight for nobody
            codes=("ST302",), before=stream({"c": taking()}, allow_direct=direct), messages=(("s.a", 10), ("s.c", 10)) * 20,
            work={"c": Work(20, done)}, after=stream({"c": taking(*then)}, allow_direct=direct, retention="interest"),
            ready=measuring.turned("c", taking(*then), 10, purged), measure=measuring.no_longer_kept,
        )
        for direct in (True, False)
        for then, done, purged in ((("s.a",), (), ""), ((), (0,), "s.c"), ((), (), "s.c"), (("s.a",), range(6), ""))
    ),
    Case(  # a pause ends, and nothing else changes
        codes=("CO pause",), before=stream({"c": taking("s.a") | {"pause_until": "2099-01-01T00:00:00Z"}}), messages=SOME,
        after=stream({"c": taking("s.a")}), measure=measuring.set_free,
    ),
    Case(  # wider is nothing lost
        codes=("ST303",), before=stream({}, subjects=["s.a", "s.b", "s.c"]), messages=SOME,
        after=stream({}), measure=measuring.no_longer_taken,
    ),
)  # fmt: skip
