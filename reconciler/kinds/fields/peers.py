"""What an account has for replicas: how many servers a stream's replicas need, how many existing ones could hold one, and
the limits for a number of replicas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from reconciler.changes.change import Action, Change
from reconciler.changes.view import View
from reconciler.model.resource import Config, Json
from reconciler.model.wire.questions import ANYWHERE, Peers
from reconciler.model.wire.snapshot import Target


def account_limits(target: Target, replicas: int) -> Config | None:
    """The limits for something with this many replicas; None: a tiered account without that tier."""
    tiers = target.usage.get("tiers")
    if not tiers:
        return target.limits
    tier = tiers.get(f"R{replicas}")
    return None if tier is None else tier.get("limits") or {}


USUAL = 3
"""How many replicas every cluster has room for: a cluster has at least three servers."""


def questions(change: Change, view: View) -> Iterator[Peers]:
    """Which servers a cluster has, asked if a change places more replicas than the three that any cluster has room for, or names
    where they are to be placed."""
    if is_placed(change) and view.target.is_clustered:
        yield from question(wanted_replicas(change), change.becomes("placement"))


def question(wanted: int, placement: Config | None) -> Iterator[Peers]:
    """Which servers there are for so many replicas, unless any cluster has room for them."""
    cluster, tags = (placement or {}).get("cluster") or "", tuple(sorted((placement or {}).get("tags") or ()))
    if wanted > USUAL or (cluster, tags) != ANYWHERE:
        yield Peers(least=wanted, placement=(cluster, tags))


def wanted_replicas(change: Change) -> int:
    """How many replicas the stream is to have; 1 if its configuration leaves them out."""
    return int(change.becomes("num_replicas") or 1)


def is_placed(change: Change) -> bool:
    """Does the server choose peers for it?"""
    grows = wanted_replicas(change) > int(change.was("num_replicas") or 1)
    return change.action is Action.CREATE or (change.action is Action.UPDATE and (grows or change.touches("placement")))


def is_cut_short(servers: Json) -> bool:
    """Did one server of a cluster answer for all? A server that has reloaded its configuration passes on no more than the
    first answer to whoever asks it, until it restarts."""
    return max(Counter(server["cluster"] for server in servers).values(), default=0) == 1
