"""What the stream, the account and the server allow a consumer: pending messages, idle time, replicas, and the number
of consumers.

Places for consumers: how many a stream has, before and after this plan, and how many of them consumers take.

Apply recreates consumers before a stream gets fewer places, and after it gets more (`order.storage_space`).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from reconciler.changes.change import Action, Change
from reconciler.changes.rule import Found, rule
from reconciler.changes.verdict import Finding, Outcome
from reconciler.changes.view import View
from reconciler.kinds.consumer_checks.neighbours import account_limit, consumers_of, max_ack_pending, stream_of
from reconciler.kinds.consumer_config.consumer_config import placeholder_name
from reconciler.kinds.stream_config.restarts import CAP, CAPPED_SINCE
from reconciler.model.resource import Address, Config
from reconciler.model.units import show_duration


@rule("CO551", "consumer-beyond-limits", needs=("neighbours",), err_code=(10121, 10153))
def consumer_beyond_limits(change: Change, view: View) -> Iterator[Finding]:
    """`max_ack_pending` or `inactive_threshold` is above what the stream's `consumer_limits` or the account allows.

    The server refuses it. A consumer that leaves the field out inherits the stream's own `max_ack_pending`, which may
    be too much for the account; `max_ack_pending: -1` passes every limit.

    Instead: lower it, or raise the stream's `consumer_limits`.
    """
    stream = stream_of(change, view) or {}
    limits = stream.get("consumer_limits") or {}
    pending, idle = max_ack_pending(change, stream), change.becomes("inactive_threshold") or 0
    for limit, whose in (
        (limits.get("max_ack_pending") or 0, "the stream's consumer_limits allow"),
        (account_limit("max_ack_pending", change, view), "the account allows"),
    ):
        if 0 < limit < pending:
            yield Finding(
                outcome=Outcome.REFUSED,
                path="max_ack_pending",
                message=f"max_ack_pending {pending} is above the {limit} that {whose}",
                fix=f"write max_ack_pending: {limit} or less",
            )
    if 0 < (limits.get("inactive_threshold") or 0) < idle:
        most = show_duration(limits["inactive_threshold"])
        yield Finding(
            outcome=Outcome.REFUSED,
            path="inactive_threshold",
            message=f"inactive_threshold {show_duration(idle)} is above the {most} that the stream's consumer_limits allow",
            fix=f"write inactive_threshold: {most} or less, or raise the stream's consumer_limits",
        )


@rule("CO546", "consumer-replicas", needs=("neighbours",), err_code=(10074, 10126, 10133, 10134))
def consumer_replicas(change: Change, view: View) -> Found:
    """`num_replicas` of a consumer does not fit its stream or its server.

    A consumer can have no more replicas than its stream. On interest and work-queue streams, where the consumer decides
    what is deleted, it must have exactly as many. A single server has one.

    Instead: leave `num_replicas` out, so that the consumer follows its stream.
    """
    wanted = change.becomes("num_replicas") or 0
    if why := _replicas_problem(wanted, stream_of(change, view), view):
        return Finding(
            outcome=Outcome.REFUSED,
            path="num_replicas",
            message=why,
            fix="leave num_replicas out, so that the consumer follows its stream",
        )
    return None


def _replicas_problem(wanted: int, stream: Config | None, view: View) -> str | None:
    if wanted < 0:
        return "num_replicas cannot be negative"
    if wanted > 1 and not view.target.is_clustered:
        return f"{wanted} replicas need a cluster, and this is a single server"
    if not wanted or stream is None:
        return None
    stream_replicas, retention = stream.get("num_replicas") or 1, stream.get("retention")
    if wanted > stream_replicas:
        return f"a consumer cannot have {wanted} replicas on a stream with {stream_replicas}"
    if wanted != stream_replicas and retention in ("interest", "workqueue"):
        return f"on a stream with {retention} retention a consumer needs as many replicas as the stream: {stream_replicas}, not {wanted}"
    return None


@rule(
    "CO591",
    "too-many-consumers",
    on=(Action.CREATE, Action.REPLACE),
    needs=("neighbours",),
    err_code=10026,
    can_stand=True,
)
def too_many_consumers(change: Change, view: View) -> Found:
    """The stream would have more consumers than it may have.

    The limit is the stream's `max_consumers` or the account's, whichever is lower. If neither sets one, servers from
    2.15 on stop at 1000, a setting of theirs that no request shows. Existing consumers may still be updated; a replaced
    consumer counts as a new one.

    Instead: raise `max_consumers` of the stream; any number there also lifts the invisible limit. If the operator has
    lifted that limit, consent: `allow: [{code: CO591, reason: …}]`.
    """
    stream = stream_of(change, view)
    limit, whose = lowest_max_consumers(change, stream or {}, view)
    count = consumer_count_afterwards(change, view)
    if stream is None or count <= limit:
        return None
    name = change.address.stream
    return Finding(
        outcome=Outcome.REFUSED,
        message=f"stream {name} would have {count} consumers, and {whose} {limit}",
        fix="let the account allow more" if whose == ACCOUNT else f"write max_consumers: {count} or more on {name}",
        consentable=whose == HIDDEN,
    )


RULES = (consumer_beyond_limits, consumer_replicas, too_many_consumers)


OWN, ACCOUNT, HIDDEN = (
    "its max_consumers is",
    "the account allows",
    "without max_consumers servers from 2.15 on stop at",
)


def lowest_max_consumers(change: Change, stream: Config, view: View) -> tuple[int, str]:
    """How many consumers a stream with this configuration may have, and what says so; `sys.maxsize`: as many as wanted."""
    own = stream.get("max_consumers") or 0
    limits = [(own, OWN), (account_limit("max_consumers", change, view), ACCOUNT)]
    named = [(limit, whose) for limit, whose in limits if limit > 0]
    if not named and view.target.version >= CAPPED_SINCE:
        return CAP, HIDDEN
    return min(named, default=(sys.maxsize, ""))


def max_consumers_before(change: Change, view: View) -> int:
    """How many consumers the stream may have as it is now."""
    live = view.live.get(Address.of("stream", change.address.stream))
    return lowest_max_consumers(change, live.config if live else view.snapshot.config_of(change.address.stream), view)[
        0
    ]


def max_consumers_afterwards(change: Change, view: View) -> int:
    """How many consumers the stream may have once this plan is applied."""
    return lowest_max_consumers(change, stream_of(change, view) or {}, view)[0]


def consumer_count_afterwards(change: Change, view: View) -> int:
    """How many consumers the stream has once this plan is applied. The plan deletes the placeholders of replacements that it
    finishes."""
    names = consumers_of(change, view).names
    finished = {
        placeholder_name(consumer.address.name)
        for consumer in view.children(change.address.stream, "consumer")
        if consumer.intent
    }
    return sum(name not in finished for name in names)


def staying_consumer_count(change: Change, view: View) -> int:
    """How many of them are not new."""
    new = sum(consumer.action is Action.CREATE for consumer in view.children(change.address.stream, "consumer"))
    return consumer_count_afterwards(change, view) - new


def consumers_needed_for_placeholder(change: Change, view: View) -> int:
    """The number of consumers that the stream would have to allow for a placeholder beside those that stay; 0: it allows as many.

    Consumers that this plan deletes have made room by then, and those that it creates come later.
    """
    if placeholder_name(change.address.name) in view.snapshot.consumers.get(change.address.stream, {}):
        return 0
    needed = staying_consumer_count(change, view) + 1
    return needed if needed > max(max_consumers_before(change, view), max_consumers_afterwards(change, view)) else 0
