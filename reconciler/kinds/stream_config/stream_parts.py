"""Objects inside a stream configuration: placement, sources, transforms, republish, limits for consumers."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from reconciler.kinds.fields.known import V2_10, V2_14, Known
from reconciler.kinds.fields.texts import Name, Subject
from reconciler.kinds.fields.times import Time
from reconciler.model.resource import Spec
from reconciler.model.units import Count, Duration, SequenceNumber


class Placement(Spec):
    """Where in a cluster or super-cluster the replicas live; a single server accepts and ignores it."""

    cluster: Annotated[str | None, Known()] = None
    """Name of the cluster that holds the replicas. Server: any cluster."""
    tags: Annotated[tuple[str, ...] | None, Known(unit="list", ordered=False)] = None
    """Tags that every chosen server must have. Server: none."""
    preferred: Annotated[str | None, Known(since=V2_10)] = None
    """Server that should lead. Servers refuse it in a stream's configuration; use a step-down request instead."""


class SubjectTransform(Spec):
    """Rewrites subjects that match `src` to `dest`."""

    src: Annotated[Subject | None, Known()] = None
    """Subjects to rewrite; may hold wildcards. Server: `>`."""
    dest: Annotated[Subject | None, Known()] = None
    """What they become, with functions such as `{{wildcard(1)}}` and `{{partition(8,1)}}`; empty keeps the subject."""


class External(Spec):
    """Reaches a stream in another account or domain."""

    api: Annotated[Subject | None, Known()] = None
    """API prefix that leads there, for example `$JS.hub.API`."""
    deliver: Annotated[Subject | None, Known()] = None
    """Prefix for the subjects messages are delivered on. Server: none."""


class SourceConsumer(Spec):
    """A durable consumer on the origin that is used instead of a temporary one."""

    name: Annotated[Name | None, Known()] = None
    """The consumer's name."""
    deliver_subject: Annotated[Subject | None, Known()] = None
    """The consumer's own deliver subject, a literal."""


class StreamSource(Spec):
    """A stream from which messages are copied."""

    name: Annotated[Name, Known(), Field(min_length=1)]
    """The origin's name."""
    opt_start_seq: Annotated[SequenceNumber | None, Known(unit="count")] = None
    """First sequence to copy. Server: the first one that exists."""
    opt_start_time: Annotated[Time | None, Known(unit="time")] = None
    """Copy messages stored at or after this time. Server: all."""
    filter_subject: Annotated[Subject | None, Known()] = None
    """Copy only matching subjects; not together with `subject_transforms`. Server: all."""
    subject_transforms: Annotated[tuple[SubjectTransform, ...] | None, Known(unit="list", since=V2_10)] = None
    """Filters and rewrites at once: only subjects that match a `src` are copied. Since 2.10."""
    external: Annotated[External | None, Known(unit="mapping")] = None
    """Where the origin is, if it is in another account or domain."""
    consumer: Annotated[SourceConsumer | None, Known(unit="mapping", since=V2_14, level=4)] = None
    """A durable consumer on the origin to copy through, made by its owner. Since 2.14."""


class Republish(Spec):
    """Republishes every stored message, for plain subscribers."""

    src: Annotated[Subject | None, Known(default=">")] = None
    """Which stored subjects. Server: `>`."""
    dest: Annotated[Subject | None, Known()] = None
    """The subject to republish under; must not lead back into the stream."""
    headers_only: Annotated[bool | None, Known(unit="flag", default=False)] = None
    """Publish headers without the message. Server: false."""


class ConsumerLimits(Spec):
    """Upper bounds for consumers of this stream, and what consumers inherit that leave them out."""

    inactive_threshold: Annotated[Duration | None, Known(unit="duration", since=V2_10)] = None
    """The server deletes consumers that are idle longer; durables inherit it too. Server: none."""
    max_ack_pending: Annotated[Count | None, Known(unit="count", since=V2_10)] = None
    """Unacknowledged messages per consumer. Server: none."""
