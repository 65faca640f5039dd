"""Stream changes that cost messages or readers, with what live state says about how many."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from reconciler.changes.amount import Amount, exactly
from reconciler.changes.diff import Action, Change
from reconciler.changes.rule import Found, rule
from reconciler.changes.verdict import Finding, Outcome, Reaction
from reconciler.changes.view import View
from reconciler.kinds.effects import dependants, losses, sources_changed, surplus
from reconciler.kinds.effects.lagging import lagging, taking_in
from reconciler.kinds.effects.losses import limit_lowered
from reconciler.kinds.effects.made_again import made_again
from reconciler.kinds.effects.one_way import to_copy
from reconciler.kinds.effects.readers import (
    SOME,
    Going,
    behind,
    filters,
    going_unread,
    is_durable,
    taking,
    taking_questions,
    unread,
    unread_consumers,
)
from reconciler.kinds.effects.sources_changed import copied_again, left_behind
from reconciler.kinds.fields import peers
from reconciler.kinds.fields.words import amount, consent_to, listed, outside, size, some
from reconciler.kinds.stream_config.origins import copying_on
from reconciler.kinds.subjects.subject_index import SubjectIndex
from reconciler.kinds.subjects.subjects import collide, is_subset, matches
from reconciler.model.resource import Address, Json
from reconciler.model.wire.questions import Question, SubjectCounts, Unanswered
from reconciler.model.wire.version import Version
from reconciler.model.written import quoted

NAMED = 5
EMPTIES = Version(2, 15)
"""From here on, interest retention without any consumer removes what is stored."""


def questions(change: Change, view: View) -> Iterator[Question]:
    """What the losses of a stream depend on, beyond its state."""
    yield from losses.questions(change, view)
    yield from sources_changed.questions(change, view)
    yield from peers.questions(change)
    if asked := to_copy(change):
        yield asked
    if _turns_to_interest(change):
        yield from taking_questions(change.address.name, view)
    if change.action is Action.UPDATE and 0 < surplus.state_of(change).get("num_subjects", 0) <= surplus.MANY_SUBJECTS:
        yield from (SubjectCounts(stream=change.address.name, filter=subject) for subject in _gone(change))


def _gone(change: Change) -> list[str]:
    """Subjects that are stored now and that no subject covers any more; of some, a part may be."""
    kept = change.becomes("subjects") or ()
    before = set(change.was("subjects") or ()) - set(kept)
    return sorted(one for one in before if not any(is_subset(one, other) for other in kept))


@rule("ST302", "interest-retention", on=(Action.UPDATE,), needs=("live",), reaction=Reaction.HARMS)
def interest_retention(change: Change, view: View) -> Found:
    """Retention changes from limits to interest on a stream that holds messages.

    Messages that every consumer has acknowledged go at once; without any consumer, servers from 2.15 on remove all of
    them. From then on, what no consumer wants is not stored at all.

    Consumers that the same plan makes are there before, and so is what those want. What no consumer has got yet stays, and
    so does all of it while nobody but mirrors and sources take from the stream.

    Instead: make sure every consumer is there and behind, or consent: `allow: [{code: ST302, to: interest, reason: …}]`.
    """
    if not _turns_to_interest(change):
        return None
    going, words = _without_interest(change, view, surplus.state_of(change)["messages"])
    return Finding(
        outcome=Outcome.NEEDS_CONSENT,
        path="retention",
        to="interest",
        quantities={"messages": going},
        message=words,
        affects=dependants.streams(lagging(change.address.name, view), view),
        fix=f"consent here if that is meant: {consent_to('ST302', 'interest')}",
    )


def _turns_to_interest(change: Change) -> bool:
    """And holds messages."""
    turns = change.touches("retention") and change.becomes("retention") == "interest"
    return turns and surplus.state_of(change).get("messages", 0) > 0


def _without_interest(change: Change, view: View, messages: int) -> tuple[Amount, str]:
    """How many go, and why. Consumers of the same plan come and go before."""
    stored, takers = some(messages, "stored message"), _takers(change, messages, view)
    if not takers and (copies := taking_in(change.address.name, view)):
        who = f"nobody but {listed(copies)}, which cop{'ies' if len(copies) == 1 else 'y'} this stream, takes from it"
        return exactly(0), f"{who}: {stored} stay for now, and new ones are kept only as far as they are copied"
    if not takers:
        if view.target.version >= EMPTIES:
            return exactly(
                messages
            ), f"nobody consumes this stream, so all of {stored} go at apply, and new ones are not kept"
        return exactly(0), f"nobody consumes this stream: {stored} stay for now, but new ones are not kept"
    furthest = max(sorted(takers), key=lambda name: takers[name].wants)
    wanted = min(messages, takers[furthest].wants)
    wants = "still wants" if furthest in _there(change.address.name, view) else "will want"
    going = Amount(0, min(messages - wanted, sum(one.done for one in takers.values())))
    held = "" if going.most else ", since no consumer has acknowledged any"
    held = f", since {furthest} {wants} {some(wanted)}" if wanted else held
    words = f"{amount(going)} of {stored} go" if going.most else f"none of {stored} goes"
    return going, f"{words} at apply{held}: what every consumer has acknowledged is not kept"


class _Taker(NamedTuple):
    """A consumer by then."""

    wants: int
    """How many of the stored messages it still wants, at least."""
    done: int
    """How many of them it has acknowledged, at most: what nobody has acknowledged stays, as what no filter matches does."""


def _takers(above: Change, messages: int, view: View) -> dict[str, _Taker]:
    """All consumers by then; what a new filter matches nobody knows yet."""
    stream, unknown = above.address.name, _Taker(0, messages)
    found = {name: _taker(above, info, messages, view) for name, info in _there(stream, view).items()}
    found |= dict.fromkeys(unread_consumers(stream, view), unknown)
    copying = len(view.snapshot.copiers.get(stream, {}))
    if surplus.state_of(above).get("consumer_count", 0) > len(found) + copying:
        found[SOME] = unknown
    for address, change in view.changes.items():
        if address.kind != "consumer" or address.stream != stream:
            continue
        if change.action is Action.DELETE:
            found.pop(address.name, None)
        elif change.action is Action.CREATE:
            found[address.name] = _Taker(messages if _wants_all(change) else 0, _up_to(_skipped(change), above))
        elif change.touches("filter_subject", "filter_subjects"):
            found[address.name] = _Taker(0, _up_to(_given(_there(stream, view).get(address.name, {})), above))
    return found


def _taker(above: Change, info: Mapping[str, Json], messages: int, view: View) -> _Taker:
    got = taking(above.address.name, info, messages, view) - behind(info)
    return _Taker(behind(info), max(0, min(got, _up_to(_given(info), above))))


def _up_to(sequence: int | None, above: Change) -> int:
    """How many messages are stored up to this sequence, at most; None: the last."""
    state = surplus.state_of(above)
    messages: int = state["messages"]
    return messages if sequence is None else max(0, min(messages, sequence - state.get("first_seq", 1) + 1))


def _given(info: Mapping[str, Json]) -> int | None:
    """The sequence up to which a consumer was given messages."""
    found: int | None = info.get("delivered", {}).get("stream_seq")
    return found


def _skipped(change: Change) -> int | None:
    """The sequence behind which a new consumer begins; None: nobody knows."""
    starts: dict[str, int | None] = {"all": 0, "by_start_sequence": (change.becomes("opt_start_seq") or 1) - 1}
    return starts.get(change.becomes("deliver_policy") or "all")


def _there(stream: str, view: View) -> Mapping[str, Mapping[str, Json]]:
    return view.snapshot.consumers.get(stream, {})


def _wants_all(change: Change) -> bool:
    said = [change.becomes(field) for field in ("filter_subject", "filter_subjects", "deliver_policy")]
    return said in ([None, None, None], [None, None, "all"])


@rule("ST303", "subject-removed", on=(Action.UPDATE,), needs=("live", "facts"), reaction=Reaction.HARMS)
def subject_removed(change: Change, view: View) -> Found:
    """A subject is no longer captured: its publishers get "no responders" from then on; stored messages stay.

    Message schedules that are stored stay too and go on: what they fire is stored here, on subjects that are no longer
    captured as well.

    Where another stream takes it, that one has consumers and copies of its own: those of this stream get nothing more of it.
    No two streams may store one subject, so this one lets go of it first: for a moment, or for as long as an apply that is
    cut off there, nobody stores it.

    Instead: move the publishers first.
    """
    if not (gone := _gone(change)):
        return None
    words, stored = _stored(change, gone, view)
    taken = {subject: other for subject in gone if (other := _taken_over(change, subject, view))}
    parts = {part: other for subject in gone if subject not in taken for part, other in _partly(change, subject, view)}
    lost = [_without(change, subject, parts) for subject in gone if subject not in taken]
    said = (
        [f"what is published on {listed(lost)} will no longer be stored, and publishers get no answer"] if lost else []
    )
    said += [
        f"what is published on {subject if subject in parts else _without(change, subject)} is stored in {other} from then on"
        f"{_not_followed(change, subject, other, view)}"
        for subject, other in (taken | parts).items()
    ]
    return Finding(
        outcome=Outcome.WARNS,
        path="subjects",
        quantities=stored,
        message=f"{'; '.join(said)}{BETWEEN if taken or parts else ''}{words}{_fired(change)}",
        fix="move the publishers first; the plan cannot see who they are" if lost else None,
    )


BETWEEN = ". Between the two steps publishers get no answer, and have to try again"


def _fired(change: Change) -> str:
    """Which of the stored messages are schedules only their headers tell, and nobody reads those."""
    if not (change.was("allow_msg_schedules") and surplus.state_of(change).get("messages")):
        return ""
    return ". Message schedules among those it holds go on: what they fire is still stored here, on these subjects too"


def _not_followed(change: Change, subject: str, taker: str, view: View) -> str:
    """Who reads it here, and does not read it where it is stored from then on, unless that comes back through a source."""
    coming = {f"stream/{one['name']}" for one in change.becomes("sources") or ()}
    readers = _reading(change.address.name, view) if taker not in coming else ()
    reading = [name for name, wanted in readers if any(collide(one, subject) for one in wanted)]
    return f", and {_named(reading)} {'gets' if len(reading) == 1 else 'get'} none of it" if reading else ""


def _reading(stream: str, view: View) -> Iterator[tuple[str, Sequence[str]]]:
    """Durable consumers that stay, and streams that copy this one, with what they want."""
    for name, info in sorted(_there(stream, view).items()):
        change = view.changes.get(Address.of("consumer", stream, name))
        if is_durable(info) and (change is None or change.action is not Action.DELETE):
            yield name, filters(change.desired.config if change and change.desired else info["config"])
    there = view.snapshot.streams
    yield from ((name, subjects) for name, subjects in sorted(copying_on(stream, view).items()) if name in there)


def _without(change: Change, subject: str, elsewhere: Iterable[str] = ()) -> str:
    """A subject, but for what is stored of it all the same."""
    return outside(subject, [one for one in (*(change.becomes("subjects") or ()), *elsewhere) if collide(one, subject)])


def _taken_over(change: Change, subject: str, view: View) -> str | None:
    """The stream that stores it once this plan is applied."""
    near = _capturing(view).near(subject)
    takers = (name for name, theirs in near if name != change.address.name and is_subset(subject, theirs))
    return next((f"stream/{name}" for name in takers), None)


def _partly(change: Change, subject: str, view: View) -> Iterator[tuple[str, str]]:
    """Narrower subjects of it, and the streams that store them once this plan is applied."""
    for name, theirs in _capturing(view).near(subject):
        if name != change.address.name and is_subset(theirs, subject):
            yield theirs, f"stream/{name}"


@lru_cache(maxsize=4)
def _capturing(view: View) -> SubjectIndex:
    """What declared streams store; computed once per view."""
    index = SubjectIndex()
    for address, resource in view.desired.items():
        if address.kind == "stream" and not resource.external:
            for subject in resource.config.get("subjects") or ():
                index.add(address.name, subject)
    return index


def _stored(change: Change, gone: list[str], view: View) -> tuple[str, dict[str, int]]:
    """What is there under subjects that nothing covers any more, and who has not read it."""
    kept = change.becomes("subjects") or ()
    staying: dict[str, int] = {}
    if not surplus.state_of(change).get("messages"):
        return "", {"stored": 0}
    for subject in gone:
        answer = view.facts.get(SubjectCounts(stream=change.address.name, filter=subject))
        if not isinstance(answer, Mapping):
            why = f" ({answer.reason})" if isinstance(answer, Unanswered) else ""
            return f". How many messages are stored under it was not counted{why}", {}
        staying |= {said: many for said, many in answer.items() if not any(matches(said, other) for other in kept)}
    if not (number := sum(staying.values())):
        return ". Nothing is stored under it", {"stored": 0}
    leaving = Going(messages=exactly(number))
    late = unread(
        change.address.name,
        surplus.state_of(change),
        leaving,
        view,
        by=staying,
        goes_whole=lambda one: (
            any(is_subset(one, other) for other in gone) and not any(collide(one, other) for other in kept)
        ),
    )
    return f". {some(number, 'stored message')} under it stay{'s' if number == 1 else ''}{late.words}", {
        "stored": number
    }


@rule("ST310", "stream-deletion", on=(Action.DELETE,), needs=("live",), reaction=Reaction.HARMS)
def stream_deletion(change: Change, view: View) -> Iterator[Finding]:
    """A stream is removed with everything in it: messages, and all its consumers, whoever made them.

    `removed:` is the consent; this says what it costs. Consumers that the files do not remove need a consent of their own.

    Those of another topology are not for this one to take: it must let them go first. Neither does any consent cover
    consumers that were applied with `protect: true`, or those that nobody could read.

    Instead: `forget:` the stream, which leaves it as it is, or empty it first.
    """
    consumers = list(_consumers_lost(change, view))
    yield from consumers[:-1]
    yield from _as_one([*consumers[-1:], *_messages_lost(change, view)])


def _as_one(parts: Sequence[Finding]) -> Iterator[Finding]:
    """What goes together: the first one's outcome and way out, with the words and numbers of all."""
    words = "; ".join(one.message for one in parts)
    quantities = {name: number for one in parts for name, number in one.quantities.items()}
    yield from (replace(first, message=words, quantities=quantities) for first in parts[:1])


