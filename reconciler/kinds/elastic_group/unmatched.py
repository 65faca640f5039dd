"""What filters leave out of a queue: a recreated group copies again only what its new ones match, and later messages of
others never."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reconciler.changes.amount import Amount, exactly
from reconciler.changes.change import Action, Change
from reconciler.changes.view import View
from reconciler.kinds.elastic_group.queue_stream import stream_name, transforms
from reconciler.kinds.subjects.subjects import common_subjects, is_subset
from reconciler.model.resource import Config
from reconciler.model.wire.questions import MessagesFrom


def questions(change: Change) -> list[MessagesFrom]:
    """How many queued messages the new filters match; a queue stores them under a partition number."""
    if change.action not in (Action.UPDATE, Action.REPLACE) or not leaves_out(change):
        return []
    queue = stream_name(*change.address.names)
    return [
        MessagesFrom(stream=queue, start=1, filter=f"*.{subject}") for subject in common_subjects(*_filters(change))
    ]


def unmatched_messages(change: Change, queued: int, view: View) -> Amount:
    """How many of the queued messages no filter matches any more."""
    if not leaves_out(change):
        return exactly(0)
    answers = [view.facts.get(answer) for answer in questions(change)]
    staying = [int(answer["messages"]) for answer in answers if isinstance(answer, Mapping) and "messages" in answer]
    return exactly(max(0, queued - sum(staying))) if len(staying) == len(answers) else Amount(0, queued)


def arrival_questions(change: Change, view: View) -> list[MessagesFrom]:
    """How many messages of the source the filters match, where they leave out some."""
    source, filters = view.snapshot.streams.get(change.address.stream), _filters_of(change.wanted)
    config: Config = source["config"] if source else {}
    is_plain = not any(config.get(name) for name in ("sources", "mirror", "subject_transform"))
    if source is None or (is_plain and all(any(is_subset(s, f) for f in filters) for s in config.get("subjects", ()))):
        return []
    return [MessagesFrom(stream=change.address.stream, start=1, filter=subject) for subject in filters]


def arrived_messages(change: Change, view: View) -> int | None:
    """How many messages of the source the filters match; None: nobody could tell."""
    source = view.snapshot.streams.get(change.address.stream)
    stored = int(source["state"].get("messages", 0)) if source else 0
    answers = [view.facts.get(question) for question in arrival_questions(change, view)]
    numbers = [int(answer["messages"]) for answer in answers if isinstance(answer, Mapping) and "messages" in answer]
    if not answers:
        return stored
    return min(stored, sum(numbers)) if len(numbers) == len(answers) else None


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
