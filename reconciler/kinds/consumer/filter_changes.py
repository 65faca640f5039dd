"""What is lost, missed or given again when the filter of a consumer changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from reconciler.changes.amount import Amount, exactly
from reconciler.changes.change import Action, Change
from reconciler.changes.rule import Found, rule
from reconciler.changes.verdict import Finding, Outcome, Reaction
from reconciler.changes.view import View
from reconciler.kinds.consumer import taking_over
from reconciler.kinds.consumer_position import position
from reconciler.kinds.consumer_position.counts import count_questions, most_count, total_count
from reconciler.kinds.consumer_position.predecessors import givers
from reconciler.kinds.consumer_position.retention import retention_of
from reconciler.kinds.fields.words import amount, consent_to, listed, share, some, verb
from reconciler.kinds.losses import shrinking
from reconciler.kinds.losses.lagging import is_kept, keeping_sentence
from reconciler.kinds.losses.unprocessed import uncounted_questions_of_consumer, undelivered_messages
from reconciler.kinds.subjects.filters import EVERYTHING, FILTERS, filters_of, keeping_filters, partly_lost_subjects
from reconciler.kinds.subjects.subject_moves import passed_on_subjects, subjects_at_consumer_deletions
from reconciler.kinds.subjects.subjects import collide, intersections, is_subset
from reconciler.model.dataclass import dataclass
from reconciler.model.resource import Config, Json
from reconciler.model.wire.questions import MessagesFrom, Question

LISTED = "those that were the last of their subjects when the consumer was created"
Info = Mapping[str, Json]


def questions(change: Change, view: View) -> Iterator[Question]:
    """What is stored before and after the position of a consumer whose filter changes."""
    if change.action in (Action.UPDATE, Action.REPLACE) and change.touches(*FILTERS) and change.live and change.desired:
        yield from uncounted_questions_of_consumer(change.address.stream, change.live.state)
        move = _move(change, view)
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
class _FilterChange:
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
        return all(any(is_subset(new, old) for old in self.before) for new in self.after)

    @property
    def widens(self) -> bool:
        """The new filter matches all that the old one matched."""
        return all(any(is_subset(old, new) for new in self.after) for old in self.before)

    @property
    def gained_subjects(self) -> Sequence[str]:
        """Subjects that the old filter did not match, at least in part."""
        return [subject for subject in self.after if not any(is_subset(subject, other) for other in self.before)]

    @property
    def lost_subjects(self) -> Sequence[str]:
        """Subjects that the new filter no longer matches, at least in part."""
        return [subject for subject in self.before if not any(is_subset(subject, other) for other in self.after)]

    @property
    def both(self) -> Sequence[str]:
        """What matches before and after."""
        return intersections(self.before, self.after)


def _move(change: Change, view: View) -> _FilterChange:
    info = change.info
    is_recreated = position.is_recreated(change, view)
    return _FilterChange(
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


def _after_position_questions(move: _FilterChange, subjects: Sequence[str]) -> list[MessagesFrom]:
    return count_questions(move.stream, subjects, move.position + 1)


def _moves_past_others(move: _FilterChange, retention: str) -> bool:
    """While it looks for messages of the old filter, the server moves past all others silently, and an update does
    not take it back."""
    return move.point is None and not (move.narrows or move.is_listed) and not _starts_over(move, retention)


def _next_match(move: _FilterChange, view: View) -> int | None:
    """The next message of the old filter, at which the server stops looking; None: there is none, or nobody knows."""
    answers = (
        [view.facts.get(answer) for answer in _after_position_questions(move, move.before)] if move.pending.most else []
    )
    counted = [answer for answer in answers if isinstance(answer, Mapping)]
    firsts = [answer["first"] for answer in counted if answer.get("first")]
    return min(firsts) if firsts and len(counted) == len(answers) else None


def _from_next_match_questions(move: _FilterChange, view: View) -> list[MessagesFrom]:
    start = _next_match(move, view)
    subjects = move.gained_subjects if start else ()
    return count_questions(move.stream, subjects, start or 1)


def _passed_over_at_most(move: _FilterChange, view: View) -> int:
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


def _all_stored_questions(move: _FilterChange, subjects: Sequence[str]) -> list[MessagesFrom]:
    return count_questions(move.stream, subjects)


def _from_point_questions(move: _FilterChange, subjects: Sequence[str]) -> list[MessagesFrom]:
    """All that it may have in flight, and all after them."""
    return count_questions(move.stream, subjects, move.point or 1)


@rule("CO301", "filter-change", on=(Action.UPDATE,), needs=("live", "facts"), reaction=Reaction.HARMS)
def filter_change(change: Change, view: View) -> Found:
    """The filter of a consumer changes. The consumer keeps its position and never goes back.

    It never gets pending messages that the new filter leaves out. It does not go back to messages before its position
    that the old filter left out. Nor does it get those after its position that the server has already moved past. While
    it looks for a message of the old filter, the server passes all others, up to the next match or to the end of the
    stream. No server tells how far it has come. Messages in flight are redelivered until they are acknowledged, whatever
    the new filter is.

    Nothing of this comes with a filter that goes from `filter_subject` into a list of one, or back. Clients get the same
    messages, and only an application that creates the consumer with the old field is refused (10148).

    Where the filter goes, apply writes `>`, which takes everything and counts as none: a server does not wake a consumer
    for new messages that an update left without a filter.

    A consumer that the same plan recreates continues after its ack floor with the new filter. It gets what the old
    filter left out there, but no message in flight that the new filter leaves out. On other streams than a work queue
    this needs consent.

    A consumer that started with `last_per_subject` still delivers the messages that the server listed when the consumer
    was created, until the server restarts. It misses newly matched ones that are older than the end of this list.

    On an interest stream the server at once deletes the messages that the new filter leaves out and no other consumer
    wants. That includes messages in flight, so a client that fails does not get them again. It redelivers those in flight
    that another consumer wants.

    On a work queue, messages that the new filter leaves out wait for a consumer that takes them, and the same plan may
    create it. A consumer whose new filter takes more starts over, so it misses nothing. Where the queue keeps processed messages for
    a copy, it then delivers them again. Messages that it then has in
    flight wait with the rest if the new filter leaves them out and clients do not acknowledge them within `ack_wait`.

    Where the same plan creates consumers that take every stored message that the new filter leaves out, it says so, and
    nothing is deleted.

    Instead: declare a second consumer with the new filter, which starts where you say; or let this one process what is
    pending first.
    """
    if not (change.touches(*FILTERS) and change.live and change.desired):
        return None
    move = _move(change, view)
    retention = retention_of(move.stream, view)
    still_pending = move.pending.most if move.widens else total_count(_after_position_questions(move, move.both), view)
    deleted = _deleted_besides(move.stream, view)
    skipped = _minus_deleted(_skipped_messages(move, still_pending, view), deleted)
    never = exactly(0) if retention == "workqueue" else _newly_matched_but_missed(move, still_pending, view)
    missed = None if never is None else _minus_deleted(never, deleted)
    path = next(field_change.path for field_change in change.fields if field_change.top in FILTERS)
    passed_over = _passed_over_at_most(move, view) if _moves_past_others(move, retention) else 0
    in_flight = _minus_deleted(_left_out_in_flight(move, view), deleted)
    ending_in_flight = _ending_in_flight(in_flight, move, retention)
    again = _processed_and_delivered_again(change, move, still_pending, view)
    if (
        not skipped.most
        and not passed_over
        and not again
        and not (in_flight.most and not ending_in_flight.most)
        and (
            not ending_in_flight.most
            or (retention == "workqueue" and taking_over.is_taken(change, move.lost_subjects, view))
        )
        and (missed is None or not missed.most)
        and not (missed is None and move.position)
    ):
        return None
    left_out_in_all = Amount(skipped.least + ending_in_flight.least, skipped.most + ending_in_flight.most)
    successors = taking_over.successors_clause(change, move.before, move.after, view) if left_out_in_all.most else ""
    drops = retention == "interest" and left_out_in_all.most > 0 and not successors
    loses = drops or (move.point is not None and retention == "limits" and ending_in_flight.most > 0 and not successors)
    fate = (
        f": {successors}"
        if successors and retention != "workqueue"
        else _fate_of_left_out_text(change, move, retention, view)
    )
    others = successors or ("apply deletes the others" if any(others_of(change, view)) else "")
    left_out = [*_left_out_sentences(skipped, ending_in_flight, move, fate, others if retention == "interest" else "")]
    left_out += _missed_sentences(missed, move)
    left_out += [
        *_passed_over_sentence(passed_over, move),
        *_processed_again_sentences(again, move, view),
        *([] if ending_in_flight.most else _redelivery_sentence(in_flight, move, change.becomes("max_deliver") or 0)),
    ]
    lost = exactly(0) if drops else left_out_in_all if loses else skipped
    return Finding(
        outcome=Outcome.NEEDS_CONSENT if loses else Outcome.WARNS,
        path=path,
        to=change.becomes(path) if loses else None,
        message=". ".join([_position_sentence(move, retention, passed_over), *left_out]),
        quantities=({"messages": _dropped_messages(left_out_in_all, change, view)} if drops else {})
        | ({"skipped": Amount(lost.least, lost.most + passed_over)} if passed_over or not drops else {})
        | ({} if missed is None else {"missed": missed})
        | ({"redelivered": Amount(0, again)} if again else {}),
        fix="let this one process what is pending first, if its clients are to get it"
        if successors and not (missed is None or missed.most or passed_over)
        else _without_loss_text(retention)
        + (f", or consent here: {consent_to('CO301', change.becomes(path))}" if loses else ""),
    )


def _without_loss_text(retention: str) -> str:
    """A work queue takes no second consumer with a filter that overlaps with that of this one."""
    other = (
        "another consumer for what this one gives up"
        if retention == "workqueue"
        else "a second consumer with the new filter"
    )
    return f"declare {other}, or let this one process what is pending first"


def _deleted_besides(stream: str, view: View) -> int:
    """How many messages the same plan deletes from the stream, at most: nobody knows which of them a filter matches."""
    if (loss := shrinking.loss_of_stream(stream, view)) is None:
        return 0
    stored = (view.snapshot.streams.get(stream) or {}).get("state") or {}
    return loss.going.messages.most if loss.going else int(stored.get("messages", 0))


def _minus_deleted(amount: Amount, deleted: int) -> Amount:
    return Amount(max(0, amount.least - deleted), amount.most)


def _skipped_messages(move: _FilterChange, staying: int | None, view: View) -> Amount:
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


def _staying_at_most(move: _FilterChange, view: View) -> int:
    """How many messages after its position both filters match, at most, where the server does not count from there on: all that
    they match, or as many as there are numbers."""
    stored = total_count(_all_stored_questions(move, move.both), view)
    ahead = most_count(_after_position_questions(move, move.both), view)
    return min(number for number in (move.pending.least, stored, ahead) if number is not None)


def _only_in_old_filter(move: _FilterChange, most: int, view: View) -> int:
    """How many messages are stored that only the old filter matches; `most` where nobody counted them."""
    before, both = (total_count(_all_stored_questions(move, subjects), view) for subjects in (move.before, move.both))
    return most if before is None or both is None else max(0, before - both)


def _newly_matched_but_missed(move: _FilterChange, staying: int | None, view: View) -> Amount | None:
    """Messages that match only now and that it does not get; None: nobody counted."""
    if move.point is not None:
        return _missed_before_position(
            replace(move, position=move.point - 1), total_count(_from_point_questions(move, move.both), view), view
        )
    if not move.is_listed or move.narrows:
        return _missed_before_position(move, staying, view)
    stored, both = (total_count(_all_stored_questions(move, subjects), view) for subjects in (move.after, move.both))
    return None if stored is None else Amount(0, max(0, stored - (both or 0)))


def _missed_before_position(move: _FilterChange, staying: int | None, view: View) -> Amount | None:
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


def _deliveries_under_other_filters(move: _FilterChange, view: View) -> int:
    """How many deliveries were, perhaps, of messages that the old filter does not match: the filter may have been another one
    before."""
    held = total_count(_all_stored_questions(move, move.both if move.widens else move.before), view)
    if held is None or not move.is_from_first:
        return move.given
    return max(0, move.given - max(0, held - move.pending.most))


def _stored_up_to_position(move: _FilterChange, view: View) -> int:
    """How many messages may be stored up to its position, by their numbers."""
    info = view.snapshot.streams.get(move.stream, {})
    first = (info.get("state") or {}).get("first_seq") or 1
    return int(max(0, move.position + 1 - first))


def _ending_in_flight(in_flight: Amount, move: _FilterChange, retention: str) -> Amount:
    """Messages in flight that are no longer delivered. Messages acknowledged before a consumer starts over are done
    with."""
    if retention == "interest" or (move.point is not None and retention != "workqueue"):
        return in_flight
    return Amount(0, in_flight.most) if _starts_over(move, retention) else exactly(0)


def _starts_over(move: _FilterChange, retention: str) -> bool:
    """Does it start over, once the messages in flight are acknowledged, or had the time for it."""
    return retention == "workqueue" and not (move.narrows and move.point is None)


def _processed_and_delivered_again(change: Change, move: _FilterChange, staying: int | None, view: View) -> int:
    """Of what a work queue still stores for its copies, how many messages one that starts over delivers that it has processed, or a
    consumer that leaves it these subjects; at most."""
    if not (is_kept(move.stream, view) and _starts_over(move, "workqueue") and move.point is None):
        return 0  # of one that is recreated, the rule about that says it
    stored = int(view.snapshot.state_of(move.stream).get("messages", 0))
    after, both = (total_count(_all_stored_questions(move, subjects), view) for subjects in (move.after, move.both))
    own = max(0, (stored if both is None else both) - (staying or 0) - move.in_flight)
    is_left = intersections(
        move.gained_subjects, [subject for other in givers(change, view) for subject in partly_lost_subjects(other)]
    )
    gained = max(0, (stored if after is None else after) - (both or 0)) if is_left else 0
    return min(stored, own + gained)


def _processed_again_sentences(again: int, move: _FilterChange, view: View) -> Iterator[str]:
    if again:
        yield f"It delivers up to {some(again, 'message')} that {verb(again, 'were')} processed already"
        yield keeping_sentence(move.stream, view)


def _left_out_in_flight(move: _FilterChange, view: View) -> Amount:
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


def _matched_up_to_position(move: _FilterChange, subjects: Sequence[str], view: View) -> int | None:
    """Messages stored up to its position, from where it continues if it is recreated; None: nobody counted."""
    stored = total_count(_from_point_questions(move, subjects), view)
    ahead = (
        move.pending.least if subjects is move.before else total_count(_after_position_questions(move, subjects), view)
    )
    return None if stored is None or ahead is None else max(0, stored - ahead)


def _dropped_messages(left_out: Amount, change: Change, view: View) -> Amount:
    """How many of them an interest stream deletes: all, if no other consumer exists that may want them, and the stream
    keeps its subjects."""
    is_less = any(others_of(change, view)) or passed_on_subjects(change.address.stream, view)
    return Amount(0, left_out.most) if is_less else left_out


def others_of(change: Change, view: View) -> Iterator[Config]:
    """Configurations of consumers that want messages of the same stream: declared ones, also as they will be, live ones, and
    those that feed its copies."""
    stream = change.address.stream
    own = (change.address.name, change.origin.name if change.origin else "")
    for where in (view.snapshot.consumers, view.snapshot.copiers):
        yield from (other["config"] for key, other in where.get(stream, {}).items() if key not in own)
    yield from (
        child.desired.config
        for child in view.children(stream, "consumer")
        if child.desired and child.address.name not in own
    )


def _fate_of_left_out_text(change: Change, move: _FilterChange, retention: str, view: View) -> str:
    """The fate of messages that the new filter leaves out, as the end of a sentence."""
    if retention == "interest":
        is_passed = any(
            collide(subject, other) for subject in move.lost_subjects for other in passed_on_subjects(move.stream, view)
        )
        passing_on = f", or stream {move.stream} passes their subjects on before" if is_passed else ""
        return f"; apply deletes them unless another consumer wants them{_unfiltered_readers_clause(change, view)}{passing_on}"
    if retention == "workqueue":
        return f": {taking_over.fate_of_left_text(change, move.before, move.after, view)}"
    return f", except, until it restarts, {LISTED}" if move.is_listed and move.point is None else ""


def _unfiltered_readers_clause(change: Change, view: View) -> str:
    """A consumer whose filters are all that the stream takes keeps also what its filters do not match."""
    stream = change.address.stream
    taken = subjects_at_consumer_deletions(stream, view)
    filters_of_others = [filters_of(subjects) for subjects in others_of(change, view)]
    is_kept = any(subjects != keeping_filters(subjects, taken) for subjects in filters_of_others)
    return f", as one may whose filter is all that {stream} takes" if is_kept else ""


def _position_sentence(move: _FilterChange, retention: str, passed: int) -> str:
    """What it gets from now on; on a work queue, a consumer that takes more starts over."""
    only = "" if move.is_listed else "only "
    subjects = "everything" if tuple(move.after) == EVERYTHING else f"{only}what matches {listed(list(move.after))}"
    if _starts_over(move, retention):
        return f"it starts over and gets {subjects}"
    if move.point is not None:
        also = "" if move.narrows else ", also what the old filter left out there"
        return f"it is recreated and gets {subjects} from sequence {move.point} on{also}"
    where = f"sequence {move.position}{' or later' if passed else ''}"
    return f"it gets {subjects}{f' after its position ({where})' if move.position else ''}"


def _passed_over_sentence(passed: int, move: _FilterChange) -> Iterator[str]:
    if passed:
        them, after = "it" if passed == 1 else "them", f" after sequence {move.position}" if move.position else ""
        yield (
            f"Up to {some(passed, 'message')}{after} that the new filter matches may be skipped: the server "
            f"may have moved past {them} while it looked for messages of the old filter, and does not tell"
        )


def _redelivery_sentence(in_flight: Amount, move: _FilterChange, max_deliver: int) -> Iterator[str]:
    if in_flight.most:
        limit = f", or delivered {some(max_deliver, 'time')}" if max_deliver > 0 else ""
        them = "it" if in_flight.most == 1 else "them"
        which = (
            f", although the new filter leaves {them} out"
            if in_flight.is_exact
            else ": those that the new filter leaves out"
        )
        messages = share(in_flight, exactly(move.in_flight), "message")
        yield f"The server still redelivers {messages} in flight until acknowledged{limit}{which}"


def _left_out_sentences(skipped: Amount, ending: Amount, move: _FilterChange, fate: str, others: str) -> Iterator[str]:
    """`others`: another consumer of an interest stream may want them, too, and this becomes of those in flight that it
    does not want."""
    pending = share(skipped, move.pending, "pending message") if skipped.most else ""
    in_flight = f"{share(ending, exactly(move.in_flight), 'message')} in flight" if ending.most else ""
    comes_again = bool(others) and move.point is None
    if never := " and ".join(filter(None, (pending, "" if comes_again else in_flight))):
        yield f"The new filter leaves out {never}, which the server does not deliver any more{fate}"
    if in_flight and comes_again:
        yield (
            f"{'It also' if pending else 'The new filter'} leaves out {in_flight}: the server redelivers those that another "
            f"consumer wants until they are acknowledged, and {others}"
        )


def _missed_sentences(missed: Amount | None, move: _FilterChange) -> Iterator[str]:
    before = "before its position " if move.point is None else f"before sequence {move.point} "
    where = f"{'' if move.is_listed else before}that the old filter left out"
    if missed is None:
        yield f"It does not go back to messages {where}; these were not counted"
    elif missed.most:
        yield f"It does not go back to {amount(missed, 'message')} {where}"
