"""Follows a stream: from where to read since the last look, and up to which message.

A sequence alone does not identify a message: a recreated stream begins with 1 again, and a server that lost its power
may hand out sequences a second time. So this also remembers the time at which the last message was stored: everything
stored later is new, whatever its sequence.
"""

from __future__ import annotations

from reconciler.model.dataclass import dataclass
from reconciler.server.read.messages import (
    Message,
    Problem,
    first_message_since,
    last_message,
    message_at,
    next_message_after,
    stream_end,
)
from reconciler.server.wire.api import JetStream


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """The last message that was taken; 0: none yet."""

    sequence: int = 0
    time: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Onward:
    """A range to read: after one sequence, up to and including a message."""

    after: int
    to: Position
    is_anew: bool = False
    """The sequences from there on had been used before, for other messages."""


async def newest(js: JetStream, stream: str, matching: str = ">") -> Message | Problem:
    """Return the present end of the stream."""
    message = await last_message(js, stream, matching)
    return await stream_end(js, stream) if message is None else message


async def onward(
    js: JetStream,
    stream: str,
    position: Position,
    *,
    most: int,
    matching: str = ">",
    end: Message | Problem | None = None,
) -> Onward | Problem | None:
    """Return the next range; None: nothing new. `most` limits the messages at a time, and `end` the range; the answer
    may also be why the end is unknown."""
    resumed = await _resume_after(js, stream, position)
    if not isinstance(resumed, int):
        return resumed
    first = await next_message_after(js, stream, resumed, matching)
    if not isinstance(first, Message):
        return first
    until = end or await newest(js, stream, matching)
    if not isinstance(until, Message):
        return until
    if until.sequence < first.sequence:
        return None
    to = await _end_of_range(js, stream, first, until, most, matching)
    if not isinstance(to, Message):
        return to
    arrived = Position(sequence=to.sequence, time=to.time)
    return Onward(after=first.sequence - 1, to=arrived, is_anew=resumed < position.sequence)


async def _resume_after(js: JetStream, stream: str, position: Position) -> int | Problem:
    """The sequence after which to resume."""
    if not position.time:
        return position.sequence
    message = await first_message_since(js, stream, position.time)
    if not isinstance(message, Message):
        return position.sequence if message is None else message
    if message.sequence > position.sequence or message.time == position.time:
        return position.sequence
    # Clocks of two leaders may differ, so the message itself decides.
    remembered = await message_at(js, stream, position.sequence)
    if isinstance(remembered, Message | None):
        return (
            position.sequence if remembered is not None and remembered.time == position.time else message.sequence - 1
        )
    return remembered


async def _end_of_range(
    js: JetStream, stream: str, first: Message, until: Message, most: int, matching: str
) -> Message | Problem:
    """The last message of a range with at most `most` messages. Sequences may be missing, so it may have fewer."""
    if until.sequence - first.sequence < most:
        return until
    message = await next_message_after(js, stream, first.sequence + most - 2, matching) if most > 1 else first
    return until if message is None or (isinstance(message, Message) and message.sequence > until.sequence) else message
