"""Random cases for each code: messages on a few subjects, holes, consumers that are somewhere, and one change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hypothesis import strategies as st

from reconciler.kinds.subjects.partitions import assign
from tests.support.drawing import drawn
from tests.truth import measuring
from tests.truth.account import Work
from tests.truth.case import Case, Measured

Draw = st.DrawFn
LETTERS = ("a", "b", "c")
REST: dict[str, Any] = {"T": {"subjects": ["t.>"]}}
"""A file that declares nothing any more deletes nothing."""
RETENTIONS = ("limits", "limits", "workqueue", "interest")


def filled(prefix: str = "s") -> st.SearchStrategy[tuple[tuple[str, int], ...]]:
    one = st.tuples(st.sampled_from([f"{prefix}.{letter}" for letter in LETTERS]), st.integers(0, 120))
    return st.lists(one, min_size=1, max_size=30).map(tuple)


@st.composite
def holes(draw: Draw, number: int) -> tuple[int, ...]:
    return tuple(draw(st.sets(st.integers(1, number), max_size=number // 3))) if draw(st.booleans()) else ()


def subsets(prefix: str = "s") -> st.SearchStrategy[list[str]]:
    """Filters; none: everything."""
    letters = st.lists(st.sampled_from(LETTERS), max_size=2, unique=True)
    return letters.map(lambda found: [f"{prefix}.{one}" for one in found])


def filtering(filters: list[str]) -> dict[str, Any]:
    return {} if not filters else {"filter_subject": filters[0]} if len(filters) == 1 else {"filter_subjects": filters}


@st.composite
def works(draw: Draw, policy: str = "explicit", *, first: bool = False, in_flight: bool = True) -> Work:
    pulled = draw(st.integers(1 if first else 0, 20))
    if policy == "none":
        return Work(pulled)
    every = range(pulled)
    picked = draw(st.sampled_from(["none", "all", "some"])) if in_flight else "all"
    done = {"none": set(), "all": set(every)}.get(picked) or set()
    if picked == "some" and pulled:
        done = draw(st.sets(st.sampled_from(every), max_size=pulled))
    return Work(pulled, frozenset(done | {0} if first else done))


@st.composite
def readers(draw: Draw, retention: str, most: int = 3) -> dict[str, dict[str, Any]]:
    """On a work queue no two take the same."""
    found: dict[str, dict[str, Any]] = {}
    for letter in LETTERS[: draw(st.integers(0, most))]:
        policy = draw(st.sampled_from(["explicit", "explicit", "all", "none"])) if retention == "limits" else "explicit"
        found[letter] = {"ack_policy": policy}
        found[letter] |= filtering([f"s.{letter}"] if retention == "workqueue" else draw(subsets()))
    return found


@st.composite
def base(
    draw: Draw, retentions: tuple[str, ...] = RETENTIONS, most: int = 3, *, mirrored: bool = False
) -> dict[str, Any]:
    """A stream S with messages, and consumers that have come somewhere. With `mirrored`, some have a mirror."""
    retention = draw(st.sampled_from(retentions))
    messages, consumers = draw(filled()), draw(readers(retention, most))
    work = {name: draw(works(one["ack_policy"])) for name, one in consumers.items()}
    deleted = draw(holes(len(messages))) if retention != "interest" else ()
    stream = {
        "subjects": ["s.>"], "retention": retention, "consumers": consumers, "allow_direct": draw(st.booleans()),
        "storage": draw(st.sampled_from(["file", "memory"])),
    }  # fmt: skip
    if mirrored and retention == "limits" and draw(st.integers(0, 3)) == 0:
        stream[ANSWERED_BY_A_MIRROR] = True
    return {"stream": stream, "messages": messages, "deleted": deleted, "work": work}


ANSWERED_BY_A_MIRROR = "answered by a mirror"
"""Of a drawn stream: a mirror of a part of it answers direct gets as well."""


def of(stream: Mapping[str, Any], name: str = "S", /, **more: Any) -> dict[str, Any]:
    fields = dict(stream)
    mirror = {"mirror": {"name": name, "filter_subject": "s.a"}, "mirror_direct": True}
    copies = {"COPY": mirror} if fields.pop(ANSWERED_BY_A_MIRROR, False) else {}
    return {"streams": {name: fields, **copies}, **more}


def gone(*addresses: str) -> list[dict[str, str]]:
    return [{"address": one, "reason": "x"} for one in addresses]


@st.composite
def limits(draw: Draw) -> Case:
    found = draw(base(mirrored=True))
    number = len(found["messages"])
    lowered = draw(
        st.one_of(
            st.integers(1, number).map(lambda most: {"max_msgs": most}),
            st.integers(1, number * 90).map(lambda most: {"max_bytes": most}),
            st.integers(1, max(1, number // 3)).map(lambda most: {"max_msgs_per_subject": most}),
        )
    )
    stream = found.pop("stream")
    raised = dict.fromkeys(lowered, 1000000)
    return Case(
        codes=("ST301",),
        before=of({**stream, **raised}),
        after=of({**stream, **lowered}),
        measure=measuring.trimmed,
        **found,
    )


@st.composite
def too_large_to_read(draw: Draw) -> Case:
    """More than is read for its size: an estimate."""
    sizes = draw(st.lists(st.sampled_from([10, 20_000, 100_000]), min_size=12, max_size=30))
    consumers = draw(readers("limits", 2))
    stream = {"subjects": ["s.>"], "consumers": consumers, "storage": draw(st.sampled_from(["file", "memory"]))}
    return Case(
        codes=("ST301",), before=of(stream), messages=tuple((f"s.{LETTERS[n % 3]}", size) for n, size in enumerate(sizes)),
        work={name: draw(works(one["ack_policy"])) for name, one in consumers.items()},
        after=of({**stream, "max_bytes": draw(st.integers(100, max(200, sum(sizes) - 300_000)))}), measure=measuring.trimmed,
    )  # fmt: skip


@st.composite
def ages(draw: Draw) -> Case:
    found = draw(base())
    stream = found.pop("stream")
    later = draw(filled())
    if stream["retention"] != "interest":
        found["deleted"] = draw(holes(len(found["messages"]) + len(later)))
    return Case(
        codes=("ST301",), before=of(stream), pause=5, young=3.5, later=later, after=of({**stream, "max_age": "4s"}),
        measure=measuring.trimmed, **found,
    )  # fmt: skip


@st.composite
def histories(draw: Draw) -> Case:
    messages, history = draw(filled("$KV.B")), draw(st.integers(1, 5))
    return Case(
        codes=("KV301",), stream="KV_B", messages=messages, before={"kv_buckets": {"B": {"history": 30}}},
        after={"kv_buckets": {"B": {"history": history}}}, measure=measuring.bucket_trimmed,
    )  # fmt: skip


@st.composite
def interests(draw: Draw) -> Case:
    found = draw(base(("limits",)))
    stream = found.pop("stream")
    for one in stream["consumers"].values():
        one.update(ack_policy="explicit")
    return Case(
        codes=("ST302",), before=of(stream), after=of({**stream, "retention": "interest"}),
        measure=measuring.without_interest, **found,
    )  # fmt: skip


@st.composite
def turned_before(draw: Draw) -> Case:
    """What is in flight is not what the filter matches by then, or no longer stored."""
    found = draw(base(("limits",), 2))
    stream = found.pop("stream")
    for one in stream["consumers"].values():
        one.update(ack_policy="explicit")
    stream["consumers"]["c"] = {"ack_policy": "explicit", **filtering(draw(subsets()))}
    found["work"]["c"] = draw(works())
    then = filtering(draw(subsets()))
    turned = {**stream["consumers"], "c": {"ack_policy": "explicit", **then}}
    purged = draw(st.sampled_from(["", *(f"s.{letter}" for letter in LETTERS)]))
    return Case(
        codes=("ST302",), before=of(stream), after=of({**stream, "consumers": turned, "retention": "interest"}),
        ready=measuring.turned("c", then, draw(st.integers(0, 20)), purged), measure=measuring.no_longer_kept, **found,
    )  # fmt: skip


@st.composite
def subjects(draw: Draw) -> Case:
    found = draw(base(("limits", "workqueue")))
    stream = found.pop("stream")
    kept = draw(st.sampled_from([["s.a"], ["s.a", "s.b"], ["s.b", "t.>"], ["s.*"], [">"], ["s.>", "t.>"]]))
    if kept == [">"]:
        kept = ["s.>", "u.>"]
    return Case(
        codes=("ST303",),
        before=of(stream),
        after=of({**stream, "subjects": kept}),
        measure=measuring.no_longer_taken,
        **found,
    )


@st.composite
def removals(draw: Draw) -> Case:
    found = draw(base())
    stream = found.pop("stream")
    names = [f"consumer/S/{name}" for name in stream["consumers"]]
    return Case(
        codes=("ST310",),
        before={"streams": {"S": stream, **REST}},
        after={"streams": REST, "removed": gone("stream/S", *names)},
        measure=measuring.removed,
        **found,
    )


@st.composite
def removed_buckets(draw: Draw) -> Case:
    return Case(
        codes=("KV310",), stream="KV_B", messages=draw(filled("$KV.B")), before={"kv_buckets": {"B": {"history": 30}, "R": {}}},
        after={"kv_buckets": {"R": {}}, "removed": gone("kv_bucket/B")}, measure=measuring.removed,
    )  # fmt: skip


@st.composite
def filters(draw: Draw) -> Case:
    retention = draw(st.sampled_from(RETENTIONS))
    now, then = draw(subsets()), draw(subsets())
    stream: dict[str, Any] = {"subjects": ["s.>"], "retention": retention, "allow_direct": draw(st.booleans())}
    if retention == "limits" and draw(st.booleans()):
        stream[ANSWERED_BY_A_MIRROR] = True
    beside = {"b": {"ack_policy": "explicit", **filtering(draw(subsets()))}} if retention != "workqueue" else {}
    if not draw(st.booleans()):
        beside = {}
    work = {"c": draw(works(in_flight=retention != "workqueue"))} | ({"b": draw(works())} if beside else {})
    messages = draw(filled())

    def with_filter(subjects: list[str]) -> dict[str, Any]:
        return of({**stream, "consumers": {"c": {"ack_policy": "explicit", **filtering(subjects)}, **beside}})

    return Case(
        codes=("CO301",), before=with_filter(now), after=with_filter(then), messages=messages, work=work,
        deleted=draw(holes(len(messages))) if retention != "interest" else (), measure=measuring.filtered,
    )  # fmt: skip


@st.composite
def removed_consumers(draw: Draw) -> Case:
    found = draw(base())
    stream = found.pop("stream")
    if stream["retention"] != "workqueue" or not stream["consumers"]:
        mine = filtering(["s.c"] if stream["retention"] == "workqueue" else draw(subsets()))
        stream["consumers"]["c"] = {"ack_policy": "explicit", **mine}
        found["work"]["c"] = draw(works())
    name = "c" if "c" in stream["consumers"] else next(iter(stream["consumers"]))
    if name != "c":  # a work queue of others
        stream["consumers"]["c"] = {"ack_policy": "explicit", "filter_subject": "s.c"}
        found["work"]["c"] = draw(works())
    rest = {key: one for key, one in stream["consumers"].items() if key != "c"}
    return Case(
        codes=("CO310",), before=of(stream), after=of({**stream, "consumers": rest}, removed=gone("consumer/S/c")),
        measure=measuring.consumer_removed, **found,
    )  # fmt: skip


@st.composite
def made_again(draw: Draw) -> Case:
    stream = {"subjects": ["s.>"], "allow_direct": draw(st.booleans()), ANSWERED_BY_A_MIRROR: draw(st.booleans())}
    if draw(st.booleans()):
        stream["max_msgs_per_subject"] = draw(st.integers(1, 3))
    policy = draw(st.sampled_from([{}, *({"deliver_policy": one} for one in ("new", "last", "last_per_subject"))]))
    taking = filtering(draw(subsets())) or (
        {"filter_subject": "s.>"} if policy.get("deliver_policy") == "last_per_subject" else {}
    )
    c = {"ack_policy": "explicit", **taking, **policy}
    file = of({**stream, "consumers": {"c": c}})
    return Case(
        codes=("CO312",), before=file, after=file, messages=draw(filled()), work={"c": draw(works())}, gone=("c",),
        measure=measuring.made_again,
    )  # fmt: skip


@st.composite
def replacements(draw: Draw) -> Case:
    retention = draw(st.sampled_from(RETENTIONS))
    messages, mine = draw(filled()), filtering(draw(subsets()))
    stream = {"subjects": ["s.>"], "retention": retention}
    c = {"ack_policy": "explicit", **mine}
    renamed = draw(st.booleans())
    other = {"d": c} if renamed else {"c": {**c, "replay_policy": "original"}}
    moved = {"moved": [{"from": "consumer/S/c", "to": "consumer/S/d", "reason": "x"}]} if renamed else {}
    return Case(
        codes=("CO330" if renamed else "CO105",), before=of({**stream, "consumers": {"c": c}}),
        after=of({**stream, "consumers": other}, **moved), replacing=("CO105",),
        messages=(*messages, ("s.a", 1), ("s.b", 1), ("s.c", 1)), work={"c": draw(works(first=True))},
        measure=measuring.replaced,
    )  # fmt: skip


@st.composite
def copies(draw: Draw) -> Case:
    before, after = draw(st.tuples(*[st.sampled_from(["a.>", "a.x", "a.*", "a.y"])] * 2))
    one = st.tuples(st.sampled_from(["a.x", "a.y", "a.z"]), st.integers(0, 20))

    def taking(subject: str) -> dict[str, Any]:
        return {"streams": {"A": {"subjects": ["a.>"]}, "ALL": {"sources": [{"name": "A", "filter_subject": subject}]}}}

    return Case(
        codes=("ST304",), stream="A", before=taking(before), after=taking(after), messages=draw(st.lists(one, max_size=25).map(tuple)),
        ready=measuring.note_copied(before), measure=measuring.copied,
    )  # fmt: skip


@st.composite
def memberships(draw: Draw) -> Case:
    now, then = draw(st.tuples(*[st.lists(st.sampled_from("pqrst"), min_size=1, max_size=4, unique=True)] * 2))
    partitions = draw(st.integers(4, 6))

    def having(members: list[str]) -> dict[str, Any]:
        filters = [{"filter": "s.*", "partitioning_wildcards": [1]}]
        group = {
            "type": "elastic",
            "max_members": partitions,
            "partitioning_filters": filters,
            "members": sorted(members),
        }
        return of({"subjects": ["s.*"], "groups": {"g": group}})

    messages = draw(st.lists(st.integers(0, 9).map(lambda key: (f"s.{key}", 5)), min_size=1, max_size=25))
    half = Work(pulled=len(messages) // 2)
    return Case(
        codes=("EG move",), stream="S-g", before=having(now), after=having(then), messages=tuple(messages),
        ready=measuring.note_queued(half), measure=measuring.moved,
    )  # fmt: skip


@st.composite
def sources_left(draw: Draw) -> Case:
    """A full stream copies nothing more of its source, which is then taken off."""
    most = draw(st.integers(1, 5))
    messages = draw(st.lists(st.just(("o.x", 5)), min_size=most + 3, max_size=most + 20).map(tuple))
    origin, copy = {"subjects": ["o.>"]}, {"subjects": ["s.>"], "max_msgs": most, "discard": "new"}
    return Case(
        codes=("ST305",), stream="O", before={"streams": {"O": origin, "S": {**copy, "sources": [{"name": "O"}]}}},
        messages=messages, after={"streams": {"O": origin, "S": copy}}, ready=measuring.note_lag, measure=measuring.left_behind,
    )  # fmt: skip


@st.composite
def streams_made_again(draw: Draw) -> Case:
    """With a mirror that goes on where it was."""
    file = {"streams": {"O": {"subjects": ["o.>"]}, "M": {"mirror": {"name": "O"}}}}
    messages = draw(st.lists(st.just(("o.x", 5)), min_size=1, max_size=10).map(tuple))
    return Case(
        codes=("ST312",), stream="M", before=file, messages=messages, after=file, ready=measuring.lose_origin,
        measure=measuring.skipped_by_copies,
    )  # fmt: skip


@st.composite
def removed_stores(draw: Draw) -> Case:
    return Case(
        codes=("OB310",), stream="OBJ_O", messages=draw(filled("$O.O.C")), before={"object_stores": {"O": {}, "R": {}}},
        after={"object_stores": {"R": {}}, "removed": gone("object_store/O")}, measure=measuring.removed,
    )  # fmt: skip


@st.composite
def removed_queues(draw: Draw) -> Case:
    filters = [{"filter": "s.*", "partitioning_wildcards": [1]}]
    group = {"type": "elastic", "max_members": 4, "partitioning_filters": filters, "members": ["p", "q"]}
    stream = {"subjects": ["s.*"]}
    return Case(
        codes=("EG310",), stream="S-g", before=of({**stream, "groups": {"g": group}}), messages=draw(filled()),
        after=of(stream, removed=gone("elastic_group/S/g")), ready=measuring.note_queued(draw(works()), "m"),
        measure=measuring.queue_removed,
    )  # fmt: skip


@st.composite
def queues_made_again(draw: Draw) -> Case:
    """Every message has a subject of its own, which is told again in the new queue; other filters leave some out."""

    def having(partitions: int, taken: str) -> dict[str, Any]:
        filters = [{"filter": taken, "partitioning_wildcards": [1]}]
        group = {"type": "elastic", "max_members": partitions, "partitioning_filters": filters, "members": ["p", "q"]}
        return of({"subjects": ["s.*.*"], "groups": {"g": group}})

    messages = tuple((f"s.{draw(st.sampled_from('ab'))}.{key}", 5) for key in range(draw(st.integers(1, 25))))
    before, after = (having(4, "s.*.*"), having(6, draw(st.sampled_from(["s.*.*", "s.a.*", "s.b.*"]))))
    return Case(
        codes=("EG101",), stream="S-g", before=before, after=after, messages=messages, replacing=("EG101",),
        ready=measuring.note_queued(draw(works()), "m"), measure=measuring.queue_made_again,
    )  # fmt: skip


@st.composite
def removed_members(draw: Draw) -> Case:
    members = draw(st.lists(st.sampled_from("pqr"), min_size=1, unique=True).map(sorted))
    stream, group = (
        {"subjects": [f"{number}.s" for number in range(4)]},
        {"type": "static", "max_members": 4, "members": members},
    )
    partitions = st.integers(0, 3).map(lambda number: (f"{number}.s", 5))
    return Case(
        codes=("SG310",), before=of({**stream, "groups": {"g": group}}),
        messages=draw(st.lists(partitions, min_size=1, max_size=30).map(tuple)),
        after=of(stream, removed=gone("static_group/S/g")),
        ready=measuring.note_members(assign(members, 4), {name: draw(works()) for name in members}),
        measure=measuring.members_removed,
    )  # fmt: skip


@st.composite
def starts(draw: Draw) -> Case:
    messages = draw(filled())
    policies = st.sampled_from(["all", "new", "last", "last_per_subject"]).map(lambda one: {"deliver_policy": one})
    sequences = st.integers(1, len(messages) + 5).map(
        lambda start: {"deliver_policy": "by_start_sequence", "opt_start_seq": start}
    )
    stream = {"subjects": ["s.>"], "allow_direct": draw(st.booleans())}
    start = draw(st.one_of(policies, sequences))
    taking = filtering(draw(subsets())) or (
        {"filter_subject": "s.>"} if start["deliver_policy"] == "last_per_subject" else {}
    )
    c = {"ack_policy": "explicit", **taking, **start}
    return Case(
        codes=("CO start",), before=of(stream), messages=messages, deleted=draw(holes(len(messages))),
        after=of({**stream, "consumers": {"c": c}}), measure=measuring.started,
    )  # fmt: skip


KINDS: Mapping[str, tuple[int, Callable[[], st.SearchStrategy[Case]]]] = {
    "limits": (8, limits), "large": (1, too_large_to_read), "ages": (1, ages), "histories": (1, histories),
    "interests": (2, interests), "turned": (2, turned_before), "subjects": (2, subjects), "removals": (1, removals),
    "buckets": (1, removed_buckets),
    "filters": (6, filters), "consumers": (3, removed_consumers), "again": (2, made_again), "replaced": (4, replacements),
    "copies": (1, copies), "members": (1, memberships), "starts": (2, starts), "stores": (1, removed_stores),
    "lags": (1, sources_left), "origins": (1, streams_made_again), "queues": (1, removed_queues),
    "anew": (1, queues_made_again), "statics": (1, removed_members),
}  # fmt: skip
"""How often each is drawn beside the others, and how."""
ROUND = [draw for number, draw in KINDS.values() for _ in range(number)]


def cases(number: int, *, every: int = 1, offset: int = 0) -> list[Case]:
    return drawn(lambda _place: st.sampled_from(ROUND).flatmap(lambda draw: draw()), number, every=every, offset=offset)


__all__ = ["Measured", "cases"]
