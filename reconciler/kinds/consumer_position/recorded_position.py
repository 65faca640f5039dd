"""The position of a consumer that somebody deleted, as its record remembers it; and what the consumer that somebody
recreated in its place delivers twice, or never."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from reconciler.changes.change import Action, Change
from reconciler.changes.view import View
from reconciler.engine.bindings import first_needed_sequence, start_sequence
from reconciler.kinds.consumer_position.counts import total_count
from reconciler.kinds.fields.times import moment, time_before
from reconciler.kinds.losses.restored import has_delivered_since, has_older_messages, is_restored_consumer
from reconciler.kinds.losses.unprocessed import undelivered_messages
from reconciler.kinds.subjects.filters import EVERYTHING, filters_of
from reconciler.model.resource import Address, Config, Json
from reconciler.model.wire.questions import MessagesFrom, MessagesSince


def questions(change: Change, view: View) -> Iterator[MessagesFrom | MessagesSince]:
    """Where its stream was at the recording, where a consumer that somebody recreated began, and what was stored only
    after that."""
    yield from _recording_questions(change)
    yield from _beginning_questions(change)
    if created := _creation_question(change):
        yield created
        yield from _later_questions(change, view)


def _recording_questions(change: Change) -> Iterator[MessagesFrom]:
    """Messages after the recording have higher numbers than the stream had then, unless it has since lost its end."""
    if change.record and change.record.written and recorded_next(change):
        yield MessagesFrom(stream=change.address.stream, start=change.record.written)


def recorded_next(change: Change) -> int | None:
    """The next message of the consumer when it was recorded; None: its first one, or nobody knows."""
    sequence = change.record.seen.get("next") if change.record else None
    return sequence if isinstance(sequence, int) and sequence > 1 else None


def verified_next(change: Change, view: View) -> int | None:
    """The next message of the consumer when it was recorded; it had come at least that far when it was lost. None:
    nobody knows, or the stream was created since."""
    sequence = recorded_next(change)
    if not sequence or stream_state(change, view).get("last_seq", 0) + 1 < sequence:
        return None
    if any(_is_below(view.facts.get(question), sequence) for question in _recording_questions(change)):
        return None
    return sequence if _is_same_stream(change, view) else None


def _is_same_stream(change: Change, view: View) -> bool:
    """The stream existed when the consumer was recorded, or is restored from a backup and kept its numbers."""
    return _existed_when_recorded(change, view) is True


def is_on_another_stream(change: Change, view: View) -> bool:
    """Its stream was recreated since it was recorded, and numbers its messages from the start again."""
    return _existed_when_recorded(change, view) is False


def is_restored(change: Change, view: View) -> bool:
    """Did somebody restore it, with its stream?"""
    return is_restored_consumer(change, live_stream_info(change, view))


def _existed_when_recorded(change: Change, view: View) -> bool | None:
    """None: nobody knows."""
    info, written = live_stream_info(change, view), change.record.written if change.record else ""
    created = info.get("created")
    if not (written and created):
        return None
    return moment(str(created)) < moment(written) or has_older_messages(info, written)


def _is_below(answer: Json, sequence: int) -> bool:
    first = answer.get("first") if isinstance(answer, Mapping) else None
    return first is not None and first < sequence


def live_stream_info(change: Change, view: View) -> Mapping[str, Json]:
    """What the server says of the consumer's stream as it is now; nothing if it does not exist."""
    return view.snapshot.streams.get(change.address.stream) or {}


def stream_state(change: Change, view: View) -> Config:
    """The state of its stream when the consumer is created."""
    stream = view.changes.get(Address.of("stream", change.address.stream))
    if stream and stream.action in (Action.CREATE, Action.REPLACE):
        return {"last_seq": (stream.becomes("first_seq") or 1) - 1}
    return live_stream_info(change, view).get("state") or {}


MARGIN = 5_000_000_000
"""Nanoseconds after its creation within which a consumer has found its start, however busy a cluster is."""


def _beginning_questions(change: Change) -> Iterator[MessagesSince]:
    """What tells where a consumer that somebody recreated began at the latest: no server says it, but at its creation it
    began with the next message, unless its start was a later time."""
    config, created = change.raw, _recreation_time(change)
    if created and "opt_start_seq" not in config:
        times = [time for time in (created, config.get("opt_start_time")) if time]
        yield MessagesSince(stream=change.address.stream, since=time_before(max(times, key=moment), -MARGIN))


def _recreation_time(change: Change) -> str:
    """Empty if nobody knows it: before 2.15, a consumer that was restored from a backup shows when the old one was
    created."""
    created, written = str(change.info.get("created") or ""), change.record.written if change.record else ""
    is_known = change.made_anew and created and (not written or moment(written) < moment(created))
    return created if is_known else ""


def _creation_question(change: Change) -> MessagesSince | None:
    """What tells which messages were stored before somebody recreated the consumer: only these can the old one have
    processed."""
    created = _recreation_time(change)
    return MessagesSince(stream=change.address.stream, since=time_before(created, -MARGIN)) if created else None


def _first_after_loss(change: Change, view: View) -> int | None:
    """The first message that was certainly stored after the old consumer had gone; None: none is, or nobody knows."""
    answer = view.facts.get(question) if (question := _creation_question(change)) else None
    return answer.get("first") if isinstance(answer, Mapping) else None


def _later_questions(change: Change, view: View) -> list[MessagesFrom]:
    """What counts the messages that the live consumer matches from there on."""
    subjects, first = filters_of(change.raw), _first_after_loss(change, view)
    if first is None or subjects == EVERYTHING:
        return []
    return [MessagesFrom(stream=change.address.stream, start=first, filter=subject) for subject in subjects]


