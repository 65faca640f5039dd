"""A stream's configuration: every field a person may write, with its unit, default and history."""

from __future__ import annotations

from typing import Annotated, Literal

from reconciler.core.resource import Terms
from reconciler.core.wire import Version
from reconciler.kinds.primitives.known import V2_10, V2_11, V2_12, V2_14, Known, Update
from reconciler.kinds.primitives.stream_parts import (
    ConsumerLimits,
    Placement,
    Republish,
    StreamSource,
    SubjectTransform,
)
from reconciler.kinds.primitives.values import Bytes, Count, Duration

INVALID = 10052
"""The err_code of most refusals of a stream configuration; the reason is only in the words."""

MAY_REMOVE_MIRROR = ((V2_11, Update.FIXED), (V2_12, Update.REMOVABLE))
MAX_CONSUMERS = ((V2_11, Update.FIXED), (Version(2, 12, 5), Update.FREE))

Limit = Known(unit="count", default=-1)
Flag = Known(unit="flag", default=False)


class StreamConfig(Terms):
    """The server's StreamConfig without its name, which is the key in the file."""

    description: Annotated[str | None, Known()] = None
    """What this stream is for, at most 4096 bytes."""
    subjects: Annotated[tuple[str, ...] | None, Known(unit="list", ordered=False)] = None
    """Subjects stored here. Server: the stream's own name; none for a mirror or with sources."""
    retention: Annotated[
        Literal["limits", "interest", "workqueue"] | None,
        Known(
            default="limits",
            update=Update.FIXED,
            among=frozenset({"limits", "interest"}),
            err_code=INVALID,
            says="can not change retention policy to/from workqueue",
        ),
    ] = None
    """When messages go: by limits, when all consumers have acknowledged, or when one has. Server: limits."""
    max_consumers: Annotated[
        Count | None,
        Known(unit="count", default=-1, update=MAX_CONSUMERS, err_code=INVALID, says="can not change MaxConsumers"),
    ] = None
    """How many consumers there may be. Server: -1, no limit (from 2.15 a server-wide limit of 1000 may hold)."""
    max_msgs: Annotated[Count | None, Limit] = None
    """How many messages are kept. Server: -1, no limit."""
    max_bytes: Annotated[Bytes | None, Known(unit="bytes", default=-1)] = None
    """How many bytes are kept, reserved in advance. Server: -1, no limit."""
    max_age: Annotated[Duration | None, Known(unit="duration", default=0)] = None
    """Age after which messages are removed, at least 100ms; 0 keeps them. Server: 0, nanoseconds."""
    max_msgs_per_subject: Annotated[Count | None, Limit] = None
    """How many messages are kept for each subject. Server: -1, no limit."""
    max_msg_size: Annotated[Bytes | None, Known(unit="bytes", default=-1)] = None
    """Larger messages are refused. Server: -1, no limit but the connection's."""
    discard: Annotated[Literal["old", "new"] | None, Known(default="old")] = None
    """At a limit, remove old messages or refuse new ones. Server: old."""
    discard_new_per_subject: Annotated[bool | None, Known(unit="flag", default=False, since=V2_10)] = None
    """Refuse new messages per subject; needs `discard: new` and `max_msgs_per_subject`. Server: false. Since 2.10."""
    storage: Annotated[
        Literal["file", "memory"] | None,
        Known(default="file", update=Update.FIXED, err_code=INVALID, says="can not change storage type"),
    ] = None
    """Where messages are kept; memory is lost at a restart. Server: file."""
    num_replicas: Annotated[Count | None, Known(unit="count", default=1)] = None
    """On how many servers, 1 to 5. Server: 1."""
    no_ack: Annotated[bool | None, Flag] = None
    """Do not confirm publishes. Server: false."""
    duplicate_window: Annotated[
        Duration | None, Known(unit="duration", depends="at most 2m, max_age and a limit of the server's own settings")
    ] = None
    """How long message ids are remembered, to refuse duplicates. Server: 2m, or a shorter max_age or server limit."""
    placement: Annotated[Placement | None, Known(unit="mapping", nested_unordered=("tags",))] = None
    """Which servers hold it. Server: any."""
    mirror: Annotated[
        StreamSource | None,
        Known(
            unit="mapping",
            update=MAY_REMOVE_MIRROR,
            err_code=10055,
            says="stream mirror configuration can not be updated",
        ),
    ] = None
    """The stream this is an exact copy of. Removing it (from 2.12) makes this an ordinary stream, for good."""
    sources: Annotated[tuple[StreamSource, ...] | None, Known(unit="list")] = None
    """Streams whose messages are copied into this one."""
    compression: Annotated[Literal["none", "s2"] | None, Known(default="none", since=V2_10)] = None
    """Compression of file storage, for new blocks. Server: none. Since 2.10."""
    first_seq: Annotated[Count | None, Known(unit="count", since=V2_10, update=Update.INERT)] = None
    """Sequence of the first message; only a new stream heeds it. Server: 1. Since 2.10."""
    subject_transform: Annotated[SubjectTransform | None, Known(unit="mapping", since=V2_10)] = None
    """Rewrites subjects before messages are stored. Since 2.10."""
    republish: Annotated[Republish | None, Known(unit="mapping")] = None
    """Publishes stored messages again for plain subscribers."""
    allow_direct: Annotated[bool | None, Flag] = None
    """Any replica may answer reads of single messages. Server: false."""
    mirror_direct: Annotated[
        bool | None,
        Known(unit="flag", default=False, depends="a mirror takes over its origin's allow_direct at every update"),
    ] = None
    """Mirrors may answer such reads for their origin. Server: as the origin's `allow_direct` where it can see it."""
    sealed: Annotated[
        bool | None,
        Known(
            unit="flag",
            default=False,
            update=Update.ONE_WAY,
            err_code=INVALID,
            says="can not unseal a sealed stream",
            at_create=False,
        ),
    ] = None
    """Nothing goes in or out any more; cannot be undone and cannot be set at creation. Server: false."""
    deny_delete: Annotated[
        bool | None,
        Known(
            unit="flag",
            default=False,
            update=Update.ONE_WAY,
            err_code=INVALID,
            says="can not cancel deny message deletes",
        ),
    ] = None
    """Single messages cannot be deleted through the API; cannot be undone. Server: false."""
    deny_purge: Annotated[
        bool | None,
        Known(unit="flag", default=False, update=Update.ONE_WAY, err_code=INVALID, says="can not cancel deny purge"),
    ] = None
    """The stream cannot be purged; cannot be undone. Server: false."""
    allow_rollup_hdrs: Annotated[bool | None, Flag] = None
    """A message may replace all earlier ones (`Nats-Rollup`). Server: false; true with delete markers or schedules."""
    consumer_limits: Annotated[ConsumerLimits | None, Known(unit="mapping", since=V2_10)] = None
    """Bounds for this stream's consumers, inherited by those that say nothing. Since 2.10."""
    allow_msg_ttl: Annotated[
        bool | None,
        Known(
            unit="flag",
            default=False,
            since=V2_11,
            level=1,
            update=Update.ONE_WAY,
            err_code=INVALID,
            says="message TTL status can not be disabled",
        ),
    ] = None
    """Messages may carry their own time to live; cannot be undone. Server: false. Since 2.11."""
    subject_delete_marker_ttl: Annotated[Duration | None, Known(unit="duration", since=V2_11, level=1)] = None
    """How long a marker stands for a subject whose last message expired, from 1s. Server: no markers. Since 2.11."""
    allow_msg_counter: Annotated[
        bool | None,
        Known(
            unit="flag",
            default=False,
            since=V2_12,
            level=2,
            update=Update.FIXED,
            err_code=INVALID,
            says="can not change message counter setting",
        ),
    ] = None
    """Every subject is a counter; fixed at creation. Server: false. Since 2.12."""
    allow_atomic: Annotated[bool | None, Known(unit="flag", default=False, since=V2_12, level=2)] = None
    """Batches may be published as one. Server: false. Since 2.12."""
    allow_msg_schedules: Annotated[
        bool | None,
        Known(
            unit="flag",
            default=False,
            since=V2_12,
            level=2,
            update=Update.ONE_WAY,
            err_code=INVALID,
            says="message schedules can not be disabled",
        ),
    ] = None
    """Messages may be scheduled for later; cannot be undone. Server: false. Since 2.12."""
    persist_mode: Annotated[
        Literal["default", "async"] | None,
        Known(
            default="default",
            since=V2_12,
            level=2,
            update=Update.FIXED,
            err_code=INVALID,
            says="can not change persist mode",
        ),
    ] = None
    """`async` confirms before data is on disk; fixed at creation. Server: default. Since 2.12."""
    allow_batched: Annotated[bool | None, Known(unit="flag", default=False, since=V2_14, level=4)] = None
    """Fast batches with flow control may be published. Server: false. Since 2.14."""
    metadata: Annotated[dict[str, str] | None, Known(unit="mapping", since=V2_10)] = None
    """Labels of your own kept by the server, together at most 128 KiB; `_nats.*` is the server's. Since 2.10."""
