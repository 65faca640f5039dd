"""Filters of consumers, and which of them move between consumers of a work queue, where no two may overlap.

Before filters move, apply waits for the messages that a consumer has in flight."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from reconciler.changes.change import Action, Change
from reconciler.changes.view import View, once_per_view
from reconciler.kinds.fields.canonical_form import SECOND
from reconciler.kinds.fields.words import in_words, some
from reconciler.kinds.subjects.subject_index import SubjectIndex
from reconciler.kinds.subjects.subject_lists import intersections, not_inside
from reconciler.kinds.subjects.subject_moves import is_parking_subject
from reconciler.model.resource import Address, Config, Json

ACK_WAIT = 30 * SECOND


def longest_in_flight(change: Change) -> int:
    """Return how long a message can be in flight before it is redelivered."""
    return int(max(change.was("backoff") or [change.was("ack_wait") or ACK_WAIT]))


def wait_for_acks_text(change: Change) -> str:
    """Return what comes after "apply" while messages are in flight."""
    unacknowledged = in_flight(change)
    return (
        f"waits until clients have acknowledged the {some(unacknowledged, 'message')} that {'is' if unacknowledged == 1 else 'are'} "
        f"in flight, {_longest_wait_text(change)}"
    )


def wait_for_some_acks_text(change: Change) -> str:
    """Return the same where only some of them matter."""
    return (
        f"waits until clients have acknowledged what is in flight of that (up to {some(in_flight(change), 'message')}), "
        f"{_longest_wait_text(change)}"
    )


def _longest_wait_text(change: Change) -> str:
    return f"at most its ack_wait of {in_words(longest_in_flight(change), 'duration')}"


def starting_over_text(change: Change) -> str:
    """Return what apply does with a consumer that delivers nothing meanwhile, as the end of a sentence."""
    if not in_flight(change):
        return "apply gives it what is still stored, from the first message on"
    return f"apply {wait_for_acks_text(change)}; then it starts over with what is still stored"


def in_flight(change: Change) -> int:
    """Return how many messages its clients have yet to acknowledge."""
    return int(change.live.state.get("num_ack_pending", 0)) if change.live else 0


EVERYTHING = (">",)
FILTERS = ("filter_subject", "filter_subjects")
"""The fields that hold them."""


def named_filters(config: Config) -> tuple[str, ...]:
    """The filters that a consumer names; none: it takes everything."""
    subject = config.get("filter_subject")
    return (subject,) if subject else tuple(config.get("filter_subjects") or ())


def filters_of(config: Config) -> tuple[str, ...]:
    """What a consumer asks for; without a filter it is everything."""
    return named_filters(config) or EVERYTHING


def subjects_kept_by(filters: Sequence[str], taken: Collection[str]) -> Sequence[str]:
    """What a consumer of an interest stream keeps from being deleted, if the stream takes these subjects. A server takes
    filters that are the subjects of the stream for none: they keep everything, whatever it lies under."""
    return EVERYTHING if set(filters) == set(taken) else filters


def filter_fields(filters: Sequence[str]) -> dict[str, Json]:
    """Both filter fields, one of them absent."""
    if len(filters) == 1:
        return {"filter_subject": None if filters[0] in EVERYTHING else filters[0], "filter_subjects": None}
    return {"filter_subject": None, "filter_subjects": list(filters)}


def is_work_queue(stream: str, view: View) -> bool:
    """Is the live stream a work queue? That is fixed at creation, and a new stream has no consumers that could exchange
    anything."""
    return view.snapshot.config_of(stream).get("retention") == "workqueue"


def held_subjects(change: Change) -> tuple[str, ...]:
    """What it takes from the queue now."""
    before = filters_of(change.live.config) if change.live else ()
    return tuple(subject for subject in before if not is_parking_subject(subject))


def is_consumer_parked(change: Change) -> bool:
    """An earlier run was interrupted before this consumer had started over."""
    return change.live is not None and any(map(is_parking_subject, filters_of(change.live.config)))


def is_parked_afterwards(change: Change) -> bool:
    """The change leaves the consumer on a parking subject, where it delivers nothing."""
    return any(map(is_parking_subject, wanted_subjects(change)))


def wanted_subjects(change: Change) -> tuple[str, ...]:
    """What it takes once this plan is applied: everything without a filter, nothing if it is deleted."""
    return filters_of(change.desired.config) if change.desired and change.action is not Action.DELETE else ()


def gained_subjects(change: Change) -> list[str]:
    """Subjects that it takes and did not have; all of them while it has not started over."""
    before = () if is_consumer_parked(change) else held_subjects(change)
    return not_inside(wanted_subjects(change), before)


def lost_subjects(change: Change) -> list[str]:
    """Subjects that it gives up."""
    return [subject for subject in held_subjects(change) if subject not in wanted_subjects(change)]


def partly_lost_subjects(change: Change) -> list[str]:
    """Subjects of which it takes less afterwards than before."""
    return not_inside(held_subjects(change), wanted_subjects(change))


def handed_over_subjects(change: Change, view: View) -> list[str]:
    """What other consumers of the stream take of what it gives up, in the same plan."""
    given = lost_subjects(change)
    gained = _subjects_gained(change.address.stream, view)
    near = (pair for subject in given for pair in gained.near(subject))
    return intersections(given, [subject for taker, subject in near if taker != change.address])


@once_per_view
def _subjects_gained(stream: str, view: View) -> SubjectIndex[Address]:
    """What consumers of the stream take that they did not have."""
    takers = (taker for taker in view.children(stream, "consumer") if taker.action.writes)
    return SubjectIndex((taker.address, subject) for taker in takers for subject in gained_subjects(taker))
