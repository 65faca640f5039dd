"""Room in the account: whatever frees reserved storage or a place for a stream goes before whatever needs it.

Also without a limit that we can see: servers have limits of their own that no request shows (10047, 10028, 10027).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from reconciler.core.diff import Action, Change
from reconciler.core.resource import Address, Resource
from reconciler.core.rule import View
from reconciler.core.stages import Opening, Tie
from reconciler.kinds.across.replicas import IN_STREAMS

LIMITS = {"file": ("max_storage", "reserved_storage"), "memory": ("max_memory", "reserved_memory")}


class Need(NamedTuple):
    address: Address
    more: int
    gives: str


def ties(view: View) -> Iterator[Tie]:
    streams = [c for c in view.changes.values() if c.address.kind in IN_STREAMS and c.action.writes]
    for storage in LIMITS:
        needs = [need for change in streams for need in _reserves(change, storage) if need.more]
        if _may_be_tight(needs, storage, view):
            yield from _freeing_first(needs)
    most = view.target.limits.get("max_streams") or -1
    places = [Need(c.address, 1 if c.action is Action.CREATE else -1, "") for c in streams if _comes_or_goes(c)]
    if 0 < most < _streams(view) + sum(need.more for need in places if need.more > 0):
        yield from _freeing_first(places)


def _freeing_first(needs: Iterable[Need]) -> Iterator[Tie]:
    needs = list(needs)
    for freeing in needs:
        if freeing.more < 0:
            yield from (Tie(freeing.address, need.address, gives=freeing.gives) for need in needs if need.more > 0)


def _reserves(change: Change, storage: str) -> Iterator[Need]:
    """How much more of this storage is reserved afterwards."""
    more = _reserved(None if change.action is Action.DELETE else change.desired, storage) - _reserved(
        change.live, storage
    )
    gives = next((f for f in ("max_bytes", "num_replicas") if change.touches(f)), "")
    yield Need(change.address, more, gives if change.action is Action.UPDATE else "")


def _reserved(resource: Resource | None, storage: str) -> int:
    if resource is None or resource.config.get("storage", "file") != storage:
        return 0
    return max(0, resource.config.get("max_bytes") or 0) * int(resource.config.get("num_replicas") or 1)


def _may_be_tight(needs: list[Need], storage: str, view: View) -> bool:
    limit, reserved = LIMITS[storage]
    most = view.target.limits.get(limit) or -1
    if most <= 0:
        return True
    return int(view.target.usage.get(reserved) or 0) + sum(n.more for n in needs if n.more > 0) > most


def _comes_or_goes(change: Change) -> bool:
    return change.action in (Action.CREATE, Action.DELETE)


def _streams(view: View) -> int:
    return len(view.snapshot.streams) if view.snapshot else 0


def _shrink(change: Change, _view: View) -> Opening:
    return Opening(
        fields={"max_bytes": change.becomes("max_bytes")},
        cost=(0, 1),
        effect=f"free reserved storage of {change.address.name}, so that another stream can have it",
    )


OPENS = {"max_bytes": _shrink}
