"""Replicas and placement: a cluster changes one of them at a time, and the other when all replicas are current (10123).

More replicas may need the new place, so that comes first; a smaller place may not hold the old number, so fewer replicas
come before it.
"""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.core.diff import Action, Change
from reconciler.core.rule import View
from reconciler.core.stages import Opening, Tie

IN_STREAMS = frozenset({"stream", "kv_bucket", "object_store"})


def ties(view: View) -> Iterator[Tie]:
    if not view.target.is_clustered:
        return
    for address, change in view.changes.items():
        if address.kind in IN_STREAMS and change.action is Action.UPDATE and _is_both(change):
            yield Tie(address, address, gives="placement" if _replicas(change) > 0 else "num_replicas")


def _is_both(change: Change) -> bool:
    """Giving up a placement is no move, and goes with everything."""
    return change.touches("num_replicas") and change.touches("placement") and bool(change.becomes("placement"))


def _replicas(change: Change) -> int:
    """How many are added."""
    return int(change.becomes("num_replicas") or 1) - int(change.was("num_replicas") or 1)


def _place(change: Change, _view: View) -> Opening:
    return Opening(
        fields={"placement": change.becomes("placement")},
        cost=(0, 1),
        effect=f"move {change.address.name} to its new placement, before its number of replicas changes",
    )


def _number(change: Change, _view: View) -> Opening:
    return Opening(
        fields={"num_replicas": change.becomes("num_replicas")},
        cost=(0, 1),
        effect=f"change the replicas of {change.address.name} to {change.becomes('num_replicas') or 1}, before anything else",
    )


OPENS = {"placement": _place, "num_replicas": _number}
