"""What happens to messages on a work queue that one consumer no longer takes: another one may, in the same plan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reconciler.changes.change import Change
from reconciler.changes.view import View
from reconciler.kinds.consumer_checks.around import afterwards
from reconciler.kinds.effects.readers import filters
from reconciler.kinds.fields.words import few, listed
from reconciler.kinds.stream_config.origins import copying_on
from reconciler.kinds.subjects.subjects import collide, is_subset

NAMED = 3


def is_taken(change: Change, left: Sequence[str], view: View) -> bool:
    """Do other consumers take everything on these subjects?"""
    others = [theirs for _, theirs in _takers(change, view)]
    return all(any(is_subset(one, two) for theirs in others for two in theirs) for one in left)


def fate(change: Change, left: Sequence[str], view: View) -> str:
    """What happens to messages on the subjects that the consumer leaves, in words."""
    met = {
        name: theirs
        for name, theirs in _takers(change, view)
        if any(collide(one, two) for one in left for two in theirs)
    }
    if not met:
        return "they stay until another consumer takes them"
    who = few([*met], NAMED) if len(met) > NAMED else listed([*met])
    gets = f"{who} {'takes' if len(met) == 1 else 'take'}"
    if is_taken(change, left, view):
        return f"{gets} them"
    return f"{gets} some of them, and the others stay until another consumer does"


def _takers(change: Change, view: View) -> Iterator[tuple[str, Sequence[str]]]:
    """Other consumers as they will be, and streams that copy the queue."""
    stream, name = change.address.names
    yield from ((other, filters(config)) for other, config in afterwards(stream, view) if other != name)
    yield from ((f"stream {copy}", subjects) for copy, subjects in sorted(copying_on(stream, view).items()))
