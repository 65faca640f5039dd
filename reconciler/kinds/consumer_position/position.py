"""The position of a consumer: whether the consumer can be recreated there, and which messages are then redelivered.

On a work queue the stream holds exactly what is still to be done, so a new consumer starts with all of it. On other
streams it starts after the ack floor. The floor only grows, so a floor that is read before the old consumer is deleted
is never too high: nothing is lost, and messages delivered above it are redelivered. The file's deliver_policy says
where a consumer without a past starts; a replacement keeps the position, whatever that policy says.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from reconciler.changes.amount import Amount
from reconciler.changes.change import Action, Change
from reconciler.changes.view import View
from reconciler.engine.bindings import first_needed_sequence, passed_in_flight
from reconciler.engine.pairing.unfinished import has_start
from reconciler.kinds.consumer_checks.limits import consumers_needed_for_placeholder
from reconciler.kinds.consumer_config.consumer_config import FIELDS
from reconciler.kinds.consumer_position import recorded_position, unclaimed
from reconciler.kinds.consumer_position.counts import count_questions_from, total_count
from reconciler.kinds.consumer_position.retention import is_interest, is_queue
from reconciler.kinds.fields.words import some
from reconciler.kinds.losses import lost_tail, shrinking
from reconciler.kinds.subjects.filters import filters_of
from reconciler.kinds.subjects.subject_lists import all_inside
from reconciler.model.resource import Config, Json
from reconciler.model.wire.questions import Question

TRACKING_ACK_POLICIES = ("explicit", "all")
"""Ack policies under which a consumer knows what was processed."""


def is_recreated(change: Change, view: View) -> bool:
    """With consent it is: it gets another name, or a value that no update gives it."""
    tops = {change_of_field.top for change_of_field in change.fields}
    needs_recreation = change.origin is not None or any(
        top == "mem_storage" or not FIELDS[top].may_become(change.was(top), change.becomes(top), view.target.version)
        for top in tops & FIELDS.keys()
    )
    return needs_recreation and change.live is not None and obstacle(change, view) is None


class ReplacementObstacle(NamedTuple):
    """What stands in the way of a replacement."""

    why: str
    fix: str = ""
    """How to remove it; empty: nobody can."""


def obstacle(change: Change, view: View) -> ReplacementObstacle | None:
    """Why it cannot be replaced without losing its position or messages; None when it can."""
    if not view.ledger_known:
        return ReplacementObstacle(
            "It cannot be replaced either: bucket reconciler, which an interrupted replacement needs, could not be read here."
        )
    if is_queue(change, view):
        return None
    if is_interest(change, view) and (count := consumers_needed_for_placeholder(change, view)):
        return ReplacementObstacle(
            "It cannot be replaced now: a placeholder consumer must keep its messages meanwhile, and stream "
            f"{change.address.stream} has no room for one.",
            f"let stream {change.address.stream} have {count:_} consumers (max_consumers), or remove one in the same plan",
        )
    why = _why_position_unknown(change) if start_by_record(change, view) is None else ""
    return ReplacementObstacle(why) if why else None


def _why_position_unknown(change: Change) -> str:
    policy = change.raw.get("ack_policy", "none")
    if policy not in TRACKING_ACK_POLICIES:
        return f"With ack_policy {policy} no server knows what was processed, so it cannot be replaced either."
    if change.raw.get("deliver_policy") == "last_per_subject":
        return "It started at last_per_subject, so its position is no sequence, and it cannot be replaced either."
    if passed := passed_in_flight(change.info):
        return (
            f"Its server counts {some(passed, 'message')} in flight as acknowledged, as after a purge of messages in flight, so its "
            "position is unknown, and it cannot be replaced until they are acknowledged."
        )
    if first_needed_sequence(change.info) is None:
        return (
            "Servers before 2.14 do not tell its position until its first message is acknowledged, so it cannot be "
            "replaced yet."
        )
    return ""


def redelivered_and_unacknowledged(change: Change, view: View) -> tuple[Amount, int]:
    """Messages that are redelivered when it is recreated, and how many are not acknowledged.

    Above the ack floor clients may have acknowledged some out of order; no server tells which.
    """
    again, unacknowledged = _redelivery_counts(change, view)
    return Amount(0, again.most) if leaves_out(change) else again, unacknowledged


def leaves_out(change: Change) -> bool:
    """The filter changes too, and does not match everything that the old one matched."""
    if not (change.live and change.desired):
        return False
    before, after = filters_of(change.live.config), filters_of(change.desired.config)
    return not all_inside(before, after)


def _redelivery_counts(change: Change, view: View) -> tuple[Amount, int]:
    info = change.info
    unacknowledged = info.get("num_ack_pending", 0)
    if is_queue(change, view):
        return Amount(unacknowledged, max(unacknowledged, unclaimed.count_left_in_queue(change, view))), unacknowledged
    if point := start_by_record(change, view):
        end, reached = sys.maxsize, first_needed_sequence(info) or point
        still_unprocessed = recorded_position.stored_between(
            point, reached, change, view
        ) + recorded_position.still_to_come(change, view)
        counted = total_count(count_questions_from(change, point), view)
        most = min(recorded_position.stored_between(point, end, change, view), still_unprocessed)
        return Amount(0, most if counted is None else min(most, counted)), unacknowledged
    delivered, floor = info.get("delivered") or {}, info.get("ack_floor") or {}
    messages = delivered.get("stream_seq", 0) + 1 - first_needed_sequence(info)
    deliveries = delivered.get("consumer_seq", 0) - floor.get("consumer_seq", 0)
    again = Amount(min(unacknowledged, max(0, messages)), max(0, min(messages, deliveries)))
    return _without_deleted(again, info, change, view), unacknowledged


def _without_deleted(again: Amount, info: Mapping[str, Json], change: Change, view: View) -> Amount:
    """The same without what this plan deletes from the stream: its oldest messages, or nobody knows which."""
    if (loss := shrinking.loss_of_stream(change.address.stream, view)) is None:
        return again
    kept = loss.going.before if loss.going and loss.is_prompt else None
    if kept is None:
        return Amount(0, again.most)
    floor, end = first_needed_sequence(info) or 1, (info.get("delivered") or {}).get("stream_seq", 0) + 1
    early, late = max(0, kept.least - floor), max(0, kept.most - floor)
    most = max(0, min(again.most, end - max(floor, kept.least)))
    return Amount(min(most, max(0, again.least - late)), most) if early or late else again


def start(change: Change, view: View) -> Config:
    """What a new consumer must say of its start, as known now; nothing if the file's own start is right."""
    if is_queue(change, view):
        return {}
    sequence = start_by_record(change, view) or first_needed_sequence(change.info)
    if change.intent and is_position_noted(change):
        sequence = min(sequence, resumed_start(change, view).get("opt_start_seq", 1))
    return {"deliver_policy": "by_start_sequence", "opt_start_seq": sequence, "opt_start_time": None}


