"""Room in the account: changes that free reserved storage or a place for a stream come before changes that need it.

This also holds if no limit is visible: servers have limits of their own that no request shows (10047, 10028).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from reconciler.changes.change import Action, Change
from reconciler.changes.stages import Opening, Tie
from reconciler.changes.view import View
from reconciler.kinds.afterwards.reservations import StreamReservation
from reconciler.kinds.afterwards.streams import afterwards
from reconciler.model.resource import Address, Config

LIMITS = {"file": ("max_storage", "reserved_storage"), "memory": ("max_memory", "reserved_memory")}


class More(NamedTuple):
    """How much more a change takes than is taken now; negative for what it frees."""

    address: Address
    amount: int
    gives: str = ""


def ties(view: View) -> Iterator[Tie]:
    """Changes that free storage or a stream's place come before changes that need some, unless there is room for all at
    once."""
    live = {name: info["config"] for name, info in view.snapshot.streams.items()}
    after = afterwards(view)
    written = {name: change for name, change in after.made_by.items() if change.action.writes}
    sized = [
        (change, live.get(name), after.streams.get(name))
        for name, change in written.items()
        if max(StreamReservation.of(config.get(name, {})).reserves for config in (live, after.streams))
    ]
    for storage, (limit, reserved) in LIMITS.items():
        needs = [_more(change, was, will, storage) for change, was, will in sized]
        if _is_tight(needs, view.target.limits.get(limit), view.target.usage.get(reserved)):
            yield from _freeing_first(needs)
    places = [More(change.address, (n in after.streams) - (n in live)) for n, change in written.items()]
    most = view.target.limits.get("max_streams") or -1
    if most > 0 and _is_tight(places, most, len(live)):
        yield from _freeing_first(places)


def _more(change: Change, was: Config | None, will: Config | None, storage: str) -> More:
    gives = (
        next((field for field in OPENS_FIRST if change.touches(field)), "") if change.action is Action.UPDATE else ""
    )
    return More(change.address, _reserved(will, storage) - _reserved(was, storage), gives)


def _reserved(config: Config | None, storage: str) -> int:
    need = StreamReservation.of(config or {})
    return need.reserves * need.replicas if need.storage == storage else 0


def _is_tight(needs: Iterable[More], most: int | None, taken: int | None) -> bool:
    """Would everything that is needed not fit beside everything that exists? Without a visible limit, it might not."""
    if most is None or most < 0:
        return True
    return (taken or 0) + sum(need.amount for need in needs if need.amount > 0) > most


def _freeing_first(needs: Iterable[More]) -> Iterator[Tie]:
    needing = [need.address for need in needs if need.amount > 0]
    for need in needs:
        if need.amount < 0:
            yield from (Tie(need.address, address, gives=need.gives) for address in needing)


def _shrink(change: Change, _view: View) -> Opening:
    return Opening(
        fields={"max_bytes": change.becomes("max_bytes")},
        cost=(0, 1),
        effect=f"free reserved storage of {change.address.name}, so that another stream can reserve it",
    )


OPENS = {"max_bytes": _shrink}
OPENS_FIRST = ("max_bytes", "num_replicas")
"""Fields by which a stream reserves less."""
