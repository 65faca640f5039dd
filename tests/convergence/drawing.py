"""Random topologies of all six kinds: what people may write, legal far more often than not, and random changes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from reconciler.kinds import REGISTRY
from reconciler.model.resource import Address, Declared
from reconciler.model.topology import Forgotten, Guarded, Removed, Topology
from reconciler.model.wire.version import SUPPORTED, Version
from tests.convergence.legal import legal_consumer, legal_stream
from tests.primitives.bodies import (
    CONSUMER_GROUPS,
    MS,
    RECIPES,
    STREAM_GROUPS,
    Body,
    Fields,
    M,
    S,
    bodies,
    consumer_fields,
    flag,
    metadata,
    named,
    some,
    stream_fields,
    texts,
)
from tests.support import drawing
from tests.support.versions import EVERY

Wishes = Mapping[Address, Body]
"""What a file says, before it is checked: resources by address, parents first."""

NEVER_DRAWN: Mapping[str, frozenset[str]] = {
    "stream": frozenset(
        {"external"}
    ),  # expectations are no configuration; refusals of them are tested with their rules
}
"""Fields that a single server cannot carry out, or that are not configuration, by kind. `num_replicas` is drawn as 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What is applied first, and what it turns into; each on resources of its own."""

    first: Wishes
    then: Wishes
    removed: tuple[Address, ...] = ()
    forget: tuple[Address, ...] = ()


def topology(
    name: str,
    wishes: Mapping[Address, Mapping[str, Any]],
    removed: tuple[Address, ...] = (),
    forget: tuple[Address, ...] = (),
) -> Topology:
    return Topology(
        name=name,
        resources=tuple(
            Declared(address=address, spec=REGISTRY.of(address).spec.model_validate(body))
            for address, body in wishes.items()
        ),
        removed=tuple(Removed(address=address, reason="drawn") for address in removed),
        forget=tuple(Forgotten(address=address) for address in forget),
        guards=tuple(Guarded(kind=kind.name, upto=100, reason="drawn") for kind in REGISTRY.kinds),
    )


def _bucket_fields() -> Fields:
    return {
        "description": texts,
        "ttl": st.sampled_from([0, 100 * MS, 30 * S, 5 * M]),
        "max_bytes": st.sampled_from([-1, 0, 1 << 20]),
        "storage": st.sampled_from(["memory", "memory", "file"]),
        "num_replicas": st.just(1),
        "compression": st.sampled_from(["none", "s2"]),
        "placement": some(tags=st.just(["a"])),
        "metadata": metadata,
        "allow_direct": flag,
    }


def kv_fields() -> Fields:
    """Every field of a KV bucket."""
    return {
        **_bucket_fields(),
        "history": st.sampled_from([1, 5, 64]),
        "max_value_size": st.sampled_from([-1, 0, 1024]),
        "republish": st.fixed_dictionaries({"src": st.just(">"), "dest": st.just("rp.{name}.>")}),
        "mirror": st.just({"name": "KV_origin"}),
        "sources": st.just([{"name": "KV_origin"}]),
        "limit_marker_ttl": st.sampled_from([S, 5 * M]),
        "allow_msg_ttl": st.just(True),
        "deny_delete": flag,
    }


def object_fields() -> Fields:
    """Every field of an object store."""
    return {**_bucket_fields(), "sealed": flag}


def drawn_fields(kind: str, version: Version) -> Fields:
    """A strategy for every field of a kind of stream or consumer."""
    if kind == "stream":
        return {**stream_fields(version), "discard": st.sampled_from(["old", "new"])}
    if kind == "consumer":
        return {**consumer_fields(version), "sample_freq": st.sampled_from(["30", "30%", "0"])}
    return kv_fields() if kind == "kv_bucket" else object_fields()


GROUPS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "stream": STREAM_GROUPS,
    "consumer": CONSUMER_GROUPS,
    "kv_bucket": (("history", "ttl"), ("limit_marker_ttl", "ttl"), ("mirror", "max_bytes"), ("sources", "history")),
    "object_store": (("ttl", "max_bytes"),),
}


def _together(version: Version) -> Mapping[str, tuple[Body, ...]]:
    """What chance alone rarely puts together."""
    pinned = {"priority_policy": "pinned_client", "priority_groups": ["a"], "ack_policy": "explicit"}
    prioritized = ({**pinned, "priority_policy": "prioritized"},) if version >= (2, 12) else ()
    consumers: tuple[Body, ...] = (
        {"ack_policy": "explicit", "ack_wait": M, "max_deliver": 5},
        {"ack_policy": "all", "backoff": [S, M]},
        pinned,
        {**pinned, "priority_timeout": S},
        {**pinned, "priority_policy": "overflow"},
        *prioritized,
    )
    return {"consumer": (*RECIPES["consumer"], *consumers), "stream": RECIPES["stream"]}


@st.composite
def _configuration(draw: st.DrawFn, kind: str, version: Version) -> Body:
    """Mostly in memory: thousands of file stores are slow to make and delete."""
    body = draw(bodies(drawn_fields(kind, version), GROUPS[kind], RECIPES.get(kind, ({},))))
    if kind in (recipes := _together(version)) and draw(st.integers(0, 2)) == 0:
        body |= draw(st.sampled_from(recipes[kind]))
    if kind != "consumer" and draw(st.integers(0, 7)):
        body["storage"] = "memory"
    return body


@st.composite
def _changed(draw: st.DrawFn, body: Body, kind: str, version: Version) -> Body:
    """Up to three fields otherwise, or gone; now and then nothing is as it was."""
    if draw(st.integers(0, 9)) == 0:
        return draw(_configuration(kind, version))
    fields = drawn_fields(kind, version)
    changed = dict(body)
    names = draw(st.lists(st.sampled_from(sorted(fields)), max_size=3))
    if draw(st.integers(0, 3)) == 0:
        names += [name for name in draw(st.sampled_from(GROUPS[kind])) if name in fields]
    for name in names:
        changed[name] = draw(fields[name])
    present = sorted(body.keys() & fields.keys())
    for name in draw(st.lists(st.sampled_from(present), max_size=2)) if present else ():
        changed.pop(name, None)
    if draw(st.integers(0, 5)):  # most changes of these are refused, and everything else with them
        kept = {name: body[name] for name in HARDLY_CHANGE if name in body}
        changed = {name: value for name, value in changed.items() if name not in HARDLY_CHANGE} | kept
    if draw(st.integers(0, 9)) == 0:
        changed["unmanaged"] = [draw(st.sampled_from(sorted(fields)))]
    return changed


HARDLY_CHANGE = ("storage", "deliver_policy", "opt_start_seq", "opt_start_time", "deliver_subject")


MEMBERS: st.SearchStrategy[Body] = st.sampled_from(
    [
        {},
        {"members": ["m1"]},
        {"members": ["m1", "m2", "m3"]},
        {"member_mappings": [{"member": "m1", "partitions": [0, 2]}, {"member": "m2", "partitions": [1, 3]}]},
        {"members": []},
    ]
)


@st.composite
def static_groups(draw: st.DrawFn) -> Body:
    filters = draw(st.sampled_from([{}, {"filters": [">"]}, {"filters": ["a.*", "b"]}]))
    return {"max_members": 4, **filters, **draw(MEMBERS)}


@st.composite
def elastic_groups(draw: st.DrawFn, version: Version) -> Body:
    whole: list[Body] = [{}, {"partitioning_filters": [{"filter": "{name}.>"}]}] if version >= (2, 12) else []
    filters = draw(
        st.sampled_from(
            [
                {"partitioning_filters": [{"filter": "{name}.*.*", "partitioning_wildcards": [1]}]},
                {"partitioning_filters": [{"filter": "{name}.*", "partitioning_wildcards": [1]}]},
                *whole,
            ]
        )
    )
    limits = draw(some(max_buffered_msg=st.sampled_from([-1, 100]), max_buffered_bytes=st.sampled_from([-1, 1 << 20])))
    return {"max_members": 4, **filters, **limits, **draw(MEMBERS)}


@st.composite
def _group(draw: st.DrawFn, stream: str, version: Version) -> tuple[Address, Body, Body]:
    kind = draw(st.sampled_from(["static_group", "elastic_group"]))
    body = draw(static_groups() if kind == "static_group" else elastic_groups(version))
    without = {key: value for key, value in body.items() if key not in ("members", "member_mappings")}
    return Address.of(kind, stream, "g"), body, {**without, **draw(MEMBERS)}


def _legal(kind: str, body: Body, name: str, version: Version) -> Body:
    said = named(body, name)
    if kind == "stream":
        return legal_stream(said, version)
    if kind in ("kv_bucket", "object_store"):
        return _legal_bucket(said)
    return said


def _legal_bucket(body: Body) -> Body:
    if "mirror" in body:
        body = {key: value for key, value in body.items() if key not in ("sources", "limit_marker_ttl", "republish")}
    return body


def _new(body: Body) -> Body:
    """Nothing that is new can be sealed."""
    return {key: value for key, value in body.items() if key != "sealed"}


@st.composite
def _stream_case(draw: st.DrawFn, number: int, version: Version) -> tuple[dict[Address, Body], dict[Address, Body]]:
    name = f"s{number}"
    stream = Address.of("stream", name)
    body = draw(_configuration("stream", version))
    first = {stream: _legal("stream", _new(body), name, version)}
    then = {stream: _legal("stream", draw(_changed(body, "stream", version)), name, version)}
    for index in range(draw(st.integers(0, 2))):
        consumer = Address.of("consumer", name, f"c{index}")
        said = draw(_configuration("consumer", version))
        other = draw(_changed(said, "consumer", version))
        first[consumer] = legal_consumer(named(said, f"{name}.c{index}"), first[stream], version, index)
        then[consumer] = legal_consumer(named(other, f"{name}.c{index}"), then[stream], version, index)
    if draw(st.integers(0, 3)) == 0:
        group, said, other = draw(_group(name, version))
        first[group], then[group] = named(said, name), named(other, name)
    return first, then


@st.composite
def _bucket_case(draw: st.DrawFn, number: int, version: Version) -> tuple[dict[Address, Body], dict[Address, Body]]:
    kind = draw(st.sampled_from(["kv_bucket", "object_store"]))
    name = f"b{number}"
    address, body = Address.of(kind, name), draw(_configuration(kind, version))
    other = draw(_changed(body, kind, version))
    return {address: _legal(kind, _new(body), name, version)}, {address: _legal(kind, other, name, version)}


SHARED = ("a", "b.*", "c", "d.>")


@st.composite
def _handover_case(draw: st.DrawFn, number: int) -> tuple[dict[Address, Body], dict[Address, Body]]:
    """Streams that pass subjects on to each other, and some that source others."""
    names = [f"s{number}{letter}" for letter in "xyz"]
    halves: list[dict[Address, Body]] = []
    for _ in range(2):
        owners = {subject: draw(st.sampled_from(names)) for subject in SHARED}
        half: dict[Address, Body] = {}
        for name in names:
            own = [f"{names[0]}.{subject}" for subject, owner in owners.items() if owner == name]
            body = (
                {"subjects": own}
                if own
                else {"sources": [{"name": draw(st.sampled_from([other for other in names if other != name]))}]}
            )
            half[Address.of("stream", name)] = {**body, "storage": "memory"}
        halves.append(half)
    return halves[0], halves[1]


@st.composite
def cases(draw: st.DrawFn, number: int, version: Version) -> Case:
    """A stream with what hangs on it, or a bucket: as it is first and as it is then; some resources come later, some go."""
    what = draw(st.sampled_from(["stream", "stream", "stream", "stream", "bucket", "bucket", "handover"]))
    drawing = {"stream": _stream_case(number, version), "bucket": _bucket_case(number, version)}
    first, then = draw(drawing.get(what, _handover_case(number)))
    late = {a for a in first if draw(st.integers(0, 9)) == 0}
    gone = {a for a in then if draw(st.integers(0, 9)) == 0}
    first = {a: body for a, body in first.items() if not _hangs_on(a, late)}
    gone = {a for a in then if _hangs_on(a, gone)}
    then = {a: body for a, body in then.items() if a not in gone}
    fate = draw(st.sampled_from(["removed", "removed", "forget", "left"]))
    left = tuple(a for a in first if a in gone)
    return Case(
        first=first,
        then=then,
        removed=left if fate == "removed" else (),
        forget=left if fate == "forget" else (),
    )


def _hangs_on(address: Address, these: set[Address]) -> bool:
    return address in these or Address.of("stream", address.stream) in these


def drawn(number: int, version: Version, every: int = EVERY) -> list[Case]:
    """So many cases, or this version's share; each has names of its own, so that one account holds them all."""
    offset = sum(one <= version for one in SUPPORTED) % every
    return drawing.drawn(lambda index: cases(index, version), number, every=every, offset=offset)


def fields_said(wishes: Wishes) -> list[tuple[str, str]]:
    """(kind, field) of everything that was drawn."""
    return [(address.kind, name) for address, body in wishes.items() for name in body]


def merged(parts: list[Wishes]) -> dict[Address, Any]:
    return {address: body for part in parts for address, body in part.items()}
