"""Consumers of a stream that deletes what is copied, and copies of it that begin in the same plan: the consumers come first.

What is copied before they are there is deleted. Servers up to 2.12 refuse them beside a copy (10099, 10100).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from reconciler.changes.change import Action
from reconciler.changes.stages import BETTER, NEEDED, Opening, Tie
from reconciler.changes.view import View
from reconciler.kinds.consumer_checks.around import changes_of
from reconciler.kinds.effects.sources_begun import deletes_copied
from reconciler.kinds.fields.known import V2_14
from reconciler.kinds.stream_config.listening import fresh
from reconciler.kinds.subjects.filters import filters_of
from reconciler.kinds.subjects.subjects import meets


def ties(view: View) -> Iterator[Tie]:
    """(consumer, copy) where both want the same messages of such a stream."""
    consumers = changes_of(view)
    weak = NEEDED if view.target.version < V2_14 else BETTER
    for change in view.changes.values():
        if not change.action.writes or change.action is Action.DELETE or view.stream_of(change.address) is None:
            continue
        for read in fresh(change, view):
            for consumer in consumers.get(read.stream, ()) if deletes_copied(read.stream, view) else ():
                is_written = consumer.action.writes and consumer.desired is not None
                if is_written and consumer.desired and meets(filters_of(consumer.desired.config), read.subjects):
                    yield Tie(consumer.address, change.address, weak=weak)


OPENS: Mapping[str, Opening] = {}
