"""A consumer that this bucket recorded once, and no longer: which of the stored messages it may have acknowledged.

Its record left a deletion marker when it was removed or forgotten, and the time of that tells. Nobody recorded its
position then, so the count is of everything that was stored before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from reconciler.changes.amount import Amount
from reconciler.changes.change import Action, Change
from reconciler.changes.view import View
from reconciler.kinds.consumer_position.counts import total_count
from reconciler.kinds.subjects.filters import filters_of
from reconciler.model.ledger.records import BUCKET, encode_key
from reconciler.model.wire.questions import MessagesFrom, MessagesSince, Question


def recorded_until(change: Change, view: View) -> str | None:
    """When its record was removed; None: it was never recorded, or is recorded now."""
    if change.action is not Action.CREATE or change.record or change.origin:
        return None
    marker = view.snapshot.entries.get(BUCKET, {}).get(encode_key(change.address))
    return marker.stored if marker and marker.deleted and marker.stored else None


def questions(change: Change, view: View) -> Iterator[Question]:
    """How many messages on its subjects came later than its record went."""
    if (until := recorded_until(change, view)) is None or change.address.stream not in view.snapshot.streams:
        return
    yield _later_question(change, until)
    yield from _count_questions(change, until, view) or ()


def stored_while_recorded(change: Change, view: View, stored: Amount) -> Amount | None:
    """Of the stored messages that a new consumer gets, how many were stored while it was recorded; None: nobody
    counted, or it was never recorded."""
    until = recorded_until(change, view)
    asked = _count_questions(change, until, view) if until else None
    if asked is None:
        return None
    later = 0 if not asked else total_count(asked, view)
    return None if later is None else Amount(max(0, stored.least - later), max(0, stored.most - later))


def _later_question(change: Change, until: str) -> MessagesSince:
    return MessagesSince(stream=change.address.stream, since=until)


def _count_questions(change: Change, until: str, view: View) -> list[MessagesFrom] | None:
    """What counts them, once it is known where they begin; empty where there are none."""
    answer = view.facts.get(_later_question(change, until))
    if not isinstance(answer, Mapping):
        return None
    if answer.get("first") is None:
        return []
    subjects = filters_of(change.wanted)
    return [
        MessagesFrom(stream=change.address.stream, start=int(answer["first"]), filter=subject) for subject in subjects
    ]
