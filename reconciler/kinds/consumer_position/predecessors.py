"""Consumers that leave subjects to a new one in the same plan, as where one is split, and what the new one delivers again
of what they have delivered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import combinations

from reconciler.changes.amount import Amount, exactly, total
from reconciler.changes.change import Action, Change
from reconciler.changes.view import View
from reconciler.engine.bindings import first_asked
from reconciler.kinds.consumer_checks.neighbours import changes_of
from reconciler.kinds.consumer_position.counts import counting, number_of, takes_all
from reconciler.kinds.consumer_position.retention import retention_of
from reconciler.kinds.effects.unprocessed import undelivered
from reconciler.kinds.fields.words import amount, listed
from reconciler.kinds.subjects.filters import FILTERS, held, let_go, wanted
from reconciler.kinds.subjects.subjects import is_subset, meets
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
    found = predecessors(change, view)
    yield from _taken(change, found) if len(found) > 1 else ()
    for one in found:
        yield from counting(one.stream, one.subjects, one.start)
        for subjects in (one.subjects, one.held, one.kept):
            yield from (*counting(one.stream, subjects), *counting(one.stream, subjects, one.reached))


def predecessors(change: Change, view: View) -> list[Predecessor]:
    """Those of a consumer that is created and gets what its stream stores. A work queue stores only what nobody has
    processed."""
    if change.action is not Action.CREATE or change.origin or (start := first_asked(change.wanted)) is None:
        return []
    stream = change.address.stream
    givers = _givers(view).get(stream, ()) if retention_of(stream, view) != "workqueue" else ()
    state = (view.snapshot.streams.get(stream) or {}).get("state") or {}
    found = (_predecessor(one, meets(let_go(one), wanted(change)), start, view) for one in givers)
    return [one for one in found if one and one.reached > max(start, int(state.get("first_seq", 0)))]


@lru_cache(maxsize=4)
def _givers(view: View) -> dict[str, list[Change]]:
    """Consumers that give up subjects, by stream, without those that only get another name."""
    renamed = {change.origin for change in view.changes.values() if change.origin}
    return {
        stream: found
        for stream, changes in changes_of(view).items()
        if (found := [one for one in changes if _gives_up(one) and one.address not in renamed])
    }


def _gives_up(change: Change) -> bool:
    return change.action is Action.DELETE or (change.action.writes and change.touches(*FILTERS))


def _predecessor(change: Change, subjects: Sequence[str], start: int, view: View) -> Predecessor | None:
    """None: it has delivered nothing on these subjects, or its position is no sequence."""
    info = change.info
    delivered, is_listed = info.get("delivered") or {}, change.was("deliver_policy") == "last_per_subject"
    if not subjects or is_listed or not delivered.get("consumer_seq"):
        return None
    stream = change.address.stream
    return Predecessor(
        name=change.address.name,
        stream=stream,
        subjects=subjects,
        held=held(change),
        kept=meets(held(change), wanted(change)),
        pending=undelivered(stream, info, view),
        reached=_undelivered_from(info),
        left=left_from(change, view),
        start=start,
        given=int(delivered["consumer_seq"]),
    )


def _undelivered_from(info: Mapping[str, Json]) -> int:
    return int((info.get("delivered") or {}).get("stream_seq", 0)) + 1


def left_from(change: Change, view: View) -> int:
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
    found = predecessors(change, view)
    each = [_delivered(one, view) for one in found]
    if not any(meets(one.subjects, other.subjects) for one, other in combinations(found, 2)):
        return total(each)
    stored = number_of(_taken(change, found), view)
    most = sum(one.most for one in each)
    return Amount(max(one.least for one in each), most if stored is None else min(most, stored))


def _taken(change: Change, found: Sequence[Predecessor]) -> list[MessagesFrom]:
    """What the new consumer takes of all that is stored."""
    return counting(change.address.stream, wanted(change), found[0].start)


def _delivered(one: Predecessor, view: View) -> Amount:
    stored, later = number_of(counting(one.stream, one.subjects, one.start), view), _later(one, view)
    if stored is not None and later is not None:
        most = max(0, stored - later.least)
        return Amount(min(max(0, stored - later.most), max(0, most - _passed_over(one, view))), most)
    state = view.snapshot.streams[one.stream].get("state") or {}
    passed = max(0, min(int(state.get("messages", 0)), one.reached - max(one.start, int(state.get("first_seq", 1)))))
    of_all = number_of(counting(one.stream, one.subjects), view)
    return Amount(0, min([passed, *(number for number in (stored, of_all) if number is not None)]))


def _passed_over(one: Predecessor, view: View) -> int:
    """How many of the messages before its position it may not have delivered: its filter may have been another one then, and a
    server never goes back. Deliveries tell, as many as there are messages."""
    held, later = (
        number_of(asked, view)
        for asked in (counting(one.stream, one.held), counting(one.stream, one.held, one.reached))
    )
    return 0 if held is None or later is None else max(0, held - later - one.given)


def _later(one: Predecessor, view: View) -> Amount | None:
    """How many messages that the new one takes are stored after the position of the old one; None: nobody counted. Not every
    server counts from the middle of a stream; if the new one takes all that the old one leaves, the server's own count of what
    is pending tells it."""
    counted, staying = (
        number_of(counting(one.stream, subjects, one.reached), view) for subjects in (one.subjects, one.kept)
    )
    if counted is not None:
        return exactly(counted)
    if staying is None or not takes_all(one.stream, one.subjects, one.held, one.kept, view):
        return None
    return Amount(max(0, one.pending.least - staying), max(0, one.pending.most - staying))


def words(change: Change, view: View) -> str:
    """What a reader has to know of it, as the end of a sentence; empty: nothing is redelivered."""
    found = [one for one in predecessors(change, view) if _delivered(one, view).most]
    if not found:
        return ""
    names, again = listed([one.name for one in found]), delivered_before(change, view)
    verb, of = "has" if len(found) == 1 else "have", "them" if found[0].start == 1 else "the messages from there on"
    said = f". {names} {verb} delivered {amount(again)} of {of}, and this one delivers them too"
    left, first = min(one.left for one in found), found[0]
    state = view.snapshot.streams[first.stream].get("state") or {}
    skips_nothing = left <= max(first.start, int(state.get("first_seq") or 1))
    is_all = all(any(is_subset(mine, theirs) for one in found for theirs in one.held) for mine in wanted(change))
    if skips_nothing or not is_all or any(_passed_over(one, view) for one in found):
        return said  # nobody has delivered what the old filters left out
    if any(one.left < one.reached for one in found):
        where = "begin at the first message that was not acknowledged"
    elif len({one.left for one in found}) == 1:
        where = "continue after them"
    else:
        where = "begin at the first message that one of them leaves"
    return f"{said}. To {where} instead: deliver_policy: by_start_sequence, opt_start_seq: {left}"
