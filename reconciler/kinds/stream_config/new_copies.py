"""Copies that begin to copy an interest stream in the very plan in which it takes subjects, or in which others give them up.

An interest stream drops what nobody wants, and a copy wants nothing before its server has set it up. So apply lets the
copy begin first. When the copy listens, the stream takes the subjects, and then others give them up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from reconciler.changes.change import Action, Change
from reconciler.changes.view import SubjectsRead, View
from reconciler.kinds.stream_config.origins import copied_entries
from reconciler.kinds.subjects.subject_lists import all_inside, any_collide, not_inside
from reconciler.model.resource import Address
from reconciler.model.wire.steps import Call, Step

LISTENS_WITHIN = 60_000_000_000
"""How long a copy may take; servers need a fifth of a second, and try again after some seconds."""


def newly_copied_streams(change: Change, view: View) -> list[str]:
    """Interest streams that this change begins to copy, and that take subjects which the copy wants in the same plan."""
    return list(
        dict.fromkeys(
            reads.stream for reads in _new_reads_of_interest_streams(change, view) if _takes_subjects(reads, view)
        )
    )


def replaced_readers(change: Change, view: View) -> Iterator[Address]:
    """Consumers and copies that give up what this change begins to copy."""
    for read in _new_reads_of_interest_streams(change, view):
        yield from _subjects_by_giver(read, change, view)


class Successor(NamedTuple):
    """A stream that begins to copy what a consumer or copy gives up."""

    stream: str
    is_whole: bool
    """It is created with this plan, and copies all of that from the first message on."""


def successors(address: Address, view: View) -> list[Successor]:
    """Streams that take over from this consumer or copy."""
    return sorted(_successors_by_giver(view).get(address, ()))


@lru_cache(maxsize=4)
def _successors_by_giver(view: View) -> Mapping[Address, set[Successor]]:
    by_giver: dict[Address, set[Successor]] = {}
    for change in view.changes.values():
        for read in _new_reads_of_interest_streams(change, view):
            is_from_the_first = change.action is Action.CREATE and _starts_at_first_message(change, read.stream)
            for address, subjects in _subjects_by_giver(read, change, view).items():
                takes_all = all_inside(subjects, read.subjects)
                successor = Successor(view.stream_of(change.address) or "", is_from_the_first and takes_all)
                by_giver.setdefault(address, set()).add(successor)
    return by_giver


def _starts_at_first_message(change: Change, stream: str) -> bool:
    config = change.desired.config if change.desired else {}
    copying = [entry for entry in copied_entries(config) if entry["name"] == stream]
    return not any(entry.get("opt_start_seq") or entry.get("opt_start_time") for entry in copying)


def _new_reads_of_interest_streams(change: Change, view: View) -> list[SubjectsRead]:
    """Its new reads of streams that keep only what somebody wants."""
    if not change.action.writes or view.stream_of(change.address) is None:
        return []
    return [reads for reads in new_reads(change, view) if _stays_interest_stream(reads.stream, view)]


def _subjects_by_giver(read: SubjectsRead, taker: Change, view: View) -> dict[Address, Sequence[str]]:
    """The subjects that others give up of it, by their address."""
    return {
        address: subjects
        for address, subjects in _reads_given_up_by_stream(view).get(read.stream, ())
        if address != taker.address and any_collide(read.subjects, subjects)
    }


@lru_cache(maxsize=4)
def _reads_given_up_by_stream(view: View) -> Mapping[str, Sequence[tuple[Address, Sequence[str]]]]:
    """By stream: who reads less of it once this plan is applied, and the subjects."""
    by_stream: dict[str, list[tuple[Address, Sequence[str]]]] = {}
    for change in view.changes.values():
        if change.live and change.action.writes:
            for read in _reads_given_up(change, view):
                by_stream.setdefault(read.stream, []).append((change.address, read.subjects))
    return by_stream


def _reads_given_up(change: Change, view: View) -> Iterator[SubjectsRead]:
    """Reads of which it gives up something, each with the subjects that it gives up."""
    reads = view.kinds[change.address.kind].reads
    staying = reads(change.address, change.desired.config) if change.desired else ()
    for read in reads(change.address, change.live.config) if change.live else ():
        kept = [subject for other in staying if other.stream == read.stream for subject in other.subjects]
        if less := tuple(not_inside(read.subjects, kept)):
            yield SubjectsRead(read.stream, less)


def _stays_interest_stream(stream: str, view: View) -> bool:
    """Is it an interest stream, before this plan and afterwards?"""
    live = view.snapshot.streams.get(stream, {}).get("config") or {}
    change = view.changes.get(Address.of("stream", stream))
    if change is None or change.desired is None or change.desired.external:
        return live.get("retention") == "interest"
    return change.becomes("retention") == "interest" and not (change.live and change.touches("retention"))


def new_reads(change: Change, view: View) -> list[SubjectsRead]:
    """Reads that begin with this change: another filter counts, too."""
    reads = view.kinds[change.address.kind].reads
    before = set(reads(change.address, change.live.config)) if change.live else set[SubjectsRead]()
    return (
        [subject for subject in reads(change.address, change.desired.config) if subject not in before]
        if change.desired
        else []
    )


def with_waits_for_copies(steps: Sequence[Step], change: Change, view: View) -> Sequence[Step]:
    """These steps, and then a wait until the copy listens to each of these streams."""
    return (*steps, *_waits_for_copies(change, view, tuple(step.id for step in steps if step.undoes is None)))


def _waits_for_copies(change: Change, view: View, after: tuple[str, ...]) -> Iterator[Step]:
    name = view.stream_of(change.address) or ""
    awaited = [
        reads.stream
        for reads in _new_reads_of_interest_streams(change, view)
        if _takes_subjects(reads, view) or _subjects_by_giver(reads, change, view)
    ]
    for origin in dict.fromkeys(awaited):
        yield Step(
            id=f"wait until stream/{name} listens to {origin}",
            call=Call.GATE_COPY_LISTENS,
            on=(name,),
            address=str(change.address),
            body={"from": origin, "timeout": LISTENS_WITHIN},
            after=after,
            effect=f"wait until stream {name} listens to {origin}, which drops what nobody wants",
        )


def _takes_subjects(read: SubjectsRead, view: View) -> bool:
    """Does the stream take some of these subjects with this plan?"""
    change = view.changes.get(Address.of("stream", read.stream))
    if change is None or change.action not in (Action.CREATE, Action.UPDATE):
        return False
    taken = set(change.becomes("subjects") or ()) - set(change.was("subjects") or ())
    return any_collide(read.subjects, taken)
