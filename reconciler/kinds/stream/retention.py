"""What a stream loses when its retention becomes interest."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from reconciler.changes.amount import Amount, exactly
from reconciler.changes.change import Action, Change
from reconciler.changes.rule import Found, rule
from reconciler.changes.verdict import Finding, Outcome, Reaction
from reconciler.changes.view import View
from reconciler.engine.bindings import passed_in_flight
from reconciler.kinds.fields.words import amount, consent_to, listed, listed_few, some, verb
from reconciler.kinds.losses import dependants, over_limit
from reconciler.kinds.losses.lagging import copies_taking_in, uncopied_by_copy
from reconciler.kinds.losses.unprocessed import (
    SOME,
    claimed_messages,
    consumers_afterwards,
    matched_messages,
    unread_consumers,
)
from reconciler.kinds.losses.unwanted import unwanted_subjects
from reconciler.kinds.stream_config.origins import copies_afterwards
from reconciler.model.resource import Json
from reconciler.model.wire.version import Version

EMPTIES = Version(2, 15)
"""From this version on, a stream that turns to interest retention without any consumer deletes everything it stores."""

DELETES_COPIED = Version(2, 14)
"""From this version on, a copy that begins again deletes from an interest stream what it copied before."""


@rule("ST302", "interest-retention", on=(Action.UPDATE,), needs=("live",), reaction=Reaction.HARMS)
def interest_retention(change: Change, view: View) -> Found:
    """Retention changes from limits to interest on a stream that holds messages.

    The server at once deletes the messages that no consumer wants any more. If there is no consumer, servers from
    2.15 on delete all messages. From then on, the server does not store a message that no consumer wants.

    Apply creates the plan's new consumers first, so the messages they want stay. Messages that no consumer has received
    yet stay. Mirrors, sources and elastic groups do not count: the server also deletes what they have yet to copy, such as
    what does not fit into a full queue.

    If only mirrors and sources read from the stream, all messages stay until these begin to copy again, as after
    a restart of the server. From then on the stream keeps a message only until it is copied, and servers from 2.14 on
    also delete what was copied before.

    Until it restarts, a server of any version does not delete a message when a consumer with `ack_policy: none` receives it. If that
    consumer is the last to get a message, the message stays until a restart. So it is with consumers that existed before the
    change and with later ones, whether they pull or are pushed to; a stream that was created with interest retention deletes
    such messages at once.

    Instead: make sure a consumer still wants every message that must stay, or consent:
    `allow: [{code: ST302, to: interest, reason: …}]`.
    """
    if not turns_to_interest(change):
        return None
    going, words = _deleted_messages(change, view, over_limit.state_of(change)["messages"])
    lost, copying = _lost_to_copies(change.address.name, going, view), [*uncopied_by_copy(change.address.name, view)]
    copies_texts = [_copies_text(change.address.name, lost, view)] if lost.most else []
    texts = [*copies_texts, *_afterwards_texts(change, view)]
    words += "".join(f". {text[0].upper()}{text[1:]}" for text in texts)
    wait = f"wait until {listed_few(copying)} {verb(len(copying), 'have')} copied the rest, or " if lost.most else ""
    return Finding(
        outcome=Outcome.NEEDS_CONSENT,
        path="retention",
        to="interest",
        quantities={"messages": going, **({"uncopied": lost} if lost.most else {})},
        message=words,
        affects=dependants.streams(copying, view),
        fix=f"{wait}consent here if that is meant: {consent_to('ST302', 'interest')}",
    )


def _lost_to_copies(stream: str, going: Amount, view: View) -> Amount:
    """How many of the deleted messages a stream has yet to copy. Nobody knows which of those consumers still want."""
    numbers = uncopied_by_copy(stream, view).values()
    is_all = going.is_exact and going.most == view.snapshot.state_of(stream).get("messages", 0)
    least = max((number.least for number in numbers), default=0) if is_all else 0
    return Amount(min(least, going.most), min(going.most, sum(number.most for number in numbers)))


def _copies_text(stream: str, lost: Amount, view: View) -> str:
    behind = {
        name: f" (at least {some(number.least, 'message')} behind)" if number.least else ""
        for name, number in uncopied_by_copy(stream, view).items()
    }
    copying = listed_few([f"{name}{clause}" for name, clause in behind.items()])
    return (
        f"the server does not wait for streams that copy {stream}: {copying} never {verb(len(behind), 'get')} "
        f"{amount(lost)} of the deleted messages"
    )


def turns_to_interest(change: Change) -> bool:
    """The stream turns to interest retention while it holds messages."""
    turns = change.touches("retention") and change.becomes("retention") == "interest"
    return turns and over_limit.state_of(change).get("messages", 0) > 0


def _afterwards_texts(change: Change, view: View) -> Iterator[str]:
    """What becomes of new messages. If nobody reads the stream at all, that is said before."""
    stream = change.address.name
    is_read = consumers_afterwards(stream, view) or copies_afterwards(stream, view)
    if is_read and (unwanted := unwanted_subjects(stream, view)).lost:
        yield unwanted.text(unwanted.lost, stream)
    if text := kept_until_restart_text(change, view):
        yield text


def kept_until_restart_text(change: Change, view: View) -> str:
    """The words for messages that a server deletes only at its next restart; empty if there are none."""
    consumers = consumers_afterwards(change.address.name, view)
    names = sorted(name for name, config in consumers.items() if (config.get("ack_policy") or "none") == "none")
    if change.becomes("retention") != "interest" or not names:
        return ""
    gets = verb(len(names), "get")
    return (
        f"until the server restarts, it keeps messages that {listed_few(names)} (ack_policy: none) {gets} last, after all "
        "others"
    )


def _deleted_messages(change: Change, view: View, messages: int) -> tuple[Amount, str]:
    """How many messages are deleted, and why. The plan's own consumers are created and deleted before."""
    stored, consumers = some(messages, "stored message"), _progress_by_consumer(change, messages, view)
    if not consumers and (copies := copies_taking_in(change.address.name, view)):
        return exactly(0), _sentence_about_copies(change.address.name, stored, copies, view)
    if not consumers:
        if view.target.version >= EMPTIES:
            return exactly(
                messages
            ), f"this stream has no consumers, so apply deletes all of its {stored}, and new messages are not stored"
        return exactly(0), (
            f"this stream has no consumers: {stored} {verb(messages, 'stay')} for now, but new messages are not stored"
        )
    furthest = max(sorted(consumers), key=lambda name: (consumers[name].wants.most, consumers[name].wants.least))
    wanted = Amount(*(min(messages, number) for number in consumers[furthest].wants[:2]))
    kept = min(messages, max(consumer.wants.least for consumer in consumers.values()))
    wants = "still wants" if furthest in view.snapshot.consumers.get(change.address.name, {}) else "will want"
    is_copied = view.target.version >= DELETES_COPIED and bool(copies_afterwards(change.address.name, view))
    given = messages if is_copied else sum(consumer.done for consumer in consumers.values())
    going = Amount(0, min(messages - kept, given))
    others = sum(consumer.wants.most > 0 for consumer in consumers.values()) - 1
    more = f", and {some(others, 'other consumer')} no more than that" if others > 0 else ""
    still = f"{furthest} {wants} {amount(wanted)}{more}" if wanted.most else ""
    if not going.most:
        return going, f"apply deletes none of {stored}: {still or 'no consumer has acknowledged any'}"
    words = f"apply deletes {amount(going)} of {stored}, those that no consumer wants any more"
    return going, words + (f"; {still}" if still else "") + _clause_about_passed(change.address.name, consumers, view)


