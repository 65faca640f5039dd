"""What other filters leave out of a queue: a recreated group copies again only what they match."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reconciler.changes.amount import Amount, exactly
from reconciler.changes.change import Action, Change
from reconciler.changes.view import View
from reconciler.kinds.elastic_group.queue_stream import stream_name, transforms
from reconciler.kinds.subjects.subjects import is_subset, meets
from reconciler.model.resource import Config
from reconciler.model.wire.questions import MessagesFrom


def questions(change: Change) -> list[MessagesFrom]:
    """How many queued messages the new filters match; a queue stores them under a partition number."""
    if change.action not in (Action.UPDATE, Action.REPLACE) or not leaves_out(change):
        return []
    queue = stream_name(*change.address.names)
    return [MessagesFrom(stream=queue, start=1, filter=f"*.{subject}") for subject in meets(*_filters(change))]


def unmatched_messages(change: Change, queued: int, view: View) -> Amount:
    """How many of the queued messages no filter matches any more."""
    if not leaves_out(change):
        return exactly(0)
    answers = [view.facts.get(answer) for answer in questions(change)]
    staying = [int(answer["messages"]) for answer in answers if isinstance(answer, Mapping) and "messages" in answer]
    return exactly(max(0, queued - sum(staying))) if len(staying) == len(answers) else Amount(0, queued)


def leaves_out(change: Change) -> bool:
    """Was anything copied that will not be copied any more?"""
    before, after = _filters(change)
    return not all(any(is_subset(old, new) for new in after) for old in before)


def takes_more(change: Change) -> bool:
    """Will anything be copied that was not copied before?"""
    before, after = _filters(change)
    return not all(any(is_subset(new, old) for old in before) for new in after)


def _filters(change: Change) -> tuple[Sequence[str], Sequence[str]]:
    """Filters of the group before and after; none if it did not exist before, or is not wanted."""
    if not (change.live and change.desired):
        return (), ()
    return _filters_of(change.live.config), _filters_of(change.desired.config)


def _filters_of(group: Config) -> list[str]:
    return [transform["src"] for transform in transforms(group)]
