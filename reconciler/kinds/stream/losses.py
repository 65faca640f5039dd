"""What changes of a stream cost in messages and readers: the rules as one list, and the questions they ask the
server."""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.changes.change import Change
from reconciler.changes.view import View
from reconciler.kinds.effects import losses, pushed_out, sources_changed, uncaptured
from reconciler.kinds.effects.fewer_copies import replicas_lowered
from reconciler.kinds.effects.losses import limit_lowered
from reconciler.kinds.effects.made_again import made_again
from reconciler.kinds.effects.one_way import to_copy
from reconciler.kinds.effects.pushed_out import copies_push_out
from reconciler.kinds.effects.readers import (
    taking_questions,
)
from reconciler.kinds.effects.sources_changed import copied_again, left_behind
from reconciler.kinds.effects.uncaptured import subject_removed
from reconciler.kinds.fields import peers
from reconciler.kinds.stream.deletion import stream_deletion
from reconciler.kinds.stream.retention import interest_retention, turns_to_interest
from reconciler.model.wire.questions import Question


def questions(change: Change, view: View) -> Iterator[Question]:
    """What the losses of a stream depend on beyond its state."""
    yield from losses.questions(change, view)
    yield from sources_changed.questions(change, view)
    yield from pushed_out.questions(change, view)
    yield from peers.questions(change)
    if asked := to_copy(change):
        yield asked
    if turns_to_interest(change):
        yield from taking_questions(change.address.name, view)
    yield from uncaptured.questions(change)


RULES = (
    limit_lowered("ST"),
    interest_retention,
    subject_removed,
    copied_again("ST"),
    left_behind("ST"),
    copies_push_out("ST"),
    replicas_lowered("ST"),
    stream_deletion,
    made_again("ST"),
)