def _clause_about_passed(stream: str, consumers: Collection[str], view: View) -> str:
    """Messages in flight that go, because the server counts them as acknowledged."""
    infos = view.snapshot.consumers.get(stream, {})
    passed = {name: number for name in sorted(consumers) if (number := passed_in_flight(infos.get(name, {})))}
    return "".join(
        f"; {name} has {some(number, 'message')} in flight that the server counts as acknowledged, as after a purge of messages in "
        "flight: they go too"
        for name, number in passed.items()
    )


def _sentence_about_copies(stream: str, stored: str, copies: list[str], view: View) -> str:
    """The server does not count what copies have taken until it recreates their consumers."""
    is_single = len(copies) == 1
    who = (
        f"only {listed(copies)}, which cop{'ies' if is_single else 'y'} this stream, read{'s' if is_single else ''} it"
    )
    again = f"until {'it begins' if is_single else 'they begin'} to copy again, as after a restart of the server"
    old = "deletes what is copied, and " if view.target.version >= DELETES_COPIED else ""
    return (
        f"{who}: {stored} and new ones stay {again}; then {stream} {old}keeps new messages only until they are copied"
    )


class _Progress(NamedTuple):
    """A consumer that exists when retention changes."""

    wants: Amount
    """How many of the stored messages it still wants. Of an unknown consumer: none for certain, and none is said."""
    done: int
    """How many of them it has acknowledged, at most. What nobody has acknowledged stays, and so does what no filter
    matches."""


