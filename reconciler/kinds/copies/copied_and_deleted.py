"""What a stream deletes because a copy of it begins: from a work queue, and from 2.14 on from an interest stream, what is
copied and no consumer wants."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from reconciler.changes.amount import Amount
from reconciler.changes.change import Action, Change
from reconciler.changes.rule import rule
from reconciler.changes.verdict import Finding, Outcome, Reaction
from reconciler.changes.view import View
from reconciler.kinds.afterwards.readers import elastic_groups
from reconciler.kinds.afterwards.streams import Copy, afterwards, config_of, copies, live_streams
from reconciler.kinds.fields.known import V2_14
from reconciler.kinds.fields.words import amount, in_words, listed_few, some
from reconciler.kinds.losses import dependants
from reconciler.kinds.losses.added_sources import NewSource, draining_sources, retention_afterwards
from reconciler.kinds.losses.unprocessed import claimed_messages, given_up_messages
from reconciler.kinds.losses.unwanted import config_afterwards
from reconciler.kinds.stream_config.origins import (
    copies_afterwards,
    copies_now,
    deleted_streams,
    fed_stream,
    taken_subjects,
)
from reconciler.kinds.subjects.filters import FILTERS, filters_of
from reconciler.kinds.subjects.subject_lists import all_inside, intersections
from reconciler.kinds.subjects.subjects import is_subset
from reconciler.model.resource import Address, Config, Json

Consumers = Mapping[str, Mapping[str, Json]]
UNTOUCHED = (Action.KEEP, Action.ADOPT)
MAKES = (Action.CREATE, Action.UPDATE, Action.REPLACE)


@rule(
    "XX209",
    "copied-and-deleted",
    on=MAKES,
    needs=("neighbours", "facts"),
    reaction=Reaction.HARMS,
)
def copied_and_deleted(change: Change, view: View) -> Iterator[Finding]:
    """A mirror, a source or an elastic group begins to copy from a work queue.

    For a work queue a copy is a consumer like any other. Consumers still get what they want, and the copy gets all of it.
    But the queue deletes what is copied and no consumer wants, both stored messages and new ones. A consumer that is
    created later does not get them. From 2.14 on, an interest stream too deletes what is copied, unless a consumer still
    wants it.

    Before 2.14 a work queue and an interest stream do not wait for a full stream that copies them: they delete what it does
    not store, and it never gets that. A copy with `discard: new` and a limit becomes full, and so does an elastic group with
    `max_buffered_msg` or `max_buffered_bytes`. From 2.14 on they keep these messages for a source or a group. For a mirror they
    sometimes do. A stream that turned to interest retention may delete them only after a restart.

    Consumers that the same plan creates come before the copy. Where another copy takes the same messages already, the queue deletes
    them as it is.

    Instead: create the consumers that shall process these messages first; or let publishers fill a stream with `limits`
    retention that both copy.
    """
    if view.stream_of(change.address) is None:
        return
    yield from _findings_about_full_copies(change, view)
    for source in draining_sources(change, view, config_of(change, view)):
        subjects, retention = taken_subjects(source.source), retention_afterwards(source.origin, view)
        staying = {
            name: info
            for name, info in view.snapshot.consumers.get(source.origin, {}).items()
            if _keeps_consumer_filters(source.origin, name, view)
        }
        if is_queue := retention == "workqueue":  # a consumer of a queue wants all that its filter matches
            wanted = [
                *(filters_of(info["config"]) for info in staying.values()),
                *_filters_of_new_consumers(source.origin, view),
                *_copied_already(source.origin, view),
            ]
            subjects = [
                subject
                for subject in subjects
                if not all(_is_covered(part, wanted) for part in _stored_parts(subject, source.origin, view))
            ]
        goes = _deleted_at_once(source, subjects, staying, retention, view)
        if not (subjects if is_queue else goes.most):
            continue
        stream, later = ("work queue", subjects) if is_queue else ("interest stream", [])
        yield Finding(
            outcome=Outcome.WARNS,
            path=f"{source.path}.name" if view.is_stream(change.address) else "",
            quantities={"messages": goes},
            affects=dependants.streams([source.origin], view),
            message=f"{stream} {source.origin} deletes what is copied from it and no consumer wants: "
            + _deletion_text(goes, later),
            fix="create the consumers that shall process it first, or let both copy a stream with limits retention",
        )


def _findings_about_full_copies(change: Change, view: View) -> Iterator[Finding]:
    """Messages that a stream deletes and a full copy of it has not stored, where this change makes that possible."""
    after, own = afterwards(view), view.stream_of(change.address) or ""
    for copy in (*copies(own, config_of(change, view)), *after.copiers.get(own, ())):
        stream, is_own = after.made_by.get(copy.stream), copy.stream == own
        limit = _losing_limit(copy, after.streams, view)
        if not limit or (not is_own and stream and stream.action in MAKES) or _had_losing_limit(copy, view):
            continue
        queue = "work queue" if after.streams[copy.origin].get("retention") == "workqueue" else "interest stream"
        deletes = "deletes" if is_own and not copy.is_mirror else "may delete"
        group = elastic_groups(view).get(copy.stream)
        path = (f"{copy.path}.name" if is_own else "retention") if view.is_stream(change.address) else ""
        yield Finding(
            outcome=Outcome.WARNS,
            path=path,
            affects=dependants.streams([copy.stream], view),
            message=f"{queue} {copy.origin} does not wait for {copy.stream}: once that is full ({limit}), {copy.origin} "
            f"{deletes} new messages that no consumer wants, and {copy.stream} never gets them",
            fix=f"leave {'the limit' if group is None else 'max_buffered_msg and max_buffered_bytes'} out of {group or copy.stream}"
            + ("" if copy.is_mirror else ", or use nats-server 2.14 or later, which keeps them for it"),
        )


def _had_losing_limit(copy: Copy, view: View) -> bool:
    live = live_streams(view)
    same = (earlier for earlier in copies(copy.stream, live.get(copy.stream, {})) if earlier.origin == copy.origin)
    return any(_losing_limit(earlier, live, view) for earlier in same)


def _losing_limit(copy: Copy, streams: Mapping[str, Config], view: View) -> str:
    """The limit at which a copy misses what its origin deletes; empty: it misses nothing. A consumer that somebody made for
    the copy decides itself."""
    config, origin = streams.get(copy.stream, {}), streams.get(copy.origin, {})
    waits = (view.target.version >= V2_14 and not copy.is_mirror) or "consumer" in copy.entry
    if waits or origin.get("retention") not in ("workqueue", "interest") or config.get("discard") != "new":
        return ""
    if (most := config.get("max_msgs") or -1) > 0:
        return some(most, "message")
    return in_words(most, "bytes") if (most := config.get("max_bytes") or -1) > 0 else ""


def _keeps_consumer_filters(stream: str, name: str, view: View) -> bool:
    change = view.changes.get(Address.of("consumer", stream, name))
    return (
        change is None
        or change.action in UNTOUCHED
        or (change.action is Action.UPDATE and not change.touches(*FILTERS))
    )


def _filters_of_new_consumers(stream: str, view: View) -> Iterator[Sequence[str]]:
    """The filters of consumers that the plan creates there. They come before the copy."""
    for change in view.children(stream, "consumer"):
        if change.action is Action.CREATE and change.desired:
            yield filters_of(change.desired.config)


def _copied_already(origin: str, view: View) -> Iterator[Sequence[str]]:
    """What copies that stay copy now: the queue deletes that as it is, whoever else copies it."""
    afterwards = copies_afterwards(origin, view)
    return (intersections(subjects, afterwards.get(copy, ())) for copy, subjects in copies_now(origin, view).items())


def _stored_parts(subject: str, origin: str, view: View) -> Sequence[str]:
    """What the origin stores of it, where only publishers fill it and nothing renames subjects."""
    config = config_afterwards(origin, view) or {}
    is_plain = not any(config.get(field) for field in ("mirror", "sources", "subject_transform"))
    return intersections([subject], config.get("subjects") or ()) if is_plain and config.get("subjects") else [subject]


def _is_covered(subject: str, wanted: Iterable[Sequence[str]]) -> bool:
    """Does one consumer want all of it?"""
    return any(is_subset(subject, wider) for filters in wanted for wider in filters)


def _deleted_at_once(
    source: NewSource, subjects: Sequence[str], staying: Consumers, retention: str, view: View
) -> Amount:
    """How many messages go at once: those that are copied, less those that consumers want."""
    copied = source.copies(subjects)
    of_consumers, of_copies = (
        [
            _claimed_of(source, info, subjects, view)
            for info in infos
            if intersections(filters_of(info["config"]), subjects)
        ]
        for infos in (staying.values(), _feeding_consumers(source.origin, view))
    )
    most = sum(wants.most for wants in (*of_consumers, *of_copies))
    leasts = [wants.least for wants in of_consumers]
    together = sum(leasts) if retention == "workqueue" else max(leasts, default=0)
    least = max(together, *(wants.least for wants in of_copies), 0)
    is_joined = len(staying) < len(view.snapshot.consumers.get(source.origin, {})) or any(
        _filters_of_new_consumers(source.origin, view)
    )
    return Amount(0 if is_joined else max(0, copied.least - most), max(0, copied.most - least))


def _claimed_of(source: NewSource, info: Mapping[str, Json], subjects: Sequence[str], view: View) -> Amount:
    """How many of these the origin keeps for one of its consumers."""
    wants = claimed_messages(source.origin, info, view)
    is_whole = source.start.at == 1 and all_inside(filters_of(info["config"]), subjects)
    return Amount(wants.least if is_whole else 0, wants.most + given_up_messages(source.origin, info, view))


def _feeding_consumers(origin: str, view: View) -> Iterator[Mapping[str, Json]]:
    """The server's own consumers that feed copies which stay. Until these acknowledge, the origin keeps what is copied."""
    infos = view.snapshot.copiers.get(origin, {}).values()
    return (info for info in infos if fed_stream(info) not in deleted_streams(view))


def _deletion_text(goes: Amount, later: Sequence[str]) -> str:
    at_once = f"{amount(goes, 'message')} at apply" if goes.most else "none at apply"
    new = "new ones" if list(later) == [">"] else f"new ones on {listed_few(later, 5)}"
    return f"{at_once}, and {new} from then on" if later else at_once


RULES = (copied_and_deleted,)
