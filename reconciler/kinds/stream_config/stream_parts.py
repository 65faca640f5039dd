"""Objects inside a stream configuration: placement, sources, transforms, republish, limits for consumers."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from reconciler.kinds.fields.known import V2_10, V2_14, Known, Name, Subject
from reconciler.kinds.fields.times import Time
from reconciler.model.resource import Spec
from reconciler.model.units import Count, Duration, SequenceNumber


class Placement(Spec):
    """Where in a cluster or super-cluster the replicas are. A single server accepts this and ignores it."""

    cluster: Annotated[str | None, Known()] = None
    """Name of the cluster that holds the replicas. Left out: any cluster."""
    tags: Annotated[tuple[str, ...] | None, Known(unit="list", ordered=False)] = None
    """Tags that every chosen server must have. Left out: none."""
    preferred: Annotated[str | None, Known(since=V2_10)] = None
    """The server that should lead. Servers refuse it in a stream's configuration; ask the leader to step down
    instead. Left out: none."""


class SubjectTransform(Spec):
    """Rewrites subjects that match `src` to `dest`."""

    src: Annotated[Subject | None, Known()] = None
    """Subjects to rewrite; wildcards are allowed. Left out: `>`, all of them."""
    dest: Annotated[Subject | None, Known()] = None
    """What they become, with functions such as `{{wildcard(1)}}` and `{{partition(8,1)}}`. Left out: the subject
    stays."""


class External(Spec):
    """The way to a stream in another account or domain."""

    api: Annotated[Subject | None, Known()] = None
    """API prefix that leads there, for example `$JS.hub.API`. Left out: none."""
    deliver: Annotated[Subject | None, Known()] = None
    """Prefix of the subjects on which the messages are delivered. Left out: none."""


class SourceConsumer(Spec):
    """A durable consumer of the origin that feeds the copy, instead of a temporary one."""

    name: Annotated[Name | None, Known()] = None
    """The consumer's name. Left out: none."""
    deliver_subject: Annotated[Subject | None, Known()] = None
    """The consumer's own deliver subject, without wildcards. Left out: none."""


class StreamSource(Spec):
    """A stream from which messages are copied."""

    name: Annotated[Name, Known(), Field(min_length=1)]
    """Name of the stream that messages are copied from, its origin."""
    filter_subject: Annotated[Subject | None, Known()] = None
    """Copy only messages whose subjects match. Excludes `subject_transforms`. Left out: all."""
    opt_start_seq: Annotated[SequenceNumber | None, Known(unit="count")] = None
    """Sequence number of the first message to copy. Left out: the first one stored."""
    opt_start_time: Annotated[Time | None, Known(unit="time")] = None
    """Copy messages that were stored at or after this time. Left out: all."""
    subject_transforms: Annotated[tuple[SubjectTransform, ...] | None, Known(unit="list", since=V2_10)] = None
    """Copy only messages whose subjects match a `src`, and rewrite those to its `dest`. Left out: subjects stay."""
    external: Annotated[External | None, Known(unit="mapping")] = None
    """How to reach the origin in another account or domain. Left out: it is in this one."""
    consumer: Annotated[SourceConsumer | None, Known(unit="mapping", since=V2_14, level=4)] = None
    """A durable consumer of the origin to copy through, made by its owner. Left out: the server makes a temporary
    one."""


class Republish(Spec):
    """Republishes every stored message, for plain subscribers."""

    src: Annotated[Subject | None, Known(default=">")] = None
    """Which stored subjects are published again. Left out: `>`, all of them."""
    dest: Annotated[Subject | None, Known()] = None
    """The subject they are published under; it must not lead back into the stream. Left out: none, which servers
    refuse."""
    headers_only: Annotated[bool | None, Known(unit="flag", default=False)] = None
    """Publish the headers alone, without the messages."""


class ConsumerLimits(Spec):
    """Upper bounds for the stream's consumers. A consumer that leaves them out inherits them."""

    inactive_threshold: Annotated[Duration | None, Known(unit="duration", since=V2_10)] = None
    """How long a consumer may have no client before the server deletes it; durable consumers inherit it too. Left out:
    no bound."""
    max_ack_pending: Annotated[Count | None, Known(unit="count", since=V2_10)] = None
    """How many messages of a consumer may be delivered and not yet acknowledged. Left out: no bound."""
