"""Buckets: streams of a fixed shape whose fields have names of their own. KV buckets and object stores are such
buckets."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace

from reconciler.changes.change import Action, Change
from reconciler.changes.kind import Context, Raw, declared_config
from reconciler.changes.view import View
from reconciler.kinds.stream_config import calls
from reconciler.kinds.stream_config.new_copies import with_waits_for_copies
from reconciler.kinds.stream_config.origins import origin_of_mirror
from reconciler.kinds.stream_config.stream_config import FIELD_INFOS, FIELDS, Settled, lasting_config, settle
from reconciler.kinds.subjects.subjects import LONGEST_NAME
from reconciler.model.dataclass import dataclass
from reconciler.model.fields import FieldInfo
from reconciler.model.ledger.records import RESERVED
from reconciler.model.resource import Address, Config, Declared, Json, Resource, Terms
from reconciler.model.wire.snapshot import Snapshot
from reconciler.model.wire.steps import Step

LETTERS = "[A-Za-z0-9_-]"
"""What the name of a bucket consists of."""
RESERVED_STREAMS = frozenset(f"KV_{bucket}" for bucket in RESERVED)


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketShape:
    """How buckets of one kind are stored in streams."""

    kind: str
    noun: str
    """What people call one of them: `object store`."""
    prefix: str
    """The beginning of the stream's name."""
    subjects: Callable[[str], list[str]]
    fixed: Config
    """Stream fields every such bucket has."""
    keys: frozenset[str]
    """Its own fields that a file can state."""
    defaults: Config = field(default_factory=dict)
    """Stream fields that have another default in such a bucket."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Stream field → the bucket's own name for it."""
    impossible: Callable[[Config], Iterable[str]] = lambda _config: ()
    """Fields of its own whose values no bucket of this kind can have."""
    is_direct: bool = False
    """Do clients make its mirrors with `mirror_direct`?"""

    @property
    def longest(self) -> int:
        """How many letters a name may have, for the stream behind it has a longer one."""
        return LONGEST_NAME - len(self.prefix)

    @property
    def name_pattern(self) -> str:
        """The pattern of names that clients take."""
        return f"{LETTERS}{{1,{self.longest}}}"

    def stream(self, bucket: str) -> str:
        """The stream behind a bucket: `KV_config` for `config`."""
        return self.prefix + bucket

    def full(self, bucket: str, stated: Config) -> dict[str, Json]:
        """Everything a bucket of this name has unless its file says otherwise. A mirror has the subjects of its
        origin."""
        subjects = {} if "mirror" in stated else {"subjects": self.subjects(bucket)}
        return {**subjects, **self.fixed, **self.defaults}

    def has_bucket_name(self, stream: str) -> bool:
        """Does a stream's name say that it is a bucket?"""
        return stream.startswith(self.prefix) and self.bucket_name(stream) not in RESERVED

    def bucket_name(self, stream: str) -> str:
        """The bucket behind a stream: `config` for `KV_config`. A name without the prefix comes back unchanged."""
        return stream.removeprefix(self.prefix)

    def own_name(self, stream_field: str) -> str:
        """The bucket's own name for a stream field: `history` for `max_msgs_per_subject`. Most are the same."""
        return self.names.get(stream_field, stream_field)

    def stream_field(self, own_field: str) -> str:
        """The stream field behind a bucket's own name: `max_msgs_per_subject` for `history`."""
        return next((stream for stream, own in self.names.items() if own == own_field), own_field)


def own_keys(spec: type[Terms]) -> frozenset[str]:
    """Fields that a file states of a bucket, without what every resource may say."""
    return frozenset(spec.model_fields.keys() - Terms.model_fields.keys())


def recognise(shape: BucketShape, snapshot: Snapshot) -> Iterable[Resource]:
    """All streams with such a name. Only ordinary buckets are claimed; any other stream stays a stream unless it is
    declared as a bucket."""
    for name, info in snapshot.streams.items():
        if shape.has_bucket_name(name):
            bucket = shape.bucket_name(name)
            config = in_own_names(shape, bucket, lasting_config(info["config"]))
            stock = _stock_values(shape, bucket, config)
            yield Resource(address=Address.of(shape.kind, bucket), config=config, stock=stock, state=info)


def claims(shape: BucketShape, snapshot: Snapshot) -> Iterable[Raw]:
    """Streams that are ordinary buckets of this shape, and those of the reserved buckets, which no listing shows."""
    for name, info in snapshot.streams.items():
        if shape.has_bucket_name(name) and not deviations(
            shape, shape.bucket_name(name), lasting_config(info["config"]), snapshot
        ):
            yield Raw("stream", (name,))
    yield from (Raw("stream", (name,)) for name in RESERVED_STREAMS)


def deviations(shape: BucketShape, name: str, stream: Config, snapshot: Snapshot) -> dict[str, Json]:
    """What this stream has that no declared bucket of this shape can have, by the bucket's own field; None for what it
    lacks. An ordinary bucket has nothing of the kind: a file describes it completely, and the server accepts it."""
    config, context = in_own_names(shape, name, stream), Context(target=snapshot.target, snapshot=snapshot)
    stated = {key: value for key, value in config.items() if key in shape.keys}
    settled = _settle_in_own_names(shape, name, stated, context).config
    odd = {key for key in config.keys() | settled.keys() if config.get(key) != settled.get(key)}
    odd_name = {} if re.fullmatch(shape.name_pattern, name) and name not in RESERVED else {"name": name}
    return odd_name | {key: config.get(key) for key in sorted({*odd, *shape.impossible(config)})}


