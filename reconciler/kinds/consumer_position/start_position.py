"""Where a new consumer starts among the stored messages, and where its file lets it start, which counts until something was
delivered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from reconciler.changes.amount import Amount, exactly
from reconciler.changes.change import Action, Change
from reconciler.changes.view import View
from reconciler.kinds.consumer_position import predecessors, recorded_position
from reconciler.kinds.consumer_position.counts import count_questions_from, total_count
from reconciler.kinds.consumer_position.retention import retention_of
from reconciler.kinds.fields.words import amount, some, verb
from reconciler.kinds.losses import shrinking
from reconciler.kinds.losses.made_again import is_made_again
from reconciler.kinds.subjects.filters import EVERYTHING, filters_of
from reconciler.model.dataclass import dataclass
from reconciler.model.resource import Config, Resource
from reconciler.model.wire.questions import Question
from reconciler.model.wire.snapshot import Snapshot

BEGINS = ("deliver_policy", "opt_start_seq", "opt_start_time")

START_FIELDS = {"by_start_sequence": "opt_start_seq", "by_start_time": "opt_start_time"}
"""Deliver policies that take their start from the file, and the field that each of them requires and no other may have."""


def obsolete_start_fields(desired: Resource, live: Resource, snapshot: Snapshot) -> tuple[str, ...]:
    """The start fields that no longer mean anything, since something was delivered. None if no server would accept
    their values."""
    return BEGINS if has_delivered(live) and _is_valid_start(desired.config, live, snapshot) else ()


def has_delivered(live: Resource) -> bool:
    """Has it delivered anything, so that its start no longer matters?"""
    return bool((live.state.get("delivered") or {}).get("consumer_seq"))


def _is_valid_start(config: Config, live: Resource, snapshot: Snapshot) -> bool:
    """A server would accept these start fields of a consumer of this stream."""
    stream, needed = (
        snapshot.streams.get(live.address.stream, {}),
        START_FIELDS.get(config.get("deliver_policy", "all")),
    )
    fits = all((name in config) == (name == needed) for name in START_FIELDS.values())
    return fits and (stream.get("config") or {}).get("retention") != "workqueue"


def start_still_matters_text(change: Change, view: View) -> str:
    """Why the start of this consumer is not only recorded, as the end of a sentence; empty where it never is."""
    if change.live is None or change.desired is None or change.intent:
        return ""
    if not _is_valid_start(change.desired.config, change.live, view.snapshot):
        return ""
    if change.made_anew:
        return ", and somebody recreated this consumer since it was applied"
    if has_delivered(change.live):
        return ""
    return ", and this consumer has delivered nothing yet; once it has, apply only records the new value"


def is_part_of_policy_change(change: Change, path: str) -> bool:
    """The field belongs to one deliver_policy, and comes or disappears with it."""
    policies = {change.was("deliver_policy"), change.becomes("deliver_policy")}
    return len(policies) > 1 and any(START_FIELDS.get(str(policy)) == path for policy in policies)


@dataclass(frozen=True, slots=True)
class Start:
    """Where it starts, as words after "it starts at", and how many stored messages it gets and skips, as counted."""

    where: str
    stored: Amount | None = None
    skipped: Amount | None = None
    missed: int = 0
    """Messages yet to come that it does not get."""

    @property
    def quantities(self) -> dict[str, Amount]:
        """Messages `stored` and `skipped`, for a consequence; without those that are zero or were not counted."""
        counted = {"stored": self.stored, "skipped": exactly(self.missed) if self.missed else self.skipped}
        return {name: number for name, number in counted.items() if number and number.most}

    @property
    def words(self) -> str:
        """Where it starts and how many messages it skips, as words after "it starts at"."""
        if self.missed:
            return f"{self.where}: the next {some(self.missed, 'message')} {verb(self.missed, 'are')} skipped"
        if not (self.skipped and self.skipped.most):
            return self.where
        return f"{self.where}, and {amount(self.skipped, 'stored message')} {verb(self.skipped.most, 'are')} skipped"


def questions(change: Change, view: View) -> Iterator[Question]:
    """How many messages are stored from the start on, if the stream's own number does not say it."""
    if change.made_anew:
        yield from recorded_position.questions(change, view)
    if change.action is not Action.CREATE or change.desired is None:
        return
    yield from predecessors.questions(change, view)
    config = change.desired.config
    if filters_of(config) != EVERYTHING:
        yield from count_questions_from(change, 1)
    elif deliver_policy(config) == "last" and has_holes(state := recorded_position.stream_state(change, view)):
        yield from count_questions_from(change, state["last_seq"])
    if start := config.get(START_FIELDS.get(deliver_policy(config), "")):
        yield from count_questions_from(change, start)
    if is_made_again(change) and (sequence := recorded_position.recorded_next(change)):
        yield from count_questions_from(change, sequence)
        yield from recorded_position.questions(change, view)


