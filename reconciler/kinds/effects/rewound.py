"""A stream that came back without its last messages, as after a power cut: what it stores since has numbers that others had.

A number that was noted before then means another message. Told by time: whatever the stream held when it was looked at is
no younger than the last message of then, by the clock of the stream itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from reconciler.changes.view import View
from reconciler.kinds.fields.times import before, utc
from reconciler.model.intents import Intent
from reconciler.model.resource import Config, Json
from reconciler.model.wire.questions import MessagesFrom

NOTE = "reached"
"""Among the notes of a replacement: how far the stream had come when it was planned."""


MICROSECOND = 1_000


def reached(info: Mapping[str, Json] | None) -> Config:
    """To be noted, of a STREAM.INFO reply."""
    state = (info or {}).get("state") or {}
    return {NOTE: {"seq": state["last_seq"], "at": state["last_ts"]}} if state.get("last_seq") else {}


def questions(stream: str, intent: Intent) -> Iterator[MessagesFrom]:
    """The first message after the last one of then, and the first one after the note."""
    if noted := _noted(intent):
        _, at = noted
        yield MessagesFrom(stream=stream, start=before(at, -MICROSECOND))
    if intent.written:
        yield MessagesFrom(stream=stream, start=intent.written)


def where(point: int, stream: str, intent: Intent, view: View) -> int:
    """The sequence from which nothing is missed that was stored since, where `point` was noted as the next to process."""
    last = (((view.snapshot.streams.get(stream)) or {}).get("state") or {}).get("last_seq")
    return min(point, _first_since(stream, intent, view) or point, point if last is None else last + 1)


def _first_since(stream: str, intent: Intent, view: View) -> int | None:
    """The first message that was not there when `point` was noted; None: nobody can tell, or none is. What lies between the
    look and the note is told by the clock of the bucket, which may be another one; before the look by the stream's own."""
    noted = _noted(intent)
    seq, at = noted or (0, "")
    since = _answer(MessagesFrom(stream=stream, start=before(at, -MICROSECOND)), view) if noted else None
    if since is not None and since <= seq:
        return since
    later = _answer(MessagesFrom(stream=stream, start=intent.written), view) if noted and intent.written else None
    return None if later is None else max(later, seq + 1)


def _answer(question: MessagesFrom, view: View) -> int | None:
    said = view.facts.get(question)
    return said.get("first") if isinstance(said, Mapping) else None


def _noted(intent: Intent) -> tuple[int, str] | None:
    """What the notes say, where it is of its shape."""
    said = intent.notes.get(NOTE)
    if not isinstance(said, Mapping) or not isinstance(said.get("seq"), int):
        return None
    try:
        return said["seq"], utc(str(said.get("at")))
    except ValueError:
        return None
