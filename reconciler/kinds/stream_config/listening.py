"""Copies that begin to copy an interest stream in the very plan in which it takes subjects.

An interest stream drops what nobody wants, and a copy wants nothing before its server has set it up. So apply lets the
copy begin first, and the stream takes the subjects when the copy listens.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reconciler.changes.change import Action, Change
from reconciler.changes.view import SubjectsRead, View
from reconciler.kinds.subjects.subjects import collide
from reconciler.model.resource import Address
from reconciler.model.wire.steps import Call, Step

LISTENS_WITHIN = 60_000_000_000
"""How long a copy may take; servers need a fifth of a second, and try again after some seconds."""


def begun(change: Change, view: View) -> list[str]:
    """Interest streams that this change begins to copy, and that take subjects which the copy wants in the same plan."""
    if not change.action.writes or view.stream_of(change.address) is None:
        return []
    return list(dict.fromkeys(one.stream for one in fresh(change, view) if _takes(one, view)))


def fresh(change: Change, view: View) -> list[SubjectsRead]:
    """What this change begins to read: another filter counts, too."""
    reads = view.kinds[change.address.kind].reads
    before = set(reads(change.address, change.live.config)) if change.live else set[SubjectsRead]()
    return [one for one in reads(change.address, change.desired.config) if one not in before] if change.desired else []


def then_listens(steps: Sequence[Step], change: Change, view: View) -> Sequence[Step]:
    """These steps, and then a wait until the copy listens to each of these streams."""
    return (*steps, *_gates(change, view, tuple(step.id for step in steps if step.undoes is None)))


def _gates(change: Change, view: View, after: tuple[str, ...]) -> Iterator[Step]:
    name = view.stream_of(change.address) or ""
    for origin in begun(change, view):
        yield Step(
            id=f"wait until stream/{name} listens to {origin}",
            call=Call.GATE_COPY_LISTENS,
            on=(name,),
            address=str(change.address),
            body={"from": origin, "timeout": LISTENS_WITHIN},
            after=after,
            effect=f"wait until stream {name} listens to {origin}, which drops what nobody wants",
        )


def _takes(one: SubjectsRead, view: View) -> bool:
    """Does the stream keep only what somebody wants, and take some of these subjects with this plan?"""
    change = view.changes.get(Address.of("stream", one.stream))
    if change is None or change.action not in (Action.CREATE, Action.UPDATE):
        return False
    if change.becomes("retention") != "interest" or (change.live and change.touches("retention")):
        return False
    taken = set(change.becomes("subjects") or ()) - set(change.was("subjects") or ())
    return any(collide(mine, theirs) for mine in one.subjects for theirs in taken)
