"""Order between streams: a subject must be let go by one stream before another may capture it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from reconciler.core.diff import Action, Change
from reconciler.core.resource import Address
from reconciler.kinds.primitives.subjects import collide


def subject_handovers(changes: Mapping[Address, Change]) -> Iterable[tuple[Address, Address]]:
    """(who lets go, who takes) for every subject that moves between streams of one plan."""
    losing = {a: lost for a, change in changes.items() if a.kind == "stream" and (lost := _lost(change))}
    if not losing:
        return
    for address, change in changes.items():
        if address.kind != "stream":
            continue
        for subject in _gained(change):
            for other, lost in losing.items():
                if other != address and any(collide(subject, one) for one in lost):
                    yield other, address


def _before(change: Change) -> set[str]:
    return set(change.was("subjects") or ())


def _after(change: Change) -> set[str]:
    return set() if change.action is Action.DELETE else set(change.becomes("subjects") or ())


def _lost(change: Change) -> set[str]:
    return _before(change) - _after(change)


def _gained(change: Change) -> set[str]:
    return _after(change) - _before(change)
