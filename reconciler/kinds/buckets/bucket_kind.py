"""A kind made from a shape: what KV buckets and object stores have in common."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from reconciler.changes.kind import Bound, FilePlace, Kind, Raw
from reconciler.changes.renaming import Recipe, simple_recipe
from reconciler.changes.rule import Rule
from reconciler.kinds.buckets import bucket
from reconciler.kinds.buckets.bucket_rules import bucket_effects, bucket_rules
from reconciler.kinds.fields import peers
from reconciler.kinds.fields.known import field_infos
from reconciler.kinds.losses import lowered_limits, pushed_out, sources_changed, uncaptured
from reconciler.kinds.losses.copied_headers import of_new_copies
from reconciler.kinds.losses.made_again import filled_at_once
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
            *pushed_out.questions(change, view, shape.own_name),
            *peers.questions(change, view),
            *uncaptured.questions(bucket.change_of_stream(shape, change)),
            *effects.questions(change, view),
        ),
        consequences=lambda change, view: (
            *filled_at_once(change, view, shape.own_name),
            *of_new_copies(change, view, family, shape.own_name),
            *effects.consequences(change, view),
        ),
        unknown=lambda address, snapshot: snapshot.why_stream_unknown(shape.stream(address.name)),
        rules=(*bucket_rules(family, shape), *rules),
    )
