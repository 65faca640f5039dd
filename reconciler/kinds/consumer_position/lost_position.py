"""What it means that a consumer of that name existed before, and its position is lost: what is redelivered, and what
never."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

from reconciler.changes.amount import Amount, maxima, uncounted_amounts
from reconciler.changes.change import Action, Change, Consequence
from reconciler.changes.rule import Found, rule
from reconciler.changes.verdict import Finding, Outcome, Reaction
from reconciler.changes.view import View
from reconciler.kinds.consumer_position import predecessors, recorded_position, removed_consumer
from reconciler.kinds.consumer_position.retention import retention_of
from reconciler.kinds.consumer_position.start_position import (
    START_FIELDS,
    Start,
    deliver_policy,
    has_holes,
    remaining_from,
    remaining_messages,
    start_of,
)
from reconciler.kinds.fields.words import amount, consent_to, some, verb
from reconciler.kinds.losses import shrinking
from reconciler.kinds.losses.lagging import is_kept
from reconciler.kinds.losses.made_again import (
    is_filled_at_once,
    is_made_again,
    lost_at_restart_clause,
    when_recorded_text,
)
from reconciler.kinds.subjects.filters import EVERYTHING, filters_of
from reconciler.model.resource import Address, Json


def consequences(change: Change, view: View) -> Iterator[Consequence]:
    """One line for each consumer that is created beside messages that are already stored, and what an interest stream
    deleted meanwhile."""
    is_interest = retention_of(change.address.stream, view) == "interest"
    if is_interest and not recorded_position.is_on_another_stream(change, view):
        if is_made_again(change):
            yield Consequence(message=f"{_DELETED}, and keeps nothing for it until it is back")
        elif change.made_anew:
            yield Consequence(message=f"{_DELETED}, and kept nothing for it until somebody recreated it")
    if change.action is Action.CREATE and change.origin is None and change.desired and not _gone_finding(change, view):
        start = start_of(change, view)
        if start and (start.quantities or start.stored is None):
            redelivered = predecessors.delivered_before(change, view)
            quantities = start.quantities | ({"delivered_before": redelivered} if redelivered.most else {})
            message = f"It starts at {start.words}{_redelivery_clause(change, start, view)}{predecessors.summary_text(change, view)}"
            yield Consequence(message=message, quantities=maxima(quantities), bounds=uncounted_amounts(quantities))
        elif start is None and (earlier := _earlier_consumer_clause(change, view)) and _is_filled(change, view):
            stream = change.address.stream
            yield Consequence(
                message=f"{earlier}, and what it had acknowledged is redelivered, as far as {stream} copies it again"
            )


def _is_filled(change: Change, view: View) -> bool:
    """Does its stream begin in the same plan, as a copy of what is stored?"""
    stream_change = view.changes.get(Address.of("stream", change.address.stream))
    return stream_change is not None and is_filled_at_once(stream_change, view)


_DELETED = "When the old one was deleted, the interest stream deleted what no other consumer wanted"


def _redelivery_clause(change: Change, start: Start, view: View) -> str:
    """What it delivers again that one of the same name acknowledged before that was removed. A work queue holds only
    what nobody acknowledged, unless it keeps that for a copy."""
    earlier = _earlier_consumer_clause(change, view)
    stream = change.address.stream
    holds_rest = retention_of(stream, view) == "workqueue" and not is_kept(stream, view)
    if not earlier or not (start.stored is None or start.stored.most) or holds_rest:
        return ""
    clause = f". {earlier}"
    stored_then = removed_consumer.stored_while_recorded(change, view, start.stored) if start.stored else None
    if stored_then is None:
        return f"{clause}, and what it had acknowledged of them is redelivered"
    if not stored_then.most:
        return ""
    stored_clause = f"{amount(stored_then)} of them {verb(stored_then.most, 'were')} stored by then"
    return f"{clause}: {stored_clause}, and what is still stored of what it had acknowledged is redelivered"


def _earlier_consumer_clause(change: Change, view: View) -> str:
    """A clause that a consumer of this name was there; empty if none is known."""
    until = removed_consumer.recorded_until(change, view)
    return f"A consumer of this name was recorded until {until[:19]}Z" if until else ""


def _gone_finding(change: Change, view: View) -> Finding | None:
    """What a recreated consumer delivers twice, or never."""
    if not is_made_again(change) or change.desired is None or (start := start_of(change, view)) is None:
        return None
    policy, stood = deliver_policy(change.desired.config), recorded_position.verified_next(change, view)
    recorded = when_recorded_text(change, "" if stood is None else f"before sequence {stood}")
    beginning = f"it is gone with its position{recorded}{lost_at_restart_clause(change, view)}: recreated, "
    if policy in START_FIELDS:
        return _named_start_finding(change, beginning, start, stood, view)
    if retention_of(change.address.stream, view) == "workqueue":
        return None
    state = recorded_position.stream_state(change, view)
    total = remaining_messages(change, state, view) or Amount(0, int(state["messages"]))
    most, stored_messages = total.most, amount(total, "stored message")
    if policy == "all":
        if stood is not None and (
            stood <= _first_remaining(change, state, view) or _is_all_stored_after(change, stood, total, view)
        ):
            stood = None  # nothing that it wants is stored before it, so a start there repeats as much
        even_if = "even if it had processed them" if stood is None else _including_clause(stood)
        instead = _RENUMBERED if recorded_position.is_on_another_stream(change, view) else ""
        return _consent_finding(
            change,
            f"{beginning}it starts over with {stored_messages}, {even_if}",
            {"redelivered": most},
            stood,
            instead,
        )
    since = remaining_from(change, stood, state, view) if stood else None
    skipped, redelivered = (
        _most_skipped(policy, since or total, change, view),
        _most_redelivered(policy, since, total, state),
    )
    if not (skipped or redelivered):
        return None
    unprocessed = (
        f"{stored_messages} that it had not processed"
        if since is None
        else f"{amount(since, 'message')} since then that it had not processed"
    )
    clauses = [
        *(
            [f"redelivers up to {some(redelivered)} of them, even if it had processed {_pronoun(redelivered)}"]
            if redelivered
            else []
        ),
        *([f"skips those of {unprocessed}{_exception_clause(policy, change, state)}"] if skipped else []),
    ]
    harm = {"redelivered": redelivered, "skipped": skipped}
    return _consent_finding(change, f"{beginning}it starts at {start.where} and {', and '.join(clauses)}", harm, stood)


def _is_all_stored_after(change: Change, stood: int, total: Amount, view: View) -> bool:
    """Is everything that it wants stored from there on?"""
    since = remaining_from(change, stood, recorded_position.stream_state(change, view), view)
    return since is not None and since.is_exact and since == total


def _first_remaining(change: Change, state: Mapping[str, Json], view: View) -> int:
    """The first message that is still stored once this plan has lowered limits, at least."""
    loss = shrinking.loss_of_stream(change.address.stream, view)
    kept = loss.going.before if loss and loss.going and loss.is_prompt else None
    return max(int(state.get("first_seq", 0)), kept.least if kept else 0)


def _exception_clause(policy: str, change: Change, state: Mapping[str, Json]) -> str:
    """What it still gets of them."""
    if policy == "last":
        return f", except the last one{' if it was not deleted' if _may_miss_the_last(change, state) else ''}"
    return ", except the last of each subject" if policy == "last_per_subject" else ""


def _may_miss_the_last(change: Change, state: Mapping[str, Json]) -> bool:
    """Without a filter it starts at the last sequence, which may not be stored any more."""
    return filters_of(change.wanted) == EVERYTHING and has_holes(state)


def _most_skipped(policy: str, messages: Amount, change: Change, view: View) -> int:
    """How many of these messages a start near the end leaves out at most."""
    keeps_one = (recorded_position.live_stream_info(change, view).get("config") or {}).get("max_msgs_per_subject") == 1
    if policy == "new":
        return messages.most
    if policy == "last" and _may_miss_the_last(change, recorded_position.stream_state(change, view)):
        return messages.most
    return 0 if policy == "last_per_subject" and keeps_one else max(0, messages.most - 1)


def _most_redelivered(policy: str, since: Amount | None, total: Amount, state: Mapping[str, Json]) -> int:
    """How many messages that the old one had processed a start near the end delivers again at most. `since`: what came after
    the recording."""
    if policy == "new":
        return 0
    if policy == "last":
        return 0 if since and since.least else 1
    before = total.most - (since.least if since else 0)
    return min(before, int(state.get("num_subjects") or before))


def _named_start_finding(change: Change, beginning: str, start: Start, stood: int | None, view: View) -> Finding | None:
    """A finding if the file names another start than the position that it had."""
    if start.missed:
        return _consent_finding(change, f"{beginning}it starts at {start.words}", {"skipped": start.missed})
    named = change.becomes("opt_start_seq")
    if _names_new_start(change) and (stood is None or named in (None, stood)):
        return None
    if stood is not None and named and named > stood:
        number = recorded_position.stored_between(stood, named, change, view)
        unseen = f"skips up to {some(number, 'message')} from sequence {stood} on that it had not processed"
        finding = _consent_finding(
            change, f"{beginning}it starts at sequence {named}, and {unseen}", {"skipped": number}, stood
        )
        return finding if number else None
    every = (
        recorded_position.stored_between(named, sys.maxsize, change, view)
        if named
        else int(recorded_position.stream_state(change, view)["messages"])
    )
    stored = start.stored or Amount(0, every)
    even_if = "even if it had processed them" if stood in (None, named) else _including_clause(stood)
    start_clause = f"sequence {named}, and delivers {amount(stored, 'message')} from there on" if named else start.where
    later = f"write a later opt_start_seq, {_LAST_ACKNOWLEDGED}" if named and stood == named else ""
    finding = _consent_finding(
        change, f"{beginning}it starts at {start_clause}, {even_if}", {"redelivered": stored.most}, stood, later
    )
    return finding if stored.most else None


def _names_new_start(change: Change) -> bool:
    """The file names another start than when the old one was applied."""
    applied = change.record.applied if change.record else {}
    return any(
        change.becomes(name) != applied.get(name) for name in ("deliver_policy", "opt_start_seq", "opt_start_time")
    )


def _including_clause(stood: int) -> str:
    """The old one had come at least that far, and maybe further since the recording."""
    return f"including those before sequence {stood}"


def _recreated_finding(change: Change, view: View) -> Finding | None:
    """What a consumer that somebody recreated delivers twice, or never: the old one's record tells."""
    if change.touches("opt_start_seq") and (named := recorded_position.new_start_in_file(change)):
        return _new_start_finding(change, named, view)
    if (lost := recorded_position.compare_with_record(change, view)) is None:
        return None
    skipped, again, repeated = lost.skipped, lost.redelivered, lost.repeated
    clauses = [
        *([f"the new one started{_start_clause(change)} and {_skips_text(lost)}"] if skipped else []),
        *([_repeated_messages_text(lost)] if repeated else []),
        *(
            [
                f"{_goes_on_text(lost)}{some(again, 'message')} {verb(again, 'are')} redelivered, {_AS_FAR} had processed {_pronoun(again)}"
            ]
            if again
            else []
        ),
    ]
    return Finding(
        outcome=Outcome.WARNS, reaction=Reaction.DOES,
        quantities={name: Amount(0, number) for name, number in (("skipped", skipped), ("redelivered", again + repeated)) if number},
        message=f"{_loss_text(change, lost, view)}: {'; '.join(clauses)}",
        fix=_way_on_text(lost, change, view),
    )  # fmt: skip


