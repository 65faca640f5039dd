"""Groups that are recreated while their source loses messages.

A new queue copies from its source what the old one held, so the source keeps everything until the new queue has it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from reconciler.changes.stages import Opening, Tie
from reconciler.changes.view import View
from reconciler.kinds.elastic_group import refilling


def ties(view: View) -> Iterator[Tie]:
    """A group with a new queue comes before the change that deletes messages of its source."""
    for change in view.changes.values():
        if above := refilling.cut_afterwards(change, view):
            yield Tie(change.address, above)


OPENS: Mapping[str, Opening] = {}