def start_of(change: Change, view: View) -> Start | None:
    """The start that the file asks for, among the messages stored now that this plan leaves there; None: none is, and
    it gets everything."""
    config = change.wanted
    state = recorded_position.stream_state(change, view)
    total = remaining_messages(change, state, view)
    policy = "all" if retention_of(change.address.stream, view) == "workqueue" else deliver_policy(config)
    if policy in START_FIELDS and config.get(START_FIELDS[policy]) is None:
        return None  # a rule refuses it
    start, last = config.get("opt_start_seq"), state.get("last_seq")
    if policy == "by_start_sequence" and last is not None and start > last + 1:
        return Start(f"sequence {start}, and the stream is at {last}", exactly(0), exactly(0), missed=start - last - 1)
    if not state.get("messages") or (total and not total.most):
        return None
    if policy in START_FIELDS:
        later = remaining_from(change, config[START_FIELDS[policy]], state, view)
        where = (
            f"sequence {start}" if policy == "by_start_sequence" else f"the messages since {config['opt_start_time']}"
        )
        count_clause = "" if later is None else f", with {amount(later, 'stored message')} from there on"
        return Start(where + count_clause, later, _difference(total, later))
    if policy == "last" and filters_of(config) == EVERYTHING and has_holes(state):
        is_stored = total_count(count_questions_from(change, state["last_seq"]), view)
        return _start_at_last_sequence(total, is_stored)
    return _start_by_policy(policy, total)


def has_holes(state: Config) -> bool:
    """Are messages missing between the first one still stored and the last one that the stream ever stored?"""
    messages = int(state.get("messages", 0))
    return bool(messages) and int(state.get("last_seq", 0)) - int(state.get("first_seq", 0)) >= messages


# Measured on 2.11 to 2.15: of 10 stored messages, the last one deleted, a consumer without a filter got none, one with a filter
# the last that it matches.
def _start_at_last_sequence(total: Amount | None, is_stored: int | None) -> Start:
    """Without a filter it starts at the last sequence, whether or not that message is still stored."""
    messages = amount(total, "stored message") if total else "the stored messages"
    if is_stored:
        return _start_by_policy("last", total)
    if is_stored is None:
        got = Amount(0, 1)
        return Start(f"the last of {messages} (or behind it, if a later one was deleted)", got, _difference(total, got))
    return Start(f"the end of {messages}, since the last message was deleted", exactly(0), total)


def _start_by_policy(policy: str, total: Amount | None) -> Start:
    messages = amount(total, "stored message") if total else "the stored messages"
    if policy == "new":
        return Start("the next new message", exactly(0), total)
    if policy == "last_per_subject":
        return Start(f"the last message of each subject in {messages}")
    if policy == "last":
        return Start(f"the last of {messages}", exactly(1), _difference(total, exactly(1)))
    return Start(f"the first of {messages}", total)


def _difference(total: Amount | None, part: Amount | None) -> Amount | None:
    if total is None or part is None:
        return None
    return Amount(max(0, total.least - part.most), max(0, total.most - part.least))


def deliver_policy(config: Config) -> str:
    """Where its file lets it start; left out, with everything."""
    return str(config.get("deliver_policy") or "all")


def _stored_messages(change: Change, state: Config, view: View) -> int | None:
    """How many stored messages it may get; None: nobody counted."""
    if filters_of(change.wanted) == EVERYTHING:
        return int(state.get("messages", 0))
    return total_count(count_questions_from(change, 1), view) if state.get("messages") else 0


def remaining_messages(change: Change, state: Config, view: View) -> Amount | None:
    """How many of them are left if the same plan lowers a limit of the stream; None: nobody counted."""
    total = _stored_messages(change, state, view)
    return total if total is None else _remaining_of(change, total, int(state.get("messages", 0)) - total, view)


def _remaining_of(change: Change, messages: int, others: int, view: View) -> Amount:
    """What this plan leaves of these messages, if the stream also holds `others`."""
    if (loss := shrinking.loss_of_stream(change.address.stream, view)) is None:
        return exactly(messages)
    gone = shrinking.deleted_on_subjects(loss, filters_of(change.wanted), messages, others)
    return Amount(messages - gone.most, messages - gone.least)


def remaining_from(change: Change, start: int | str, state: Config, view: View) -> Amount | None:
    """How many of those from there on are left. The oldest go first, so what is left is from there on as far as it
    can be."""
    if (number := _stored_count_from(change, start, state, view)) is None:
        return None
    loss, total = shrinking.loss_of_stream(change.address.stream, view), remaining_messages(change, state, view)
    if loss and loss.going and loss.going.before and loss.is_prompt and total:
        return Amount(min(number, total.least), min(number, total.most))
    return _remaining_of(change, number, int(state.get("messages", 0)) - number, view)


def _stored_count_from(change: Change, start: int | str, state: Config, view: View) -> int | None:
    """How many stored messages it may get from there on; None: nobody counted. If every sequence holds a message, the
    first one tells the number."""
    asked = count_questions_from(change, start)
    if (number := total_count(asked, view)) is not None:
        return number
    (answer, *others) = [view.facts.get(question) for question in asked]
    is_whole = state.get("messages") == state.get("last_seq", 0) - state.get("first_seq", 0) + 1
    if others or not is_whole or asked[0].filter != ">" or not (isinstance(answer, Mapping) and answer.get("first")):
        return None
    return int(state["last_seq"] - answer["first"] + 1)
