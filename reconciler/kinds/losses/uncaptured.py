"""What happens to subjects that a stream no longer captures: to their publishers, their readers, and their stored
messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from reconciler.changes.amount import Amount, exactly
from reconciler.changes.change import Action, Change
from reconciler.changes.rule import Found, rule
from reconciler.changes.verdict import Finding, Outcome, Reaction
from reconciler.changes.view import View, once_per_view
from reconciler.kinds.fields.known import V2_12
from reconciler.kinds.fields.words import amount, few, in_words, listed_few, outside, some, verb
from reconciler.kinds.losses import over_limit, shrinking
from reconciler.kinds.losses.over_limit import Loss
from reconciler.kinds.losses.schedules_and_counters import may_fire
from reconciler.kinds.losses.unprocessed import (
    LostMessages,
    consumer_label,
    consumers_afterwards,
    deleted_consumers,
    is_durable,
    staying_consumer_test,
    unread_by_consumers,
)
from reconciler.kinds.stream_config.origins import copies_afterwards, streams_storing
from reconciler.kinds.subjects.filters import filters_of, subjects_kept_by
from reconciler.kinds.subjects.subject_index import SubjectIndex
from reconciler.kinds.subjects.subject_lists import SubjectList, intersections, not_inside
from reconciler.kinds.subjects.subject_moves import is_parking_subject, subjects_at_consumer_deletions
from reconciler.kinds.subjects.subjects import collide, is_subset, matches
from reconciler.kinds.subjects.transforms import outcome
from reconciler.model.resource import Address
from reconciler.model.wire.questions import MessagesFrom, SubjectCounts, Unanswered


def uncovered_subjects(change: Change) -> list[str]:
    """Subjects that are captured now and that no new subject covers whole. Part of one may still be captured. Nobody
    publishes to a subject on which an unfinished run left the stream."""
    kept = change.becomes("subjects") or ()
    before = {
        subject for subject in change.was("subjects") or () if subject not in kept and not is_parking_subject(subject)
    }
    return sorted(not_inside(before, kept))


def questions(change: Change) -> Iterator[SubjectCounts | MessagesFrom]:
    """How many messages are stored under these subjects, unless the stream holds too many subjects to count; and what has
    come in since the stream was read."""
    if (
        change.action is Action.UPDATE
        and 0 < over_limit.state_of(change).get("num_subjects", 0) <= over_limit.MANY_SUBJECTS
    ):
        gone = uncovered_subjects(change)
        yield from (SubjectCounts(stream=change.address.name, filter=subject) for subject in gone)
        if gone:
            yield _arrived_question(change)


def _arrived_question(change: Change) -> MessagesFrom:
    return MessagesFrom(stream=change.address.name, start=int(over_limit.state_of(change).get("last_seq", 0)) + 1)


def _arrived_since(change: Change, view: View, stored: int) -> int:
    """How many of these messages may have come in after the stream and its consumers were read."""
    answer = view.facts.get(_arrived_question(change))
    if not isinstance(answer, Mapping) or not answer.get("first"):
        return 0
    return min(stored, int(answer.get("messages", answer.get("most", stored))))


@rule("ST303", "subject-removed", on=(Action.UPDATE,), needs=("live", "facts"), reaction=Reaction.HARMS)
def subject_removed(change: Change, view: View) -> Found:
    """The stream stops capturing a subject. Its publishers get "no responders" from then on; stored messages stay.

    Stored message schedules stay too and keep running. The stream stores the messages they fire, even on subjects that
    it no longer captures.

    If another stream takes over the subject, that stream has its own consumers and copies. The consumers and copies of
    this stream no longer get those messages. It knows no message ids (`Nats-Msg-Id`) of what this stream has stored, so what
    is published again is stored again. Publishers that expect this stream by name (`Nats-Expected-Stream`) are refused. No two
    streams may store one subject, so this stream gives it up first: for a moment no stream stores it. If apply is interrupted at
    that point, no stream stores it until the next apply.

    On an interest stream, and from 2.12 on on a work queue, stored messages may stay although they were acknowledged. The server takes
    a consumer whose filters are all subjects of its stream for one without filters, which wants everything that it has not come
    past. They count against the limits of the stream, so purge them.

    Readers in other accounts and domains, such as sources over an export or mirrors on a leaf node, are in no plan: no
    server lists them. Run `nats stream report` there to see what is copied.

    Instead: move the publishers first.
    """
    if not (gone := uncovered_subjects(change)):
        return None
    words, stored = _stored_text(change, gone, view)
    taken, parts = _taking_streams(change, gone, view)
    stored_elsewhere = SubjectList([*(change.becomes("subjects") or ()), *parts])
    lost = [outside(subject, stored_elsewhere.colliding(subject)) for subject in gone if subject not in taken]
    texts = (
        [
            f"messages published on {listed_few(lost, 5)} will no longer be stored, and publishers get an error (no responders)"
        ]
        if lost
        else []
    )
    texts += _takeover_texts(change, taken, parts, view)
    return Finding(
        outcome=Outcome.WARNS,
        path="subjects",
        quantities=stored,
        message=f"{'; '.join(texts)}{_handover_text(change) if taken or parts else ''}{words}"
        f"{_caveat_about_schedules(change, view)}",
        fix="move the publishers first; the plan cannot see who they are" if lost else None,
    )


def takeover_text(change: Change, view: View) -> str:
    """For a stream that is deleted: which of its subjects other streams take over, and what that means for
    publishers."""
    taken, parts = _taking_streams(change, sorted(change.was("subjects") or ()), view)
    return f"{'; '.join(_takeover_texts(change, taken, parts, view))}{_handover_text(change)}" if taken or parts else ""


def _taking_streams(change: Change, gone: Sequence[str], view: View) -> tuple[dict[str, str], dict[str, str]]:
    """Streams that take over a whole subject, and streams that take over a part, each by what it takes."""
    taken = {subject: other for subject in gone if (other := _stream_taking_all(change, subject, view))}
    parts = {
        part: other
        for subject in gone
        if subject not in taken
        for part, other in _streams_taking_parts(change, subject, view)
    }
    return taken, parts


def _takeover_texts(change: Change, taken: dict[str, str], parts: dict[str, str], view: View) -> list[str]:
    by_taker: dict[tuple[str, str], list[str]] = {}
    kept = SubjectList(change.becomes("subjects") or ())
    for subject, other in (taken | parts).items():
        then = f"{_caveat_about_interest(subject, other, view)}{_caveat_about_readers(change, subject, other, view)}"
        by_taker.setdefault((other, then), []).append(
            subject if subject in parts else outside(subject, kept.colliding(subject))
        )
    return [
        f"messages published on {listed_few(subjects, 5)} will be stored in {other} instead{then}"
        for (other, then), subjects in by_taker.items()
    ]


def _caveat_about_interest(subject: str, taker: str, view: View) -> str:
    """An interest stream that takes a subject over stores only what a consumer or a copy of it wants."""
    stream = taker.removeprefix("stream/")
    declared = view.desired[Address.of("stream", stream)].config
    if declared.get("retention") != "interest" or declared.get("subject_transform"):
        return ""
    if _subjects_wanted(stream, view).colliding(subject):
        return ""
    return f", an interest stream, which keeps none of them: no consumer of it wants {subject}"


@once_per_view
def _subjects_wanted(stream: str, view: View) -> SubjectList:
    """What consumers and copies of the stream want once this plan is applied."""
    wanted = [pattern for config in consumers_afterwards(stream, view).values() for pattern in filters_of(config)]
    wanted += [pattern for subjects in copies_afterwards(stream, view).values() for pattern in subjects]
    return SubjectList(wanted)


BETWEEN = ". Between the two steps publishers get an error (no responders) and have to retry"


def _handover_text(change: Change) -> str:
    """What publishers feel when their subject is stored by another stream. Nobody has published to a stream that never
    stored anything."""
    state = over_limit.state_of(change)
    if not (state.get("messages") or state.get("last_seq")):
        return BETWEEN
    return f"{BETWEEN}{_caveat_about_message_ids(change)}. {refused_publishers_sentence(change.address.name)}"


def _caveat_about_message_ids(change: Change) -> str:
    """Message ids do not move with their subject."""
    if not (window := change.was("duplicate_window")):
        return ""
    return (
        f"; message ids (`Nats-Msg-Id`) that this stream remembers for {in_words(window, 'duration')} are unknown there, so "
        "what is published again is stored again"
    )


def refused_publishers_sentence(stream: str) -> str:
    """Of publishers that name the stream which used to store what they publish."""
    return f"Publishers that expect {stream} by name (`Nats-Expected-Stream`) are refused until they are changed"


def _caveat_about_schedules(change: Change, view: View) -> str:
    if not may_fire(over_limit.stream_of(change), view):
        return ""
    return ". Stored message schedules keep running: this stream still stores the messages they fire, on these subjects too"


def _caveat_about_readers(change: Change, subject: str, taker: str, view: View) -> str:
    """Readers of this stream that do not get the messages from their new stream, or not all of them: copies bring some to
    the streams that they read."""
    if change.action is Action.DELETE:
        return ""  # its readers are deleted too, and each is named for itself
    arrived, stream = streams_storing(taker.removeprefix("stream/"), subject, view), change.address.name
    nothing, less = list[str](), list[str]()
    for reader in readers_with_subjects(stream, view):
        wanted = reader.subjects.parts(subject)
        got = intersections(wanted, arrived.get(reader.place, ()))
        if not got and reader.subjects.colliding(subject):
            nothing.append(reader.label)
        elif not_inside(wanted, got):
            less.append(f"; {reader.label}, which reads {stream}, gets only {listed_few(got, 5)} of them")
    is_single = len(nothing) == 1
    who = f"{few(nothing)}, which read{'s' if is_single else ''} {stream},"
    return (f"; {who} {'gets' if is_single else 'get'} none of them" if nothing else "") + "".join(less)


class SubjectReader(NamedTuple):
    """A consumer that stays, by the name that it has then, or a stream that copies another one."""

    label: str
    filters: Sequence[str]
    subjects: SubjectList
    """What the filters match."""
    place: str
    """The stream in which it looks for messages."""


@once_per_view
def readers_with_subjects(stream: str, view: View) -> list[SubjectReader]:
    """Who reads the stream once this plan is applied."""
    live = view.snapshot.consumers.get(stream, {})
    renamed = {change.origin.name: change for change in view.children(stream, "consumer") if change.origin}
    wanted: list[tuple[str, Sequence[str], str]] = []
    for name, info in sorted(live.items(), key=lambda item: (not is_durable(item[1]), item[0])):
        change = renamed.get(name) or view.changes.get(Address.of("consumer", stream, name))
        if change is None or change.action is not Action.DELETE:
            label = consumer_label(change.address.name if change else name, info)
            wanted.append(
                (label, filters_of(change.desired.config if change and change.desired else info["config"]), stream)
            )
    copies = sorted(copies_afterwards(stream, view).items())
    wanted += [(name, subjects, name) for name, subjects in copies if name in view.snapshot.streams]
    return [SubjectReader(label, filters, SubjectList(filters), place) for label, filters, place in wanted]


def _stream_taking_all(change: Change, subject: str, view: View) -> str | None:
    """The stream that stores the whole subject once this plan is applied."""
    near = _declared_subjects(view).near(subject)
    takers = (name for name, theirs in near if name != change.address.name and is_subset(subject, theirs))
    return next((f"stream/{name}" for name in takers), None)


def _streams_taking_parts(change: Change, subject: str, view: View) -> Iterator[tuple[str, str]]:
    """Narrower subjects of it, and the streams that store them once this plan is applied."""
    for name, theirs in _declared_subjects(view).near(subject):
        if name != change.address.name and is_subset(theirs, subject):
            yield theirs, f"stream/{name}"


@lru_cache(maxsize=4)
def _declared_subjects(view: View) -> SubjectIndex[str]:
    """What declared streams store; computed once per view."""
    return SubjectIndex(
        (address.name, subject)
        for address, resource in view.desired.items()
        if address.kind == "stream" and not resource.external
        for subject in resource.config.get("subjects") or ()
    )


def _stored_text(change: Change, gone: list[str], view: View) -> tuple[str, dict[str, int | Amount]]:
    """How many messages are stored under subjects that nothing covers any more, and which consumers have not read
    them."""
    kept, going = (SubjectList(subjects) for subjects in (change.becomes("subjects") or (), gone))
    staying: dict[str, int] = {}
    if not over_limit.state_of(change).get("messages"):
        return "", {"stored": 0}
    for subject in gone:
        answer = view.facts.get(SubjectCounts(stream=change.address.name, filter=subject))
        if not isinstance(answer, Mapping):
            why = f" ({answer.reason})" if isinstance(answer, Unanswered) else ""
            return f". The messages stored under it were not counted{why}", {}
        staying |= {literal: many for literal, many in answer.items() if not kept.holds(literal)}
    if not (number := sum(staying.values())):
        return f". Nothing is stored under it{_renamed_text(change, gone)}", {"stored": 0}
    leaving = LostMessages(messages=exactly(number))
    late = unread_by_consumers(
        change.address.name,
        over_limit.state_of(change),
        leaving,
        view,
        by=staying,
        goes_whole=lambda one: going.holds(one) and not kept.colliding(one),
        counts=staying_consumer_test(change.address.name, view),
        arrived=_arrived_since(change, view, number),
    )
    left = _staying_messages(change, staying, view)
    if not left.most:
        return f". Apply deletes {some(number, 'stored message')} under it with the last consumer that wants them", {
            "stored": 0
        }
    held = _held_by_consumers_text(change, staying, view)
    if loss := shrinking.loss_of_stream(change.address.name, view):
        words, stored = _stored_beside_limits(change, staying, left, loss)
        return f"{words}{held}", stored
    stay = amount(left, "stored message")
    words = f". {stay[0].upper()}{stay[1:]} under it {verb(left.most, 'stay')}{late.words}"
    return f"{words}{held}", {"stored": left}


def _held_by_consumers_text(change: Change, staying: Iterable[str], view: View) -> str:
    """A queue or an interest stream deletes messages with their last acknowledgement, and not these where a server takes some
    other consumer for one that wants everything: its filters are all that the stream takes now."""
    retention = change.becomes("retention")
    if retention != "interest" and (retention != "workqueue" or view.target.version < V2_12):
        return ""
    stream, taken = change.address.name, set(change.becomes("subjects") or ())
    last, live = over_limit.state_of(change).get("last_seq", 0), view.snapshot.consumers.get(stream, {})
    wanted = [subject for info in live.values() for subject in filters_of(info["config"])]
    if not any(_any_matches(wanted, subject) for subject in staying):
        return ""
    holding = sorted(
        name
        for name, config in consumers_afterwards(stream, view).items()
        if name in live
        and set(filters_of(config)) == taken
        and ((live[name].get("delivered") or {}).get("stream_seq") or 0) < last
    )
    if not holding:
        return ""
    is_one = len(holding) == 1
    return (
        f". Those that {few(holding)} {'has' if is_one else 'have'} not come past stay even when nobody wants them any more: "
        f"{'its' if is_one else 'their'} filters are then all subjects of the stream, and the server takes that for no filter. "
        "Purge them when they are processed"
    )


def _renamed_text(change: Change, gone: Sequence[str]) -> str:
    """Messages that the stream stores under other subjects than they were published on."""
    transform = change.was("subject_transform") or {}
    if not transform.get("dest") or not any(collide(transform.get("src") or ">", subject) for subject in gone):
        return ""
    return f"; what was published on it stays under `{outcome(transform['dest'])}`, as subject_transform stores it"


def _stored_beside_limits(
    change: Change, staying: Mapping[str, int], left: Amount, loss: Loss
) -> tuple[str, dict[str, int | Amount]]:
    """The same change deletes some of what would stay: it lowers limits. Their own rule says who misses it."""
    number = sum(staying.values())
    lost = shrinking.deleted_on_subjects(loss, [*staying], number, over_limit.state_of(change)["messages"] - number)
    stay = Amount(max(0, left.least - lost.most), left.most - (lost.least if left.is_exact else 0))
    return f". Of {some(number, 'stored message')} under it {amount(stay)} {verb(stay.most, 'stay')}", {"stored": stay}


def _staying_messages(change: Change, staying: Mapping[str, int], view: View) -> Amount:
    """How many of these messages stay. An interest stream loses those that only a consumer wanted which this plan
    deletes."""
    number, stream = sum(staying.values()), change.address.name
    if change.becomes("retention") != "interest":
        return exactly(number)
    taken = subjects_at_consumer_deletions(stream, view)
    kept = [
        subject
        for config in consumers_afterwards(stream, view).values()
        for subject in subjects_kept_by(filters_of(config), taken)
    ]
    parted = [subject for info in deleted_consumers(stream, view) for subject in filters_of(info["config"])]
    wanted = {subject: many for subject, many in staying.items() if _any_matches(parted, subject)}
    at_stake, lost = (
        sum(wanted.values()),
        sum(many for subject, many in wanted.items() if not _any_matches(kept, subject)),
    )
    return Amount(number - at_stake, number - lost)


def _any_matches(filters: Iterable[str], subject: str) -> bool:
    return any(matches(subject, pattern) for pattern in filters)