def _new_start_finding(change: Change, named: int, view: View) -> Finding | None:
    """A replacement starts it where the file says since. The rule about that field says what comes from there on."""
    at = recorded_position.position_on_record(change, view)
    number = recorded_position.stored_between(at, named, change, view) if at else 0
    if at is None or not number or retention_of(change.address.stream, view) == "workqueue":
        return None
    lost = recorded_position.LostPosition(at, skipped=number)
    return Finding(
        outcome=Outcome.WARNS, reaction=Reaction.DOES, quantities={"skipped": Amount(0, number)},
        message=f"the old one is gone with its position{_known_position_text(change, lost)}: recreated at sequence {named}, "
        f"the new one {_skips_text(lost)}",
        fix=f"keep it if you know that the old one had come that far (clients' logs or monitoring may tell), or write opt_start_seq: {at}, "
        "which skips nothing",
    )  # fmt: skip


def _loss_text(change: Change, lost: recorded_position.LostPosition, view: View) -> str:
    gone = f"the old one is gone with its position{_known_position_text(change, lost)}"
    return f"somebody restored it from a backup, and {gone}" if recorded_position.is_restored(change, view) else gone


_AS_FAR = "as far as the old one"


def _known_position_text(change: Change, lost: recorded_position.LostPosition) -> str:
    """What the record tells of the old position, in brackets."""
    if lost.at is None:
        return when_recorded_text(change, "")
    place = when_recorded_text(change, f"before sequence {lost.at}" if lost.at > 1 else "at its first message")
    return place.removesuffix(")") + "; it may have come further since)"


