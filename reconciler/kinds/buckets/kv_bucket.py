"""KV buckets: a stream `KV_<name>` that keeps the last values of each key (ADR-8). Clients differ in three fields of it."""

from __future__ import annotations

from typing import Annotated, Literal

from reconciler.changes.change import Action, Change
from reconciler.changes.kind import Bound
from reconciler.changes.rule import Found, rule
from reconciler.changes.verdict import Finding, Outcome
from reconciler.changes.view import View
from reconciler.kinds.buckets import bucket
from reconciler.kinds.buckets.bucket_kind import bucket_kind, bucket_recipe
from reconciler.kinds.buckets.bucket_rules import bucket_checks
from reconciler.kinds.fields.known import V2_10, V2_11, Known
from reconciler.kinds.losses.pushed_out import copies_push_out_rule
from reconciler.kinds.losses.sources_changed import copied_again_rule, left_behind_rule
from reconciler.kinds.stream_config.mirrors_and_sources import CHECKS as COPIES
from reconciler.kinds.stream_config.rewriting import CHECKS as REWRITING
from reconciler.kinds.stream_config.stream_config import Placement, Republish, StreamSource
from reconciler.model.resource import Terms
from reconciler.model.units import Bytes, Count, Duration


class KVBucketSpec(Terms):
    """A key-value bucket keeps the last values of each key, in a stream `KV_` and its name."""

    description: Annotated[str | None, Known()] = None
    """What the bucket is for, in at most 4096 bytes. Left out: none."""
    history: Annotated[Count | None, Known(unit="count", default=1)] = None
    """How many values of each key are kept, 1 to 64."""
    ttl: Annotated[Duration | None, Known(unit="duration", default=0)] = None
    """Age at which values expire; 0 keeps them. Left out: values never expire (0)."""
    max_value_size: Annotated[Bytes | None, Known(unit="bytes", default=-1)] = None
    """The largest value that the bucket stores. Left out: no limit (-1) except the connection's."""
    max_bytes: Annotated[Bytes | None, Known(unit="bytes", default=-1)] = None
    """How many bytes the bucket may hold, reserved in the account from the start; at that limit the server refuses
    puts."""
    storage: Annotated[Literal["file", "memory"] | None, Known(default="file")] = None
    """Where values are stored: `file` on disk, `memory` only until the server restarts."""
    num_replicas: Annotated[Count | None, Known(unit="count", default=1)] = None
    """How many servers of the cluster hold a copy, 1 to 5."""
    compression: Annotated[Literal["none", "s2"] | None, Known(default="none", since=V2_10)] = None
    """How file storage is compressed: `none` or `s2`. A change applies only to data that is written after it."""
    placement: Annotated[Placement | None, Known(unit="mapping")] = None
    """Which servers hold the bucket. Left out: any."""
    republish: Annotated[Republish | None, Known(unit="mapping")] = None
    """Publishes each stored value again, for plain subscribers. Left out: nothing is republished."""
    mirror: Annotated[StreamSource | None, Known(unit="mapping")] = None
    """The stream (`KV_` and the bucket's name) that this bucket is an exact, read-only copy of. Left out: this is
    no mirror."""
    sources: Annotated[tuple[StreamSource, ...] | None, Known(unit="list")] = None
    """Streams (`KV_` and the bucket's name) whose values are copied into this bucket. Left out: none."""
    limit_marker_ttl: Annotated[Duration | None, Known(unit="duration", since=V2_11)] = None
    """How long the server keeps a delete marker for a key whose last value expired, at least 1s. It also lets values
    have a time to live. Left out: no markers."""
    allow_direct: Annotated[bool | None, Known(unit="flag", default=True)] = None
    """Let every replica answer gets, not only the leader. Buckets that nats-py made have false."""
    allow_msg_ttl: Annotated[bool | None, Known(unit="flag", default=False, since=V2_11)] = None
    """Let values have a time to live of their own. Left out: false; true with `limit_marker_ttl`."""
    deny_delete: Annotated[bool | None, Known(unit="flag", default=True)] = None
    """Refuse requests to delete single revisions through the API of streams. Buckets that nats.js made have false."""
    metadata: Annotated[dict[str, str] | None, Known(unit="mapping", since=V2_10)] = None
    """Key-value pairs of your own that the server keeps, together at most 128 KiB. Keys that begin with `_nats.`
    belong to the server. Left out: none."""


LONGEST_HISTORY = 64

SHAPE = bucket.BucketShape(
    kind="kv_bucket",
    noun="bucket",
    prefix="KV_",
    subjects=lambda name: [f"$KV.{name}.>"],
    fixed={"discard": "new", "allow_rollup_hdrs": True},
    keys=bucket.own_keys(KVBucketSpec),
    impossible=lambda config: () if 1 <= config.get("history", 1) <= LONGEST_HISTORY else ("history",),
    defaults={"max_msgs_per_subject": 1, "allow_direct": True, "deny_delete": True},
    names={
        "max_msgs_per_subject": "history",
        "max_age": "ttl",
        "max_msg_size": "max_value_size",
        "subject_delete_marker_ttl": "limit_marker_ttl",
    },
    is_direct=True,
)


@rule("KV543", "history-out-of-range", can_stand=True)
def history_out_of_range(change: Change, _view: View) -> Found:
    """`history` is not between 1 and 64, which is what KV clients can handle.

    Instead: choose a number in that range; for longer histories use a stream.
    """
    history = change.becomes("history") or 1
    if 1 <= history <= LONGEST_HISTORY or not (change.action is Action.CREATE or change.touches("history")):
        return None
    return Finding(
        outcome=Outcome.REFUSED,
        path="history",
        message=f"history {history} is not between 1 and 64",
        fix="choose a number in that range; for longer histories use a stream",
    )


KV_BUCKET = bucket_kind(
    SHAPE,
    family="KV",
    title="KV buckets",
    recipe=bucket_recipe,
    bound=Bound(floor=5, percent=20),
    section="kv_buckets",
    spec=KVBucketSpec,
    rules=(
        history_out_of_range,
        copied_again_rule("KV"),
        left_behind_rule("KV", SHAPE.stream),
        copies_push_out_rule("KV", SHAPE.own_name),
        *bucket_checks("KV", SHAPE, (*COPIES, *REWRITING)),
    ),
)
