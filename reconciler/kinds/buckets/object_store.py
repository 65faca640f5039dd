"""Object stores: a stream `OBJ_<name>` that holds chunks, and the metadata of each object (ADR-20)."""

from __future__ import annotations

from typing import Annotated, Literal

from reconciler.changes.kind import Bound
from reconciler.kinds.buckets import bucket
from reconciler.kinds.buckets.another_name import store_recipe
from reconciler.kinds.buckets.bucket_kind import bucket_kind
from reconciler.kinds.fields.known import V2_10, Known
from reconciler.kinds.stream_config.fixed_fields import seal_at_creation
from reconciler.kinds.stream_config.stream_config import Placement
from reconciler.model.resource import Terms
from reconciler.model.units import Bytes, Count, Duration


class ObjectStoreSpec(Terms):
    """An object store as written in a file."""

    description: Annotated[str | None, Known()] = None
    """What this store is for."""
    ttl: Annotated[Duration | None, Known(unit="duration", default=0)] = None
    """Age after which objects are removed; 0 keeps them. Server: max_age, nanoseconds."""
    max_bytes: Annotated[Bytes | None, Known(unit="bytes", default=-1)] = None
    """How many bytes the store may hold. Default: -1, no limit."""
    storage: Annotated[Literal["file", "memory"] | None, Known(default="file")] = None
    """Where objects are stored; memory is lost at a restart. Default: file."""
    num_replicas: Annotated[Count | None, Known(unit="count", default=1)] = None
    """How many servers hold it, 1 to 5. Default: 1."""
    compression: Annotated[Literal["none", "s2"] | None, Known(default="none", since=V2_10)] = None
    """Compression of file storage. Default: none."""
    placement: Annotated[Placement | None, Known(unit="mapping")] = None
    """Which servers hold it."""
    allow_direct: Annotated[bool | None, Known(unit="flag", default=True)] = None
    """Any replica may answer reads. Default: true."""
    sealed: Annotated[bool | None, Known(unit="flag", default=False)] = None
    """Nothing can be put, replaced or deleted any more, and nothing expires; cannot be undone or set at creation. Default: false."""
    metadata: Annotated[dict[str, str] | None, Known(unit="mapping", since=V2_10)] = None
    """Labels of your own kept by the server; `_nats.*` is the server's. Since 2.10."""


SHAPE = bucket.BucketShape(
    kind="object_store",
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
    rules=(seal_at_creation("OB"),),
)
