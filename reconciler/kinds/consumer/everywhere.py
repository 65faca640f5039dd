"""Consumers of an interest stream that take over from others: known on every server before those go.

Such a stream drops what no consumer wants, each server by what it knows. One that was away hears at once of all that came
and went meanwhile, forgets what went before it learns what came, and drops everything in between; when it then leads the
new consumer, the others drop it too. So nobody goes before whoever comes is there on all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from reconciler.core.diff import Action, Change
from reconciler.core.rule import View
from reconciler.core.wire import Call, Step, is_unheard
from reconciler.kinds.consumer import around, position
from reconciler.kinds.primitives.calls import REPLICAS_TIMEOUT


def everywhere(change: Change, view: View, name: str) -> Iterator[Step]:
    """Where one server has it all, there is nothing to wait for."""
    replicas = (around.stream_of(change, view) or {}).get("num_replicas") or 1
    if view.target.is_clustered and replicas > 1 and position.is_interest(change, view):
        yield Step(
            id=f"see consumer/{change.address.stream}/{name} everywhere",
            call=Call.GATE_CONSUMER_EVERYWHERE,
            on=(change.address.stream, name),
            address=str(change.address),
            body={"replicas": replicas, "timeout": REPLICAS_TIMEOUT},
            effect=f"wait until every server of the cluster has consumer {name}",
        )


def taking_over(change: Change, view: View) -> Iterator[Step]:
    """After a creation beside which others are deleted; a replacement has a gate of its own."""
    others = around.changes_of(view)[change.address.stream]
    if change.intent is None and any(other.action is Action.DELETE for other in others):
        yield from everywhere(change, view, change.address.name)


def staying(change: Change, view: View) -> Iterator[Step]:
    """Before a deletion: an earlier apply that ended between a creation and its gate leaves who is not known to all yet.
    Deletions on one stream share these."""
    for other in around.changes_of(view)[change.address.stream]:
        if _stays(other) and other.live and is_unheard(other.live.state):
            for step in everywhere(change, view, other.address.name):
                yield replace(step, id=f"{step.id} before others go")


def _stays(change: Change) -> bool:
    """As it is, or updated; whoever is replaced has gates of its own."""
    return change.intent is None and change.action not in (Action.CREATE, Action.REPLACE, Action.DELETE)