def _consumers_lost(change: Change, view: View) -> Iterator[Finding]:
    name = change.address.name
    losing = list(_lose_consumers(name, view))
    foreign = [one for one in losing if view.owner_of("consumer", name, one)]
    protected = [one for one in losing if one not in foreign and view.protects("consumer", name, one)]
    if unread := going_unread(name, surplus.state_of(change), view):
        yield unread
    if foreign:
        yield Finding(
            outcome=Outcome.REFUSED,
            quantities={"consumers": len(foreign)},
            affects=dependants.consumers(name, foreign, view),
            message=f"{some(len(foreign), 'consumer')} of other topologies would go with it",
            fix="let their topologies remove or forget them first",
        )
    if protected:
        yield Finding(
            outcome=Outcome.REFUSED,
            quantities={"consumers": len(protected)},
            message=f"{some(len(protected), 'protected consumer')} would go with it, whatever consent says: {_named(protected)}",
            fix="declare and apply them once with protect: false, in a change of its own",
        )
    if losing := [one for one in losing if one not in foreign and one not in protected]:
        yield Finding(
            outcome=Outcome.NEEDS_CONSENT,
            path="",
            quantities={"consumers": len(losing)},
            affects=dependants.consumers(name, losing, view),
            message=f"consumers that this topology does not remove go with it: {_named(losing)}",
            fix=f"{_let_go_first(change, losing, view)}, or allow it for this run: --allow ST310={change.address}",
        )


