"""Readers whose filters no longer match what a stream stores, and filters that match nothing from the start."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from reconciler.changes.change import Action, Change
from reconciler.changes.rule import Found, rule
from reconciler.changes.verdict import Finding, Outcome, Reaction
from reconciler.changes.view import View, once_per_view
from reconciler.kinds.across.stream_dependants import NAMED, addresses_of, reader_labels
from reconciler.kinds.afterwards.readers import (
    Reader,
    all_copying_streams,
    consumer_readers,
    copying_readers,
    group_readers,
    readers_as_applied,
    recorded_readers,
    stored_subjects_afterwards,
    stored_subjects_now,
)
from reconciler.kinds.afterwards.streams import afterwards, config_of, copies
from reconciler.kinds.fields.words import few
from reconciler.kinds.group_records.member_subjects import is_mapped
from reconciler.kinds.losses.dependants import streams
from reconciler.kinds.losses.schedules_and_counters import SCHEDULES, may_fire
from reconciler.kinds.subjects.filters import named_filters
from reconciler.kinds.subjects.subject_lists import all_inside
from reconciler.kinds.subjects.subject_part import PartList, SubjectPart, lost_parts
from reconciler.kinds.subjects.subjects import is_subset, is_valid
from reconciler.kinds.subjects.transforms import outcome

SHAPES_SUBJECTS = ("subjects", "subject_transform", "sources", "mirror")
FIRED = "Message schedules that are stored may still fire messages on these subjects"


@rule("XX233", "readers-left-dry", on=(Action.UPDATE,), needs=("live", "neighbours"), reaction=Reaction.HARMS)
def readers_left_dry(change: Change, view: View) -> Found:
    """Subjects or the transform of a stream or bucket change, and the filter of a reader no longer matches any of them. Readers are
    consumers, mirrors, sources and groups, of any topology.

    The server does not report it; the reader simply receives nothing more. Stored messages are still read, and stored
    schedules (`allow_msg_schedules`) still fire. A stream that is left without subjects also silences readers without a filter.

    A reader with several filters is named if one of them matches nothing any more. A transform of the stream also takes
    subjects away: its messages are stored under other ones, and filters look at those. A reader that filters by some of
    what a transform takes is named, unless its filters also match the new subject. Neither needs consent where the reader
    is the topology's own.

    Readers of other topologies, and of none, also count if they lose any other part of their messages: the plan names
    them with their owners, and that needs consent. Ephemeral consumers are only named. Readers of copies that pass on
    fewer messages count as well.

    Instead: keep the subject, change those filters in the same plan, or let their owners change them first.
    """
    if not view.is_stream(change.address) or not change.touches(*SHAPES_SUBJECTS):
        return None
    own_name = view.stream_of(change.address) or ""
    each = [_readers_of_less(name, own_name, view) for name in (own_name, *_unchanged_copies(own_name, view))]
    dry, losing = (
        [reader for readers, _ in each for reader in readers],
        [reader for _, some_of in each for reader in some_of],
    )
    if not dry and not losing:
        return None
    less = [reader.reader for reader in losing]
    path = next(path for path in SHAPES_SUBJECTS if change.touches(path))
    choosy, open_to_all = [reader for reader in dry if reader.filters], [reader for reader in dry if not reader.filters]
    texts = [f"nothing new will match the filters of {reader_labels(choosy)}"] if choosy else []
    texts += [f"{reader_labels(open_to_all)} will get only new messages on {own_name}"] if open_to_all else []
    texts += [f"{reader_labels(less)} will get no new messages on {_parts_in_words(losing)}"] if losing else []
    return Finding(
        outcome=Outcome.WARNS,
        path=path,
        to=change.becomes(path),
        quantities={"readers": len(dry) + len(less)},
        message="; ".join(texts) + (f". {FIRED}" if change.was(SCHEDULES) else ""),
        affects=addresses_of([*dry, *less]),
        fix="keep the subject, or change those filters as well",
    )


class _ReaderOfLess(NamedTuple):
    """A reader that gets less than before, and what it gets no more."""

    reader: Reader
    parts: Sequence[SubjectPart]


def _parts_in_words(losing: Sequence[_ReaderOfLess]) -> str:
    """The first of these subjects, without the parts that are still stored: `o.> outside o.eu.>`."""
    every = list(dict.fromkeys(part for reader in losing for part in reader.parts))
    widest = [part for part in every if not any(other != part and other.holds(part.subject) for other in every)]
    return few([str(part) for part in sorted(widest, key=lambda wide: bool(wide.without))], NAMED)


def _readers_of_less(stream: str, origin: str, view: View) -> tuple[list[Reader], list[_ReaderOfLess]]:
    """Readers of this stream that get nothing new any more, and those that lose a part which has to be told. The server
    gives a stream without subjects its own name as subject, and nobody publishes on it."""
    before, after = stored_subjects_now(view).parts(stream), stored_subjects_afterwards(view).parts(stream)
    if after is None or before == after:
        return [], []
    held, staying = PartList(before or ()), PartList(after)
    gone, gone_whole = lost_parts(before or (), staying), _no_longer_taken_in(stream, view)
    live = (*consumer_readers(stream, view), *copying_readers(stream, view), *group_readers(stream, view))
    every = (*live, *recorded_readers(stream, view), *readers_as_applied(stream, view))
    readers = [reader for reader in every if not reader.is_new and not _takes_over(reader, gone, view)]
    is_emptied = after == (SubjectPart(origin),) and SubjectPart(origin) not in (before or ())
    fed = [reader for reader in readers if reader.wants_any(staying) and (reader.filters or not is_emptied)]
    dry = [reader for reader in readers if reader not in fed and (before is None or reader.wants_any(held))]
    lost, lost_whole = PartList(gone), PartList(gone_whole)
    losing = [
        _ReaderOfLess(reader, _loss_of(reader, lost if reader.filters else lost_whole, staying, origin, view))
        for reader in fed
    ]
    less = [
        reader.reader
        for reader in losing
        if reader.parts and reader.reader.address not in addresses_of(dry)
        if view.others(addresses_of([reader.reader])) or _loses_whole_filter(reader, staying, origin, view)
    ]
    shown = _without_doubles(less)
    return _without_doubles(dry), [reader for reader in losing if any(reader.reader is each for each in shown)]


def _loss_of(reader: Reader, gone: PartList, after: PartList, origin: str, view: View) -> list[SubjectPart]:
    """What it loses of this, unless it also reads the subject to which the transform of the origin moves that."""
    parts, (_, gets) = reader.share(gone), _transform_of(origin, view)
    is_followed = any(is_subset(gets, mine) for mine in reader.filters) and after.holds(gets)
    return [part for part in parts if not (is_followed and _is_renamed(part, origin, view))]


def _loses_whole_filter(losing: _ReaderOfLess, after: PartList, origin: str, view: View) -> bool:
    """Does it lose what a transform takes, or all that one of its several filters matches?"""
    lost = PartList(losing.parts)
    if any(not after.of(mine) and lost.of(mine) for mine in losing.reader.filters):
        return True
    return bool(losing.reader.filters) and any(_is_renamed(part, origin, view) for part in losing.parts)


def _transform_of(stream: str, view: View) -> tuple[str, str]:
    """Its source and what it makes of that; without a transform nothing."""
    transform = (afterwards(view).streams.get(stream) or {}).get("subject_transform") or {}
    dest = transform.get("dest")
    return (transform.get("src") or ">", outcome(dest)) if dest else ("", "")


def _is_renamed(part: SubjectPart, origin: str, view: View) -> bool:
    """Does the stream still capture these messages, and store them under another subject?"""
    src, _ = _transform_of(origin, view)
    taken = stored_subjects_afterwards(view).taken_in(origin) or ()
    return bool(src) and is_subset(part.subject, src) and any(is_subset(part.subject, subject) for subject in taken)


def _without_doubles(readers: Sequence[Reader]) -> list[Reader]:
    """A consumer whose filters somebody changed may lose what it reads now and what it was applied to read."""
    first = {reader.address: reader for reader in reversed(readers) if reader.address}
    return [reader for reader in readers if reader.address is None or first[reader.address] is reader]


def _takes_over(reader: Reader, gone: Sequence[SubjectPart], view: View) -> bool:
    """A copy that stores all of these subjects itself once the plan is applied."""
    if not gone or reader.address is None or reader.address.kind != "stream":
        return False
    own = (afterwards(view).streams.get(reader.address.name) or {}).get("subjects") or ()
    return all_inside([part.subject for part in gone], own)


def _no_longer_taken_in(stream: str, view: View) -> list[SubjectPart]:
    """What a reader without a filter loses: another transform gives it the same messages under other subjects."""
    before, after = (
        stored.taken_in(stream) for stored in (stored_subjects_now(view), stored_subjects_afterwards(view))
    )
    return lost_parts(map(SubjectPart, before or ()), PartList(map(SubjectPart, after))) if after else []


def _unchanged_copies(origin: str, view: View) -> Iterator[str]:
    """Streams of this topology that copy this one, directly or through others, and do not change themselves."""
    for name in all_copying_streams(origin, view):
        address = next(iter(streams([name], view)), None)
        own = view.changes.get(address) if address else None
        if (
            address
            and view.is_stream(address)
            and own
            and not own.touches(*SHAPES_SUBJECTS)
            and not view.others([address])
        ):
            yield name


@rule("XX234", "filter-matches-nothing", needs=("neighbours",), reaction=Reaction.INERT)
def filter_matches_nothing(change: Change, view: View) -> Iterator[Finding]:
    """A filter of a consumer, a mirror, a source or a group matches no subject that the stream stores.

    Servers accept it, and the reader never gets a message. Transforms count: a stream stores the subject *after* its
    transform. Messages that the stream still stores from before count too: a source may exist to move just those. Stored
    schedules (`allow_msg_schedules`) may fire messages on subjects that the stream had when they were published.

    Instead: correct the filter, or add the subject to the stream.
    """
    for path, subject, stream in _new_filters(change, view):
        stored = stored_subjects_afterwards(view).parts(stream)
        if stored is not None and is_valid(subject) and not _every_stored_part(stream, view).of(subject):
            subjects = ", ".join(map(str, stored[:NAMED])) or "nothing at all"
            rest = [*(["are stored from before"] if _holds_messages(stream, view) else [])]
            rest += ["stored schedules fire"] if may_fire(stream, view, afterwards(view).streams.get(stream)) else []
            yield Finding(
                outcome=Outcome.WARNS,
                path=path,
                message=f"`{subject}` matches no subject that {stream} stores ({subjects})"
                + (f", so it gets no new message: at most some that {' or that '.join(rest)}" if rest else ""),
                fix="correct the filter, or add the subject to the stream"
                + ("; leave both if it is to process only what is stored" if rest else ""),
            )


def _holds_messages(stream: str, view: View) -> bool:
    return bool(view.snapshot.state_of(stream).get("messages"))


@once_per_view
def _every_stored_part(stream: str, view: View) -> PartList:
    """What the stream will take, and the subjects of messages that are already stored, if it takes those now."""
    now = stored_subjects_now(view).parts(stream) if _holds_messages(stream, view) else ()
    return PartList([*(stored_subjects_afterwards(view).parts(stream) or ()), *(now or ())])


def _new_filters(change: Change, view: View) -> Iterator[tuple[str, str, str]]:
    """(path, filter, stream it filters) that this change brings."""
    address, is_create = change.address, change.action is Action.CREATE
    if address.kind == "consumer" and (is_create or change.touches("filter_subject", "filter_subjects")):
        many = not change.becomes("filter_subject")
        for index, subject in enumerate(named_filters(change.desired.config if change.desired else {})):
            yield f"filter_subjects[{index}]" if many else "filter_subject", subject, address.stream
    elif address.kind == "elastic_group" and is_create:
        for index, item in enumerate(change.becomes("partitioning_filters") or ()):
            yield f"partitioning_filters[{index}].filter", item["filter"], address.stream
    elif address.kind == "static_group" and is_create and not is_mapped(change.wanted):
        for index, subject in enumerate(change.becomes("filters") or ()):
            yield f"filters[{index}]", f"*.{subject}", address.stream
    elif view.is_stream(address) and (is_create or change.touches("mirror", "sources")):
        for copy in copies(view.stream_of(address) or "", config_of(change, view)):
            if copy.entry.get("filter_subject"):
                yield f"{copy.path}.filter_subject", copy.entry["filter_subject"], copy.origin
            for index, transform in enumerate(copy.entry.get("subject_transforms") or ()):
                if transform.get("src"):
                    yield f"{copy.path}.subject_transforms[{index}].src", transform["src"], copy.origin


RULES = (readers_left_dry, filter_matches_nothing)
