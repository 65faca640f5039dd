"""What a new partitioned group begins with: all that its stream holds already."""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.changes.amount import Amount
from reconciler.changes.diff import Action, Change, Consequence
from reconciler.changes.rule import View
from reconciler.kinds.fields.words import amount


def beginning(change: Change, view: View) -> Iterator[Consequence]:
    """Its filters may take less of it. A queue that is there already goes on where it is."""
    streams, stream = view.snapshot.streams, change.address.stream
    stored = int((streams.get(stream, {}).get("state") or {}).get("messages", 0))
    if (
        change.action is Action.CREATE
        and change.origin is None
        and stored
        and "-".join(change.address.names) not in streams
    ):
        held = amount(Amount(0, stored), "message")
        yield Consequence(message=f"It begins with what {stream} holds already: {held}")
