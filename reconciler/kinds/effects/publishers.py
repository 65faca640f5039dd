"""What publishers experience when a stream changes: the server refuses them, does not answer, stores twice, or deletes
stored messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from reconciler.changes.amount import Amount, exactly
from reconciler.changes.change import Change
from reconciler.changes.verdict import Finding, Outcome
from reconciler.kinds.effects.effect_rules import MovedField, foretold, note, notes_of
from reconciler.kinds.fields.field_effects import value_after
from reconciler.kinds.fields.known import V2_14
from reconciler.kinds.fields.times import ZERO, nanoseconds_between
from reconciler.kinds.fields.words import amount, average, listed, size, some, verb, written_size
from reconciler.kinds.losses import lowered_limits, over_limit, schedules_and_counters, unprocessed
from reconciler.kinds.losses.dependants import everybody
from reconciler.kinds.losses.lagging import copies_keeping, keeping_sentence
from reconciler.kinds.losses.over_limit import (
    FEW_BYTES,
    MANY_SUBJECTS,
    REFUSING,
    average_number,
    is_lowered,
    state_of,
    stream_of,
)
from reconciler.kinds.losses.shrinking import remaining_amounts
from reconciler.model.resource import Json
from reconciler.model.units import show_duration
from reconciler.model.wire.questions import Largest, Question, SubjectCounts

MOST_READ = 256
"""How many messages are read at most to learn their size."""


def _limit_questions(moved: MovedField) -> Iterator[Largest | SubjectCounts]:
    if moved.field == "max_msg_size":
        yield from _newest_sizes_question(moved)
    elif moved.field in ("max_msgs_per_subject", "discard_new_per_subject"):
        yield from _subject_counts_question(moved)


@foretold(601, "publishes-refused", ask=_limit_questions)
def publishes_refused(moved: MovedField) -> Iterable[Finding]:
    """A limit is set below what is stored or published, and the server refuses publishes from then on.

    With `discard: new`, a stream that has reached its limit refuses publishes (10077) until messages are gone. Under
    `max_msgs_per_subject` it still stores a message that replaces another; at `max_bytes`, only in place of a larger
    one, from 2.14 on also of one as large. What other limits of the same change delete is gone already. The server also
    refuses each message above `max_msg_size` (10054), whatever is stored.

    Instead: choose a limit above what is stored, delete messages first, or consent with the value.
    """
    change = moved.change
    if change.becomes("mirror") or change.becomes("sealed"):
        return ()  # nobody publishes to it
    if moved.field == "max_msg_size":
        return _message_size_findings(moved)
    if moved.field in ("max_msgs_per_subject", "discard_new_per_subject"):
        is_told = moved.field == "discard_new_per_subject" and is_lowered(change, moved.own("max_msgs_per_subject"))
        refuses = change.becomes("discard_new_per_subject") and not is_told
        return _full_subject_findings(moved, "refused (10077)") if refuses else ()
    if moved.field == "subject_delete_marker_ttl":
        return _marker_findings(moved)
    if not over_limit.keeps_old_messages(change):
        return ()
    limits = (moved.field,) if moved.field in REFUSING else REFUSING
    return (
        finding
        for limit in limits
        if _is_reported_here(moved, limit)
        for finding in _full_stream_findings(moved, limit)
    )


def _marker_findings(moved: MovedField) -> Iterator[Finding]:
    """A marker takes one of the places of its subject. With a single place an old server has its own trouble (ST558)."""
    most = limit_after(moved, "max_msgs_per_subject")
    if moved.change.becomes("discard_new_per_subject") and most and most > 1:
        yield note(
            f"a marker counts as one of the {most} messages that its subject may hold: while it is stored, the server refuses publishes "
            "one message earlier (10077)"
        )


DELETED_BY_PUBLISHING = {
    "kv_bucket": "; deletes and purges of keys are publishes too",
    "object_store": "; deletes of objects are publishes too",
}


def _is_reported_here(moved: MovedField, limit: str) -> bool:
    """Each limit is reported once: where it is lowered itself, or else where the stream begins to refuse."""
    return moved.field == limit or not is_lowered(moved.change, moved.own(limit))


def _full_stream_findings(moved: MovedField, limit: str) -> Iterator[Finding]:
    change, most = moved.change, limit_after(moved, limit)
    if not most:
        return
    (of, limited), left = _limit_in_words(limit, most), remaining_amounts(change, moved.view)[REFUSING[limit]]
    replaces = limit_after(moved, "max_msgs_per_subject") and not change.becomes("discard_new_per_subject")
    larger = "a message at least as large" if moved.view.target.version >= V2_14 else "a larger message"
    spared = "replaces no message" if limit == "max_msgs" else f"does not replace {larger}"
    every = f"every publish that {spared}" if replaces else "every publish"
    if _retention_after(moved) == "interest":
        every += " and that a consumer wants" if replaces else " that a consumer wants"
    if left.most < most:
        yield note(f"once {limited} {verb(most, 'are')} stored, the server refuses {every}{_kept_text(moved)}")
        return
    stored, over = state_of(change)[REFUSING[limit]], _minus_limit(left, most - 1)
    until = amount(over, "message") if limit == "max_msgs" else _bytes_over_text(over, change, most)
    is_one = limit == "max_msgs" and over.most == 1
    becomes = "becomes" if moved.field in REFUSING else "is"
    yield Finding(
        outcome=Outcome.NEEDS_CONSENT,
        path=moved.path,
        to=value_after(change, moved.path),
        message=f"{of(stored)} {verb(state_of(change)['messages'], 'are')} stored{_left_text(left, stored, of)}, and {moved.own(limit)} "
        f"{becomes} {limited}: the server refuses {every} (10077) until {until} {'is' if is_one else 'are'} gone"
        + _making_room_text(moved)
        + _kept_text(moved)
        + ("; messages from its sources wait as well" if change.becomes("sources") else "")
        + DELETED_BY_PUBLISHING.get(change.address.kind, ""),
        quantities={"over": over} if limit == "max_msgs" else {"bytes_over": over},
        fix=f"write a {moved.own(limit)} above what is stored, or delete messages first",
    )


def _kept_text(moved: MovedField) -> str:
    """What is stored beside what is still to be processed, where copies acknowledge late."""
    stream = stream_of(moved.change)
    is_kept = _retention_after(moved) in ("interest", "workqueue") and copies_keeping(stream, moved.view)
    return f". {keeping_sentence(stream, moved.view)}" if is_kept else ""


def _minus_limit(left: Amount, limit: int) -> Amount:
    estimate = None if left.about is None else max(0, left.about - limit)
    return Amount(max(0, left.least - limit), max(0, left.most - limit), estimate)


def _left_text(left: Amount, stored: int, of: Callable[[int], str]) -> str:
    """What the same change deletes for another reason."""
    if left.most == stored == left.least:
        return ""
    if left.is_exact:
        return f", this change leaves {of(left.most)}"
    return ", this change may leave fewer" if left.most == stored else f", this change leaves at most {of(left.most)}"


def _bytes_over_text(over: Amount, change: Change, beside: int) -> str:
    """With the number of messages, which people count."""
    if over.about is None and not over.is_exact:
        return f"up to {size(over.most, beside)}"
    number = over.most if over.about is None else over.about
    weight = size(number, beside) if over.is_exact else average(over)
    return f"{weight}, about {some(average_number(number, change), 'message')} by their average size,"


def _retention_after(moved: MovedField) -> str | None:
    raw = moved.change.live.state.get("config") or {} if moved.change.live else {}
    retention = moved.change.becomes("retention") if moved.change.touches("retention") else raw.get("retention")
    return None if retention is None else str(retention)


def _making_room_text(moved: MovedField) -> str:
    """Who makes room by acknowledging, if the stream deletes what is acknowledged."""
    if _retention_after(moved) not in ("workqueue", "interest"):
        return ""
    stream = stream_of(moved.change)
    live = moved.view.snapshot.consumers.get(stream, {})
    wants = {name: unprocessed.unprocessed_messages(stream, info, moved.view) for name, info in live.items()}
    late = sorted((name for name in wants if wants[name].most), key=lambda name: (-wants[name].most, name))
    if not late:
        return ""
    named = [
        f"{unprocessed.consumer_label(name, live[name])} ({amount(wants[name])} to process)"
        for name in late[: unprocessed.NAMED]
    ]
    more = [some(rest, "more consumer")] if (rest := len(late) - len(named)) else []
    everybody = [*named, *more]
    return f"; {listed(everybody)} {'makes' if len(late) == 1 else 'make'} room by acknowledging"


def _limit_in_words(limit: str, most: int) -> tuple[Callable[[int], str], str]:
    """How to write an amount of what it limits, and the limit itself."""
    if limit == "max_msgs":
        return partial(some, noun="message"), some(most, "message")
    return partial(size, beside=most), written_size(most)


def limit_after(moved: MovedField, field: str) -> int | None:
    """The limit after the change, whether or not it changes."""
    value = stored_value(moved, field)
    return int(value) if value and value > 0 else None


def stored_value(moved: MovedField, field: str) -> Json:
    """What the stream has in this field after the change, by the server's name."""
    change, path = moved.change, moved.own(field)
    raw = change.live.state.get("config", {}) if change.live else {}  # a bucket does not show its history of 1
    return value_after(change, path) if change.touches(path) else raw.get(field)