BY_RECORD = "by_record"
"""In the notes of a replacement: its start does not come from the live consumer."""


def start_by_record(change: Change, view: View) -> int | None:
    """The start that replaces the position of a consumer that somebody recreated by hand; a run that was interrupted has
    noted it."""
    if is_queue(change, view):
        return None
    if change.intent is None:
        return recorded_position.continuation_sequence(change, view)
    is_its_own = BY_RECORD not in change.intent.notes or is_position_noted(change)
    return None if is_its_own else int(resumed_start(change, view).get("opt_start_seq", 1))


def questions(change: Change, view: View) -> Iterable[Question]:
    """Whether the stream is still the one it was when the position was noted; what comes from a position on record on; and
    what a consumer that goes or is recreated leaves behind."""
    if change.action in (Action.DELETE, Action.REPLACE) or is_recreated(change, view):
        yield from unclaimed.questions(change, view)
    if change.intent and has_intended_start(change):
        yield from lost_tail.questions(change.address.stream, change.intent)
    if change.intent is None and is_recreated(change, view) and (point := start_by_record(change, view)):
        yield from count_questions_from(change, point)


def has_intended_start(change: Change) -> bool:
    """A replacement was begun that names the sequence to start at; until it is `ready`, that is what the plan saw."""
    return bool(change.intent and "opt_start_seq" in change.intent.start)


def resumed_start(change: Change, view: View) -> Config:
    """The position of the deleted consumer. It is an earlier one if the stream has since lost messages and given their
    numbers to others. It is the file's own start if that means the first message."""
    if change.intent is None or not has_intended_start(change):
        return {}
    noted = change.intent.start
    point = lost_tail.safe_start(noted["opt_start_seq"], change.address.stream, change.intent, view)
    policy = change.wanted.get("deliver_policy", "all")
    return {} if point == 1 < noted["opt_start_seq"] and policy == "all" else {**noted, "opt_start_seq": point}


def is_position_noted(change: Change) -> bool:
    """An earlier run noted the position, and the live consumer may be another one that somebody made since. One that starts at
    that very position is the run's own, and has a position itself."""
    intent = change.intent
    if intent is None or not intent.ready or "opt_start_seq" not in intent.start:
        return False
    return bool(intent.created != change.info.get("created")) and not has_start(change.raw, intent.start)
