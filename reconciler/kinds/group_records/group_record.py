"""The record of a partitioned consumer group, as the Go reference writes it to KV.

Three historic spellings are read, and only the current one is written. Only the membership of an existing record is
patched. Go members compare records deeply: `[]` is not `null`, and `-1` is not absent. So every key that does not
change keeps its exact spelling, unknown keys included. The reference is strict too: a record with wrong types ends every
running instance.

What static and elastic groups share in files: members, mappings, and how they become a configuration.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache, lru_cache
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_core import from_json

from reconciler.changes.change import Change
from reconciler.kinds.fields.field_effects import fixed
from reconciler.kinds.fields.known import Known, Update
from reconciler.model.dataclass import dataclass
from reconciler.model.ledger.entries import compact_json
from reconciler.model.ledger.records import ENTRY_BUCKETS
from reconciler.model.resource import Config, Json, Spec, Terms, text_like
from reconciler.model.units import Count
from reconciler.model.wire.snapshot import Entry

MOST_PARTITIONS = 1 << 16
"""Far beyond what a server can serve. Without any bound, reconciler would have to build a list of any length."""


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore", defer_build=True)


class _Filter(_Strict):
    filter: str
    partitioning_wildcards: list[int] | None = None


class _Mapping(_Strict):
    member: str
    partitions: list[int] | None = None


class _Record(_Strict):
    max_members: Annotated[int, Field(ge=1, le=MOST_PARTITIONS)]
    filters: list[str] | None = None
    partitioning_filters: list[_Filter] | None = None
    max_buffered_msg: int | None = None
    max_buffered_bytes: int | None = None
    members: list[str] | None = None
    member_mappings: list[_Mapping] | None = None
    filter: str | None = None
    partitioning_wildcards: list[int] | None = None
    hyphenated_wildcards: Annotated[list[int] | None, Field(alias="partitioning-wildcards")] = None
    hyphenated_mappings: Annotated[list[_Mapping] | None, Field(alias="member-mappings")] = None
    hyphenated_buffer: Annotated[int | None, Field(alias="msg-buffer-size")] = None


@cache
def _reader() -> TypeAdapter[_Record]:
    return TypeAdapter(_Record)


def wrong_shape(raw: Mapping[str, Json]) -> str | None:
    """The first value of the wrong type; None if all are right."""
    try:
        _reader().validate_python(raw)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        return f"{_path(first['loc'])}: {first['msg'][:1].lower()}{first['msg'][1:]}"
    return None


def _path(place: tuple[int | str, ...]) -> str:
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place)
    return text.removeprefix(".")


STATIC_BUCKET, ELASTIC_BUCKET = ENTRY_BUCKETS[:2]
"""Buckets of other kinds stand behind them."""

PRIORITY_GROUP = "PCG"
"""The one priority group all members pull with."""

NAME = re.compile(r"[A-Za-z0-9_=-]{1,200}")
"""What clients accept as part of a key, and servers as part of a stream's or consumer's name."""

LEGACY_KEYS = frozenset(
    {"filter", "partitioning-wildcards", "partitioning_wildcards", "msg-buffer-size", "member-mappings"}
)

MEMBERSHIP = ("members", "member_mappings")

BUCKET_SHAPE: Config = {
    "max_msgs_per_subject": 1,
    "discard": "new",
    "allow_rollup_hdrs": True,
    "deny_delete": True,
    "allow_direct": True,
    "duplicate_window": 120_000_000_000,
}
"""What the reference creates its buckets with; everything else has its default."""


def members(config: Config) -> list[str]:
    """The members of a group, plain or mapped, in the order they have there."""
    return list(config.get("members") or config.get("member_mappings") or ())


def durable_name(group: str, member: str) -> str:
    """The name of the consumer that a member of a static group has on its stream."""
    return f"{group}-{member}"


def durable_names(group: str, config: Config) -> list[str]:
    """The names of the consumers that members of a static group have on its stream."""
    return [durable_name(group, member) for member in members(config)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A record as read: its meaning (config, canonical) and its spelling (raw)."""

    config: Config
    raw: Mapping[str, Json]
    revision: int
    legacy: tuple[str, ...] = ()
    """Historic keys in it; an ordinary apply never touches such a record."""
    broken: str | None = None
    """Why it cannot be understood at all."""


def key(stream: str, group: str) -> str:
    """Where the bucket holds a group's record: `ORDERS.workers` for group `workers` of stream `ORDERS`."""
    return f"{stream}.{group}"


def split_key(text: str) -> tuple[str, str] | None:
    """Stream and group of a key; None if it is not a group's key."""
    stream, dot, group = text.partition(".")
    return (stream, group) if dot and stream and group else None


def record_of(names: tuple[str, str], entry: Entry) -> Record:
    """The record of the group of this name. If no client accepts the name as a key, the record is broken."""
    bad_name = next((name for name in names if not NAME.fullmatch(name)), None)
    if bad_name is None:
        return read_record(entry)
    reason = f"`{bad_name}` cannot be part of a key, so no member ever finds it"
    return replace(read_record(entry), config={}, legacy=(), broken=reason)


@lru_cache(maxsize=1 << 13)
def read_record(entry: Entry) -> Record:
    """What a record means; records that somebody broke by hand are explained, not raised. One plan asks for the same
    several times."""
    try:
        raw = from_json(entry.value, allow_inf_nan=False)
        json.dumps(raw, allow_nan=False)  # 1e999 is read as a number that no record could say again
    except ValueError:
        return Record(config={}, raw={}, revision=entry.revision, broken="its text is not JSON")
    if not isinstance(raw, dict):
        return Record(config={}, raw={}, revision=entry.revision, broken="it is not a JSON object")
    if shape_error := wrong_shape(raw):
        return Record(config={}, raw=raw, revision=entry.revision, broken=shape_error)
    legacy = tuple(sorted(LEGACY_KEYS & raw.keys() - _harmless_keys(raw)))
    return Record(config=canonical(raw), raw=raw, revision=entry.revision, legacy=legacy)


