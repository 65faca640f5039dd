"""Buckets: a stream with a fixed shape whose fields go by names of their own. KV buckets and object stores are these."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from reconciler.core.diff import Action, Change
from reconciler.core.kind import Context, FieldInfo, Raw, declared_config
from reconciler.core.resource import Address, Config, Declared, Json, Resource, Terms
from reconciler.core.rule import View
from reconciler.core.wire import Snapshot, Step
from reconciler.kinds.primitives import calls
from reconciler.kinds.primitives.origins import live_origin
from reconciler.kinds.primitives.stream_config import FIELD_INFOS, canonical, settle

OURS = frozenset(Terms.model_fields)
RESERVED = frozenset({"reconciler", "static-consumer-groups", "elastic-consumer-groups"})
"""Buckets that belong to us or to the groups; never listed, never declared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How buckets of one kind lie in streams."""

    kind: str
    prefix: str
    """Of the stream's name."""
    subjects: Callable[[str], list[str]]
    fixed: Config
    """Stream fields every such bucket has."""
    defaults: Config = field(default_factory=dict)
    """Stream fields whose default is another one in such a bucket."""
    created: Config = field(default_factory=dict)
    """Stream fields we set when creating one and leave as found ever after."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Stream field → the bucket's own name for it."""
    lenient: frozenset[str] = frozenset()
    """Stream fields in which client libraries differ: left as found."""
    prepare: Callable[[dict[str, Json]], None] = lambda _body: None
    """Last touches on the stream's body that follow from what is declared."""

    def stream(self, bucket: str) -> str:
        return self.prefix + bucket

    def full(self, bucket: str) -> dict[str, Json]:
        """Everything a bucket of this name has unless its file says otherwise."""
        return {"subjects": self.subjects(bucket), **self.fixed, **self.defaults}

    def is_bucket(self, name: str, info: Mapping[str, Json]) -> bool:
        """The stream's name and subjects say bucket; a mirror of a bucket has no subjects of its own."""
        bucket = name.removeprefix(self.prefix)
        config = info["config"]
        listens = config.get("subjects") == self.subjects(bucket) or (
            not config.get("subjects") and config.get("mirror")
        )
        return name.startswith(self.prefix) and bucket not in RESERVED and bool(listens)

    def ours(self, stream_field: str) -> str:
        return self.names.get(stream_field, stream_field)

    def server(self, own_field: str) -> str:
        return next((stream for stream, own in self.names.items() if own == own_field), own_field)


def recognise(shape: Shape, snapshot: Snapshot) -> Iterable[Resource]:
    for name, info in snapshot.streams.items():
        if shape.is_bucket(name, info):
            bucket = name.removeprefix(shape.prefix)
            yield Resource(
                address=Address.of(shape.kind, bucket),
                config=_own(shape, bucket, canonical(info["config"])),
                state=info,
            )


def claims(shape: Shape, snapshot: Snapshot, declared: Sequence[Address]) -> Iterable[Raw]:
    yield from (Raw("stream", (name,)) for name, info in snapshot.streams.items() if shape.is_bucket(name, info))
    yield from (Raw("stream", (shape.stream(address.name),)) for address in declared)
    yield from (Raw("stream", (f"KV_{bucket}",)) for bucket in RESERVED)


def settle_bucket(shape: Shape, declared: Declared, context: Context) -> Resource:
    name = declared.address.name
    said = declared_config(declared.spec, OURS)
    body = shape.full(name) | {shape.server(key): value for key, value in said.items()}
    if body.get("mirror"):
        del body["subjects"]
    shape.prepare(body)
    settled = settle(body, context.target, name=shape.stream(name), origin=live_origin(body, context.snapshot))
    config = _own(shape, name, settled.config)
    fills = {shape.ours(key): fill for key, fill in settled.open.items()}
    for loose in shape.lenient - body.keys():
        config.pop(loose, None)
        fills[loose] = lambda _live: True
    return Resource(address=declared.address, config=config, open=fills, terms=declared.spec, where=declared.where)


def _own(shape: Shape, bucket: str, config: Config) -> dict[str, Json]:
    """In the bucket's own names, without what every bucket of this shape has: a deviation from it stays visible."""
    full = shape.full(bucket)
    own = {shape.ours(key): value for key, value in config.items() if full.get(key) != value}
    own |= {shape.ours(key): -1 for key in shape.defaults if key not in config}
    if "mirror" not in config:
        own |= {key: MISSING for key in ("subjects", *shape.fixed) if key not in config}
    return own


MISSING = "not as the bucket needs it"


def steps(shape: Shape, change: Change, view: View) -> Sequence[Step]:
    stream = shape.stream(change.address.name)
    if change.action is Action.CREATE and change.desired:
        return (
            calls.create_stream(
                change, stream, {**_created(shape, change.desired), **stream_body(shape, change.desired)}
            ),
        )
    if change.action is Action.UPDATE:
        return calls.update_streams(change, stream, view, shape.server, repaired=_repairs(shape, change))
    return (calls.delete_stream(change, stream),) if change.action is Action.DELETE else ()


def _created(shape: Shape, resource: Resource) -> Config:
    """What we choose for a new bucket where its file says nothing; `allow_direct: false` in a file is an opinion."""
    return {key: value for key, value in shape.created.items() if shape.ours(key) in resource.open}


def stream_body(shape: Shape, resource: Resource) -> dict[str, Json]:
    """The stream's own configuration for a bucket in canonical form."""
    shaped = shape.full(resource.address.name)
    if "mirror" in resource.config:
        del shaped["subjects"]
    return shaped | {shape.server(key): value for key, value in resource.config.items()}


def _repairs(shape: Shape, change: Change) -> dict[str, Json]:
    """Fields of the shape that are not as they must be: back to what every bucket has. A mirror that is promoted has
    none of its own yet."""
    full = shape.full(change.address.name)
    if change.was("mirror") and not change.becomes("mirror"):
        return {key: full[key] for key in ("subjects", *shape.fixed)}
    touched = (shape.server(item.top) for item in change.fields if item.desired is None)
    return {key: full[key] for key in touched if key in full}


def render(_shape: Shape, resource: Resource) -> Mapping[str, Json]:
    """With deviations from the shape, which no file can say: whoever writes a file leaves them as found."""
    return dict(resource.config)


def bucket_fields(shape: Shape) -> dict[str, FieldInfo]:
    """Fields by the bucket's own names."""
    return {shape.ours(name): info for name, info in FIELD_INFOS.items()}