def _start_clause(change: Change) -> str:
    return _START_CLAUSES.get(deliver_policy(change.live.config if change.live else {}), "")


def _skips_text(lost: recorded_position.LostPosition) -> str:
    number = lost.skipped
    return f"skips up to {some(number, 'message')} from sequence {lost.at} on, {_AS_FAR} had not processed {_pronoun(number)}"


def _goes_on_text(lost: recorded_position.LostPosition) -> str:
    where = f" at sequence {lost.reached}" if lost.reached else ""
    if lost.repeated:
        return f"it continues{where}, so up to another "
    return f"it continues{where}, and up to " if lost.skipped else f"the new one continues{where}, so up to "


def _repeated_messages_text(lost: recorded_position.LostPosition) -> str:
    many = lost.repeated
    who = "it" if lost.skipped else "the new one"
    return f"{who} has redelivered up to {some(many, 'message')} already, {_AS_FAR} had processed {_pronoun(many)}"


def _pronoun(number: int) -> str:
    return "it" if number == 1 else "them"


def _way_on_text(lost: recorded_position.LostPosition, change: Change, view: View) -> str:
    point = recorded_position.continuation_sequence(change, view)
    if not (lost.skipped or lost.redelivered or change.touches("deliver_policy")):
        return "find out what clients have processed twice; an apply only updates the record"
    if policy := change.field("deliver_policy"):
        where = f"at sequence {point}" if point else "at its own position"
        stay = f"write deliver_policy: {policy.live or 'all'}, and it stays where it is"
        return f"consent to the replacement, which continues {where}; or {stay}"
    write, then = (
        "write deliver_policy: by_start_sequence and opt_start_seq",
        (
            "before you apply, and consent to the replacement that the next plan offers; an apply without that only updates the record"
        ),
    )
    if point:
        later = ", or a later one if you know that the old one had come further," if lost.redelivered else ""
        return f"to continue at sequence {point}, {write}: {point}{later} {then}"
    return f"to continue where the old one was, {write}, {_LAST_ACKNOWLEDGED}, {then}"


