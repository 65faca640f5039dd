"""Consumers that leave subjects to a new one in the same plan, as where one is split, and what the new one delivers again
of what they have delivered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import combinations

from reconciler.changes.amount import Amount, exactly, total
from reconciler.changes.change import Action, Change
from reconciler.changes.view import View
from reconciler.engine.bindings import start_sequence
from reconciler.kinds.consumer_position.counts import count_questions, takes_all, total_count
from reconciler.kinds.consumer_position.retention import retention_of
from reconciler.kinds.fields.words import amount, listed
from reconciler.kinds.losses.lagging import is_kept, keeping_sentence
from reconciler.kinds.losses.unprocessed import undelivered_messages
from reconciler.kinds.subjects.filters import FILTERS, held_subjects, partly_lost_subjects, wanted_subjects
from reconciler.kinds.subjects.subject_lists import all_inside, any_collide, intersections
from reconciler.model.dataclass import dataclass
from reconciler.model.resource import Json
from reconciler.model.wire.questions import MessagesFrom, Question


@dataclass(frozen=True, slots=True, kw_only=True)
class Predecessor:
    """A consumer that gives up subjects which the new one takes."""

    name: str
    stream: str
    subjects: Sequence[str]
    """The part of them that the new one takes."""
    held: Sequence[str]
    """All that it takes now."""
    kept: Sequence[str]
    """What it still takes of that afterwards."""
    pending: Amount
    """Messages that it has yet to deliver."""
    reached: int
    """The first sequence that it has not delivered."""
    left: int
    """The first sequence that is left to the new one."""
    start: int
    """The sequence that the new one starts at."""
    given: int
    """Deliveries since it was created."""


def questions(change: Change, view: View) -> Iterator[Question]:
    """How many messages that the new consumer gets are stored before and after the position of the others."""
    earlier = predecessors(change, view)
    yield from _taken_questions(change, earlier) if len(earlier) > 1 else ()
    for consumer in earlier:
        yield from count_questions(consumer.stream, consumer.subjects, consumer.start)
        for subjects in (consumer.subjects, consumer.held, consumer.kept):
            yield from (
                *count_questions(consumer.stream, subjects),
                *count_questions(consumer.stream, subjects, consumer.reached),
            )


def predecessors(change: Change, view: View) -> list[Predecessor]:
    """Predecessors of a consumer that is created and gets what its stream stores. A work queue stores only what nobody has
    processed, unless it keeps that for a copy."""
    if change.action is not Action.CREATE or change.origin or (start := start_sequence(change.wanted)) is None:
        return []
    stream = change.address.stream
    is_left = retention_of(stream, view) != "workqueue" or is_kept(stream, view)
    state = (view.snapshot.streams.get(stream) or {}).get("state") or {}
    found = (
        _predecessor(giver, intersections(partly_lost_subjects(giver), wanted_subjects(change)), start, view)
        for giver in (givers(change, view) if is_left else ())
    )
    return [
        predecessor
        for predecessor in found
        if predecessor and predecessor.reached > max(start, int(state.get("first_seq", 0)))
    ]


def givers(change: Change, view: View) -> Sequence[Change]:
    """Consumers of the same stream that give up subjects, without those that only get another name."""
    return _givers_by_stream(view).get(change.address.stream, ())


@lru_cache(maxsize=4)
def _givers_by_stream(view: View) -> dict[str, list[Change]]:
    """Consumers that give up subjects, by stream, without those that only get another name."""
    renamed = {change.origin for change in view.changes.values() if change.origin}
    return {
        stream: found
        for stream, changes in view.by_parent("consumer").items()
        if (found := [change for change in changes if _gives_up(change) and change.address not in renamed])
    }


def _gives_up(change: Change) -> bool:
    return change.action is Action.DELETE or (change.action.writes and change.touches(*FILTERS))


def _predecessor(change: Change, subjects: Sequence[str], start: int, view: View) -> Predecessor | None:
    """The predecessor; None if it has delivered nothing on these subjects, or its position is no sequence."""
    info = change.info
    delivered, is_listed = info.get("delivered") or {}, change.was("deliver_policy") == "last_per_subject"
    if not subjects or is_listed or not delivered.get("consumer_seq"):
        return None
    stream = change.address.stream
    return Predecessor(
        name=change.address.name,
        stream=stream,
        subjects=subjects,
        held=held_subjects(change),
        kept=intersections(held_subjects(change), wanted_subjects(change)),
        pending=undelivered_messages(stream, info, view),
        reached=_undelivered_from(info),
        left=leftover_start(change, view),
        start=start,
        given=int(delivered["consumer_seq"]),
    )


def _undelivered_from(info: Mapping[str, Json]) -> int:
    return int((info.get("delivered") or {}).get("stream_seq", 0)) + 1


def leftover_start(change: Change, view: View) -> int:
    """The first sequence of what a consumer leaves to others when it gives up subjects. On a limits stream it still
    redelivers what it has in flight; an interest stream deletes that, and nobody does it when the consumer goes."""
    info = change.info
    keeps = change.action is Action.UPDATE and retention_of(change.address.stream, view) == "limits"
    if info.get("num_ack_pending") and not keeps:
        return int((info.get("ack_floor") or {}).get("stream_seq", 0)) + 1
    return _undelivered_from(info)


def delivered_before(change: Change, view: View) -> Amount:
    """How many stored messages the new consumer delivers that a predecessor has delivered. Several may have delivered the
    same."""
    earlier = predecessors(change, view)
    each = [_delivered_by(consumer, view) for consumer in earlier]
    if not any(any_collide(consumer.subjects, other.subjects) for consumer, other in combinations(earlier, 2)):
        return total(each)
    stored = total_count(_taken_questions(change, earlier), view)
    most = sum(consumer.most for consumer in each)
    return Amount(max(consumer.least for consumer in each), most if stored is None else min(most, stored))


def _taken_questions(change: Change, earlier: Sequence[Predecessor]) -> list[MessagesFrom]:
    """What the new consumer takes of all that is stored."""
    return count_questions(change.address.stream, wanted_subjects(change), earlier[0].start)


def _delivered_by(consumer: Predecessor, view: View) -> Amount:
    stored, later = (
        total_count(count_questions(consumer.stream, consumer.subjects, consumer.start), view),
        _stored_after(consumer, view),
    )
    if stored is not None and later is not None:
        most = max(0, stored - later.least)
        return Amount(min(max(0, stored - later.most), max(0, most - _possibly_passed_over(consumer, view))), most)
    state = view.snapshot.streams[consumer.stream].get("state") or {}
    passed = max(
        0, min(int(state.get("messages", 0)), consumer.reached - max(consumer.start, int(state.get("first_seq", 1))))
    )
    of_all = total_count(count_questions(consumer.stream, consumer.subjects), view)
    return Amount(0, min([passed, *(number for number in (stored, of_all) if number is not None)]))


def _possibly_passed_over(consumer: Predecessor, view: View) -> int:
    """How many of the messages before its position it may not have delivered: its filter may have been another one then, and a
    server never goes back. Deliveries tell, as many as there are messages."""
    held, later = (
        total_count(asked, view)
        for asked in (
            count_questions(consumer.stream, consumer.held),
            count_questions(consumer.stream, consumer.held, consumer.reached),
        )
    )
    return 0 if held is None or later is None else max(0, held - later - consumer.given)


def _stored_after(consumer: Predecessor, view: View) -> Amount | None:
    """How many messages that the new one takes are stored after the position of the old one; None: nobody counted. Not every
    server counts from the middle of a stream; if the new one takes all that the old one leaves, the server's own count of what
    is pending tells it."""
    counted, staying = (
        total_count(count_questions(consumer.stream, subjects, consumer.reached), view)
        for subjects in (consumer.subjects, consumer.kept)
    )
    if counted is not None:
        return exactly(counted)
    if staying is None or not takes_all(consumer.stream, consumer.subjects, consumer.held, consumer.kept, view):
        return None
    return Amount(max(0, consumer.pending.least - staying), max(0, consumer.pending.most - staying))


def summary_text(change: Change, view: View) -> str:
    """What a reader has to know of it, as the end of a sentence; empty: nothing is redelivered."""
    earlier = [consumer for consumer in predecessors(change, view) if _delivered_by(consumer, view).most]
    if not earlier:
        return ""
    names, redelivered = listed([consumer.name for consumer in earlier]), delivered_before(change, view)
    verb, of = "has" if len(earlier) == 1 else "have", "them" if earlier[0].start == 1 else "the messages from there on"
    clause = f". {names} {verb} delivered {amount(redelivered)} of {of}, and this one delivers them too"
    if retention_of(change.address.stream, view) == "workqueue":
        return f"{clause}. {keeping_sentence(change.address.stream, view)}"
    left, first = min(consumer.left for consumer in earlier), earlier[0]
    state = view.snapshot.streams[first.stream].get("state") or {}
    skips_nothing = left <= max(first.start, int(state.get("first_seq") or 1))
    is_all = all_inside(wanted_subjects(change), [theirs for consumer in earlier for theirs in consumer.held])
    if skips_nothing or not is_all or any(_possibly_passed_over(consumer, view) for consumer in earlier):
        return clause  # nobody has delivered what the old filters left out
    if any(consumer.left < consumer.reached for consumer in earlier):
        where = "begin at the first message that was not acknowledged"
    elif len({consumer.left for consumer in earlier}) == 1:
        where = "continue after them"
    else:
        where = "begin at the first message that one of them leaves"
    return f"{clause}. To {where} instead: deliver_policy: by_start_sequence, opt_start_seq: {left}"