def _latest_beginning(change: Change, view: View) -> int | None:
    answers = [view.facts.get(answer) for answer in _beginning_questions(change)]
    return next((answer["first"] for answer in answers if isinstance(answer, Mapping) and answer.get("first")), None)


class LostPosition(NamedTuple):
    """A recreated consumer, compared with the record of the old one: how many messages it redelivers, and skips, at most."""

    at: int | None
    """The position on record, behind which the old one may have come since; None: nobody knows."""
    redelivered: int = 0
    """How many are still to come."""
    repeated: int = 0
    """How many have come already."""
    skipped: int = 0
    reached: int | None = None
    """The next message of the live one; None: no server tells."""
    ended: int = 0
    """The first message that is not skipped."""


def compare_with_record(change: Change, view: View) -> LostPosition | None:
    """The recreated consumer, compared with the record; None if it was not recreated, or nothing is known to be lost."""
    stream = live_stream_info(change, view).get("config") or {}
    if not change.made_anew or change.live is None or stream.get("retention") == "workqueue":
        return None  # a work queue holds exactly what is still to be done
    if not _is_same_stream(change, view):
        return None
    position = position_on_record(change, view)
    info = {"config": {}, **change.live.state}
    reached, again = first_needed_sequence(info), _most_redelivered(change, view)
    ended = _beginning_sequence(info, reached, change, view) if position else 0
    is_old = is_restored(change, view)  # with all that it had delivered until then
    skipped = stored_between(position, ended, change, view) if position and not is_old else 0
    is_repeating = not is_old or has_delivered_since(change)
    repeated = _most_repeated(info, reached, change, view) if is_repeating else 0
    lost = LostPosition(position, again, repeated, skipped, reached, ended)
    return lost if again or repeated or skipped else None


def _beginning_sequence(live: Mapping[str, Json], reached: int | None, change: Change, view: View) -> int:
    """Where the live consumer began, or before."""
    start = start_sequence(live["config"])
    end = reached or int((live.get("delivered") or {}).get("stream_seq", 0))  # it began there or before
    return min(end, start or _latest_beginning(change, view) or end)  # what it has delivered since is not skipped


def _most_redelivered(change: Change, view: View) -> int:
    """How many messages that the old consumer may have processed are still to come to the live one: at most those that
    it matches and that were stored before somebody recreated it. The record tells how far the old one had come at
    least."""
    if change.raw.get("deliver_policy") == "new" or change.live is None:
        return 0
    start = first_needed_sequence({"config": {}, **change.live.state}) or 1
    gone_by = _first_after_loss(change, view)
    later = total_count(asked, view) if (asked := _later_questions(change, view)) else 0
    to_come = max(0, still_to_come(change, view) - (later or 0))
    return min(stored_between(start, sys.maxsize if gone_by is None else gone_by, change, view), to_come)


def _most_repeated(live: Mapping[str, Json], reached: int | None, change: Change, view: View) -> int:
    """How many messages that the old consumer may have processed were redelivered, up to the live one's ack floor.

    At most those that it acknowledged, that lie between its start and what was stored after the loss, and that this start
    lets it get. Some may be deleted since.
    """
    gone_by, policy = _first_after_loss(change, view), str(change.raw.get("deliver_policy"))
    passed = min(reached or 1, gone_by or sys.maxsize) - (start_sequence(change.raw) or 1)
    subjects = int(stream_state(change, view).get("num_subjects") or passed)
    by_start = {"new": 0, "last": 1, "last_per_subject": subjects}.get(policy, passed)
    acknowledged = int((live.get("ack_floor") or {}).get("consumer_seq", 0))
    return max(0, min(passed, by_start, acknowledged))


def position_on_record(change: Change, view: View) -> int | None:
    """The position on record, which may be the first message; None: nobody knows."""
    return verified_next(change, view) or (1 if _had_not_begun(change, view) else None)


def _had_not_begun(change: Change, view: View) -> bool:
    """Had it delivered nothing when it was recorded, and was it to start at the first message?"""
    seen = change.record.seen if change.record else {}
    return seen.get("at") == 0 and "next" not in seen and _is_same_stream(change, view)


def still_to_come(change: Change, view: View) -> int:
    """How many stored messages after its ack floor the live consumer matches, at most; unbounded if its filter changes."""
    if change.live is None or change.touches("filter_subject", "filter_subjects"):
        return sys.maxsize
    info = change.live.state
    delivered, floor = info.get("delivered") or {}, info.get("ack_floor") or {}
    to_come = undelivered_messages(change.address.stream, info, view).most
    return int(to_come + delivered.get("consumer_seq", 0) - floor.get("consumer_seq", 0))


def stored_between(start: int, end: int, change: Change, view: View) -> int:
    """How many stored messages have such numbers, at most; `end` is the first one after them."""
    stored = stream_state(change, view)
    first, last, messages = (int(stored.get(name, 0)) for name in ("first_seq", "last_seq", "messages"))
    return max(0, min(min(end, last + 1) - max(start, first), messages))


def continuation_sequence(change: Change, view: View) -> int | None:
    """Where a recreated consumer skips nothing and repeats least: at the position on record, or where the file says
    since. None: at its own position."""
    if not change.made_anew:
        return None
    if named := new_start_in_file(change):
        return named
    lost = compare_with_record(change, view)
    if lost is None or lost.at is None:
        return None
    return lost.at if lost.skipped or lost.at > (lost.reached or 1) else None


def new_start_in_file(change: Change) -> int | None:
    """The start sequence that the file has named since the old consumer was applied."""
    named = change.becomes("opt_start_seq")
    is_new = named and change.record and change.record.applied.get("opt_start_seq") != named
    return int(named) if is_new else None
