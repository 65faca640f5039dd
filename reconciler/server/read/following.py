"""Follows a stream: from where to read since the last look, and up to which message.

A sequence alone does not identify a message: a recreated stream begins with 1 again, and a server that lost its power
may hand out sequences a second time. So this also remembers the time at which the last message was stored: everything
stored later is new, whatever its sequence.
"""

from __future__ import annotations

from reconciler.model.dataclass import dataclass
from reconciler.server.read.messages import Message, Problem, at, ending, last, next_after, since
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
    found = await last(js, stream, matching)
    return await ending(js, stream) if found is None else found


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
    resumed = await _resumed(js, stream, position)
    if not isinstance(resumed, int):
        return resumed
    found = await next_after(js, stream, resumed, matching)
    if not isinstance(found, Message):
        return found
    until = end or await newest(js, stream, matching)
    if not isinstance(until, Message):
        return until
    if until.sequence < found.sequence:
        return None
    to = await _bounded(js, stream, found, until, most, matching)
    if not isinstance(to, Message):
        return to
    arrived = Position(sequence=to.sequence, time=to.time)
    return Onward(after=found.sequence - 1, to=arrived, is_anew=resumed < position.sequence)


async def _resumed(js: JetStream, stream: str, position: Position) -> int | Problem:
    """The sequence after which to resume."""
    if not position.time:
        return position.sequence
    found = await since(js, stream, position.time)
    if not isinstance(found, Message):
        return position.sequence if found is None else found
    if found.sequence > position.sequence or found.time == position.time:
        return position.sequence
    # Clocks of two leaders may differ, so the message itself decides.
    there = await at(js, stream, position.sequence)
    if isinstance(there, Message | None):
        return position.sequence if there is not None and there.time == position.time else found.sequence - 1
    return there


async def _bounded(
    js: JetStream, stream: str, first: Message, until: Message, most: int, matching: str
) -> Message | Problem:
    """The last message of a range with at most `most` messages. Sequences may be missing, so it may have fewer."""
    if until.sequence - first.sequence < most:
        return until
    found = await next_after(js, stream, first.sequence + most - 2, matching) if most > 1 else first
    return until if found is None or (isinstance(found, Message) and found.sequence > until.sequence) else found
