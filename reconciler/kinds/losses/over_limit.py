"""How much no longer fits below a lowered limit, from live state and from the server's answers about it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from functools import partial

from reconciler.changes.amount import Amount, exactly
from reconciler.changes.change import Change
from reconciler.changes.view import View
from reconciler.kinds.fields import times
from reconciler.kinds.fields.words import age, amount, average, share, size, some
from reconciler.kinds.losses.unprocessed import LostMessages
from reconciler.model.dataclass import dataclass
from reconciler.model.resource import Json
from reconciler.model.units import show_duration
from reconciler.model.wire.questions import (
    Holes,
    MessagesFrom,
    MessagesSince,
    Oldest,
    Question,
    SubjectCounts,
    Unanswered,
)
from reconciler.model.wire.version import Version

State = Mapping[str, Json]
OwnName = Callable[[str], str]
MANY_SUBJECTS = 500_000
"""With more subjects, asking how many messages each holds would cost the server more than the answer is worth."""
MANY_HOLES = 100_000
"""With more holes, they are not listed to find where the oldest messages end."""
FEW_BYTES = 256 * 1024
"""How much may be read to learn how large each message is."""

FINDS_TIMES = Version(2, 12)
"""Older servers err in a search by time if messages between the first and the last one were deleted."""
TRIMS = Version(2, 14)
"""Older servers apply a first limit per subject only when the next message of the subject arrives, or at a restart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """What is deleted, in words and as numbers."""

    words: str
    going: LostMessages | None = None
    """None: nobody counted."""
    by: Mapping[str, int] = field(default_factory=dict)
    """How many messages of each subject are deleted, if that was counted."""
    is_prompt: bool = True
    """The server deletes it when the limit is lowered; otherwise it may stay until the next message arrives."""
    keeps: int = 0
    """How many messages of each subject stay; 0: the oldest messages go, whatever their subjects."""
    more: Mapping[str, Amount] = field(default_factory=dict)
    """Quantities beside the number of messages."""


def as_named(field: str) -> str:
    """For kinds that call the fields of a stream as the server does."""
    return field


def state_of(change: Change) -> State:
    """What the server says of the live stream's messages (`state` of STREAM.INFO); empty if nothing is live."""
    state: State = change.live.state.get("state", {}) if change.live else {}
    return state


def may_outlast_age(change: Change) -> bool:
    """Messages may carry a time to live of their own, and so `never`."""
    return bool(change.raw.get("allow_msg_ttl"))


def stream_of(change: Change) -> str:
    """Name of the live stream behind a change of any kind; empty if nothing is live."""
    return str(change.raw.get("name", change.address.name)) if change.live else ""


def questions(change: Change, view: View, own: OwnName = as_named) -> Iterator[Question]:
    """What must be asked about lowered limits. `own` gives the kind's name for a stream's field."""
    age_field, subject_field = own("max_age"), own("max_msgs_per_subject")
    if is_lowered(change, age_field) and (question := _age_question(change, age_field, view)):
        yield question
        answer = view.facts.get(question)
        if isinstance(answer, Mapping) and "messages" not in answer:
            yield from holes(change)
    for limit, of in REFUSING.items():
        if begins_to_delete(change, limit, own) and (surplus := _surplus(change, own(limit), of)):
            yield from holes(change)
            if of == "bytes" and surplus <= FEW_BYTES:
                yield Oldest(stream=stream_of(change), bytes=surplus)
    if is_lowered(change, subject_field):
        yield from _subject_question(change)


def _surplus(change: Change, path: str, of: str) -> int:
    """How much more is stored than the limit keeps."""
    return 0 if keeps_old_messages(change) else max(0, state_of(change).get(of, 0) - becomes(change, path))


def holes(change: Change) -> Iterator[Holes]:
    """What must be asked to tell where the oldest messages end."""
    if 0 < state_of(change).get("num_deleted", 0) <= MANY_HOLES:
        yield Holes(stream=stream_of(change))


def _deleted_sequences(change: Change, view: View) -> list[int] | None:
    """Sequences without a message, between the first one and the last; None: nobody listed them."""
    if not state_of(change).get("num_deleted"):
        return []
    answer = view.facts.get(Holes(stream=stream_of(change)))
    return answer["deleted"] if isinstance(answer, Mapping) else None


def is_lowered(change: Change, path: str) -> bool:
    """The limit becomes tighter, or there was none before. Zero and negative numbers mean no limit."""
    if not change.touches(path):
        return False
    before, after = _effective_limit(change, path, change.was(path)), becomes(change, path)
    return after is not None and (before is None or after < before)


