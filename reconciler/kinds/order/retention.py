"""Streams that change between limits and interest retention: while they keep everything, consumers come and go at no cost.

So before a stream begins to drop what nobody wants, whoever comes is there; and who goes waits until it has ceased to.
What whoever comes takes over from the stream's limits is changed before both.
"""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.changes.diff import Change
from reconciler.changes.stages import Opening, Tie
from reconciler.changes.view import View
from reconciler.kinds.consumer.handovers import switches
from reconciler.kinds.consumer_checks.around import changes_of

GIVES = "retention"


def ties(view: View) -> Iterator[Tie]:
    """Consumers change before their stream begins to drop what nobody wants, or after it has ceased to."""
    for above in switches(view).values():
        for change in changes_of(view).get(above.address.name, ()):
            if change.action.writes:
                ends = change.address, above.address
                yield Tie(*(ends if above.becomes("retention") == "interest" else reversed(ends)))


def _limits_first(change: Change, _view: View) -> Opening:
    name = change.address.name
    return Opening(
        fields={"consumer_limits": change.becomes("consumer_limits")},
        cost=(0, 1),
        effect=f"set the limits of stream {name} for its consumers, before it drops what nobody wants",
    )


OPENS = {GIVES: _limits_first}
