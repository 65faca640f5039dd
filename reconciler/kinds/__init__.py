"""The kinds of resources that reconciler manages, one line each."""

from reconciler.changes.kind import Registry
from reconciler.kinds import across
from reconciler.kinds.buckets.kv_bucket import KV_BUCKET
from reconciler.kinds.buckets.object_store import OBJECT_STORE
from reconciler.kinds.consumer import CONSUMER
from reconciler.kinds.elastic_group import ELASTIC_GROUP
from reconciler.kinds.order.ordering import first_stage, ties
from reconciler.kinds.static_group import STATIC_GROUP
from reconciler.kinds.stream import STREAM

REGISTRY = Registry(
    kinds=(STREAM, CONSUMER, STATIC_GROUP, ELASTIC_GROUP, KV_BUCKET, OBJECT_STORE),
    across=across.RULES,
    order=ties,
    first_stage=first_stage,
)
