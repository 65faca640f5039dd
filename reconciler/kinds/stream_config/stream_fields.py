"""A stream's configuration: every field a person may write, with its unit, default and history."""

from __future__ import annotations

from typing import Annotated, Literal

from reconciler.changes.effect import Side, Way
from reconciler.kinds.fields.field_effects import (
    EVERY,
    NOT_FELT,
    OTHER,
    SET,
    SWITCHED,
    TIGHTER,
    UNSET,
    WIDER,
    felt,
    fixed,
    gain,
    unfelt,
)
from reconciler.kinds.fields.known import PARKED, V2_10, V2_11, V2_12, V2_14, Known, Subject, Update
from reconciler.kinds.stream_config.stream_parts import (
    ConsumerLimits,
    Placement,
    Republish,
    StreamSource,
    SubjectTransform,
)
from reconciler.model.resource import Terms
from reconciler.model.units import Bytes, Count, Duration, SequenceNumber
from reconciler.model.wire.version import Version

INVALID = 10052
"""The err_code of most refusals of a stream configuration; only the words tell why."""

MAY_REMOVE_MIRROR = ((V2_11, Update.FIXED), (V2_12, Update.REMOVABLE))
MAX_CONSUMERS = ((V2_11, Update.FIXED), (Version(2, 12, 5), Update.FREE))

REMOVED = "The server deletes the oldest messages."
REFUSED = "The server refuses publishes."
KEEPS_NEW, KEEPS_OLD = "more is stored, with discard old", "that much is stored, with discard new"
FOLLOW = (Side.READERS, Side.DIRECT_GETS, Side.POSITIONS, Side.COPIES, Side.PUBLISHERS)
"""Others that notice when messages are deleted; publishers do if the server restarts and then knows only the ids of
what is stored."""
MORE_IS_KEPT = gain(WIDER, "The stream keeps more messages, for longer.", Side.STORED, *FOLLOW)
ASKED_FOR = gain(
    SET, "Publishers that ask for it get it, and readers get the result.", Side.PUBLISHERS, Side.STORED, Side.READERS
)
OF_A_LIMIT = (
    felt(301, Side.STORED, TIGHTER, REMOVED, KEEPS_NEW, FOLLOW),
    felt(601, Side.PUBLISHERS, TIGHTER, REFUSED, KEEPS_OLD, (Side.COPIES,)),
    MORE_IS_KEPT,
)