def begins_to_delete(change: Change, limit: str, own: OwnName = as_named) -> bool:
    """The limit begins to delete: it becomes tighter, or it stays and the stream no longer refuses messages instead."""
    stays = limit in REFUSING and _stops_refusing(change) and becomes(change, own(limit)) is not None
    return stays or is_lowered(change, own(limit))


def becomes(change: Change, path: str) -> Json:
    """The new limit. If the file leaves it out, its default counts: a bucket's history is then 1."""
    return _effective_limit(change, path, change.becomes(path))


def _effective_limit(change: Change, path: str, value: Json) -> Json:
    field_change = change.field(path)
    limit = field_change.info.default if value is None and field_change else value
    return None if limit is None or limit <= 0 else limit


def _age_question(change: Change, path: str, view: View) -> MessagesFrom | MessagesSince | None:
    """The first message young enough, by the clock of the server that answered."""
    server_time, longest = (change.live.state.get("ts") if change.live else None), becomes(change, path)
    if not server_time or not longest or not state_of(change).get("messages"):
        return None
    since = times.time_before(server_time, longest)
    if view.target.version < FINDS_TIMES and state_of(change).get("num_deleted"):
        return MessagesSince(stream=stream_of(change), since=since)
    return MessagesFrom(stream=stream_of(change), start=since)


def _subject_question(change: Change) -> Iterator[SubjectCounts]:
    if 0 < state_of(change).get("num_subjects", 0) <= MANY_SUBJECTS:
        yield SubjectCounts(stream=stream_of(change), filter=">")


def loss_by_max_age(change: Change, path: str, view: View) -> Loss | None:
    """Messages older than the lowered `max_age`, by the server's clock; None if there are none."""
    messages, question = state_of(change).get("messages", 0), _age_question(change, path, view)
    oldest = _oldest_age(change)
    if not messages or oldest is None or oldest <= becomes(change, path):
        return None
    limit = show_duration(becomes(change, path))
    answer = view.facts.get(question) if question else None
    if not isinstance(answer, Mapping):
        return Loss(
            words=f"apply deletes messages older than {limit}; the oldest of {some(messages, 'message')} is {age(oldest)} "
            f"old, and how many are too old was not counted{_reason_text(answer)}"
        )
    counted = _older_messages(answer, change, view)
    if not counted.messages.most:
        return None
    why = "" if counted.messages.is_exact else " (only bounds: the gaps between them were not counted)"
    going, spared = _without_lasting(counted, change)
    return Loss(
        words=f"apply deletes {share(going.messages, exactly(messages), 'message')}{_average_bytes_clause(going, change)}, those older "
        f"than {limit}{spared}{why}",
        going=going,
    )


def _without_lasting(going: LostMessages, change: Change) -> tuple[LostMessages, str]:
    """What goes of these where messages may carry a time of their own, and the words for what stays. Only `never`
    outlasts max_age, and only headers tell which messages say so."""
    if not may_outlast_age(change):
        return going, ""
    first, end = state_of(change).get("first_seq", 1), going.before.most if going.before else None
    lasting = LostMessages(messages=Amount(0, going.messages.most), before=None if end is None else Amount(first, end))
    return lasting, ", but none with `Nats-TTL: never`"


def _older_messages(answer: Mapping[str, Json], change: Change, view: View) -> LostMessages:
    """What lies before the first message that is young enough."""
    state, deleted = state_of(change), _deleted_sequences(change, view)
    messages, gaps = state.get("messages", 0), state.get("num_deleted", 0)
    if (kept := answer["first"]) is None:
        return LostMessages(messages=exactly(messages), before=exactly(state.get("last_seq", 0) + 1))
    sequences = max(0, kept - state.get("first_seq", 1))
    bounds = Amount(max(0, sequences - gaps), min(sequences, messages))
    if deleted is not None:
        bounds = exactly(min(messages, sequences - bisect_left(deleted, kept)))
    elif "messages" in answer:
        older = messages - answer["messages"]  # messages may have come since the state was read
        bounds = exactly(min(max(older, bounds.least), bounds.most))
    return LostMessages(messages=bounds, before=exactly(kept))


def loss_by_max_msgs(change: Change, path: str, view: View) -> Loss | None:
    """The oldest messages, as many as exceed the lowered `max_msgs`; None if there are none."""
    if not (surplus := _surplus(change, path, "messages")):
        return None
    going = LostMessages(messages=exactly(surplus), before=first_kept(exactly(surplus), change, view))
    messages = some(state_of(change)["messages"], "message")
    return Loss(
        words=f"apply deletes the oldest {some(surplus)} of {messages}{_average_bytes_clause(going, change)}",
        going=going,
    )