def _progress_by_consumer(above: Change, messages: int, view: View) -> dict[str, _Progress]:
    """All consumers that exist when retention changes. Nobody knows yet what a new filter matches."""
    stream, unknown = above.address.name, _Progress(exactly(0), messages)
    consumers = {
        name: _progress_of_consumer(above, info, messages, view)
        for name, info in view.snapshot.consumers.get(stream, {}).items()
    }
    consumers |= dict.fromkeys(unread_consumers(stream, view), unknown)
    copying = len(view.snapshot.copiers.get(stream, {}))
    if over_limit.state_of(above).get("consumer_count", 0) > len(consumers) + copying:
        consumers[SOME] = unknown
    for change in view.children(stream, "consumer"):
        name = change.address.name
        if change.action is Action.DELETE:
            consumers.pop(name, None)
        elif change.action is Action.CREATE:
            consumers[name] = _Progress(
                exactly(messages if _wants_all(change) else 0), _stored_up_to(_last_skipped(change), above)
            )
        elif change.touches("filter_subject", "filter_subjects"):
            consumers[name] = _Progress(
                exactly(0), _stored_up_to(_last_delivered(view.snapshot.consumers.get(stream, {}).get(name, {})), above)
            )
    return consumers


def _progress_of_consumer(above: Change, info: Mapping[str, Json], messages: int, view: View) -> _Progress:
    wants = claimed_messages(above.address.name, info, view)
    got = matched_messages(above.address.name, info, messages, view) - wants.least
    return _Progress(wants, max(0, min(got, _stored_up_to(_last_delivered(info), above))))


def _stored_up_to(sequence: int | None, above: Change) -> int:
    """How many messages are stored up to this sequence, at most; None: the last."""
    state = over_limit.state_of(above)
    messages: int = state["messages"]
    return messages if sequence is None else max(0, min(messages, sequence - state.get("first_seq", 1) + 1))


def _last_delivered(info: Mapping[str, Json]) -> int | None:
    """The sequence up to which a consumer was given messages."""
    sequence: int | None = info.get("delivered", {}).get("stream_seq")
    return sequence


def _last_skipped(change: Change) -> int | None:
    """The sequence after which a new consumer starts; None: nobody knows."""
    starts: dict[str, int | None] = {"all": 0, "by_start_sequence": (change.becomes("opt_start_seq") or 1) - 1}
    return starts.get(change.becomes("deliver_policy") or "all")


def _wants_all(change: Change) -> bool:
    values = [change.becomes(field) for field in ("filter_subject", "filter_subjects", "deliver_policy")]
    return values in ([None, None, None], [None, None, "all"])