def _message_size_findings(moved: MovedField) -> Iterator[Finding]:
    most = limit_after(moved, "max_msg_size")
    if not most:
        return
    question = next(iter(_newest_sizes_question(moved)), None)
    answer = moved.view.facts.get(question) if question else None
    if question is None or (
        isinstance(answer, Mapping) and not answer["larger"] and _least_average_payload(moved) <= most
    ):
        yield note(
            f"from then on the server refuses messages above {written_size(most)}; {_none_so_large_text(moved, answer)}"
        )
        return
    fix = f"write a {moved.path} that holds what is published, or let publishers send less first"
    if not isinstance(answer, Mapping):
        yield Finding(
            outcome=Outcome.WARNS, path=moved.path, fix=fix,
            message=f"from then on the server refuses messages above {written_size(most)} (10054); the sizes of those stored were "
            "not read",
        )  # fmt: skip
        return
    larger, read = answer["larger"], answer["read"]
    if larger:
        read_text = f"{some(larger)} of the last {some(read, 'message')}" if read > 1 else "the last message"
        are = f"{read_text} {verb(larger, 'are')} larger than {written_size(most)}, the largest {size(answer['largest'], most)}"
    else:
        are = f"messages above {written_size(most)} are stored, {size(_least_average_payload(moved), most)} on average"
    yield Finding(
        outcome=Outcome.NEEDS_CONSENT,
        path=moved.path,
        to=value_after(moved.change, moved.path),
        message=f"{are}: the server refuses publishes like these (10054)",
        quantities={"larger": larger} if larger else {},
        fix=fix,
    )


