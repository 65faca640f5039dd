"""Object stores: a stream `OBJ_<name>` that holds chunks, and the metadata of each object (ADR-20)."""

from __future__ import annotations

from typing import Annotated, Literal

from reconciler.changes.kind import Bound
from reconciler.kinds.buckets import bucket
from reconciler.kinds.buckets.bucket_kind import bucket_kind, store_recipe
from reconciler.kinds.fields.known import V2_10, Known
from reconciler.kinds.stream_config.fixed_fields import seal_at_creation_rule
from reconciler.kinds.stream_config.stream_config import Placement
from reconciler.model.resource import Terms
from reconciler.model.units import Bytes, Count, Duration


class ObjectStoreSpec(Terms):
    """An object store keeps files of any size, in a stream `OBJ_` and its name."""

    description: Annotated[str | None, Known()] = None
    """What the store is for, in at most 4096 bytes. Left out: none."""
    ttl: Annotated[Duration | None, Known(unit="duration", default=0)] = None
    """Age at which objects expire; 0 keeps them. Left out: objects never expire (0)."""
    max_bytes: Annotated[Bytes | None, Known(unit="bytes", default=-1)] = None
    """How many bytes the store may hold, reserved in the account from the start; at that limit the server refuses
    puts."""
    storage: Annotated[Literal["file", "memory"] | None, Known(default="file")] = None
    """Where objects are stored: `file` on disk, `memory` only until the server restarts."""
    num_replicas: Annotated[Count | None, Known(unit="count", default=1)] = None
    """How many servers of the cluster hold a copy, 1 to 5."""
    compression: Annotated[Literal["none", "s2"] | None, Known(default="none", since=V2_10)] = None
    """How file storage is compressed: `none` or `s2`. A change applies only to data that is written after it."""
    placement: Annotated[Placement | None, Known(unit="mapping")] = None
    """Which servers hold the store. Left out: any."""
    allow_direct: Annotated[bool | None, Known(unit="flag", default=True)] = None
    """Let every replica answer gets, not only the leader."""
    sealed: Annotated[bool | None, Known(unit="flag", default=False)] = None
    """Nothing is put, replaced or deleted any more, and nothing expires. A new store cannot be sealed."""
    metadata: Annotated[dict[str, str] | None, Known(unit="mapping", since=V2_10)] = None
    """Key-value pairs of your own that the server keeps, together at most 128 KiB. Keys that begin with `_nats.`
    belong to the server. Left out: none."""


SHAPE = bucket.BucketShape(
    kind="object_store",
    noun="object store",
    prefix="OBJ_",
    subjects=lambda name: [f"$O.{name}.C.>", f"$O.{name}.M.>"],
    fixed={"discard": "new", "allow_rollup_hdrs": True},
    keys=bucket.own_keys(ObjectStoreSpec),
    defaults={"allow_direct": True},
    names={"max_age": "ttl"},
)

OBJECT_STORE = bucket_kind(
    SHAPE,
    family="OB",
    title="Object stores",
    recipe=store_recipe,
    bound=Bound(floor=3, percent=20),
    section="object_stores",
    spec=ObjectStoreSpec,
    rules=(seal_at_creation_rule("OB"),),
)