_RENUMBERED = (
    "its stream was recreated too, and numbers messages from the start again: write deliver_policy: by_start_time and "
    "opt_start_time, if it should leave out older ones"
)


_LAST_ACKNOWLEDGED = (
    "one more than the last message it had acknowledged (clients' logs or monitoring may tell; `nats stream get` shows a message "
    "by its number)"
)


_START_CLAUSES = {
    "new": " at new messages",
    "last": " at the last message",
    "last_per_subject": " at the last message of each subject",
    "by_start_sequence": " at its own sequence",
    "by_start_time": " at its own time",
}


def _consent_finding(
    change: Change, message: str, harm: Mapping[str, int], stood: int | None = None, instead: str = ""
) -> Finding:
    policy = change.becomes("deliver_policy")
    return Finding(
        outcome=Outcome.NEEDS_CONSENT, path="deliver_policy", to=policy, message=message,
        quantities={name: Amount(0, number) for name, number in harm.items() if number},
        fix=f"{instead or _way_back_text(policy, stood)}; or consent here: {consent_to('CO312', policy)}",
    )  # fmt: skip


def _way_back_text(policy: Json, stood: int | None) -> str:
    """What to write, so that it starts where the old one stood."""
    if policy == "by_start_sequence":
        return f"write opt_start_seq: {stood}" if stood else "correct opt_start_seq for the stream as it is now"
    if stood is not None:
        than = "what it had processed since" if policy in _STARTS_NEAR_END else "less"
        return f"write deliver_policy: by_start_sequence and opt_start_seq: {stood}, which skips nothing stored and redelivers {than}"
    return (
        f"write deliver_policy: by_start_sequence and opt_start_seq, {_LAST_ACKNOWLEDGED}, or by_start_time and opt_start_time, "
        "a time when it still existed"
    )


_STARTS_NEAR_END = ("new", "last", "last_per_subject")


@rule(
    "CO312",
    "consumer-made-again",
    on=(Action.CREATE, Action.ADOPT, Action.UPDATE),
    needs=("live", "facts"),
    reaction=Reaction.HARMS,
)
def consumer_made_again(change: Change, view: View) -> Found:
    """A consumer that was applied before is gone, with its position, and apply recreates it, or somebody already has.

    The new consumer starts where the file says, which is not the old position: with all stored messages, or after them.
    So the server redelivers what the old one had processed, or skips what it had not. No server knows the old position
    any more. The bucket remembers only the position at the last recording, and an apply with nothing to do records none.
    So the old one may have come further, up to everything that was stored before it was gone. On a work queue the new
    consumer finds only what nobody has acknowledged, and nothing is lost. If the file names a start sequence that the
    stream has not reached, because the stream was recreated too, the new consumer skips everything up to there.

    If somebody recreated it by hand, the new one exists and has its own position, and no apply hurts more than that. So
    this is a warning, with the position on record and the number of messages that may be redelivered or are skipped. An apply
    that only updates the record leaves the position as it is. If the start changes, apply recreates the consumer at the
    position on record, with consent to that change (CO101). What the new one has redelivered already counts as well, until an
    apply records the new one.

    Instead: state the old position, with `deliver_policy: by_start_sequence` and `opt_start_seq`; or consent.
    """
    return _recreated_finding(change, view) if change.made_anew else _gone_finding(change, view)


RULES = (consumer_made_again,)