def _harmless_keys(raw: Mapping[str, Json]) -> set[str]:
    """Historic keys without effect: no version applied the `filter` of everything in an old static record."""
    return {"filter"} if raw.get("filter") in ("", ">", None) and "partitioning_wildcards" not in raw else set()


def canonical(raw: Mapping[str, Json]) -> dict[str, Json]:
    """The record's meaning: 0, -1 and absent limits are the same; members are a set; mappings are looked up by
    member."""
    config: dict[str, Json] = {"max_members": raw["max_members"]} if raw.get("max_members") else {}
    if filters := raw.get("filters"):
        config["filters"] = list(filters)
    if partitioned := _partitioning_filters(raw):
        config["partitioning_filters"] = partitioned
    for name, old in (("max_buffered_msg", "msg-buffer-size"), ("max_buffered_bytes", None)):
        limit = raw.get(name, raw.get(old) if old else None) or 0
        if limit > 0:
            config[name] = limit
    if members := raw.get("members"):
        config["members"] = list(dict.fromkeys(members))
    if mappings := raw.get("member_mappings") or raw.get("member-mappings"):
        config["member_mappings"] = {entry["member"]: sorted(entry.get("partitions") or []) for entry in mappings}
    return config


def _partitioning_filters(raw: Mapping[str, Json]) -> list[dict[str, Json]]:
    wildcards = raw.get("partitioning_wildcards") or raw.get("partitioning-wildcards")
    if wildcards is not None and raw.get("filter"):
        return [{"filter": raw["filter"], "partitioning_wildcards": list(wildcards)}]
    return [
        {"filter": item["filter"], "partitioning_wildcards": list(item.get("partitioning_wildcards") or [])}
        for item in raw.get("partitioning_filters") or []
    ]


def new_record_text(config: Config, *, elastic: bool) -> str:
    """A new record, exactly as the reference writes it: key order, `null` without filters, no spaces, HTML escapes."""
    record: dict[str, Json] = {"max_members": config["max_members"]}
    if elastic:
        record["partitioning_filters"] = config.get("partitioning_filters") or None
        record |= {name: config[name] for name in ("max_buffered_msg", "max_buffered_bytes") if config.get(name)}
    elif config.get("filters"):
        record["filters"] = config["filters"]
    return encode(record | _membership(config))


def patched_record_text(record: Record, config: Config) -> str:
    """The stored record with another membership; everything else keeps its place and spelling."""
    membership = _membership(config)
    patched = {
        name: membership.get(name, value)
        for name, value in record.raw.items()
        if name not in MEMBERSHIP or name in membership
    }
    return encode(patched | membership)


def _membership(config: Config) -> dict[str, Json]:
    """Never an empty list: Go distinguishes it from an absent one."""
    if mappings := config.get("member_mappings"):
        return {"member_mappings": [{"member": member, "partitions": list(own)} for member, own in mappings.items()]}
    return {"members": list(config["members"])} if config.get("members") else {}


def encode(record: Mapping[str, Json]) -> str:
    """The record's text, in every byte as Go writes it: no spaces, and `<`, `>` and `&` escaped."""
    text = compact_json(record).decode()
    for character, escape in (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026")):
        text = text.replace(character, escape)
    return text


Member = Annotated[str, text_like(f"^{NAME.pattern}$", "a name of letters, digits, `_`, `=` and `-`")]


class MemberMapping(Spec):
    """Which partitions a member owns."""

    member: Annotated[Member, Known()]
    """The member's name, under which its instances join."""
    partitions: Annotated[tuple[Count, ...], Known(unit="list")]
    """Numbers of the partitions it owns, counted from 0."""


class GroupSpec(Terms):
    """What both types of partitioned consumer groups have."""

    max_members: Annotated[Count, Known(unit="count", update=Update.FIXED, felt=fixed(101))]
    """Number of partitions, and the maximum number of members that can work."""
    members: Annotated[
        tuple[Member, ...] | None, Known(unit="list", ordered=False, update=Update.FIXED, felt=fixed(101))
    ] = None
    """Names of the members, among whom the partitions are spread evenly. Excludes `member_mappings`. Left out: as
    `member_mappings` says; without them, the file does not manage the membership."""
    member_mappings: Annotated[
        tuple[MemberMapping, ...] | None, Known(unit="mapping", update=Update.FIXED, felt=fixed(101))
    ] = Field(default=None)
    """Which member owns which partitions, each partition exactly once. Excludes `members`. Left out: as `members`
    says."""


def with_membership_left(spec: Terms) -> Terms:
    """A membership that nobody declared belongs to an autoscaler or an operator: it is unmanaged, even if the file does
    not say so."""
    if spec.model_fields_set & set(MEMBERSHIP):
        return spec
    return spec.model_copy(update={"unmanaged": (*spec.unmanaged, *MEMBERSHIP)})


def render_mappings(config: Config) -> dict[str, Json]:
    """The configuration as files hold it: mappings are a list there, as in the record. A membership left out would be
    unmanaged."""
    rendered = dict(config)
    if not config.keys() & set(MEMBERSHIP):
        rendered["members"] = []
    if mappings := rendered.get("member_mappings"):
        rendered["member_mappings"] = [
            {"member": name, "partitions": list(partitions)} for name, partitions in mappings.items()
        ]
    return rendered


def paths_beyond_membership(change: Change) -> Iterator[str]:
    """Paths of changed fields that are not membership."""
    return (item.path for item in change.fields if item.top not in MEMBERSHIP)