def settle_bucket(shape: BucketShape, declared: Declared, context: Context) -> Resource:
    """The declared bucket in canonical form, under its own names and without what its shape fixes."""
    stated = declared_config(declared.spec)
    settled = _settle_in_own_names(shape, declared.address.name, stated, context)
    return settled.resource(declared, _stock_values(shape, declared.address.name, settled.config))


def _settle_in_own_names(shape: BucketShape, name: str, stated: Config, context: Context) -> Settled:
    """The configuration that the server would echo, in the bucket's own names."""
    body, stream = _with_shape(shape, name, stated), shape.stream(name)
    if mirror := body.get("mirror"):
        is_there = context.snapshot is not None and stream in context.snapshot.streams
        if shape.is_direct and ("external" in mirror or not is_there):
            body["mirror_direct"] = True
    origin = origin_of_mirror(body, context)
    settled = settle(body, context.target, name=stream, origin=origin, is_direct=shape.is_direct)
    filled = {shape.own_name(key): default for key, default in settled.filled.items()}
    follows = {shape.own_name(key): _source_in_own_names(shape, source) for key, source in settled.follows.items()}
    return Settled(config=in_own_names(shape, name, settled.config), filled=filled, follows=follows)


def _source_in_own_names(shape: BucketShape, source: str) -> str:
    """`from limit_marker_ttl`"""
    return " ".join(map(shape.own_name, source.split()))


def _stock_values(shape: BucketShape, name: str, config: Config) -> Config:
    """Values that the shape gives to every bucket."""
    return {shape.own_name(key): value for key, value in shape.full(name, config).items()}


def in_own_names(shape: BucketShape, bucket: str, config: Config) -> dict[str, Json]:
    """The configuration in the bucket's own names, without what every bucket of this shape has. Deviations from the
    shape stay visible."""
    full = shape.full(bucket, config)
    own = {shape.own_name(key): value for key, value in config.items() if full.get(key) != value}
    return own | {shape.own_name(key): _value_when_left_out(key) for key in full if key not in config}


def _value_when_left_out(stream_field: str) -> Json:
    """The value of a stream without this field."""
    entry = FIELDS[stream_field]
    return [] if entry.unit == "list" else entry.default


def steps(shape: BucketShape, change: Change, view: View) -> Sequence[Step]:
    """Requests that create, update or delete the bucket's stream. An update comes after everything it must wait for."""
    stream = shape.stream(change.address.name)
    if change.action is Action.CREATE and change.desired:
        sent = replace(change.desired, config=change.desired.sent)
        return with_waits_for_copies((calls.create_stream(change, stream, stream_body(shape, sent)),), change, view)
    if change.action is Action.UPDATE:
        updated = calls.update_stream(
            change, stream, view, shape.stream_field, repaired=_repaired_fields(shape, change)
        )
        return with_waits_for_copies(updated, change, view)
    return (calls.delete_stream(change, stream),) if change.action is Action.DELETE else ()


def stream_body(shape: BucketShape, resource: Resource) -> dict[str, Json]:
    """The stream's own configuration for a bucket in canonical form."""
    return _with_shape(shape, resource.address.name, resource.config)


def _with_shape(shape: BucketShape, name: str, stated: Config) -> dict[str, Json]:
    """What a bucket states, in the server's names, on top of what every such bucket has."""
    return shape.full(name, stated) | {shape.stream_field(key): value for key, value in stated.items()}


def change_of_stream(shape: BucketShape, change: Change) -> Change:
    """The same change of the stream behind the bucket, by the server's names; without its fields one by one."""
    behind = Address.of("stream", shape.stream(change.address.name))
    desired, live = (
        replace(resource, address=behind, config=stream_body(shape, resource)) if resource else None
        for resource in (change.desired, change.live)
    )
    return replace(change, address=behind, desired=desired, live=live, fields=())


def _repaired_fields(shape: BucketShape, change: Change) -> dict[str, Json]:
    """Fields of the shape that its stream lacks and the bucket does not state: set to what every bucket has. A promoted
    mirror lacks subjects."""
    desired, live = (resource.config if resource else {} for resource in (change.desired, change.live))
    name = change.address.name
    held = _with_shape(shape, name, live)
    full = shape.full(name, desired)
    return {key: value for key, value in full.items() if shape.own_name(key) not in desired and held.get(key) != value}


def lends(shape: BucketShape, declared: Declared) -> Mapping[str, Config]:
    """A mirror answers direct reads where its origin does."""
    stated = getattr(declared.spec, "allow_direct", None)
    by_default = shape.defaults.get("allow_direct", False)
    return {shape.stream(declared.address.name): {"allow_direct": by_default if stated is None else stated}}


AS_NEEDED = "as the bucket needs it"


def bucket_fields(shape: BucketShape) -> dict[str, FieldInfo]:
    """Fields by the bucket's own names, each with the default it has in a bucket."""
    subjects = replace(FIELD_INFOS["subjects"], left_out=AS_NEEDED)
    own = {name: replace(FIELD_INFOS[name], default=value) for name, value in {**shape.fixed, **shape.defaults}.items()}
    return {shape.own_name(name): info for name, info in {**FIELD_INFOS, "subjects": subjects, **own}.items()}
