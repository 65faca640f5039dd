"""How many messages are lost, missed or given again when the filter of a consumer changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from reconciler.changes.amount import Amount, exactly
from reconciler.changes.change import Action, Change
from reconciler.changes.view import View
from reconciler.kinds.consumer import taking_over
from reconciler.kinds.consumer_position import position
from reconciler.kinds.consumer_position.counts import count_questions, most_count, total_count
from reconciler.kinds.consumer_position.predecessors import givers
from reconciler.kinds.consumer_position.retention import retention_of
from reconciler.kinds.losses import shrinking
from reconciler.kinds.losses.lagging import is_kept
from reconciler.kinds.losses.unprocessed import uncounted_questions_of_consumer, undelivered_messages
from reconciler.kinds.subjects.filters import FILTERS, filters_of, partly_lost_subjects
from reconciler.kinds.subjects.subject_lists import all_inside, intersections, not_inside
from reconciler.model.dataclass import dataclass
from reconciler.model.wire.questions import MessagesFrom, Question


def questions(change: Change, view: View) -> Iterator[Question]:
    """What is stored before and after the position of a consumer whose filter changes."""
    if change.action in (Action.UPDATE, Action.REPLACE) and change.touches(*FILTERS) and change.live and change.desired:
        yield from uncounted_questions_of_consumer(change.address.stream, change.live.state)
        move = filter_change_of(change, view)
        if move.point is not None:
            yield from (
                question
                for subjects in (move.before, move.after, move.both)
                for question in _from_point_questions(move, subjects)
            )
        for subjects in (move.after, move.both):
            yield from (*_after_position_questions(move, subjects), *_all_stored_questions(move, subjects))
        looks_ahead = _moves_past_others(move, retention_of(move.stream, view)) and move.pending.most
        if looks_ahead or not move.widens:
            yield from _after_position_questions(move, move.before)
        if looks_ahead:
            yield from _from_next_match_questions(move, view)
        if not move.widens:
            yield from _all_stored_questions(move, move.before)
            yield from taking_over.questions(change, move.before, move.after, view)


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterChange:
    """A filter change of a consumer that has a position."""

    stream: str
    before: Sequence[str]
    after: Sequence[str]
    position: int
    pending: Amount
    in_flight: int
    """Delivered, and not acknowledged yet."""
    given: int
    """Deliveries since it was created."""
    is_from_first: bool
    """It started with the first message."""
    is_listed: bool = False
    """It started with the last message of each subject. The server has a list of these that it keeps until it restarts,
    whatever the filter is."""
    point: int | None = None
    """The sequence from which it continues if it is recreated; None: it is updated in place."""

    @property
    def narrows(self) -> bool:
        """The new filter matches nothing that the old one did not match."""
        return all_inside(self.after, self.before)

    @property
    def widens(self) -> bool:
        """The new filter matches all that the old one matched."""
        return all_inside(self.before, self.after)

    @property
    def gained_subjects(self) -> Sequence[str]:
        """Subjects that the old filter did not match, at least in part."""
        return not_inside(self.after, self.before)

    @property
    def lost_subjects(self) -> Sequence[str]:
        """Subjects that the new filter no longer matches, at least in part."""
        return not_inside(self.before, self.after)

    @property
    def both(self) -> Sequence[str]:
        """What matches before and after."""
        return intersections(self.before, self.after)


def filter_change_of(change: Change, view: View) -> FilterChange:
    info = change.info
    is_recreated = position.is_recreated(change, view)
    return FilterChange(
        stream=change.address.names[0],
        before=filters_of(change.live.config if change.live else {}),
        after=filters_of(change.wanted),
        position=info.get("delivered", {}).get("stream_seq", 0),
        pending=undelivered_messages(change.address.names[0], info, view) if info else exactly(0),
        in_flight=info.get("num_ack_pending", 0),
        given=info.get("delivered", {}).get("consumer_seq", 0),
        is_from_first=change.raw.get("deliver_policy") in (None, "all"),
        is_listed=change.raw.get("deliver_policy") == "last_per_subject",
        point=position.start(change, view).get("opt_start_seq", 1) if is_recreated else None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterCounts:
    """Messages that a filter change leaves out, misses, or gives again."""

    skipped: Amount
    """Pending messages that no longer match."""
    missed: Amount | None
    """Messages before its position that match only now; None: nobody counted."""
    passed_over: int
    """Messages that the server may have moved past, at most."""
    in_flight: Amount
    """Messages in flight that no longer match."""
    ending: Amount
    """Of these, the ones that are no longer delivered."""
    again: int
    """Processed messages that it delivers once more, at most."""

    @property
    def left_out(self) -> Amount:
        """Return all that it would have delivered, and does not."""
        return Amount(self.skipped.least + self.ending.least, self.skipped.most + self.ending.most)


def counts_of(change: Change, move: FilterChange, retention: str, view: View) -> FilterCounts:
    """Count what the change does to messages that are stored now, less what the same plan deletes."""
    still_pending = move.pending.most if move.widens else total_count(_after_position_questions(move, move.both), view)
    deleted = _deleted_besides(move.stream, view)
    never = exactly(0) if retention == "workqueue" else _newly_matched_but_missed(move, still_pending, view)
    in_flight = _minus_deleted(_left_out_in_flight(move, view), deleted)
    return FilterCounts(
        skipped=_minus_deleted(_skipped_messages(move, still_pending, view), deleted),
        missed=None if never is None else _minus_deleted(never, deleted),
        passed_over=_passed_over_at_most(move, view) if _moves_past_others(move, retention) else 0,
        in_flight=in_flight,
        ending=_ending_in_flight(in_flight, move, retention),
        again=_processed_and_delivered_again(change, move, still_pending, view),
    )


def _after_position_questions(move: FilterChange, subjects: Sequence[str]) -> list[MessagesFrom]:
    return count_questions(move.stream, subjects, move.position + 1)


def _moves_past_others(move: FilterChange, retention: str) -> bool:
    """While it looks for messages of the old filter, the server moves past all others silently, and an update does
    not take it back."""
    return move.point is None and not (move.narrows or move.is_listed) and not starts_over(move, retention)


def _next_match(move: FilterChange, view: View) -> int | None:
    """The next message of the old filter, at which the server stops looking; None: there is none, or nobody knows."""
    answers = (
        [view.facts.get(answer) for answer in _after_position_questions(move, move.before)] if move.pending.most else []
    )
    counted = [answer for answer in answers if isinstance(answer, Mapping)]
    firsts = [answer["first"] for answer in counted if answer.get("first")]
    return min(firsts) if firsts and len(counted) == len(answers) else None


def _from_next_match_questions(move: FilterChange, view: View) -> list[MessagesFrom]:
    start = _next_match(move, view)
    subjects = move.gained_subjects if start else ()
    return count_questions(move.stream, subjects, start or 1)


def _passed_over_at_most(move: FilterChange, view: View) -> int:
    """How many messages the server may have moved past that the new filter matches: up to the next one of the old
    filter."""
    state = (view.snapshot.streams.get(move.stream) or {}).get("state") or {}
    end = _next_match(move, view)
    begin = max(move.position, int(state.get("first_seq", 1)) - 1)
    span = max(0, (end - 1 if end else int(state.get("last_seq", 0))) - begin)
    ahead, later = (
        total_count(_after_position_questions(move, move.gained_subjects), view),
        total_count(_from_next_match_questions(move, view), view) if end else 0,
    )
    if ahead is None:
        ahead = total_count(_all_stored_questions(move, move.gained_subjects), view)
        later = 0
    counted = span if ahead is None else max(0, ahead - (later or 0))
    return min(span, counted, int(state.get("messages", 0)))


def _all_stored_questions(move: FilterChange, subjects: Sequence[str]) -> list[MessagesFrom]:
    return count_questions(move.stream, subjects)


def _from_point_questions(move: FilterChange, subjects: Sequence[str]) -> list[MessagesFrom]:
    """All that it may have in flight, and all after them."""
    return count_questions(move.stream, subjects, move.point or 1)


def _deleted_besides(stream: str, view: View) -> int:
    """How many messages the same plan deletes from the stream, at most: nobody knows which of them a filter matches."""
    if (loss := shrinking.loss_of_stream(stream, view)) is None:
        return 0
    stored = (view.snapshot.streams.get(stream) or {}).get("state") or {}
    return loss.going.messages.most if loss.going else int(stored.get("messages", 0))


def _minus_deleted(amount: Amount, deleted: int) -> Amount:
    return Amount(max(0, amount.least - deleted), amount.most)


def _skipped_messages(move: FilterChange, staying: int | None, view: View) -> Amount:
    """Pending messages that no longer match."""
    if staying is not None and (move.widens or not move.is_listed):
        most = max(
            move.pending.most,
            0 if move.widens else total_count(_after_position_questions(move, move.before), view) or 0,
        )
        return Amount(max(0, move.pending.most - staying), max(0, most - staying))  # what stays was counted in between
    least = 0 if move.is_listed else max(0, move.pending.least - _staying_at_most(move, view))
    most = min(move.pending.most, _only_in_old_filter(move, move.pending.most, view))
    return Amount(min(least, most), most)


def _staying_at_most(move: FilterChange, view: View) -> int:
    """How many messages after its position both filters match, at most, where the server does not count from there on: all that
    they match, or as many as there are numbers."""
    stored = total_count(_all_stored_questions(move, move.both), view)
    ahead = most_count(_after_position_questions(move, move.both), view)
    return min(number for number in (move.pending.least, stored, ahead) if number is not None)


def _only_in_old_filter(move: FilterChange, most: int, view: View) -> int:
    """How many messages are stored that only the old filter matches; `most` where nobody counted them."""
    before, both = (total_count(_all_stored_questions(move, subjects), view) for subjects in (move.before, move.both))
    return most if before is None or both is None else max(0, before - both)


def _newly_matched_but_missed(move: FilterChange, staying: int | None, view: View) -> Amount | None:
    """Messages that match only now and that it does not get; None: nobody counted."""
    if move.point is not None:
        return _missed_before_position(
            replace(move, position=move.point - 1), total_count(_from_point_questions(move, move.both), view), view
        )
    if not move.is_listed or move.narrows:
        return _missed_before_position(move, staying, view)
    stored, both = (total_count(_all_stored_questions(move, subjects), view) for subjects in (move.after, move.both))
    return None if stored is None else Amount(0, max(0, stored - (both or 0)))


def _missed_before_position(move: FilterChange, staying: int | None, view: View) -> Amount | None:
    """Messages stored before its position that match only now; None: nobody counted."""
    if move.narrows or not (passed_by := _stored_up_to_position(move, view)):
        return exactly(0)
    stored, ahead = (
        total_count(_all_stored_questions(move, move.after), view),
        total_count(_after_position_questions(move, move.after), view),
    )
    if stored == 0:
        return exactly(0)
    both = total_count(_all_stored_questions(move, move.both), view)
    if stored is None or (ahead is None and both is None):
        return None
    if ahead is None or stored == both:
        return Amount(0, min(passed_by, max(0, stored - (both or 0))))
    passed = min(passed_by, max(0, stored - ahead))
    if both is None or staying is None:
        return Amount(0, passed)
    missed = max(0, passed - max(0, both - staying))
    return Amount(max(0, missed - _deliveries_under_other_filters(move, view)), missed)


def _deliveries_under_other_filters(move: FilterChange, view: View) -> int:
    """How many deliveries were, perhaps, of messages that the old filter does not match: the filter may have been another one
    before."""
    held = total_count(_all_stored_questions(move, move.both if move.widens else move.before), view)
    if held is None or not move.is_from_first:
        return move.given
    return max(0, move.given - max(0, held - move.pending.most))


def _stored_up_to_position(move: FilterChange, view: View) -> int:
    """How many messages may be stored up to its position, by their numbers."""
    info = view.snapshot.streams.get(move.stream, {})
    first = (info.get("state") or {}).get("first_seq") or 1
    return int(max(0, move.position + 1 - first))


def _ending_in_flight(in_flight: Amount, move: FilterChange, retention: str) -> Amount:
    """Messages in flight that are no longer delivered. Messages acknowledged before a consumer starts over are done
    with."""
    if retention == "interest" or (move.point is not None and retention != "workqueue"):
        return in_flight
    return Amount(0, in_flight.most) if starts_over(move, retention) else exactly(0)


def starts_over(move: FilterChange, retention: str) -> bool:
    """Does it start over, once the messages in flight are acknowledged, or had the time for it."""
    return retention == "workqueue" and not (move.narrows and move.point is None)


def _processed_and_delivered_again(change: Change, move: FilterChange, staying: int | None, view: View) -> int:
    """Of what a work queue still stores for its copies, how many messages one that starts over delivers that it has processed, or a
    consumer that leaves it these subjects; at most."""
    if not (is_kept(move.stream, view) and starts_over(move, "workqueue") and move.point is None):
        return 0  # of one that is recreated, the rule about that says it
    stored = int(view.snapshot.state_of(move.stream).get("messages", 0))
    after, both = (total_count(_all_stored_questions(move, subjects), view) for subjects in (move.after, move.both))
    own = max(0, (stored if both is None else both) - (staying or 0) - move.in_flight)
    is_left = intersections(
        move.gained_subjects, [subject for other in givers(change, view) for subject in partly_lost_subjects(other)]
    )
    gained = max(0, (stored if after is None else after) - (both or 0)) if is_left else 0
    return min(stored, own + gained)


def _left_out_in_flight(move: FilterChange, view: View) -> Amount:
    """Messages in flight that no longer match: stored up to its position, and matched by the old filter only. If
    another consumer wants them too, this one may have acknowledged some of them already."""
    if move.widens or not move.in_flight:
        return exactly(0)
    passed_before, passed_both = (
        _matched_up_to_position(move, subjects, view) for subjects in (move.before, move.both)
    )
    left = move.in_flight if passed_before is None or passed_both is None else max(0, passed_before - passed_both)
    most = min(move.in_flight, left, _only_in_old_filter(move, move.in_flight, view))
    least = 0 if passed_both is None else max(0, move.in_flight - passed_both)
    return Amount(min(least, most), most)


def _matched_up_to_position(move: FilterChange, subjects: Sequence[str], view: View) -> int | None:
    """Messages stored up to its position, from where it continues if it is recreated; None: nobody counted."""
    stored = total_count(_from_point_questions(move, subjects), view)
    ahead = (
        move.pending.least if subjects is move.before else total_count(_after_position_questions(move, subjects), view)
    )
    return None if stored is None or ahead is None else max(0, stored - ahead)
