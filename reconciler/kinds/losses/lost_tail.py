"""A stream that lost its last messages, as after a power cut: new messages get the numbers of lost ones.

A number that was noted before then means another message. Time tells: whatever the stream held when it was read is no
younger than its last message then, by the stream's own clock.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from reconciler.changes.view import View
from reconciler.kinds.fields.times import in_utc, time_before
from reconciler.model.ledger.intents import Intent
from reconciler.model.resource import Config, Json
from reconciler.model.wire.questions import MessagesFrom

NOTE = "reached"
"""In the notes of a replacement: how far the stream had come when the replacement was planned."""


MICROSECOND = 1_000


def tail_note(info: Mapping[str, Json] | None) -> Config:
    """What to note of a STREAM.INFO reply."""
    state = (info or {}).get("state") or {}
    return {NOTE: {"seq": state["last_seq"], "at": state["last_ts"]}} if state.get("last_seq") else {}


def questions(stream: str, intent: Intent) -> Iterator[MessagesFrom]:
    """The first message after the last one noted, and the first one after the note was written."""
    if noted := _noted_tail(intent):
        _, time = noted
        yield MessagesFrom(stream=stream, start=time_before(time, -MICROSECOND))
    if intent.written:
        yield MessagesFrom(stream=stream, start=intent.written)


def safe_start(point: int, stream: str, intent: Intent, view: View) -> int:
    """The sequence from which nothing stored since is missed, if `point` was noted as the next one to process."""
    last = view.snapshot.state_of(stream).get("last_seq")
    return min(point, _first_since(stream, intent, view) or point, point if last is None else last + 1)


def _first_since(stream: str, intent: Intent, view: View) -> int | None:
    """The first message that was not there when `point` was noted; None: nobody can tell, or there is none. The
    stream's own clock tells what came before the stream was read. Between that and the note, the bucket's clock tells,
    and it may be another one."""
    noted = _noted_tail(intent)
    seq, time = noted or (0, "")
    since = (
        _first_in_answer(MessagesFrom(stream=stream, start=time_before(time, -MICROSECOND)), view) if noted else None
    )
    if since is not None and since <= seq:
        return since
    later = (
        _first_in_answer(MessagesFrom(stream=stream, start=intent.written), view) if noted and intent.written else None
    )
    return None if later is None else max(later, seq + 1)


def _first_in_answer(question: MessagesFrom, view: View) -> int | None:
    answer = view.facts.get(question)
    return answer.get("first") if isinstance(answer, Mapping) else None


def _noted_tail(intent: Intent) -> tuple[int, str] | None:
    """The note, if it has the expected shape."""
    recorded = intent.notes.get(NOTE)
    if not isinstance(recorded, Mapping) or not isinstance(recorded.get("seq"), int):
        return None
    try:
        return recorded["seq"], in_utc(str(recorded.get("at")))
    except ValueError:
        return None
