"""What an interest stream no longer stores, or a work queue stores for nobody, and whose change brings that about: the
stream's, a consumer's or a copy's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from reconciler.changes.change import Action, Change
from reconciler.changes.rule import rule
from reconciler.changes.verdict import Finding, Outcome, Reaction
from reconciler.changes.view import View, once_per_view
from reconciler.kinds.losses.dependants import consumers, streams
from reconciler.kinds.losses.unwanted import UnwantedSubjects, is_unused, unwanted_subjects, unwanted_with_same_readers
from reconciler.kinds.stream.retention import turns_to_interest
from reconciler.kinds.stream_config.origins import copies_now, origin_names
from reconciler.kinds.subjects.filters import EVERYTHING, FILTERS, filters_of
from reconciler.kinds.subjects.subject_part import PartList, SubjectPart
from reconciler.model.resource import Address

SHAPES = ("retention", "subjects", "subject_transform", "sources", "mirror")


class _UnwantedCause(NamedTuple):
    stream: str
    parts: list[SubjectPart]
    unwanted: UnwantedSubjects


@rule(
    "XX245",
    "publishes-for-nobody",
    on=(Action.UPDATE, Action.REPLACE, Action.DELETE),
    needs=("live", "neighbours"),
    reaction=Reaction.HARMS,
)
def publishes_for_nobody(change: Change, view: View) -> Iterator[Finding]:
    """Consumers of an interest stream or a work queue want some subjects until now, and none does once the plan is applied: a
    filter changes, a consumer or a copy goes, or a transform gives messages another subject.

    An interest stream acknowledges such publishes, with a sequence, and stores nothing. A work queue stores them, and nobody
    processes them: they stay until a consumer comes, their age ends, or a full queue deletes them or refuses what is
    published, on other subjects too. Publishers notice nothing before. The server looks at the
    subject after `subject_transform`. All existing consumers count: those of any topology, ephemeral ones, paused ones, and
    push consumers to which nobody listens. A mirror or a source that copies the stream counts as a consumer of what it copies,
    but messages that the server copies into an interest stream need a consumer as well.

    Subjects that the stream takes for the first time, and new streams, only get a note in the plan. If retention becomes interest on a
    stream with messages, ST302 says it. Filters are compared by subjects: the rule does not see that a transform with more
    partitions gives messages to partitions which no consumer reads. Where the stream's own change brings it about, this needs
    consent, unless a work queue keeps the messages. A filter that is narrowed, or a reader that goes, says itself what it no
    longer wants: that is a warning.

    Instead: declare a consumer that wants these messages, in the same plan.
    """
    blames = [
        _causes_by_address(stream, view).get(change.address) for stream in dict.fromkeys(_streams_read(change, view))
    ]
    for blame in filter(None, blames):
        path, is_own = _path(change), view.stream_of(change.address) == blame.stream
        asks = is_own and not blame.unwanted.stay
        yield Finding(
            outcome=Outcome.NEEDS_CONSENT if asks else Outcome.WARNS,
            path=path,
            to=change.becomes(path) if path and asks else None,
            message=blame.unwanted.text(blame.parts, blame.stream),
            affects=streams([blame.stream], view),
            fix=f"declare a consumer of {blame.stream} that wants them",
        )


def _path(change: Change) -> str:
    """The field that brings it about."""
    if change.action is Action.DELETE:
        return ""
    fields = FILTERS if change.address.kind == "consumer" else SHAPES
    return next((field for field in fields if change.touches(field)), "")


def _streams_read(change: Change, view: View) -> Iterator[str]:
    """The streams of which this change may take a reader away: the one that it changes, reads or copies."""
    own = view.stream_of(change.address)
    if change.address.kind == "stream" or own is None:
        yield change.address.stream
    if own is not None:
        yield from origin_names(view.snapshot.config_of(own))


@once_per_view
def _causes_by_address(stream: str, view: View) -> Mapping[Address, _UnwantedCause]:
    """What this stream no longer stores, or stores for nobody, by the change that says so."""
    own = view.changes.get(Address.of("stream", stream))
    if stream not in view.snapshot.streams or not (unwanted := unwanted_subjects(stream, view)).lost:
        return {}
    if own and own.touches("retention") and (turns_to_interest(own) or is_unused(own)):
        return {}
    by_address: dict[Address, _UnwantedCause] = {}
    lost, blamed = PartList(unwanted.lost), set[SubjectPart]()
    for address in dict.fromkeys(_possible_causes(stream, view)):
        subjects = _subjects_given_up(address, stream, view)
        near = dict.fromkeys(part for subject in subjects for part in lost.colliding(subject))
        if taken := [part for part in near if part not in blamed]:
            by_address[address] = _UnwantedCause(stream, taken, unwanted)
            blamed.update(taken)
    return by_address


def _possible_causes(stream: str, view: View) -> Iterator[Address]:
    """The stream itself if it would be so whatever its readers become; then consumers, groups and copies."""
    own = Address.of("stream", stream)
    change = view.changes.get(own)
    turns = change is not None and change.touches("retention")
    if (
        change
        and change.action is Action.UPDATE
        and change.touches(*SHAPES)
        and (turns or unwanted_with_same_readers(stream, view).lost)
    ):
        yield own
    for name in sorted(view.snapshot.consumers.get(stream, {})):
        yield from consumers(stream, [name], view)
    yield from streams(sorted(copies_now(stream, view)), view)
    if change and change.action is Action.UPDATE:
        yield own


def _subjects_given_up(address: Address, stream: str, view: View) -> Sequence[str]:
    """What somebody wanted who goes with this change, or wants something else; everything if it is the stream itself."""
    change = view.changes.get(address)
    if change is None or change.action not in (Action.UPDATE, Action.REPLACE, Action.DELETE):
        return ()
    if address == Address.of("stream", stream):
        return EVERYTHING
    if address.kind == "consumer":
        goes = change.action is Action.DELETE or change.touches(*FILTERS)
        return filters_of(change.live.config) if goes and change.live else ()
    return EVERYTHING if change.action is Action.DELETE or change.touches("sources", "mirror") else ()


RULES = (publishes_for_nobody,)
