"""Filters that move between the consumers of a work queue: one must give them up before another may take them (10100).

An update leaves a consumer at its position in the stream, so messages stored before that on new subjects would wait
forever. A consumer that takes subjects is therefore parked on a subject without messages, finishes what it has
delivered, and starts over. A work queue deletes acknowledged messages, so nothing is delivered twice, except what the queue
keeps for a copy.
"""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.changes.change import Action, Change, Consequence
from reconciler.changes.rule import Found, rule
from reconciler.changes.stages import FirstStage, Tie
from reconciler.changes.verdict import Finding, Outcome, Reaction
from reconciler.changes.view import View, once_per_view
from reconciler.kinds.consumer_position.ended_pulls import ended_pulls_clause
from reconciler.kinds.fields.known import V2_14
from reconciler.kinds.fields.words import consent_to
from reconciler.kinds.subjects.filters import (
    filter_fields,
    filters_of,
    gained_subjects,
    in_flight,
    is_work_queue,
    lost_subjects,
    starting_over_text,
)
from reconciler.kinds.subjects.subject_index import SubjectIndex
from reconciler.kinds.subjects.subject_lists import SubjectList
from reconciler.kinds.subjects.subject_moves import is_parking_subject, parking_subject
from reconciler.kinds.subjects.subjects import collide

GIVES = "filter_subject"


def ties(view: View) -> Iterator[Tie]:
    """On a work queue, a consumer gives up subjects before another takes them. An update that takes some needs two
    stages."""
    for stream, changes in view.by_parent("consumer").items():
        consumers = [change for change in changes if change.action.writes] if is_work_queue(stream, view) else []
        given = SubjectIndex((change.address, subject) for change in consumers for subject in lost_subjects(change))
        for change in consumers:
            taken = gained_subjects(change)
            if taken and change.action is Action.UPDATE:
                yield Tie(change.address, change.address, gives=GIVES)
            near = (giver for subject in taken for giver, lost in given.near(subject) if collide(subject, lost))
            for giver in dict.fromkeys(near):
                if giver != change.address:
                    yield Tie(giver, change.address, gives=GIVES)


def _parking_filter_first(change: Change, view: View) -> FirstStage | None:
    stream, name = change.address.names
    others = _taken_subjects(stream, view)
    subject = parking_subject(name, lambda free: not others.colliding(free))
    if subject is None:
        return None
    return FirstStage(
        fields=filter_fields([subject]),
        cost=(0, 0),
        effect=f"park consumer {name} of {stream}: it delivers nothing until its filters have moved",
        consequences=(
            Consequence(
                message=f"it takes other subjects of a work queue, and delivers nothing until it has them: {starting_over_text(change)}",
                quantities={"unacknowledged": in_flight(change)},
            ),
        )
        if gained_subjects(change)
        else (),
    )


@once_per_view
def _taken_subjects(stream: str, view: View) -> SubjectList:
    """Filters of the stream's consumers before and after, and the stream's subjects. A consumer without a filter does
    not count: it is the only one, or is deleted before others are created."""
    taken: set[str] = set()
    for info in view.snapshot.consumers.get(stream, {}).values():
        taken.update(filters_of(info["config"]))
    for change in view.children(stream, "consumer"):
        if change.action.writes and change.desired:
            taken.update(filters_of(change.desired.config))
    taken.update(view.snapshot.config_of(stream).get("subjects") or ())
    return SubjectList(subject for subject in taken if subject != ">" and not is_parking_subject(subject))


@rule("XX311", "work-queue-takeover", on=(Action.UPDATE,), needs=("live",), until=V2_14, reaction=Reaction.HARMS)
def work_queue_takeover(change: Change, view: View) -> Found:
    """A consumer of a work queue takes subjects that it did not have, on a server older than 2.14.

    The server accepts the update and leaves the consumer at its position. No consumer ever gets the messages that are
    stored before that on those subjects. Servers from 2.14 on can move the consumer back. On older ones apply deletes
    and recreates it. That loses no message, since a work queue keeps everything until it is acknowledged. Clients that
    wait on it get "consumer deleted", and some libraries then stop consuming.

    Instead: declare a second consumer for those subjects; or consent, and make sure that the clients come back.
    """
    if change.address.kind != "consumer" or not is_work_queue(change.address.stream, view):
        return None
    if not (taken := gained_subjects(change)):
        return None
    info = change.live.state if change.live else {}
    path = "filter_subjects" if change.becomes("filter_subjects") else "filter_subject"
    to = change.becomes(path) or "none"
    return Finding(
        outcome=Outcome.NEEDS_CONSENT,
        path=path,
        to=to,
        quantities={"waiting": info.get("num_waiting", 0), "unacknowledged": info.get("num_ack_pending", 0)},
        message=f"to take {', '.join(taken[:3])}, apply recreates it, because an update would leave behind what is stored there before its "
        f"position; {ended_pulls_clause(info, 'clients must pull again')}",
        fix=f"declare a second consumer for that, or consent here: {consent_to('XX311', to)}",
    )


FIRST_STAGES = {GIVES: _parking_filter_first}
RULES = (work_queue_takeover,)
