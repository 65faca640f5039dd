"""Subjects that move between streams: one stream must give them up before another may capture them (10065).

If streams exchange subjects, none of them can be first. One gives up everything that moves away from it, the others
take it, and the first takes its own last. Meanwhile no stream stores the subjects that move.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from reconciler.changes.change import Action, Change, Consequence
from reconciler.changes.stages import FirstStage, Tie
from reconciler.changes.view import View
from reconciler.kinds.afterwards.streams import afterwards, config_of
from reconciler.kinds.fields.words import few
from reconciler.kinds.subjects.subject_index import SubjectIndex
from reconciler.kinds.subjects.subject_lists import intersections
from reconciler.kinds.subjects.subject_moves import is_parking_subject, parking_subject
from reconciler.kinds.subjects.subjects import collide
from reconciler.model.resource import Address


def ties(view: View) -> Iterator[Tie]:
    """(stream that gives up, stream that takes) for every subject that moves between streams of one plan."""
    moving = [change for change in view.changes.values() if change.action.writes and view.is_stream(change.address)]
    given_up = SubjectIndex(
        (change.address, subject)
        for change in moving
        for subject in subjects_before(change) - subjects_after(change, view)
    )
    for change in moving:
        for subject in sorted(subjects_after(change, view) - subjects_before(change)):
            for giver, lost in given_up.near(subject):
                if giver != change.address and collide(subject, lost):
                    yield Tie(giver, change.address, gives="subjects")


def subjects_before(change: Change) -> set[str]:
    """Subjects that the stream captures now; empty for a new one."""
    return set(change.live.state.get("config", {}).get("subjects") or ()) if change.live else set()


def subjects_after(change: Change, view: View) -> set[str]:
    """Subjects that the stream captures once this plan is applied; empty for a deleted one."""
    return set() if change.action is Action.DELETE else set(config_of(change, view).get("subjects") or ())


def _kept_subjects_first(change: Change, view: View) -> FirstStage | None:
    """Only the subjects that stay its own throughout; if there are none, a subject that nobody publishes to."""
    held, wanted = subjects_before(change), subjects_after(change, view)
    kept = sorted(intersections(held, wanted))
    stays = kept or parked_subjects(change.address, view)
    if stays is None:
        return None
    lost = sorted(subject for subject in held if subject not in kept and not is_parking_subject(subject))
    return FirstStage(
        fields={"subjects": stays},
        cost=(int(not kept), len(lost)),
        effect=f"give up {few(lost, 3)} on stream {change.address.name}, so that another stream can take it over",
        consequences=(
            Consequence(
                message=f"streams exchange subjects here, and this one gives up its own first: for a moment no stream stores "
                f'{few(lost, 3)}, then {few(sorted(wanted - held), 3)}. Publishers get "no responders" meanwhile; messages '
                "published without waiting for an answer are lost",
                quantities={"subjects": len(lost)},
            ),
        ),
    )


def parked_subjects(address: Address, view: View) -> list[str] | None:
    """A subject that nobody publishes to, for a stream that has nothing else for a moment."""
    index = _all_subjects(view)
    subject = parking_subject(
        address.name, lambda free: not any(collide(free, theirs) for _, theirs in index.near(free))
    )
    return [subject] if subject else None


@lru_cache(maxsize=4)
def _all_subjects(view: View) -> SubjectIndex[str]:
    """Every subject that any stream captures before or after; computed once per view."""
    live = {name: info["config"] for name, info in view.snapshot.streams.items()}
    return SubjectIndex(
        (name, subject)
        for streams in (live, afterwards(view).streams)
        for name, config in streams.items()
        for subject in config.get("subjects") or ()
    )


FIRST_STAGES = {"subjects": _kept_subjects_first}