def _let_go_first(change: Change, losing: Sequence[str], view: View) -> str:
    """Only what is this topology's own can be removed by it."""
    addresses = [Address.of("consumer", change.address.name, one) for one in losing]
    if not all(address in view.ledger for address in addresses):
        return "let those who made them delete them first"
    entries = ", ".join(f"{{address: {quoted(str(address))}, reason: …}}" for address in addresses)
    return f"write removed: [{entries}] as well"


def _messages_lost(change: Change, view: View) -> Iterator[Finding]:
    state, name = surplus.state_of(change), change.address.name
    if messages := state.get("messages", 0):
        everything = Going(messages=exactly(messages), before=exactly(state.get("last_seq", messages) + 1))
        late = unread(name, state, everything, view)
        yield Finding(
            outcome=Outcome.WARNS,
            quantities={"messages": messages, "bytes": state.get("bytes", 0)}
            | ({"unprocessed": late.furthest} if late.furthest.most else {}),
            message=f"with it go {some(messages, 'message')} ({size(state.get('bytes', 0))}){late.words}",
        )


def _named(names: Sequence[str]) -> str:
    return ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")


def _lose_consumers(name: str, view: View) -> Iterator[str]:
    """Those that are there, and those of other topologies that may be: they could not be read."""
    removed = {c.address.name for c in view.children(name, "consumer") if c.action is Action.DELETE}
    yield from (one for one in view.snapshot.consumers.get(name, {}) if one not in removed)
    recorded = [a for a in view.ledger if a.kind == "consumer" and a.stream == name] if view.snapshot.unknown else ()
    for address in sorted(recorded):
        if view.snapshot.unknown_consumer(*address.names) and view.owner_of(address.kind, *address.names):
            yield address.name


RULES = (
    limit_lowered("ST"),
    interest_retention,
    subject_removed,
    copied_again("ST"),
    left_behind("ST"),
    stream_deletion,
    made_again("ST"),
)