class StreamConfig(Terms):
    """The server's StreamConfig without its name, which is the key in the file."""

    description: Annotated[str | None, Known(felt=NOT_FELT)] = None
    """What the stream is for, in at most 4096 bytes. Left out: none."""
    subjects: Annotated[
        tuple[Subject, ...] | None,
        Known(
            unit="list",
            ordered=False,
            passing=(PARKED,),
            felt=(
                felt(
                    303,
                    Side.PUBLISHERS,
                    EVERY,
                    "Publishers of a subject that is no longer stored get an error (no responders).",
                ),
            ),
        ),
    ] = None
    """Subjects whose messages the stream stores; `*` and `>` are wildcards. Left out: the stream's own name; none for
    a mirror, or with `sources`."""
    retention: Annotated[
        Literal["limits", "interest", "workqueue"] | None,
        Known(
            default="limits",
            update=Update.FIXED,
            among=frozenset({"limits", "interest"}),
            err_code=INVALID,
            says="can not change retention policy to/from workqueue",
            felt=(
                felt(
                    302,
                    Side.STORED,
                    EVERY,
                    "The server deletes messages that every consumer has acknowledged.",
                    "it becomes interest",
                    FOLLOW,
                ),
            ),
        ),
    ] = None
    """When the server removes messages: `limits` when a limit is reached, `interest` also when every consumer has
    acknowledged them, `workqueue` also when one consumer has."""
    max_consumers: Annotated[
        Count | None,
        Known(
            unit="count",
            default=-1,
            update=MAX_CONSUMERS,
            err_code=INVALID,
            says="can not change MaxConsumers",
            felt=(
                felt(609, Side.READERS, TIGHTER, "Clients cannot create another consumer (10026).", "that many exist"),
                unfelt(WIDER, "Clients may create more consumers."),
                felt(
                    557,
                    Side.POSITIONS,
                    TIGHTER,
                    "Consumers beyond it stay, and none of them can be recreated.",
                    "more exist",
                    (Side.READERS,),
                ),
            ),
        ),
    ] = None
    """How many consumers the stream may have. Left out: no limit (-1); nats-server 2.15 and newer stop at 1000, unless
    this key or the account sets a number."""
    max_age: Annotated[
        Duration | None,
        Known(
            unit="duration",
            default=0,
            left_out="no limit",
            felt=(felt(301, Side.STORED, TIGHTER, REMOVED, "some are older", FOLLOW), MORE_IS_KEPT),
        ),
    ] = None
    """Age at which messages expire, at least 100ms; 0 keeps them. Left out: messages never expire (0)."""
    max_msgs: Annotated[
        Count | None,
        Known(
            unit="count",
            default=-1,
            felt=OF_A_LIMIT,
        ),
    ] = None
    """How many messages the stream keeps; `discard` says what happens at that limit."""
    max_bytes: Annotated[
        Bytes | None,
        Known(
            unit="bytes",
            default=-1,
            felt=OF_A_LIMIT,
        ),
    ] = None
    """How many bytes the stream keeps, reserved in the account from the start; `discard` says what happens at that
    limit."""
    max_msgs_per_subject: Annotated[
        Count | None,
        Known(
            unit="count",
            default=-1,
            felt=(
                felt(301, Side.STORED, TIGHTER, REMOVED, "a subject holds more", FOLLOW),
                felt(
                    601,
                    Side.PUBLISHERS,
                    TIGHTER,
                    "The server refuses publishes on full subjects.",
                    "discard_new_per_subject is set",
                ),
                MORE_IS_KEPT,
            ),
        ),
    ] = None
    """How many messages the stream keeps of each subject."""
    max_msg_size: Annotated[
        Bytes | None,
        Known(
            unit="bytes",
            default=-1,
            felt=(
                felt(
                    601,
                    Side.PUBLISHERS,
                    TIGHTER,
                    "The server refuses larger messages.",
                    "publishers send such messages",
                ),
                unfelt(WIDER, "The server accepts larger messages."),
            ),
        ),
    ] = None
    """The largest message that the stream stores, with its headers. Left out: no limit (-1) except the
    connection's."""
    discard: Annotated[
        Literal["old", "new"] | None,
        Known(
            default="old",
            felt=(
                felt(601, Side.PUBLISHERS, SWITCHED, REFUSED, "it becomes new and a limit is reached", (Side.COPIES,)),
                felt(
                    603,
                    Side.STORED,
                    SWITCHED,
                    "Each publish deletes the oldest messages.",
                    "it becomes old and a limit is reached",
                    FOLLOW,
                ),
            ),
        ),
    ] = None
    """What happens at a limit: `old` removes the oldest messages, `new` refuses new ones."""
    discard_new_per_subject: Annotated[
        bool | None,
        Known(
            unit="flag",
            default=False,
            since=V2_10,
            felt=(
                felt(601, Side.PUBLISHERS, SET, "The server refuses publishes on full subjects.", "a subject is full"),
                felt(
                    603,
                    Side.STORED,
                    UNSET,
                    "Each publish on a full subject deletes its oldest message.",
                    "a subject is full",
                    FOLLOW,
                ),
            ),
        ),
    ] = None
    """Refuse new messages on each subject that is full. Needs `discard: new` and `max_msgs_per_subject`."""
    storage: Annotated[
        Literal["file", "memory"] | None,
        Known(
            default="file", update=Update.FIXED, err_code=INVALID, says="can not change storage type", felt=fixed(101)
        ),
    ] = None
    """Where messages are stored: `file` on disk, `memory` only until the server restarts."""
    num_replicas: Annotated[
        Count | None,
        Known(
            unit="count",
            default=1,
            felt=(
                felt(
                    306,
                    Side.POSITIONS,
                    frozenset({Way.LOWERED, Way.UNSET}),
                    "A consumer loses what it has in flight, or its position.",
                    "a consumer has fewer copies than the stream, and none on the server that leads it",
                ),
                felt(
                    611,
                    Side.PUBLISHERS,
                    frozenset({Way.RAISED, Way.SET}),
                    "A publish may get no answer, stored or not.",
                    "it had one copy in a cluster, at the moment when its servers elect a leader",
                ),
                felt(
                    611,
                    Side.READERS,
                    frozenset({Way.LOWERED, Way.UNSET}),
                    "A pull that waits gets no answer.",
                    "another server leads its consumer than the one that keeps the stream",
                ),
            ),
        ),
    ] = None
    """How many servers of the cluster hold a copy, 1 to 5."""
    no_ack: Annotated[
        bool | None,
        Known(
            unit="flag",
            default=False,
            felt=(
                felt(602, Side.PUBLISHERS, SET, "Publishers get no answer."),
                gain(UNSET, "Publishers get an answer.", Side.PUBLISHERS),
            ),
        ),
    ] = None
    """Do not acknowledge publishes; publishers then never learn whether a message was stored."""
    duplicate_window: Annotated[
        Duration | None,
        Known(
            unit="duration",
            depends="at most 2m, max_age and a limit of the server's own settings",
            felt=(
                felt(
                    604,
                    Side.PUBLISHERS,
                    frozenset({Way.LOWERED, Way.UNSET}),
                    "The server may store a message twice that is published again after the new window.",
                    "publishers repeat message ids",
                    also={Side.STORED},
                ),
                gain(
                    frozenset({Way.RAISED, Way.SET}), "The server remembers ids longer.", Side.PUBLISHERS, Side.STORED
                ),
            ),
        ),
    ] = None
    """How long the server remembers message ids (`Nats-Msg-Id`) to drop duplicates, at least 100ms. Left out: 2m, or
    less if `max_age` or a limit of the server is shorter; none for a mirror, and from 2.14 on for a stream with sources."""
    placement: Annotated[
        Placement | None,
        Known(
            unit="mapping",
            nested_unordered=("tags",),
            felt=(
                felt(
                    611,
                    Side.PUBLISHERS,
                    SET | SWITCHED,
                    "A publish may get no answer, stored or not, and consumers are silent for some seconds.",
                    "other servers of a cluster have to lead it",
                    (Side.READERS,),
                ),
                unfelt(UNSET, "It stays where it is."),
            ),
        ),
    ] = None
    """Which servers hold the stream. Left out: any."""
    mirror: Annotated[
        StreamSource | None,
        Known(
            unit="mapping",
            update=MAY_REMOVE_MIRROR,
            err_code=10055,
            says="stream mirror configuration can not be updated",
            felt=(felt(206, Side.COPIES, EVERY, "The stream stops copying its origin permanently."),),
        ),
    ] = None
    """The stream that this one is an exact, read-only copy of. Removing it makes this an ordinary stream, which cannot
    be undone. Left out: this is no mirror."""
    sources: Annotated[
        tuple[StreamSource, ...] | None,
        Known(
            unit="list",
            felt=(
                felt(
                    304,
                    Side.COPIES,
                    EVERY,
                    "The server copies messages of an origin again.",
                    "one is added or changes",
                    (Side.READERS, Side.POSITIONS),
                ),
                felt(
                    305,
                    Side.COPIES,
                    EVERY,
                    "The stream never gets the other messages of an origin.",
                    "one is removed that is behind",
                    (Side.READERS,),
                ),
            ),
        ),
    ] = None
    """Streams whose messages are copied into this one. Left out: none."""
    compression: Annotated[Literal["none", "s2"] | None, Known(default="none", since=V2_10, felt=NOT_FELT)] = None
    """How file storage is compressed: `none` or `s2`. A change applies only to data that is written after it."""
    first_seq: Annotated[
        SequenceNumber | None, Known(unit="count", since=V2_10, update=Update.INERT, felt=fixed(107))
    ] = None
    """Sequence number of the first message. Left out: 1. Updates: no effect on an existing stream."""
    subject_transform: Annotated[
        SubjectTransform | None,
        Known(
            unit="mapping",
            since=V2_10,
            felt=(
                felt(
                    608,
                    Side.READERS,
                    EVERY,
                    "New messages are stored under other subjects.",
                    also=(Side.STORED, Side.DIRECT_GETS, Side.PUBLISHERS, Side.COPIES),
                ),
            ),
        ),
    ] = None
    """Rewrites the subjects of messages before they are stored. Left out: subjects stay."""
    republish: Annotated[
        Republish | None,
        Known(
            unit="mapping",
            felt=(
                felt(607, Side.COPIES, OTHER, "Subscribers of the old destination receive nothing more."),
                gain(SET, "Subscribers receive what is stored.", Side.COPIES),
            ),
        ),
    ] = None
    """Publishes each stored message again, for plain subscribers. Left out: nothing is republished."""
    allow_direct: Annotated[
        bool | None,
        Known(
            unit="flag",
            default=False,
            felt=(
                felt(605, Side.DIRECT_GETS, UNSET, "Direct gets have no responders."),
                gain(
                    SET,
                    "Direct gets are answered, even for messages that a mirror which answered alone does not hold.",
                    Side.DIRECT_GETS,
                ),
            ),
        ),
    ] = None
    """Let every replica answer reads of single messages (direct get), not only the leader."""
    mirror_direct: Annotated[
        bool | None,
        Known(
            unit="flag",
            default=False,
            depends="a mirror takes over its origin's allow_direct at every update",
            felt=(
                felt(605, Side.DIRECT_GETS, UNSET, "This mirror answers no direct gets of its origin."),
                felt(
                    605,
                    Side.DIRECT_GETS,
                    SET,
                    "This mirror answers direct gets of its origin.",
                    "it does not hold all of it",
                ),
            ),
        ),
    ] = None
    """Let this mirror answer direct gets of its origin. Left out: as the origin's `allow_direct` if the server sees
    the origin, else false."""
    sealed: Annotated[
        bool | None,
        Known(
            unit="flag",
            default=False,
            update=Update.ONE_WAY,
            err_code=INVALID,
            says="can not unseal a sealed stream",
            at_create=False,
            felt=(
                felt(
                    206,
                    Side.PUBLISHERS,
                    SET,
                    "Nothing can ever be stored, deleted or purged again.",
                    also=(Side.DELETIONS, Side.COPIES),
                ),
                *fixed(201),
            ),
        ),
    ] = None
    """Nothing is stored, deleted, purged or expired any more. A new stream cannot be sealed."""
    deny_delete: Annotated[
        bool | None,
        Known(
            unit="flag",
            default=False,
            update=Update.ONE_WAY,
            err_code=INVALID,
            says="can not cancel deny message deletes",
            felt=(felt(206, Side.DELETIONS, SET, "Single messages can never again be deleted."), *fixed(202)),
        ),
    ] = None
    """Refuse requests to delete single messages."""
    deny_purge: Annotated[
        bool | None,
        Known(
            unit="flag",
            default=False,
            update=Update.ONE_WAY,
            err_code=INVALID,
            says="can not cancel deny purge",
            felt=(felt(206, Side.DELETIONS, SET, "The stream can never again be purged."), *fixed(203)),
        ),
    ] = None
    """Refuse requests to purge the stream."""
    allow_rollup_hdrs: Annotated[
        bool | None,
        Known(
            unit="flag",
            default=False,
            felt=(
                felt(606, Side.PUBLISHERS, UNSET, "The server refuses messages with Nats-Rollup."),
                felt(
                    301,
                    Side.STORED,
                    SET,
                    "When a subject expires at its origin, the stream deletes what it stores of it.",
                    "it copies a stream that stores markers",
                    (Side.READERS, Side.DIRECT_GETS),
                ),
                felt(
                    301,
                    Side.COPIES,
                    SET,
                    "Messages with Nats-Rollup delete nothing there, and before 2.14 are not stored.",
                    "a copy has no allow_rollup_hdrs",
                ),
                ASKED_FOR,
            ),
        ),
    ] = None
    """Let a message replace all earlier ones of its subject or of the stream, by its header `Nats-Rollup`. Left
    out: false; true with `subject_delete_marker_ttl` or `allow_msg_schedules`."""
    consumer_limits: Annotated[
        ConsumerLimits | None,
        Known(
            unit="mapping",
            since=V2_10,
            felt=(
                felt(
                    609,
                    Side.READERS,
                    SET | SWITCHED,
                    "The server refuses consumers that clients create with more.",
                    "clients create such consumers",
                ),
                felt(
                    554,
                    Side.POSITIONS,
                    EVERY,
                    "The server refuses consumers that ask for more, and consumers that leave it out inherit it.",
                ),
                felt(
                    610,
                    Side.COPIES,
                    SET | SWITCHED,
                    "After its next restart the server copies nothing more to mirrors, sources and groups.",
                    "the consumer that feeds them does not keep to the limits",
                ),
                gain(
                    OTHER,
                    "Consumers that clients create may ask for more, and copies that a limit had stopped continue.",
                    Side.READERS,
                    Side.POSITIONS,
                    Side.COPIES,
                ),
            ),
        ),
    ] = None
    """Upper bounds for this stream's consumers; consumers that leave them out inherit them. Left out: none."""
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
            felt=(
                *fixed(204),
                felt(
                    301,
                    Side.STORED,
                    SET,
                    "The server deletes copied messages whose own time has ended.",
                    "the stream copies others",
                    (Side.READERS, Side.DIRECT_GETS),
                ),
                felt(
                    301,
                    Side.COPIES,
                    SET,
                    "Copies keep messages whose own time has ended.",
                    "a copy has no allow_msg_ttl",
                ),
                ASKED_FOR,
            ),
        ),
    ] = None
    """Let messages have a time to live of their own (`Nats-TTL`). Left out: false; true with
    `subject_delete_marker_ttl`."""
    subject_delete_marker_ttl: Annotated[
        Duration | None,
        Known(
            unit="duration",
            since=V2_11,
            level=1,
            felt=(
                felt(
                    607,
                    Side.STORED,
                    UNSET,
                    "Watchers get no marker when the last message of a subject expires.",
                    also=(Side.READERS, Side.COPIES),
                ),
                felt(
                    612,
                    Side.READERS,
                    SET,
                    "Readers get a message without payload when the last message of a subject expires.",
                    "the stream has max_age, or messages have Nats-TTL",
                    (Side.STORED, Side.COPIES),
                ),
                felt(
                    601,
                    Side.PUBLISHERS,
                    SET,
                    "The server refuses publishes on a subject one message earlier while its marker is stored.",
                    "the stream has discard_new_per_subject",
                ),
                felt(
                    301,
                    Side.COPIES,
                    SET,
                    "Copies delete what they store of a subject that expires.",
                    "a copy has allow_rollup_hdrs, as every bucket has",
                ),
                felt(
                    612,
                    Side.STORED,
                    frozenset({Way.RAISED}),
                    "The server keeps new messages with a shorter Nats-TTL as long as a marker.",
                    "max_msgs_per_subject is not 1",
                ),
                unfelt(frozenset({Way.LOWERED}), "The server keeps markers shorter, and watchers still get them."),
            ),
        ),
    ] = None
    """How long the server keeps a delete marker for a subject whose last message expired, at least 1s. Left out: no
    markers."""
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
            felt=fixed(105),
        ),
    ] = None
    """Make a counter of every subject, which messages increment (`Nats-Incr`)."""
    allow_atomic: Annotated[
        bool | None,
        Known(
            unit="flag",
            default=False,
            since=V2_12,
            level=2,
            felt=(felt(606, Side.PUBLISHERS, UNSET, "The server refuses atomic batches."), ASKED_FOR),
        ),
    ] = None
    """Let clients publish several messages as one atomic batch."""
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
            felt=(*fixed(205), ASKED_FOR),
        ),
    ] = None
    """Let messages be scheduled for a later time (`Nats-Schedule`)."""
    persist_mode: Annotated[
        Literal["default", "async"] | None,
        Known(
            default="default",
            since=V2_12,
            level=2,
            update=Update.FIXED,
            err_code=INVALID,
            says="can not change persist mode",
            felt=fixed(106),
        ),
    ] = None
    """When a publish is acknowledged: `default` when the message is written, `async` possibly before."""
    allow_batched: Annotated[
        bool | None,
        Known(
            unit="flag",
            default=False,
            since=V2_14,
            level=4,
            felt=(felt(606, Side.PUBLISHERS, UNSET, "The server refuses fast batches."), ASKED_FOR),
        ),
    ] = None
    """Let clients publish fast batches, which have flow control."""
    metadata: Annotated[dict[str, str] | None, Known(unit="mapping", since=V2_10, felt=NOT_FELT)] = None
    """Key-value pairs of your own that the server keeps, together at most 128 KiB. Keys that begin with `_nats.`
    belong to the server. Left out: none."""
