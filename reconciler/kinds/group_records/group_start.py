"""What a new partitioned group starts with: everything that its stream already holds, as far as its buffer has room."""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.changes.amount import Amount
from reconciler.changes.diff import Action, Change, Consequence
from reconciler.changes.view import View
from reconciler.kinds.fields.words import amount, some
from reconciler.model.resource import Config
from reconciler.model.units import show_quantity


def beginning(change: Change, view: View) -> Iterator[Consequence]:
    """Its filters may match only part of it. A queue that already exists continues where it is."""
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
        yield Consequence(message=f"It starts with what {stream} already holds: {held}")
        config = change.desired.config if change.desired else {}
        if waiting := waits_outside(config, stored, int(state.get("bytes", 0)), stream):
            yield Consequence(message=f"Its queue {waiting}")


def waits_outside(group: Config, messages: int, size: int, stream: str) -> str:
    """What happens to that many messages of the stream if the group's buffer is smaller; empty if all of them fit."""
    most, most_bytes = group.get("max_buffered_msg") or 0, group.get("max_buffered_bytes") or 0
    limits = {some(most, "message"): 0 < most < messages, show_quantity("bytes", most_bytes): 0 < most_bytes < size}
    if not (bound := " and ".join(said for said, is_short in limits.items() if is_short)):
        return ""
    return f"holds no more than {bound} at a time: the rest waits in {stream}, as long as {stream} stores it"