LONG = 300
"""What a server counts for a message beside its payload, even if its subject is long."""


def _least_average_payload(moved: MovedField) -> int:
    """How large a stored message is on average, at least."""
    state = state_of(moved.change)
    return int(max(0, state.get("bytes", 0) // max(1, state.get("messages", 0)) - LONG))


def _none_so_large_text(moved: MovedField, answer: Json) -> str:
    """All that are stored, or only those that were read: the newest."""
    stored, read = state_of(moved.change).get("messages", 0), answer["read"] if isinstance(answer, Mapping) else None
    if read is None or read >= stored:
        return "none that large is stored"
    return (
        f"none of the last {some(read)} is that large, and older ones were not read"
        if read
        else "no stored message was looked at"
    )


def _newest_sizes_question(moved: MovedField) -> Iterator[Largest]:
    """The newest messages, unless no stored message can be that large."""
    state, most = state_of(moved.change), limit_after(moved, "max_msg_size")
    messages, stored = state.get("messages", 0), state.get("bytes", 0)
    if not most or not messages or stored - (messages - 1) * over_limit.smallest_message(moved.change) <= most:
        return
    number = min(MOST_READ, messages, max(1, FEW_BYTES * messages // stored))
    yield Largest(stream=stream_of(moved.change), above=most, newest=number)


def _subject_counts_question(moved: MovedField) -> Iterator[SubjectCounts]:
    if 0 < state_of(moved.change).get("num_subjects", 0) <= MANY_SUBJECTS and limit_after(
        moved, "max_msgs_per_subject"
    ):
        yield SubjectCounts(stream=stream_of(moved.change), filter=">")


def _full_subject_findings(moved: MovedField, fate: str) -> Iterator[Finding]:
    """What happens to publishes on subjects that hold as many messages as allowed."""
    most = limit_after(moved, "max_msgs_per_subject")
    if not most:
        return
    question = next(iter(_subject_counts_question(moved)), None)
    counts = moved.view.facts.get(question) if question else {}
    if not isinstance(counts, Mapping):
        yield Finding(
            outcome=Outcome.WARNS, path=moved.path, fix="raise max_msgs_per_subject, or delete messages first",
            message=f"on subjects with {some(most, 'message')} every publish is {fate}; how many each subject holds was not counted",
        )  # fmt: skip
        return
    full = sum(number >= most for number in counts.values())
    if not full:
        yield note(f"on subjects with {some(most, 'message')} every publish is {fate}; none holds so many now")
        return
    yield Finding(
        outcome=Outcome.NEEDS_CONSENT,
        path=moved.path,
        to=value_after(moved.change, moved.path),
        message=f"{some(full)} of {some(len(counts), 'subject')} {'holds' if full == 1 else 'hold'} {most:_} or more: "
        f"every publish there is {fate}",
        quantities={"subjects": full},
        fix="raise max_msgs_per_subject, or delete messages first",
    )


@foretold(602, "publishers-unanswered")
def publishers_unanswered(moved: MovedField) -> Iterable[Finding]:
    """`no_ack` is set: the server stores publishes and does not confirm them.

    A client that publishes to JetStream waits for the confirmation, times out, reports an error, and usually publishes
    again.

    Instead: let publishers stop waiting first, or consent: `allow: [{code: ST602, to: true, reason: …}]`.
    """
    if not moved.change.becomes("mirror"):
        yield Finding(
            outcome=Outcome.NEEDS_CONSENT,
            path=moved.path,
            to=True,
            message="publishers that wait for an answer get none: each publish times out, although the server stores it",
            fix="let publishers stop waiting first",
        )


def _drop_questions(moved: MovedField) -> Iterator[Question]:
    yield from _limit_questions(moved)
    if moved.field == "discard":
        yield from unprocessed.uncounted_questions(stream_of(moved.change), moved.view)


@foretold(603, "queue-drops", ask=_drop_questions)
def queue_drops(moved: MovedField) -> Iterable[Finding]:
    """`discard` changes from `new` to `old` on a full stream: instead of refusing new messages, the server deletes
    stored ones.

    Apply deletes what is above a limit, and the plan says how much that is. From then on each publish deletes the oldest
    message, even if nobody has processed it. The plan says who has not processed what is stored.

    Instead: raise the limit in the same change, or consent: `allow: [{code: ST603, to: old, reason: …}]`.
    """
    if moved.change.becomes("mirror"):
        return
    if moved.field == "discard_new_per_subject":
        yield from _full_subject_findings(moved, "stored and deletes the oldest message there")
    elif not over_limit.keeps_old_messages(moved.change):
        for limit in REFUSING:
            yield from _dropping_findings(moved, limit)


def _dropping_findings(moved: MovedField, limit: str) -> Iterator[Finding]:
    """A lowered limit has a rule of its own, which says what apply deletes."""
    change, most, path = moved.change, limit_after(moved, limit), moved.own(limit)
    is_told = is_lowered(change, path)
    if not most or (is_told and not change.was("retention")):
        return
    (of, limited), state = _limit_in_words(limit, most), state_of(change)
    lost = lowered_limits.LimitLosses(change, moved.view, moved.own)
    next_one = 1 if limit == "max_msgs" else _mean_size(state)
    others = [loss.going.messages.least for limit, loss in lost.each.items() if limit != path and loss.going]
    if not state.get("messages") or _amount_left_without(state, max(others, default=0), limit) + next_one <= most:
        if not is_told:
            yield note(f"once {limited} {verb(most, 'are')} stored, each publish deletes the oldest message")
        return
    loss_at_once = lost.described_loss(path) if path in lost.each and not is_told else lowered_limits.DescribedLoss()
    unread = ", which perhaps nobody has processed" if change.was("retention") else ""
    yield Finding(
        outcome=Outcome.NEEDS_CONSENT,
        path=moved.path,
        to=value_after(change, moved.path),
        message=f"{_stored_text(of(state[REFUSING[limit]]), moved)}, and {path} {'becomes' if is_told else 'is'} "
        f"{limited}: {loss_at_once.words + '; from then on ' if loss_at_once.words else ''}each publish deletes the oldest message{unread}",
        quantities=loss_at_once.quantities,
        affects=tuple(dict.fromkeys((*everybody(stream_of(change), moved.view), *loss_at_once.affects))),
        fix=f"raise {path} in the same change, or keep discard: new",
    )


def _stored_text(stored: str, moved: MovedField) -> str:
    """What is stored, and who has not processed it: all of it goes one day."""
    state, stream = state_of(moved.change), stream_of(moved.change)
    going = unprocessed.LostMessages(messages=exactly(state["messages"]))
    unread = unprocessed.unread_by_consumers(
        stream, state, going, moved.view, counts=unprocessed.staying_consumer_test(stream, moved.view)
    )
    are = f"{verb(state['messages'], 'are')} stored"
    if not unread.words:
        return f"{stored} {are}"
    messages = some(state["messages"], "message")
    return f"{stored if stored == messages else f'{stored} in {messages}'} {are} ({unread.words.removeprefix('; ')})"


def _mean_size(state: over_limit.State) -> int:
    return int(state.get("bytes", 0) // state["messages"]) if state.get("messages") else 0


def _amount_left_without(state: over_limit.State, messages: int, limit: str) -> int:
    """What stays of what a limit limits without this many messages, by their average size."""
    return int(state["messages"] - messages if limit == "max_msgs" else state["bytes"] - messages * _mean_size(state))


@foretold(604, "deduplication-shortened")
def deduplication_shortened(moved: MovedField) -> Iterable[Finding]:
    """`duplicate_window` is lowered: if a publisher repeats a message id after the new window, the server may store the
    message twice. From 2.14 on a stream with sources has none unless the file says one.

    The rule is silent if nothing was stored within the old window. A server that checks its ids just before it takes
    over the new window checks them again only when the old one ends, or when it restarts. Until then it refuses what is
    repeated within the old window, new ids as well.

    Instead: keep the window at least as long as publishers may repeat a message.
    """
    change, state = moved.change, state_of(moved.change)
    before, after = change.was(moved.path), value_after(change, moved.path)
    when = (
        f"between {show_duration(after)} and {show_duration(before)} later"
        if after
        else f"within {show_duration(before)}"
    )
    words = f"a message id that is repeated {when} may be stored twice"
    server_time, last = change.live.state.get("ts") if change.live else None, state.get("last_ts")
    since = nanoseconds_between(last, server_time) if server_time and last and last != ZERO else None
    if not state.get("messages") or since is None or since > change.was(moved.path):
        yield note(words)
        return
    yield Finding(
        outcome=Outcome.WARNS,
        path=moved.path,
        message=f"{words}, and messages were stored within that time",
        fix="keep the window at least as long as publishers may repeat a message",
    )


PUBLISH_KINDS = {
    "allow_rollup_hdrs": "messages with Nats-Rollup",
    "allow_atomic": "atomic batches",
    "allow_batched": "fast batches",
}


@foretold(606, "kinds-of-publish-refused")
def kinds_of_publish_refused(moved: MovedField) -> Iterable[Finding]:
    """The server refuses a kind of publish that it accepted before: roll-ups, atomic batches or fast batches.

    No server tells whether clients publish like this, and it refuses them at once, so this needs consent. Nobody
    publishes to a mirror or to a sealed stream.

    Instead: let publishers stop it first, or consent: `allow: [{code: ST606, to: false, reason: …}]`.
    """
    if not (moved.change.becomes("mirror") or moved.change.becomes("sealed")):
        yield Finding(
            outcome=Outcome.NEEDS_CONSENT,
            path=moved.path,
            to=False,
            message=f"from then on the server refuses {PUBLISH_KINDS[moved.field]}",
            fix="let publishers stop it first",
        )


@notes_of(301)
def limits_to_come(moved: MovedField) -> Iterable[Finding]:
    """A limit that deletes nothing now will do so once it is reached."""
    change, path = moved.change, moved.path
    if moved.field not in over_limit.LOSSES:
        return
    if not any(state_of(change).get(name) for name in ("messages", "last_seq")):
        return  # nobody has used it yet
    if not is_lowered(change, path) or over_limit.LOSSES[moved.field](change, path, moved.view):
        return
    most, also = over_limit.becomes(change, path), schedules_and_counters.note_text(change, moved.field)
    if moved.field in REFUSING:
        if not over_limit.keeps_old_messages(change):
            _, limited = _limit_in_words(moved.field, most)
            yield note(f"once {limited} {verb(most, 'are')} stored, each publish deletes the oldest messages{also}")
    elif moved.field == "max_age":
        if not schedules_and_counters.aging_count(change):  # else the rule says it, and asks
            yield note(f"from then on the server deletes messages when they are {show_duration(most)} old{also}")
    elif not change.becomes("discard_new_per_subject"):
        yield note(f"once a subject holds {some(most, 'message')}, each publish there deletes its oldest message")
