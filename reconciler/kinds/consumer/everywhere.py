"""Consumers of an interest stream that take over from others: known on every server before those let go.

Such a stream drops what no consumer wants, each server by what it knows. One that was away hears at once of all that came
and went meanwhile, forgets what went before it learns what came, and drops everything in between; when it then leads the
new consumer, the others drop it too. So nobody lets go before whoever takes is there on all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from reconciler.changes.diff import Action, Change
from reconciler.changes.view import View
from reconciler.kinds.consumer import position
from reconciler.kinds.consumer.handovers import takers
from reconciler.kinds.consumer_checks import around
from reconciler.kinds.stream_config.calls import REPLICAS_TIMEOUT
from reconciler.kinds.subjects.filters import filters_of, gained, let_go
from reconciler.kinds.subjects.subjects import collide
from reconciler.model.wire.info import is_heard
from reconciler.model.wire.steps import Call, Step


def everywhere(change: Change, view: View, name: str, *, is_new: bool = True) -> Iterator[Step]:
    """Where one server has it all, there is nothing to wait for. Only where a new one begins can be too late: others go on
    from where they are."""
    replicas = (around.stream_of(change, view) or {}).get("num_replicas") or 1
    if view.target.is_clustered and replicas > 1 and position.is_interest(change, view):
        yield Step(
            id=f"see consumer/{change.address.stream}/{name} everywhere",
            call=Call.GATE_CONSUMER_EVERYWHERE,
            on=(change.address.stream, name),
            address=str(change.address),
            body={"replicas": replicas, "timeout": REPLICAS_TIMEOUT, "is_new": is_new},
            effect=f"wait until every server of the cluster has consumer {name}",
        )


def taking(change: Change, view: View) -> Iterator[Step]:
    """After whoever takes what others let go of; a replacement has a gate of its own."""
    if change.intent is None and change.address in takers(view) and gained(change):
        yield from everywhere(change, view, change.address.name, is_new=change.action is Action.CREATE)


def staying(change: Change, view: View) -> Iterator[Step]:
    """Before somebody lets go: while a server is away, it may not know yet what an earlier apply gave to those who stay.
    Changes of one stream share these."""
    given = let_go(change)
    for name, theirs in _unheard(view).get(change.address.stream, ()) if given else ():
        if any(collide(one, two) for one in given for two in theirs):
            for step in everywhere(change, view, name, is_new=False):
                yield replace(step, id=f"{step.id} before others let go")


@lru_cache(maxsize=4)
def _unheard(view: View) -> dict[str, list[tuple[str, Sequence[str]]]]:
    """By stream, with their filters: who stays, as it is or updated, with a replica that may be away. Whoever is replaced
    has gates of its own. Found once per view: many may let go at once."""
    found: dict[str, list[tuple[str, Sequence[str]]]] = {}
    for one in (one for consumers in around.changes_of(view).values() for one in consumers):
        goes = one.action in (Action.CREATE, Action.REPLACE, Action.DELETE)
        if not goes and one.intent is None and one.live and not is_heard(one.live.state):
            found.setdefault(one.address.stream, []).append((one.address.name, filters_of(one.live.config)))
    return found