def messages_weighing(over: Amount, change: Change) -> Amount:
    """How many of the oldest messages go where this many bytes must, at most all."""
    state = state_of(change)
    if not state.get("messages"):
        return exactly(0)
    at_least, at_most = ((_number_by_average(min(surplus, state["bytes"]), change)[0]) for surplus in over[:2])
    guess = average_number(min(over.most if over.about is None else over.about, state["bytes"]), change)
    least, most = at_least.least if over.least else 0, at_most.most
    return Amount(min(least, guess), max(guess, most), guess)


def first_kept(going: Amount, change: Change, view: View) -> Amount:
    """The sequence of the first message that stays if this many of the oldest are deleted; bounds if the holes between
    them are not known."""
    state, deleted = state_of(change), _deleted_sequences(change, view)
    first, end = state.get("first_seq", 1), state.get("last_seq", 0) + 1
    if deleted is None:
        return Amount(
            first + going.least, max(first + going.least, min(first + going.most + state["num_deleted"], end))
        )
    least, most = (_sequence_after(first, number, deleted) for number in (going.least, going.most))
    return Amount(least, most)


def _sequence_after(first: int, number: int, deleted: list[int]) -> int:
    for hole in deleted:
        if hole > first + number:
            break
        number += 1
    return first + number


def loss_by_max_bytes(change: Change, path: str, view: View) -> Loss | None:
    """The oldest messages beyond the lowered `max_bytes`, in bounds if their sizes were not read; None if there are
    none."""
    if not (surplus := _surplus(change, path, "bytes")):
        return None
    messages, stored = state_of(change).get("messages", 0), state_of(change)["bytes"]
    of, in_units = some(messages, "message"), partial(size, beside=becomes(change, path))
    of_all = f"of {in_units(stored)}, the oldest messages first"
    answer = view.facts.get(Oldest(stream=stream_of(change), bytes=surplus))
    if isinstance(answer, Mapping) and answer["first"]:
        going = LostMessages(messages=exactly(answer["messages"]), before=exactly(answer["first"]))
        counted = share(exactly(answer["messages"]), exactly(messages), "message")
        words = f"apply deletes {in_units(answer['bytes'])} {of_all}: {counted}"
        return Loss(words=words, going=going, more={"bytes": exactly(answer["bytes"])})
    number, largest = _number_by_average(surplus, change)
    going = LostMessages(messages=number, before=first_kept(number, change, view))
    words = f"apply deletes at least {in_units(surplus)} {of_all}: about {some(number.about or 0)} of {of}"
    bounds = f"by their average size, {amount(number._replace(about=None))}, since the size of each was not read"
    more = {"bytes": Amount(surplus, min(stored, surplus + largest - 1))}
    return Loss(words=f"{words} {bounds}", going=going, more=more)


REFUSING = {"max_msgs": "messages", "max_bytes": "bytes"}
"""Limits above which a stream with `discard: new` refuses messages and deletes none, and what they limit."""

LARGEST = 64 * 1024**2
"""How much a server lets a client have pending unless configured otherwise, and so the size of the largest message."""
SMALLEST = {"memory": 17}
"""Bytes that a server counts for an empty message on a subject of one letter."""


