"""What a new partitioned group starts with: everything that its stream already holds, as far as its buffer has room."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from reconciler.changes.amount import Amount
from reconciler.changes.change import Action, Change, Consequence
from reconciler.changes.view import View
from reconciler.kinds.fields.words import amount, listed_few, some
from reconciler.model.resource import Config, Json
from reconciler.model.units import show_quantity


def start_consequences(
    change: Change, view: View, *, is_told: bool, matched: MatchedMessages | None = None
) -> Iterator[Consequence]:
    """A queue that already exists continues where it is. With `is_told`, a rule says what it starts with, and asks for
    consent. `matched` is what of the stored messages its filters match; left out, nobody counted it."""
    stream, stored = change.address.stream, stored_messages(change, view)
    if not stored or change.action is not Action.CREATE or change.origin or queue_name(change) in view.snapshot.streams:
        return
    if not is_told:
        held = matched or MatchedMessages(stored)
        number = amount(Amount(0, held.messages), "message")
        begins = f"It starts with what {stream} already holds{held.where_text}: {number}"
        yield Consequence(message=f"{begins}{_processed_before_clause(change, view)}")
    config = change.wanted
    if waiting := overflow_clause(config, stored, int(_state(change, view).get("bytes", 0)), stream):
        yield Consequence(message=f"Its queue {waiting}")


def _processed_before_clause(change: Change, view: View) -> str:
    """Names the groups in whose place it comes: this plan deletes them, and the stream keeps what they have processed."""
    stream = change.address.stream
    if view.snapshot.config_of(stream).get("retention", "limits") != "limits":
        return ""
    groups = [group for kind in ("static_group", "elastic_group") for group in view.children(stream, kind)]
    gone = [str(group.address) for group in groups if group.action is Action.DELETE]
    return f", including what members of {listed_few(gone)} have processed" if gone else ""


class MatchedMessages(NamedTuple):
    """What the filters of a group match of the messages that its stream stores."""

    messages: int
    """How many, at most."""
    subjects: Sequence[str] = ()
    """On which subjects; none: on all."""

    @property
    def where_text(self) -> str:
        """` on *.a and *.b`, for after the name of the stream; empty where they are all that it holds."""
        return f" on {listed_few(self.subjects)}" if self.subjects else ""


def stored_messages(change: Change, view: View) -> int:
    """How many messages the stream of the group stores."""
    return int(_state(change, view).get("messages", 0))


def queue_name(change: Change) -> str:
    """The name of the queue that an elastic group has."""
    return "-".join(change.address.names)


def _state(change: Change, view: View) -> Mapping[str, Json]:
    state: Mapping[str, Json] = view.snapshot.streams.get(change.address.stream, {}).get("state") or {}
    return state


def overflow_clause(group: Config, messages: int, size: int, stream: str) -> str:
    """A clause about that many messages of the stream if the group's buffer is smaller; empty if all of them fit."""
    most, most_bytes = group.get("max_buffered_msg") or 0, group.get("max_buffered_bytes") or 0
    limits = {some(most, "message"): 0 < most < messages, show_quantity("bytes", most_bytes): 0 < most_bytes < size}
    if not (bound := " and ".join(limit for limit, is_short in limits.items() if is_short)):
        return ""
    return f"holds no more than {bound} at a time: the rest waits in {stream}, as long as {stream} stores it"
