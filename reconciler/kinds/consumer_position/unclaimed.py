"""Messages that a stream still stores although nobody is given them any more.

A consumer gave them up at `max_deliver`; a work queue keeps them for a copy, although they are processed; or no consumer of an
interest stream wants them. A work queue gives what it still stores to the next consumer; an interest stream deletes what nobody wants
with the next consumer that it loses."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from reconciler.changes.change import Action, Change
from reconciler.changes.view import View
from reconciler.kinds.consumer_position.counts import total_count
from reconciler.kinds.consumer_position.retention import is_interest, is_queue, retention_of
from reconciler.kinds.losses.lagging import is_kept
from reconciler.kinds.losses.unprocessed import claimed_messages, least_wanted_together, unprocessed_messages
from reconciler.kinds.subjects.filters import FILTERS, filters_of
from reconciler.model.resource import Address, Json
from reconciler.model.wire.questions import MessagesFrom

Info = Mapping[str, Json]


def questions(change: Change, view: View) -> Iterator[MessagesFrom]:
    """How many messages are stored up to the position of a consumer that goes or is recreated, if it may leave any."""
    if is_queue(change, view):
        yield from _count_questions(change, _delivered_sequence(change)) if _may_leave_messages(change, view) else ()
    elif is_interest(change, view) and has_delivery_limit(change):
        yield from _count_questions(change, _floor_sequence(change))


def count_left_in_queue(change: Change, view: View) -> int:
    """How many messages of a work queue up to the last one delivered are still stored, at most: in flight, given up, or kept for a
    copy. 0: it leaves none, or the stream is no work queue yet."""
    is_work_queue = retention_of(change.address.stream, view) == "workqueue"
    return (
        _stored_up_to(_delivered_sequence(change), change, view)
        if is_work_queue and _may_leave_messages(change, view)
        else 0
    )


def _may_leave_messages(change: Change, view: View) -> bool:
    """May a work queue still store what it was given and has not in flight?"""
    return has_delivery_limit(change) or is_kept(change.address.stream, view)


def unclaimed_messages(change: Change, view: View) -> int:
    """How many messages an interest stream deletes with a consumer beside those that it still wanted, at most: what no consumer
    wants after its last acknowledged message, and before that what it gave up."""
    stream = change.address.stream
    parent = view.changes.get(Address.of("stream", stream))
    if not change.live or retention_of(stream, view) != "interest" or (parent and parent.action is Action.DELETE):
        return 0
    own_names, state = (
        {address.name for address in (change.address, change.origin) if address},
        _stream_state(change, view),
    )
    info, others = change.live.state, [*_other_consumers(stream, own_names, view)]
    stored = min(int(state.get("messages", 0)), int(state.get("last_seq", 0)) - _floor_sequence(change))
    own = (filters_of(info["config"]), unprocessed_messages(stream, info, view).least)  # counted as lost with it anyway
    wanted_by_others = [(filters_of(other["config"]), claimed_messages(stream, other, view).least) for other in others]
    later = 0
    if change.action is Action.DELETE:  # one that is recreated gets what comes after its floor
        up_to_floor = _span_up_to(_floor_sequence(change), state)
        wanted_later = [(subjects, max(0, wants - up_to_floor)) for subjects, wants in wanted_by_others]
        later = max(0, stored - least_wanted_together([own, *wanted_later]))
    before = _stored_up_to(_floor_sequence(change), change, view) if has_delivery_limit(change) else 0
    wanted = least_wanted_together(wanted_by_others)
    return later + max(0, before - max(0, wanted - stored))


def has_delivery_limit(change: Change) -> bool:
    """Does it have a limit of deliveries, or did it have one when it was applied?"""
    applied = change.record.applied if change.record else {}
    live = change.live.config if change.live else {}
    return any((config.get("max_deliver") or -1) > 0 for config in (live, applied))


def _delivered_sequence(change: Change) -> int:
    """The sequence of the last message that it was given."""
    return _stream_sequence(change, "delivered")


def _floor_sequence(change: Change) -> int:
    """The sequence up to which all is acknowledged or given up."""
    return _stream_sequence(change, "ack_floor")


def _stream_sequence(change: Change, name: str) -> int:
    info = change.info
    return int((info.get(name) or {}).get("stream_seq", 0))


def _count_questions(change: Change, sequence: int) -> list[MessagesFrom]:
    """What counts all that it matches, and what comes after this one."""
    subjects = filters_of(change.live.config if change.live else {})
    return [
        MessagesFrom(stream=change.address.stream, start=start, filter=subject)
        for start in (1, sequence + 1)
        for subject in subjects
    ]


def _stored_up_to(sequence: int, change: Change, view: View) -> int:
    """How many stored messages that it matches have such numbers, at most."""
    state = _stream_state(change, view)
    span = _span_up_to(sequence, state)
    asked = _count_questions(change, sequence)
    stored, later = (
        total_count([question for question in asked if (question.start == 1) is is_all], view)
        for is_all in (True, False)
    )
    if stored is None:
        return span
    pending = int(change.info.get("num_pending", 0))
    return min(span, max(0, stored - (pending if later is None else later)))


def _span_up_to(sequence: int, state: Info) -> int:
    """How many stored messages have such numbers, at most."""
    return max(0, min(int(state.get("messages", 0)), sequence + 1 - max(1, int(state.get("first_seq", 0)))))


def _stream_state(change: Change, view: View) -> Info:
    return (view.snapshot.streams.get(change.address.stream) or {}).get("state") or {}


def _other_consumers(stream: str, own: Collection[str], view: View) -> Iterator[Info]:
    """The other consumers, also of copies, that want afterwards what they want now."""
    for infos in (view.snapshot.consumers, view.snapshot.copiers):
        for name, info in ((name, info) for name, info in infos.get(stream, {}).items() if name not in own):
            change = view.changes.get(Address.of("consumer", stream, name))
            if not change or not (change.action in (Action.DELETE, Action.REPLACE) or change.touches(*FILTERS)):
                yield info
