"""What the source of a queue still stores: a recreated group copies only that again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from reconciler.changes.change import Action, Change
from reconciler.changes.view import View
from reconciler.kinds.elastic_group.immutable import fixed_fields
from reconciler.kinds.elastic_group.queue_stream import stream_name
from reconciler.model.wire.questions import QueuedFrom


def questions(change: Change) -> Iterator[QueuedFrom]:
    """How much of the queue its source has dropped, asked if the group is to be recreated or already is being
    recreated."""
    if change.action in (Action.UPDATE, Action.REPLACE) and (change.intent or fixed_fields(change)):
        yield _question(change)


def _question(change: Change) -> QueuedFrom:
    return QueuedFrom(stream=stream_name(*change.address.names), source=change.address.stream)


def messages_gone(change: Change, view: View) -> int | None:
    """How many of the queued messages the source no longer holds, at most; None: nobody could tell."""
    answer = view.facts.get(_question(change))
    return int(answer["gone"]) if isinstance(answer, Mapping) else None


def why_unknown(change: Change, view: View) -> str:
    """Why nobody could tell how much is gone, in words for brackets."""
    return str(getattr(view.facts.get(_question(change)), "reason", "nobody was asked"))
