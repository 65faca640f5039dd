"""Subjects that pass from one consumer of an interest stream to another: which changes take them, and from whom.

Such a stream at once drops messages that no consumer wants. So a consumer takes subjects over before another gives them
up, and before a stream turns to interest retention.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from reconciler.changes.change import Change
from reconciler.changes.view import View
from reconciler.kinds.consumer_checks.around import changes_of
from reconciler.kinds.consumer_position.retention import is_interest, switches
from reconciler.kinds.subjects.filters import gained, let_go
from reconciler.kinds.subjects.subject_index import SubjectIndex
from reconciler.kinds.subjects.subjects import collide
from reconciler.model.resource import Address


class Handover(NamedTuple):
    taker: Change
    giver: Change


@lru_cache(maxsize=4)
def handovers(view: View) -> tuple[Handover, ...]:
    """Computed once per view."""
    return tuple(found for changes in changes_of(view).values() for found in _among(changes, view))


@lru_cache(maxsize=4)
def takers(view: View) -> frozenset[Address]:
    """Consumers that take over subjects which others give up, or which a stream is about to drop."""
    begin = {stream for stream, above in switches(view).items() if above.becomes("retention") == "interest"}
    coming = {one.address for stream in begin for one in changes_of(view).get(stream, ()) if gained(one)}
    return frozenset(coming | {one.taker.address for one in handovers(view)})


def _among(consumers: Sequence[Change], view: View) -> Iterator[Handover]:
    writing = {change.address.name: change for change in consumers if change.action.writes}
    if len(writing) < 2 or not is_interest(consumers[0], view) or consumers[0].address.stream in switches(view):
        return
    given = SubjectIndex()
    for name, change in writing.items():
        for subject in let_go(change):
            given.add(name, subject)
    for taker in writing.values():
        givers = {name for one in gained(taker) for name, other in given.near(one) if collide(one, other)}
        yield from (Handover(taker, writing[name]) for name in sorted(givers - {taker.address.name}))
