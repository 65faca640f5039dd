"""Where the file lets a consumer start: a setting that counts until something was delivered."""

from __future__ import annotations

from reconciler.changes.change import Change
from reconciler.changes.view import View
from reconciler.model.resource import Config, Resource
from reconciler.model.wire.snapshot import Snapshot

BEGINS = ("deliver_policy", "opt_start_seq", "opt_start_time")


NEEDS = {"by_start_sequence": "opt_start_seq", "by_start_time": "opt_start_time"}
"""The field that each of these policies requires, and that no other policy may have."""


def begins(desired: Resource, live: Resource, snapshot: Snapshot) -> tuple[str, ...]:
    """The start fields that no longer mean anything, since something was delivered. None if no server would accept
    their values."""
    return BEGINS if has_delivered(live) and _may_begin(desired.config, live, snapshot) else ()


def has_delivered(live: Resource) -> bool:
    """It has a past, so that where it was to start no longer matters."""
    return bool((live.state.get("delivered") or {}).get("consumer_seq"))


def _may_begin(config: Config, live: Resource, snapshot: Snapshot) -> bool:
    """A server would accept these start fields of a consumer of this stream."""
    stream, needed = snapshot.streams.get(live.address.stream, {}), NEEDS.get(config.get("deliver_policy", "all"))
    fits = all((name in config) == (name == needed) for name in NEEDS.values())
    return fits and (stream.get("config") or {}).get("retention") != "workqueue"


def whose_start(change: Change, view: View) -> str:
    """Why the start of this consumer is not only recorded, as the end of a sentence; empty where it never is."""
    if change.live is None or change.desired is None or change.intent:
        return ""
    if not _may_begin(change.desired.config, change.live, view.snapshot):
        return ""
    if change.made_anew:
        return ", and somebody recreated this consumer since it was applied"
    if has_delivered(change.live):
        return ""
    return ", and this consumer has delivered nothing yet; once it has, apply only records the new value"


def follows_from_the_policy(change: Change, path: str) -> bool:
    """The field belongs to one deliver_policy, and comes or disappears with it."""
    policies = {change.was("deliver_policy"), change.becomes("deliver_policy")}
    return len(policies) > 1 and any(NEEDS.get(str(one)) == path for one in policies)
