"""Who reads what is published while subjects move: a consumer that comes too late misses it.

A consumer that starts with new messages never gets those that were stored before it existed. One that takes more
subjects has passed those that were stored behind it. An interest stream drops what no consumer wants. So a stream takes
subjects when their readers are there, and gives them up before its consumers do. On an interest stream, a consumer takes
subjects over before another gives them up; consumers that exchange subjects both have them for a moment.

A consumer whose filter no longer matches what its stream begins to store changes before the stream: its clients would get
messages that they do not expect.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from reconciler.changes.change import Action, Change
from reconciler.changes.stages import ASKED, BETTER, EXISTENCE, INTEREST, NEEDED, FirstStage, Tie
from reconciler.changes.view import View
from reconciler.kinds.consumer.handovers import handovers
from reconciler.kinds.consumer_position.retention import is_interest
from reconciler.kinds.fields.known import OVERLAPPING_FILTERS
from reconciler.kinds.order import subject_handovers
from reconciler.kinds.order.subject_handovers import parked_subjects, subjects_after, subjects_before
from reconciler.kinds.stream_config.new_copies import newly_copied_streams, replaced_readers
from reconciler.kinds.subjects.filters import (
    EVERYTHING,
    filter_fields,
    gained_subjects,
    held_subjects,
    is_work_queue,
    partly_lost_subjects,
    wanted_subjects,
)
from reconciler.kinds.subjects.subject_lists import any_collide, any_collide_among, widest_subjects
from reconciler.kinds.subjects.subject_moves import passed_on_subjects
from reconciler.model.resource import Address

GIVES = "filter_subjects"


def ties(view: View) -> Iterator[Tie]:
    """Consumers that take over subjects come before consumers that give them up; the tie is weak if the taker is a new
    consumer."""
    for taker, giver in handovers(view):
        if (taker.action, giver.action) == (Action.CREATE, Action.DELETE):
            continue  # room decides which of them comes first
        is_there = taker.action is not Action.CREATE
        yield Tie(taker.address, giver.address, gives=GIVES if is_there else "", weak=NEEDED if is_there else BETTER)
    givers: dict[Address, list[Address]] = {}
    for tie in subject_handovers.ties(view):
        givers.setdefault(tie.then, []).append(tie.first)
    for stream, consumers in view.by_parent("consumer").items():
        above = view.changes.get(Address.of("stream", stream))
        if above and above.action in (Action.CREATE, Action.UPDATE):
            yield from _ties_of_readers(above, consumers, givers.get(above.address, ()), view)
    for change in view.changes.values():
        yield from _ties_of_new_copies(change, givers, view)


def _ties_of_new_copies(change: Change, givers: Mapping[Address, Iterable[Address]], view: View) -> Iterator[Tie]:
    """An interest stream takes no subjects before its new copies listen; until then, those that give them keep them, and so do
    consumers and copies that read them now."""
    for address in replaced_readers(change, view):
        yield Tie(change.address, address, weak=BETTER)
    for name in newly_copied_streams(change, view):
        origin = Address.of("stream", name)
        is_new = view.changes[origin].action is Action.CREATE
        if is_new:
            yield Tie(origin, origin, gives=EXISTENCE)
        yield Tie(change.address, origin, gives=INTEREST, weak=BETTER if is_new else NEEDED)
        others = (giver for giver in givers.get(origin, ()) if giver != change.address)
        yield from (Tie(change.address, giver, gives=INTEREST, weak=BETTER) for giver in others)


def _ties_of_readers(
    above: Change, consumers: Sequence[Change], givers: Iterable[Address], view: View
) -> Iterator[Tie]:
    """The stream passes subjects on before its consumers give them up, and takes none before their readers exist; until
    then, those that give them to it keep them. A consumer that would get what arrives, and is not to, changes first."""
    lost, taken = passed_on_subjects(above.address.name, view), subjects_after(above, view) - subjects_before(above)
    drops, arriving = is_interest(consumers[0], view), taken.union(EVERYTHING if above.touches("sources") else ())
    for change in consumers:
        if above.action is Action.CREATE and change.action is Action.CREATE:
            if drops or (givers and _start_depends_on_creation(change)):
                yield Tie(above.address, above.address, gives=EXISTENCE)
                yield Tie(change.address, above.address, gives=INTEREST, weak=BETTER)
                yield from (Tie(change.address, giver, gives=INTEREST, weak=BETTER) for giver in givers)
        elif (
            change.action.writes
            and any_collide(gained_subjects(change), taken)
            and (drops or _misses_messages(change, view))
        ):
            yield Tie(change.address, above.address, gives=INTEREST)
        elif drops and change.action.writes and any_collide(partly_lost_subjects(change), lost):
            yield Tie(above.address, change.address, gives="subjects")
        elif change.action.writes and any_collide(partly_lost_subjects(change), arriving):
            yield Tie(change.address, above.address, weak=ASKED)


def _misses_messages(change: Change, view: View) -> bool:
    """Does it never get what is stored before the change is made? A consumer of a work queue that takes more starts over."""
    if change.action is Action.CREATE:
        return _start_depends_on_creation(change)
    return not is_work_queue(change.address.stream, view)


def _start_depends_on_creation(change: Change) -> bool:
    """Where it starts depends on when it is created."""
    return change.becomes("deliver_policy") in ("new", "last", "last_per_subject")


def _parking_subject_first(change: Change, view: View) -> FirstStage | None:
    """Created on a subject that nobody publishes to."""
    if change.address.kind != "stream" or not subjects_after(change, view):
        return None
    stays = parked_subjects(change.address, view)
    return FirstStage(fields={"subjects": stays}, cost=(0, 0)) if stays else None


def _wide_filters_first(change: Change, view: View) -> FirstStage | None:
    both = widest_subjects(
        [*wanted_subjects(change), *held_subjects(change)]
    )  # no server accepts one that lies inside another
    if view.target.version < OVERLAPPING_FILTERS and any_collide_among(both):
        return None
    stream, name = change.address.names
    effect = f"let consumer {name} of {stream} take over subjects before it gives up any"
    return FirstStage(fields=filter_fields(both), cost=(0, 1), effect=effect)


FIRST_STAGES = {GIVES: _wide_filters_first, EXISTENCE: _parking_subject_first}
