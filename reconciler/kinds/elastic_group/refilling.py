"""A new queue is filled from its source, with what that still stores. If the same plan deletes messages there, that waits
until the queue has them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from reconciler.changes.change import Action, Change, Consequence
from reconciler.changes.view import View
from reconciler.kinds.elastic_group.immutable import QUEUE, fixed_fields
from reconciler.kinds.elastic_group.queue_stream import stream_name, transforms
from reconciler.kinds.losses import shrinking
from reconciler.model.resource import Address, Config
from reconciler.model.wire.questions import QueuedFrom
from reconciler.model.wire.steps import Call, Step

PATIENCE = 30_000_000_000
"""Nanoseconds for which a queue that lacks something may stand still."""


def source_losing_messages(change: Change, view: View) -> Address | None:
    """The stream that fills the new queue of this group, and from which the same plan deletes messages; None: there is no
    new queue, or nothing is deleted."""
    planned = view.changes.get(change.address)  # the rest of a replacement has another action
    if change.address.kind != "elastic_group" or planned is None or not _is_filled_again(planned):
        return None
    source = Address.of("stream", change.address.stream)
    stream_change = view.changes.get(source)
    is_cut = (
        stream_change is not None
        and stream_change.action is Action.UPDATE
        and shrinking.loss_of_stream(source.name, view)
    )
    return source if is_cut else None


def _is_filled_again(change: Change) -> bool:
    is_made_again = change.action in (Action.UPDATE, Action.ADOPT) and change.was(QUEUE) == "missing"
    return change.action is Action.REPLACE or is_made_again


def catch_up_gate(change: Change, view: View, group: Config) -> Iterator[Step]:
    """Waits until the new queue has all that its source holds for it, if the source is cut afterwards."""
    if source_losing_messages(change, view) is None:
        return
    stream, queue = change.address.stream, stream_name(*change.address.names)
    yield Step(
        id=f"wait for queue stream/{queue}",
        call=Call.GATE_QUEUE_CAUGHT_UP,
        on=(queue,),
        address=str(change.address),
        body={"from": stream, "subjects": [transform["src"] for transform in transforms(group)], "timeout": PATIENCE},
        effect=f"wait until stream {queue} has copied all that {stream} holds for it",
    )


def consequences(change: Change, view: View) -> Iterable[Consequence]:
    """When the source is cut, and what happens if the queue has no room for what it is to copy."""
    if source_losing_messages(change, view):
        stream, queue = change.address.stream, stream_name(*change.address.names)
        yield Consequence(
            message=f"{stream} deletes messages only after the new queue has copied what it takes of them; if {queue} stands still "
            f"for {PATIENCE // 1_000_000_000} s before that, apply fails and leaves {stream} as it is"
        )


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
