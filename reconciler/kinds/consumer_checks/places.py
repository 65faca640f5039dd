"""Places for consumers: how many a stream has, before and after this plan, and how many of them consumers take.

Apply recreates consumers before a stream gets fewer places, and after it gets more (`order.storage_space`).
"""

from __future__ import annotations

import sys

from reconciler.changes.change import Action, Change
from reconciler.changes.view import View
from reconciler.kinds.consumer_checks.neighbours import account_limit, consumers_of, stream_of
from reconciler.kinds.consumer_config.placeholders import placeholder_name
from reconciler.kinds.stream_config.upgrades import CAP, CAPPED_SINCE
from reconciler.model.resource import Address, Config

OWN, ACCOUNT, HIDDEN = (
    "its max_consumers is",
    "the account allows",
    "without max_consumers servers from 2.15 on stop at",
)


def lowest_limit(change: Change, stream: Config, view: View) -> tuple[int, str]:
    """How many consumers a stream with this configuration may have, and what says so; `sys.maxsize`: as many as wanted."""
    own = stream.get("max_consumers") or 0
    limits = [(own, OWN), (account_limit("max_consumers", change, view), ACCOUNT)]
    named = [(limit, whose) for limit, whose in limits if limit > 0]
    if not named and view.target.version >= CAPPED_SINCE:
        return CAP, HIDDEN
    return min(named, default=(sys.maxsize, ""))


def limit_before(change: Change, view: View) -> int:
    """How many consumers the stream may have as it is now."""
    live = view.live.get(Address.of("stream", change.address.stream))
    return lowest_limit(change, live.config if live else view.snapshot.config_of(change.address.stream), view)[0]


def limit_afterwards(change: Change, view: View) -> int:
    """How many consumers the stream may have once this plan is applied."""
    return lowest_limit(change, stream_of(change, view) or {}, view)[0]


def taken_afterwards(change: Change, view: View) -> int:
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
    return taken_afterwards(change, view) - new


def missing_for_placeholder(change: Change, view: View) -> int:
    """The number of consumers that the stream would have to allow for a placeholder beside those that stay; 0: it allows as many.

    Consumers that this plan deletes have made room by then, and those that it creates come later.
    """
    if placeholder_name(change.address.name) in view.snapshot.consumers.get(change.address.stream, {}):
        return 0
    needed = staying_consumer_count(change, view) + 1
    return needed if needed > max(limit_before(change, view), limit_afterwards(change, view)) else 0