def _number_by_average(surplus: int, change: Change) -> tuple[Amount, int]:
    """How many of the oldest messages are that large together, and how large one may be. None is smaller than the
    smallest possible message."""
    messages, stored = state_of(change).get("messages", 0), state_of(change)["bytes"]
    smallest = smallest_message(change)
    largest = max(smallest, min(LARGEST, stored - (messages - 1) * smallest))
    least, most = max(1, -(-surplus // largest), messages - (stored - surplus) // smallest), -(-surplus // smallest)
    guess = average_number(surplus, change)
    return Amount(min(least, guess), max(guess, min(messages, most)), guess), largest


def smallest_message(change: Change) -> int:
    """Bytes that the live stream's storage counts for a message without content: 17 in memory, 31 in a file."""
    return SMALLEST.get(str(change.raw.get("storage")), 31)


def loss_by_subject_limit(change: Change, path: str, view: View) -> Loss | None:
    """What each subject holds beyond the lowered limit, in bounds if that was not counted; None if nothing is
    deleted."""
    limit, state = becomes(change, path), state_of(change)
    messages = state.get("messages", 0)
    if messages <= limit:
        return None
    counts = next((view.facts.get(question) for question in _subject_question(change)), None)
    is_prompt = bool(view.target.version >= TRIMS or _effective_limit(change, path, change.was(path)))
    who, when = ("apply", "") if is_prompt else ("the server", _when_deleted_text(change))
    if isinstance(counts, Mapping):
        by = {subject: number - limit for subject, number in counts.items() if number > limit}
        above = sum(by.values())
        deleted = share(exactly(above), exactly(messages), "message")
        words = f"{who} deletes {deleted}{when}: {_crowded_text(counts, limit, _holder_noun(change))}"
        going = LostMessages(messages=exactly(above))
        return Loss(words=words, going=going, by=by, is_prompt=is_prompt, keeps=limit) if above else None
    sure = max(0, messages - limit * state.get("num_subjects", messages))
    at_most = messages - limit - (state.get("num_subjects", 1) - 1)  # one subject has all but one message of each other
    going = LostMessages(messages=Amount(sure, max(sure, at_most)))
    if not going.messages.most:
        return None
    uncounted = f"how many each {_holder_noun(change)} holds was not counted"
    words = f"{who} deletes {share(going.messages, exactly(messages), 'message')}{when}: {uncounted}"
    return Loss(words=words + _reason_text(counts), going=going, is_prompt=is_prompt, keeps=limit)


def _when_deleted_text(change: Change) -> str:
    """When the server deletes them. If it refuses a subject's next message, that message deletes no other."""
    if change.becomes("discard_new_per_subject"):
        return " at its next restart"
    return f", those of a {_holder_noun(change)} with its own next message, and all at its next restart"


def _holder_noun(change: Change) -> str:
    """What `max_msgs_per_subject` limits, in the words of those who use it."""
    return "key" if change.address.kind == "kv_bucket" else "subject"


def _crowded_text(counts: Mapping[str, int], limit: int, holder: str) -> str:
    above = sum(number > limit for number in counts.values())
    return f"{some(above)} of {some(len(counts), holder)} {'holds' if above == 1 else 'hold'} more than {limit:_}"


def _reason_text(answer: object) -> str:
    return f" ({answer.reason})" if isinstance(answer, Unanswered) else ""


def _average_bytes_clause(going: LostMessages, change: Change) -> str:
    """Their share of the stream's bytes."""
    number = going.messages
    return f" ({average(stored_bytes(number, change))})" if number.is_exact and state_of(change).get("bytes") else ""


def stored_bytes(number: Amount, change: Change) -> Amount:
    """Bytes of this many stored messages: bounded by the largest and smallest possible messages, and estimated by the
    average if their number is known."""
    state, smallest = state_of(change), smallest_message(change)
    stored, messages = state.get("bytes", 0), state["messages"]
    if number.least == messages:
        return exactly(stored)
    least = max(number.least * smallest, stored - (messages - number.least) * LARGEST)
    most = min(number.most * LARGEST, stored - (messages - number.most) * smallest)
    if not number.is_exact:
        return Amount(least, most)
    guess = number.most * stored // messages
    return Amount(min(least, guess), max(guess, most), guess)


def average_number(weighing: int, change: Change) -> int:
    """How many stored messages weigh this many bytes, by their average size."""
    messages, stored = state_of(change)["messages"], state_of(change)["bytes"]
    return int(min(messages, -(-weighing * messages // stored)))


def keeps_old_messages(change: Change) -> bool:
    """With discard new the server keeps what is stored and refuses new messages. Buckets never show their discard."""
    live = change.raw.get("discard")
    return bool((change.becomes("discard") if change.touches("discard") else live) == "new")


def _stops_refusing(change: Change) -> bool:
    return change.raw.get("discard") == "new" and not keeps_old_messages(change)


def _oldest_age(change: Change) -> int | None:
    """Nanoseconds between the first stored message and the server's clock when it answered."""
    server_time, first = (change.live.state.get("ts") if change.live else None), state_of(change).get("first_ts")
    return times.nanoseconds_between(first, server_time) if server_time and first else None


LOSSES: Mapping[str, Callable[[Change, str, View], Loss | None]] = {
    "max_age": loss_by_max_age,
    "max_msgs": loss_by_max_msgs,
    "max_bytes": loss_by_max_bytes,
    "max_msgs_per_subject": loss_by_subject_limit,
}
"""By the server's name of a limit."""


def limit_losses(change: Change, view: View, own: OwnName = as_named) -> dict[str, Loss]:
    """What each limit that begins to delete deletes by itself, by the kind's name of the limit."""
    each = ((own(limit), loss_of) for limit, loss_of in LOSSES.items() if begins_to_delete(change, limit, own))
    losses = ((path, loss_of(change, path, view)) for path, loss_of in each)
    return {path: loss for path, loss in losses if loss}
