"""Random accounts as other clients leave them: every object made by raw requests, in forms that no file of ours began with."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from reconciler.model.wire.version import Version
from tests.convergence.legal import legal_consumer, legal_stream
from tests.primitives.bodies import (
    CONSUMER_GROUPS,
    RECIPES,
    STREAM_GROUPS,
    Body,
    M,
    S,
    bodies,
    consumer_fields,
    flag,
    named,
    some,
    stream_fields,
)
from tests.support import drawing

NEIGHBOURS: Mapping[str, Body] = {
    "PLAIN": {"subjects": ["plain"]},
    "DIRECT": {"subjects": ["direct"], "allow_direct": True},
    "S1": {"subjects": ["s1.>"]},
    "S2": {"subjects": ["s2.>"]},
}
"""Origins for mirrors and sources; MISSING is one that nobody made."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """One object: what makes it, and by which changes somebody touches it later."""

    on: tuple[str, ...]
    """(stream,), (stream, consumer) or (bucket, key)."""
    body: Body
    touches: tuple[Body, ...]
    """Fields of one update each."""
    parent: str = ""
    """The stream without which it is nothing."""


def _touches(fields: Mapping[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[tuple[Body, ...]]:
    one = st.lists(st.sampled_from(sorted(fields)), min_size=1, max_size=2, unique=True).flatmap(
        lambda names: st.fixed_dictionaries({name: fields[name] for name in names})
    )
    return st.lists(one, min_size=3, max_size=3).map(tuple)


@st.composite
def streams(draw: st.DrawFn, number: int, version: Version) -> list[Drawn]:
    """A stream with its consumers, and now and then a group."""
    name, fields = f"s{number}", stream_fields(version)
    said = named(draw(bodies(fields, STREAM_GROUPS, RECIPES["stream"])), name)
    body = legal_stream({key: value for key, value in said.items() if key != "sealed"}, version)
    body |= {"storage": "memory"} if draw(st.integers(0, 7)) and "persist_mode" not in body else {}
    touches = tuple(named(one, name) for one in draw(_touches(fields)))
    found = [Drawn((name,), body, touches)]
    for index in range(draw(st.integers(0, 2))):
        found.append(draw(_consumer(name, f"c{index}", index, body, version)))
    if draw(st.integers(0, 5)) == 0 and "mirror" not in body and body.get("retention") != "workqueue":
        found += draw(_group(name, body, version))
    return found


@st.composite
def _consumer(draw: st.DrawFn, stream: str, name: str, index: int, above: Body, version: Version) -> Drawn:
    fields = consumer_fields(version)
    said = named(draw(bodies(fields, CONSUMER_GROUPS, RECIPES["consumer"])), f"{stream}.{name}")
    touches = tuple(named(one, f"{stream}.{name}") for one in draw(_touches(fields)))
    return Drawn((stream, name), legal_consumer(said, above, version, index), touches, stream)


MADE_BY: Mapping[str, Body] = {
    "nats.go": {"max_msgs_per_subject": 1, "discard": "new", "deny_delete": True, "allow_rollup_hdrs": True,
                "allow_direct": True},
    "nats.py": {"max_msgs_per_subject": 1, "discard": "new", "deny_delete": True, "allow_rollup_hdrs": True,
                "allow_direct": False, "allow_msg_ttl": True},
    "by hand": {"max_msgs_per_subject": 1},
}  # fmt: skip
STORES: Mapping[str, Body] = {
    "nats.go": {"discard": "new", "allow_rollup_hdrs": True, "allow_direct": True},
    "by hand": {"allow_rollup_hdrs": True},
}


def _settings(version: Version) -> dict[str, st.SearchStrategy[Any]]:
    """What clients let people choose for a bucket."""
    all_ = stream_fields(version)
    names = ("description", "max_bytes", "max_age", "storage", "compression", "placement", "metadata")
    return {name: all_[name] for name in names}


@st.composite
def buckets(draw: st.DrawFn, number: int, version: Version) -> list[Drawn]:
    """A KV bucket or an object store: as a client makes it, now and then with something no client asks for."""
    is_kv = draw(st.integers(0, 2)) > 0
    name = f"b{number}"
    stream = f"{'KV' if is_kv else 'OBJ'}_{name}"
    subjects = [f"$KV.{name}.>"] if is_kv else [f"$O.{name}.C.>", f"$O.{name}.M.>"]
    fields = _settings(version)
    kv_only = {
        "max_msgs_per_subject": st.sampled_from([1, 5, 64, 100]),
        "max_msg_size": st.sampled_from([-1, 1024]),
        "republish": st.fixed_dictionaries({"src": st.just(">"), "dest": st.just(f"rp.{name}.>")}),
        "subject_delete_marker_ttl": st.sampled_from([S, 5 * M]),
    }
    fields |= kv_only if is_kv else {}
    base = draw(st.sampled_from(sorted(MADE_BY if is_kv else STORES)))
    body = {"subjects": subjects, "storage": "memory", **(MADE_BY if is_kv else STORES)[base], **draw(some(**fields))}
    odd = stream_fields(version)
    strange = {
        key: odd[key]
        for key in (
            "max_msgs",
            "duplicate_window",
            "deny_purge",
            "max_consumers",
            "consumer_limits",
            "no_ack",
            "discard",
        )
    }
    if draw(st.integers(0, 4)) == 0:
        body |= draw(some(**strange))
    if draw(st.integers(0, 11)) == 0:
        body["subjects"] = [*subjects, f"also.{name}"]
    extra = {"subjects": st.sampled_from([subjects, [*subjects, f"more.{name}"]]), "allow_direct": flag,
             "allow_msg_ttl": flag}  # fmt: skip
    body = legal_stream(body, version)
    found = [Drawn((stream,), body, draw(_touches({**fields, **strange, **extra})))]
    if draw(st.integers(0, 3)) == 0:  # somebody follows it with a durable of their own
        found.append(draw(_consumer(stream, "c0", 0, body, version)))
    return found


GROUP_BUCKET: Body = {
    "max_msgs_per_subject": 1, "discard": "new", "deny_delete": True, "allow_rollup_hdrs": True, "allow_direct": True,
}  # fmt: skip
MEMBERS = st.sampled_from([[], ["m1"], ["m1", "m2", "m3"]])


@st.composite
def _group(draw: st.DrawFn, stream: str, above: Body, version: Version) -> list[Drawn]:
    """As the reference makes it: a record, and for an elastic one the work queue its members take from."""
    members = draw(MEMBERS)
    touches = tuple({"members": one} for one in draw(st.lists(MEMBERS, min_size=3, max_size=3)))
    if draw(flag):
        record = {"max_members": 4, **draw(some(filters=st.sampled_from([["a.*"], ["b"]])))}
        return [
            Drawn(("static-consumer-groups", f"{stream}.g"), _record({**record, "members": members}), touches, stream)
        ]
    subject = f"{stream}.*"
    filters = [{"filter": subject, "partitioning_wildcards": [1]}]
    limits = draw(some(max_buffered_msg=st.just(100), max_buffered_bytes=st.just(1 << 20)))
    record = {"max_members": 4, "partitioning_filters": filters, **limits, "members": members}
    dest = f"{{{{Partition(4,1)}}}}.{stream}.{{{{Wildcard(1)}}}}"
    queue = {
        "retention": "workqueue", "discard": "new", "allow_direct": True, "storage": above.get("storage", "file"),
        "max_msgs": limits.get("max_buffered_msg", -1), "max_bytes": limits.get("max_buffered_bytes", -1),
        "sources": [{"name": stream, "subject_transforms": [{"src": subject, "dest": dest}]}],
    }  # fmt: skip
    settings = {key: one for key, one in stream_fields(version).items() if key in QUEUE_FIELDS}
    return [
        Drawn(("elastic-consumer-groups", f"{stream}.g"), _record(record), touches, stream),
        Drawn((f"{stream}-g",), queue, draw(_touches(settings)), stream),
    ]


QUEUE_FIELDS = (
    "description",
    "max_msgs",
    "max_age",
    "max_msg_size",
    "duplicate_window",
    "no_ack",
    "allow_direct",
    "compression",
)


def _record(said: Body) -> Body:
    return {key: value for key, value in said.items() if value != []}


def as_stored(record: Body) -> str:
    return json.dumps(record, separators=(",", ":"))


@st.composite
def _some_objects(draw: st.DrawFn, number: int, version: Version) -> list[Drawn]:
    return draw(buckets(number, version) if draw(st.integers(0, 3)) == 0 else streams(number, version))


TOGETHER = 100
"""Objects of one account."""


def accounts(number: int, version: Version, *, every: int = 1, offset: int = 0) -> Iterator[list[Drawn]]:
    """Objects account by account, so many altogether or a share of them, always the same ones; each has a name of its own."""
    cases = drawing.drawn(lambda index: _some_objects(index, version), number, every=every, offset=offset)
    together: list[Drawn] = []
    left = number // every
    for objects in cases:
        together += objects
        left -= len(objects)
        if len(together) >= TOGETHER or left <= 0:
            yield together
            together = []
        if left <= 0:
            return
