"""Streams that change between limits and interest retention. While a stream keeps everything, creating and deleting
consumers costs nothing.

So new consumers are created before a stream begins to drop what no consumer wants, and consumers are deleted after it
has stopped doing so. The stream's limits that new consumers inherit change before both.
"""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.changes.change import Change
from reconciler.changes.stages import FirstStage, Tie, final_value_first
from reconciler.changes.view import View
from reconciler.kinds.consumer_position.retention import switches

GIVES = "retention"


def ties(view: View) -> Iterator[Tie]:
    """Consumers change before their stream begins to drop what no consumer wants, or after it has stopped doing so."""
    for above in switches(view).values():
        for change in view.children(above.address.name, "consumer"):
            if change.action.writes:
                ends = change.address, above.address
                yield Tie(*(ends if above.becomes("retention") == "interest" else reversed(ends)))


def _consumer_limits_first(change: Change, _view: View) -> FirstStage:
    """The stream's first step: limits that new consumers inherit."""
    name = change.address.name
    effect = f"set the limits of stream {name} for its consumers, before it drops what no consumer wants"
    return final_value_first(change, "consumer_limits", effect)


FIRST_STAGES = {GIVES: _consumer_limits_first}
