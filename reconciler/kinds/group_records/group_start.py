"""What a new partitioned group begins with: all that its stream holds already, and what of that its buffer does not take."""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.changes.amount import Amount
from reconciler.changes.diff import Action, Change, Consequence
from reconciler.changes.view import View
from reconciler.kinds.fields.words import amount, some
from reconciler.model.resource import Config
from reconciler.model.units import show_quantity


def beginning(change: Change, view: View) -> Iterator[Consequence]:
    """Its filters may take less of it. A queue that is there already goes on where it is."""
    streams, stream = view.snapshot.streams, change.address.stream
    state = streams.get(stream, {}).get("state") or {}
    stored = int(state.get("messages", 0))
    if (
        change.action is Action.CREATE
        and change.origin is None
        and stored
        and "-".join(change.address.names) not in streams
    ):
        held = amount(Amount(0, stored), "message")
        yield Consequence(message=f"It begins with what {stream} holds already: {held}")
        config = change.desired.config if change.desired else {}
        if waiting := waits_outside(config, stored, int(state.get("bytes", 0)), stream):
            yield Consequence(message=f"Its queue {waiting}")


def waits_outside(group: Config, messages: int, size: int, stream: str) -> str:
    """What becomes of that many messages of the stream where the group's buffer is smaller; empty where all of them fit."""
    most, most_bytes = group.get("max_buffered_msg") or 0, group.get("max_buffered_bytes") or 0
    limits = {some(most, "message"): 0 < most < messages, show_quantity("bytes", most_bytes): 0 < most_bytes < size}
    if not (bound := " and ".join(said for said, is_short in limits.items() if is_short)):
        return ""
    return f"holds no more than {bound} at a time: the rest waits in {stream}, as long as that stores it"
