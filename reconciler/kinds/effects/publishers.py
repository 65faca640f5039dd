"""What publishers experience when a stream changes: the server refuses them, does not answer, stores twice, or deletes
stored messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from reconciler.changes.verdict import Finding, Outcome
from reconciler.kinds.effects import surplus
from reconciler.kinds.effects.dependants import everybody
from reconciler.kinds.effects.foretold import MovedField, foretold, note, notes_of
from reconciler.kinds.effects.surplus import FEW_BYTES, MANY_SUBJECTS, is_lowered, state_of, stream_of
from reconciler.kinds.fields.felt import value_after
from reconciler.kinds.fields.times import ZERO, between
from reconciler.kinds.fields.words import size, some, verb, written_size
from reconciler.model.units import show_duration
from reconciler.model.wire.questions import Largest, SubjectCounts

MOST_READ = 256
"""How many messages are read at most to learn their size."""
LIMITS = {"max_msgs": "messages", "max_bytes": "bytes"}


def _size_questions(moved: MovedField) -> Iterator[Largest | SubjectCounts]:
    if moved.field == "max_msg_size":
        yield from _largest(moved)
    elif moved.field in ("max_msgs_per_subject", "discard_new_per_subject"):
        yield from _counts(moved)


@foretold(601, "publishes-refused", ask=_size_questions)
def publishes_refused(moved: MovedField) -> Iterable[Finding]:
    """A limit is set below what is stored or published, and the server refuses publishes from then on.

    With `discard: new`, a stream that has reached its limit refuses each publish (10077) until messages are gone. The
    server also refuses each message above `max_msg_size` (10054), whatever is stored.

    Instead: choose a limit above what is stored, delete messages first, or consent with the value.
    """
    change = moved.change
    if change.becomes("mirror") or change.becomes("sealed"):
        return ()  # nobody publishes to it
    if moved.field == "max_msg_size":
        return _too_large(moved)
    if moved.field in ("max_msgs_per_subject", "discard_new_per_subject"):
        is_told = moved.field == "discard_new_per_subject" and is_lowered(change, moved.own("max_msgs_per_subject"))
        refuses = change.becomes("discard_new_per_subject") and not is_told
        return _full_subjects(moved, "refused (10077)") if refuses else ()
    if not surplus.keeps_old(change):
        return ()
    limits = (moved.field,) if moved.field in LIMITS else LIMITS
    return (found for limit in limits if _presses(moved, limit) for found in _full(moved, limit))


def _presses(moved: MovedField, limit: str) -> bool:
    """Each limit is reported once: where it is lowered itself, or else where the stream begins to refuse."""
    return moved.field == limit or not is_lowered(moved.change, moved.own(limit))


def _full(moved: MovedField, limit: str) -> Iterator[Finding]:
    most, stored = limit_after(moved, limit), state_of(moved.change).get(LIMITS[limit], 0)
    if not most:
        return
    of, limited = _in_words(limit, most)
    replaces = limit_after(moved, "max_msgs_per_subject") and not moved.change.becomes("discard_new_per_subject")
    every = "every publish that replaces no message" if replaces else "every publish"
    if stored < most:
        yield note(f"once {limited} {verb(most, 'are')} stored, the server refuses {every}")
        return
    over = stored - most + 1
    until = f"{of(over)} {'is' if limit == 'max_msgs' and over == 1 else 'are'} gone"
    becomes = "becomes" if moved.field in LIMITS else "is"
    yield Finding(
        outcome=Outcome.NEEDS_CONSENT,
        path=moved.path,
        to=value_after(moved.change, moved.path),
        message=f"{of(stored)} {verb(state_of(moved.change)['messages'], 'are')} stored, and {moved.own(limit)} {becomes} {limited}: "
        f"the server refuses {every} (10077) until {until}"
        + ("; messages from its sources wait as well" if moved.change.becomes("sources") else ""),
        quantities={"over": over} if limit == "max_msgs" else {"bytes_over": over},
        fix=f"write a {moved.own(limit)} above what is stored, or delete messages first",
    )


def _in_words(limit: str, most: int) -> tuple[Callable[[int], str], str]:
    """How to write an amount of what it limits, and the limit itself."""
    if limit == "max_msgs":
        return partial(some, noun="message"), some(most, "message")
    return partial(size, beside=most), written_size(most)


def limit_after(moved: MovedField, field: str) -> int | None:
    """The limit after the change, whether or not it changes."""
    change, path = moved.change, moved.own(field)
    raw = change.live.state.get("config", {}) if change.live else {}  # a bucket does not show its history of 1
    value = value_after(change, path) if change.touches(path) else raw.get(field)
    return value if value and value > 0 else None


def _too_large(moved: MovedField) -> Iterator[Finding]:
    most = limit_after(moved, "max_msg_size")
    if not most:
        return
    asked = next(iter(_largest(moved)), None)
    answer = moved.view.facts.get(asked) if asked else None
    if asked is None or (isinstance(answer, Mapping) and not answer["larger"]):
        yield note(
            f"from then on the server refuses messages above {written_size(most)}; none that large was found among those stored"
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
    what = f"{some(larger)} of the last {some(read, 'message')}" if read > 1 else "the last message"
    yield Finding(
        outcome=Outcome.NEEDS_CONSENT,
        path=moved.path,
        to=value_after(moved.change, moved.path),
        message=f"{what} {verb(larger, 'are')} larger than {written_size(most)}, the largest {size(answer['largest'], most)}: "
        "the server refuses publishes like these (10054)",
        quantities={"larger": larger},
        fix=fix,
    )


def _largest(moved: MovedField) -> Iterator[Largest]:
    """The newest messages, unless no stored message can be that large."""
    state, most = state_of(moved.change), limit_after(moved, "max_msg_size")
    messages, stored = state.get("messages", 0), state.get("bytes", 0)
    if not most or not messages or stored - (messages - 1) * surplus.smallest_message(moved.change) <= most:
        return
    number = min(MOST_READ, messages, max(1, FEW_BYTES * messages // stored))
    yield Largest(stream=stream_of(moved.change), above=most, newest=number)


def _counts(moved: MovedField) -> Iterator[SubjectCounts]:
    if 0 < state_of(moved.change).get("num_subjects", 0) <= MANY_SUBJECTS and limit_after(
        moved, "max_msgs_per_subject"
    ):
        yield SubjectCounts(stream=stream_of(moved.change), filter=">")


def _full_subjects(moved: MovedField, fate: str) -> Iterator[Finding]:
    """What happens to publishes on subjects that hold as many messages as allowed."""
    most = limit_after(moved, "max_msgs_per_subject")
    if not most:
        return
    asked = next(iter(_counts(moved)), None)
    counts = moved.view.facts.get(asked) if asked else {}
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


@foretold(603, "queue-drops", ask=_size_questions)
def queue_drops(moved: MovedField) -> Iterable[Finding]:
    """`discard` changes from `new` to `old` on a full stream: instead of refusing new messages, the server deletes
    stored ones.

    Apply deletes what is above a limit. From then on each publish deletes the oldest message, even if nobody has
    processed it.

    Instead: raise the limit in the same change, or consent: `allow: [{code: ST603, to: old, reason: …}]`.
    """
    if moved.change.becomes("mirror"):
        return
    if moved.field == "discard_new_per_subject":
        yield from _full_subjects(moved, "stored and deletes the oldest message there")
    elif not surplus.keeps_old(moved.change):
        for limit in LIMITS:
            if not is_lowered(moved.change, moved.own(limit)):
                yield from _drops(moved, limit)
            elif moved.change.was("retention"):  # the rule about the limit says what apply deletes
                yield from _drops(moved, limit, is_told=True)


def _drops(moved: MovedField, limit: str, is_told: bool = False) -> Iterator[Finding]:
    most, state = limit_after(moved, limit), state_of(moved.change)
    stored, messages = state.get(LIMITS[limit], 0), state.get("messages", 0)
    if not most:
        return
    of, limited = _in_words(limit, most)
    mean = 1 if limit == "max_msgs" else stored // messages if messages else 0
    if stored - most + mean <= 0:
        yield from (
            ()
            if is_told
            else (note(f"once {limited} {verb(most, 'are')} stored, each publish deletes the oldest message"),)
        )
        return
    over, is_ = (0, "becomes") if is_told else (max(0, stored - most), "is")
    goes = f"apply deletes {of(over)}, and " if over else ""
    unread = ", which perhaps nobody has processed" if moved.change.was("retention") else ""
    yield Finding(
        outcome=Outcome.NEEDS_CONSENT,
        path=moved.path,
        to=value_after(moved.change, moved.path),
        message=f"{of(stored)} {verb(messages, 'are')} stored, and {moved.own(limit)} {is_} {limited}: {goes}each publish deletes the "
        f"oldest message{unread}",
        quantities={"messages" if limit == "max_msgs" else "bytes": over} if over else {},
        affects=everybody(stream_of(moved.change), moved.view),
        fix=f"raise {moved.own(limit)} in the same change, or keep discard: new",
    )


@foretold(604, "deduplication-shortened")
def deduplication_shortened(moved: MovedField) -> Iterable[Finding]:
    """`duplicate_window` is lowered: if a publisher repeats a message id after the new window, the server stores the
    message twice.

    The rule is silent if nothing was stored within the old window. A server that checks its ids just before it takes
    over the new window checks them again only when the old one ends.

    Instead: keep the window at least as long as publishers may repeat a message.
    """
    change, state = moved.change, state_of(moved.change)
    before, after = (show_duration(value) for value in (change.was(moved.path), value_after(change, moved.path)))
    words = f"a message id that is repeated between {after} and {before} later is stored twice"
    asked, last = change.live.state.get("ts") if change.live else None, state.get("last_ts")
    since = between(last, asked) if asked and last and last != ZERO else None
    if not state.get("messages") or since is None or since > change.was(moved.path):
        yield note(words)
        return
    yield Finding(
        outcome=Outcome.WARNS,
        path=moved.path,
        message=f"{words}, and messages were stored within that time",
        fix="keep the window at least as long as publishers may repeat a message",
    )


KINDS = {
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
            message=f"from then on the server refuses {KINDS[moved.field]}",
            fix="let publishers stop it first",
        )


@notes_of(301)
def limits_to_come(moved: MovedField) -> Iterable[Finding]:
    """A limit that deletes nothing now will do so once it is reached."""
    change, path = moved.change, moved.path
    if not any(state_of(change).get(name) for name in ("messages", "last_seq")):
        return  # nobody has used it yet
    if not is_lowered(change, path) or surplus.LOSSES[moved.field](change, path, state_of(change), moved.view):
        return
    most = surplus.becomes(change, path)
    if moved.field in LIMITS:
        if not surplus.keeps_old(change):
            _, limited = _in_words(moved.field, most)
            yield note(f"once {limited} {verb(most, 'are')} stored, each publish deletes the oldest messages")
    elif moved.field == "max_age":
        yield note(f"from then on the server deletes messages when they are {show_duration(most)} old")
    elif not change.becomes("discard_new_per_subject"):
        yield note(f"once a subject holds {some(most, 'message')}, each publish there deletes its oldest message")
