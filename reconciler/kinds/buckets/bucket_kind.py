"""A kind made from a shape: what KV buckets and object stores have in common.

How to rename a bucket or an object store, which no server does itself: steps that lose nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from reconciler.changes.kind import Bound, FilePlace, Kind, Raw
from reconciler.changes.renaming import Recipe, Renaming, simple_recipe
from reconciler.changes.rule import Rule
from reconciler.kinds.buckets import bucket
from reconciler.kinds.buckets.bucket_rules import bucket_effects, bucket_rules
from reconciler.kinds.fields import peers
from reconciler.kinds.fields.known import field_infos
from reconciler.kinds.fields.words import listed
from reconciler.kinds.losses import lowered_limits, made_again, pushed_out, sources_changed, uncaptured
from reconciler.kinds.losses.copied_headers import new_copy_consequences
from reconciler.kinds.stream_config.origins import origin_names, reads_by_copying
from reconciler.model.fields import FieldInfo
from reconciler.model.resource import Terms


def _with_own_defaults(shape: bucket.BucketShape, spec: type[Terms]) -> dict[str, FieldInfo]:
    """A bucket's history is 1 by default; a stream's messages per subject are unlimited."""
    infos, own = bucket.bucket_fields(shape), field_infos(spec)
    return {name: replace(infos[name], default=own[name].default) for name in infos.keys() & own.keys()}


def bucket_kind(
    shape: bucket.BucketShape,
    *,
    family: str,
    title: str,
    bound: Bound,
    section: str,
    recipe: Recipe = simple_recipe,
    spec: type[Terms],
    rules: tuple[Rule, ...] = (),
) -> Kind:
    """The whole kind; `rules` are its own."""
    effects = bucket_effects(family, shape)
    return Kind(
        name=shape.kind,
        family=family,
        title=title,
        backing=shape.prefix,
        as_stream=partial(bucket.stream_body, shape),
        own_name=shape.own_name,
        bound=bound,
        recipe=recipe,
        place=FilePlace(section, names=shape.name_pattern),
        spec=spec,
        fields=bucket.bucket_fields(shape) | _with_own_defaults(shape, spec),
        recognise=partial(bucket.recognise, shape),
        claims=partial(bucket.claims, shape),
        deviations=lambda address, stream, snapshot: bucket.deviations(shape, address.name, stream, snapshot),
        settle=partial(bucket.settle_bucket, shape),
        steps=partial(bucket.steps, shape),
        needs=lambda resource: origin_names(resource.config),
        reads=reads_by_copying,
        lends=partial(bucket.lends, shape),
        primary=lambda address: Raw("stream", (shape.stream(address.name),)),
        questions=lambda change, view: (
            *lowered_limits.questions(change, view, shape.own_name),
            *sources_changed.questions(change, view),
            *made_again.questions(change, view, shape.stream(change.address.name)),
            *made_again.elsewhere_questions(change, view, shape.own_name),
            *pushed_out.questions(change, view, shape.own_name),
            *peers.questions(change, view),
            *uncaptured.questions(bucket.change_of_stream(shape, change)),
            *effects.questions(change, view),
        ),
        consequences=lambda change, view: (
            *made_again.initial_copy_consequences(change, view, shape.own_name),
            *new_copy_consequences(change, view, family, shape.own_name),
            *effects.consequences(change, view),
        ),
        unknown=lambda address, snapshot: snapshot.why_stream_unknown(shape.stream(address.name)),
        rules=(*bucket_rules(family, shape), *rules),
    )


def bucket_recipe(renaming: Renaming) -> list[str]:
    """Steps that move a KV bucket to another name and lose no key. A mirror is declared again, and fills by itself."""
    return _mirrored_bucket_instructions(renaming) if renaming.live.get("mirror") else _bucket_instructions(renaming)


def _bucket_instructions(renaming: Renaming) -> list[str]:
    old, new = renaming.old.name, renaming.new.name
    return [
        f"Declare {new} like {old}{_clause_about_consumers(renaming)}, apply, and let all writers write to both.",
        f"Copy each key that {new} lacks: nats kv get {old} KEY --raw | nats kv create {new} KEY. {_FRESH}{_caveat_about_ttl(renaming)}",
        *_copies_instructions(renaming, "KV_", "key"),
        f"Let readers, and then writers, use only {new}. Revisions start again at 1 there.",
    ]


_FRESH = "This takes the last value alone, as one that was just written"


def _caveat_about_ttl(renaming: Renaming) -> str:
    own = ": give keys with a time to live of their own a new one" if renaming.live.get("allow_msg_ttl") else ""
    return f"{own}."


def _clause_about_consumers(renaming: Renaming) -> str:
    """They start with what is copied."""
    return ", with consumers like its own" if renaming.has_consumers else ""


def _mirrored_bucket_instructions(renaming: Renaming) -> list[str]:
    old, new = renaming.old.name, renaming.new.name
    return [
        f"Declare {new} like {old}{_clause_about_consumers(renaming)}, apply, and wait until `nats stream info KV_{new}` shows "
        "no lag. Revisions are the same there.",
        *_copies_instructions(renaming, "KV_", "key"),
        f"Let readers use {new}.",
    ]


def store_recipe(renaming: Renaming) -> list[str]:
    """Steps that move an object store to another name, object by object with the `nats` CLI."""
    old, new = renaming.old.name, renaming.new.name
    return [
        f"Declare {new} like {old}{_clause_about_consumers(renaming)}, and apply.",
        f"Copy each object: nats object get {old} NAME --output FILE; nats object put {new} FILE --name NAME. Its description, "
        "headers, metadata and chunk size are not copied, and a link becomes an object of its own.",
        *_copies_instructions(renaming, "OBJ_", "object"),
        f"Stop the writers. Copy the objects that were put into {old} meanwhile, and delete in {new} those that were deleted.",
        f"Let writers, and then readers, use {new}.",
    ]


def _copies_instructions(renaming: Renaming, prefix: str, noun: str) -> Iterator[str]:
    old, new = renaming.old.name, renaming.new.name
    if renaming.sourcing:
        yield (
            f"Let {listed([*renaming.sourcing])} source {prefix}{new} instead of {prefix}{old}, also in filters, and apply: "
            f"the server copies every {noun} once more."
        )
    if renaming.mirrors:
        yield (
            f"No server redirects a mirror: declare a new mirror of {new} in place of {listed([*renaming.mirrors])}, apply, and "
            "let its readers use the new one."
        )
