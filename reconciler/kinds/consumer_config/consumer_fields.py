"""A consumer's configuration: every pull and push option a person may write, with its unit, default and history."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from reconciler.changes.effect import Side, Way
from reconciler.kinds.fields.field_effects import (
    EVERY,
    NOT_FELT,
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
from reconciler.kinds.fields.known import PARKED, PAUSE_END, V2_10, V2_11, V2_12, V2_14, Known, Subject, Update
from reconciler.kinds.fields.times import Time
from reconciler.model.resource import Terms, text_like
from reconciler.model.units import Bytes, Count, Duration, SequenceNumber, number_or
from reconciler.model.wire.version import Version

LARGER_PULLS = gain(WIDER, "The server accepts larger and longer pulls.", Side.READERS)
OTHER_MESSAGES = felt(
    301, Side.POSITIONS, EVERY, "It keeps its position and delivers other messages.", also=(Side.READERS, Side.STORED)
)
FILLS = (Side.PUBLISHERS, Side.STORED)
"""Who notices slower readers as well: only acknowledgements empty a work queue or an interest stream."""
PACE = felt(
    608,
    Side.READERS,
    EVERY,
    "With `original`, pending messages arrive as slowly as they were published; with `instant`, at once.",
    "messages are pending",
    FILLS,
)
NOT_UPDATABLE = 10012
"""The err_code of a change that a consumer cannot make; only the words tell why."""

MEM_STORAGE = ((V2_11, Update.FREE), (Version(2, 14, 4), Update.FIXED))


def _percent(value: Any) -> Any:
    """`30`, `"30"` and `"30%"` are the same."""
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if isinstance(text, str) and not re.fullmatch("[0-9]{1,9}%?", text):
        raise PydanticCustomError(
            "wrong_value", "`{value}` is not a share in percent; write for example 30 or 30%", {"value": text}
        )
    return text


SampleFreq = Annotated[
    str,
    BeforeValidator(_percent),
    WithJsonSchema(number_or("^[0-9]+%?$")),
]


def _fixed_field(says: str, **more: Any) -> Known:
    return Known(update=Update.FIXED, err_code=NOT_UPDATABLE, says=says, **more)


GROUP = r"[A-Za-z0-9/_=-]{1,16}"
Group = Annotated[str, text_like(f"^{GROUP}$", "1 to 16 letters, digits, `-`, `_`, `/` and `=`")]
"""A priority group's name."""


class ConsumerConfig(Terms):
    """The server's ConsumerConfig without its names, which are the key in the file; always durable."""

    description: Annotated[str | None, Known(felt=NOT_FELT)] = None
    """What the consumer is for, in at most 4096 bytes. Left out: none."""
    deliver_policy: Annotated[
        Literal["all", "last", "new", "by_start_sequence", "by_start_time", "last_per_subject"] | None,
        _fixed_field("deliver policy can not be updated", default="all", felt=fixed(101)),
    ] = None
    """Where a new consumer begins: `all` with the first message, `last` with the last, `new` after it,
    `last_per_subject` with the last of each subject, `by_start_sequence` at `opt_start_seq`, `by_start_time` at
    `opt_start_time`."""
    opt_start_seq: Annotated[
        SequenceNumber | None, _fixed_field("start sequence can not be updated", unit="count", felt=fixed(102))
    ] = None
    """Sequence number of the first message to deliver, only with `deliver_policy: by_start_sequence`. Left out:
    none."""
    opt_start_time: Annotated[
        Time | None, _fixed_field("start time can not be updated", unit="time", felt=fixed(103))
    ] = None
    """Deliver messages stored at or after this time, only with `deliver_policy: by_start_time`. Left out: none."""
    ack_policy: Annotated[
        Literal["none", "all", "explicit", "flow_control"] | None,
        _fixed_field(
            "ack policy can not be updated",
            default="none",
            values_since={"flow_control": V2_14},
            value_levels={"flow_control": 4},
            felt=(
                *fixed(104),
                felt(
                    603,
                    Side.READERS,
                    EVERY,
                    "With `all`, nobody gets a message again once a client has acknowledged a later one; with `none` or "
                    "`flow_control`, nobody ever gets one again.",
                    "clients fail before they have processed everything",
                    (Side.STORED, Side.POSITIONS),
                ),
                felt(
                    605,
                    Side.READERS,
                    EVERY,
                    "With `explicit`, messages are redelivered that clients leave to the acknowledgement of a later one.",
                    "clients do not acknowledge each message",
                    (Side.POSITIONS,),
                ),
            ),
        ),
    ] = None
    """Which messages clients acknowledge: `explicit` each one, `all` the last one for all before it, `none` none.
    `flow_control` is for push consumers whose flow control acknowledges."""
    ack_wait: Annotated[
        Duration | None,
        Known(
            unit="duration",
            left_out="30s, if messages are acknowledged",
            felt=(
                felt(
                    605,
                    Side.READERS,
                    frozenset({Way.LOWERED}),
                    "Messages in flight for longer are redelivered, or never again if max_deliver is reached.",
                    "some are in flight",
                    (Side.POSITIONS,),
                ),
                gain(frozenset({Way.RAISED}), "Clients have more time.", Side.READERS),
            ),
        ),
    ] = None
    """How long a client has to acknowledge a message before it is redelivered. Left out: 30s with `ack_policy`
    `explicit` or `all`; the first of `backoff` if that is set."""
    max_deliver: Annotated[
        Count | None,
        Known(
            unit="count",
            default=-1,
            felt=(
                felt(
                    603,
                    Side.STORED,
                    TIGHTER,
                    "Messages in flight that were already delivered that often are never redelivered.",
                    "some are in flight",
                    (Side.READERS, Side.POSITIONS),
                ),
                felt(
                    605,
                    Side.READERS,
                    WIDER,
                    "Messages in flight that were delivered as often as allowed are redelivered.",
                    "some are in flight",
                ),
                gain(WIDER, "Failed messages are redelivered.", Side.READERS, Side.STORED, Side.POSITIONS),
            ),
        ),
    ] = None
    """How many times a message may be delivered."""
    backoff: Annotated[
        tuple[Duration, ...] | None,
        Known(
            unit="durations",
            felt=(felt(608, Side.READERS, EVERY, "Redeliveries happen at other times.", "messages are in flight"),),
        ),
    ] = None
    """How long to wait before each redelivery, the last one repeating. It replaces `ack_wait`. Left out: `ack_wait`
    before each."""
    filter_subject: Annotated[
        Subject | None,
        Known(passing=(PARKED,), felt=(OTHER_MESSAGES,)),
    ] = None
    """Deliver only messages whose subjects match. Excludes `filter_subjects`. Left out: all subjects."""
    filter_subjects: Annotated[
        tuple[Subject, ...] | None,
        Known(
            unit="list",
            since=V2_10,
            ordered=False,
            felt=(OTHER_MESSAGES,),
        ),
    ] = None
    """Deliver only messages whose subjects match one of these, which must not overlap. Left out: all subjects."""
    replay_policy: Annotated[
        Literal["instant", "original"] | None,
        _fixed_field("replay policy can not be updated", default="instant", felt=(*fixed(105), PACE)),
    ] = None
    """How fast stored messages are delivered: `instant` at once, `original` at the pace at which they arrived."""
    rate_limit_bps: Annotated[
        Count | None,
        Known(
            unit="count",
            left_out="no limit",
            felt=(
                felt(608, Side.READERS, TIGHTER, "Messages arrive more slowly.", "messages are pending", FILLS),
                unfelt(WIDER, "Messages arrive sooner."),
            ),
        ),
    ] = None
    """How many bits per second a push consumer may deliver."""
    sample_freq: Annotated[SampleFreq | None, Known(felt=NOT_FELT)] = None
    """How many of the acknowledgements the server reports as events, in percent. A server samples alike for 30 and 30%, and
    keeps what is written. Left out: none."""
    max_waiting: Annotated[
        Count | None,
        _fixed_field(
            "max waiting can not be updated",
            unit="count",
            depends="512 on every server so far, for pull consumers",
            felt=(
                *fixed(106),
                felt(
                    602, Side.READERS, TIGHTER, "The server refuses pulls beyond that number (409).", "more pulls wait"
                ),
                gain(WIDER, "More pulls may wait.", Side.READERS),
            ),
        ),
    ] = None
    """How many pull requests may wait at the server. Left out: 512 for a pull consumer."""
    max_ack_pending: Annotated[
        Count | None,
        Known(
            unit="count",
            depends="the stream's consumer_limits, else at most 1000 and what account and server allow",
            felt=(
                felt(
                    606,
                    Side.READERS,
                    TIGHTER,
                    "Nothing is delivered until enough messages are acknowledged.",
                    "that many messages are in flight",
                    FILLS,
                ),
                gain(WIDER, "More messages are delivered at once.", Side.READERS, Side.STORED, Side.POSITIONS),
            ),
        ),
    ] = None
    """How many messages may be delivered and not yet acknowledged; -1 is no limit. Left out: what `consumer_limits`
    of the stream says, else 1000 or what account and server allow; no limit without acknowledgements."""
    flow_control: Annotated[
        bool | None,
        _fixed_field(
            "flow control can not be updated",
            unit="flag",
            default=False,
            felt=(
                *fixed(107),
                felt(
                    607,
                    Side.READERS,
                    SET,
                    "Delivery stops after some 2 MiB until a subscriber answers flow-control requests.",
                    "subscribers do not answer them",
                ),
                felt(607, Side.READERS, UNSET, "The server no longer slows down for a slow subscriber."),
            ),
        ),
    ] = None
    """Slow down for a slow subscriber of a push consumer. Needs `idle_heartbeat`. Left out: false; true with
    `ack_policy: flow_control`."""
    headers_only: Annotated[
        bool | None,
        Known(
            unit="flag",
            default=False,
            felt=(
                felt(601, Side.READERS, SET, "Messages arrive without their payload."),
                gain(UNSET, "Messages arrive with their payload again.", Side.READERS),
            ),
        ),
    ] = None
    """Deliver the headers alone, without the messages."""
    max_batch: Annotated[
        Count | None,
        Known(
            unit="count",
            depends="a limit in the server's own settings",
            felt=(
                felt(
                    602, Side.READERS, TIGHTER, "The server refuses pulls for more messages (409).", "clients pull more"
                ),
                LARGER_PULLS,
            ),
        ),
    ] = None
    """How many messages one pull request may ask for. Left out: no limit, or that of the server."""
    max_expires: Annotated[
        Duration | None,
        Known(
            unit="duration",
            left_out="no limit",
            felt=(
                felt(
                    602,
                    Side.READERS,
                    TIGHTER,
                    "The server refuses pulls that wait longer (409).",
                    "clients wait longer",
                ),
                LARGER_PULLS,
            ),
        ),
    ] = None
    """How long a pull request may wait, at least 1ms."""
    max_bytes: Annotated[
        Bytes | None,
        Known(
            unit="bytes",
            left_out="no limit",
            felt=(
                felt(602, Side.READERS, TIGHTER, "The server refuses pulls for more bytes (409).", "clients pull more"),
                LARGER_PULLS,
            ),
        ),
    ] = None
    """How many bytes one pull request may ask for."""
    deliver_subject: Annotated[
        Subject | None,
        Known(
            update=Update.STAYS,
            err_code=NOT_UPDATABLE,
            says=" based",
            felt=(
                felt(
                    607,
                    Side.READERS,
                    SWITCHED,
                    "Subscribers of the old subject receive nothing more, and messages in flight are redelivered at once.",
                    also=(Side.POSITIONS,),
                ),
                felt(
                    109,
                    Side.READERS,
                    SET | UNSET,
                    "A pull consumer becomes a push consumer, or the other way round: it is recreated, or the change is refused.",
                ),
            ),
        ),
    ] = None
    """The subject that a push consumer delivers to. Left out: this is a pull consumer."""
    deliver_group: Annotated[
        str | None,
        Known(
            felt=(
                felt(
                    607,
                    Side.READERS,
                    EVERY,
                    "Nothing is delivered while only clients of another queue group, or of none, are subscribed.",
                ),
            )
        ),
    ] = None
    """The queue group that shares the messages of a push consumer. Left out: none."""
    idle_heartbeat: Annotated[
        Duration | None,
        _fixed_field(
            "heart beats can not be updated",
            unit="duration",
            felt=(
                *fixed(108),
                felt(608, Side.READERS, EVERY, "Heartbeats come at other times, for the first time, or no longer."),
            ),
        ),
    ] = None
    """How often a push consumer with nothing to deliver sends a heartbeat, at least 100ms. Left out: never; 1s with
    `ack_policy: flow_control`."""
    inactive_threshold: Annotated[
        Duration | None,
        Known(
            unit="duration",
            depends="the stream's consumer_limits, else never",
            felt=(
                felt(
                    604,
                    Side.POSITIONS,
                    TIGHTER,
                    "The server deletes the consumer with its position once it has been idle for that long; on an interest stream, "
                    "it also deletes the messages that only this consumer wanted.",
                    also=(Side.READERS, Side.STORED),
                ),
                gain(WIDER, "The server keeps the consumer longer.", Side.POSITIONS, Side.READERS),
            ),
        ),
    ] = None
    """How long the consumer may have no client before the server deletes it, durable or not. Left out: what
    `consumer_limits` of the stream says, else the server keeps it."""
    num_replicas: Annotated[Count | None, Known(unit="count", default=0, left_out="as its stream", felt=NOT_FELT)] = (
        None
    )
    """How many servers hold the consumer's state; 0 is as many as hold the stream. Left out: as the stream (0)."""
    mem_storage: Annotated[
        bool | None,
        Known(
            unit="flag",
            default=False,
            update=MEM_STORAGE,
            err_code=NOT_UPDATABLE,
            says="storage type can not be updated",
            felt=fixed(110),
        ),
    ] = None
    """Keep the consumer's state in memory, even if the stream is stored in files."""
    metadata: Annotated[dict[str, str] | None, Known(unit="mapping", since=V2_10, felt=NOT_FELT)] = None
    """Key-value pairs of your own that the server keeps, together at most 128 KiB. Keys that begin with `_nats.`
    belong to the server. Left out: none."""
    pause_until: Annotated[
        Time | None,
        Known(
            unit="time",
            since=V2_11,
            level=1,
            update=Update.INERT,
            passing=(PAUSE_END,),
            felt=(
                felt(
                    609,
                    Side.READERS,
                    SET | SWITCHED,
                    "Nothing is delivered until then.",
                    "it lies in the future",
                    FILLS,
                ),
                felt(609, Side.READERS, UNSET, "Pending messages are delivered at once.", "some are pending"),
                gain(UNSET, "Pending messages are delivered.", Side.READERS, Side.STORED, Side.POSITIONS),
            ),
        ),
    ] = None
    """Deliver nothing until then. Left out: not paused. Updates: any change; the plan pauses or resumes the
    consumer with a request of its own."""
    priority_policy: Annotated[
        Literal["none", "overflow", "pinned_client", "prioritized"] | None,
        Known(
            default="none",
            since=V2_11,
            level=1,
            values_since={"prioritized": V2_12},
            felt=(
                felt(
                    121,
                    Side.READERS,
                    EVERY,
                    "The server refuses clients of the old policy. Apply releases an old pin, which would block the others.",
                ),
            ),
        ),
    ] = None
    """Which of the waiting clients is served: `none` any, `overflow` only those whose threshold is exceeded,
    `pinned_client` one until it sends no new pull for `priority_timeout`, `prioritized` those of the best priority."""
    priority_groups: Annotated[
        tuple[Group, ...] | None,
        Known(
            unit="list",
            since=V2_11,
            level=1,
            ordered=False,
            felt=(
                felt(
                    122,
                    Side.READERS,
                    EVERY,
                    "The server refuses clients of another group. Apply releases an old pin, which would block the others.",
                ),
            ),
        ),
    ] = None
    """The priority group that clients name when they pull: one name of 1 to 16 of `A-Z a-z 0-9 - _ / =`. Left out:
    none."""
    priority_timeout: Annotated[
        Duration | None,
        Known(
            unit="duration",
            since=V2_11,
            level=1,
            felt=(
                felt(
                    608,
                    Side.READERS,
                    EVERY,
                    "The server pins another client if the pinned one sends no new pull for that long, whatever it works on.",
                    "clients are pinned",
                ),
            ),
        ),
    ] = None
    """How long a pinned client has for its next pull before another one is pinned. Only a new pull counts: a pull that
    waits, a delivery or an acknowledgement does not keep the pin. Left out: 2m with `priority_policy: pinned_client`."""
