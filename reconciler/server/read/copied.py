"""Finds out how far a stream has copied another one through a source, from the headers of the copies that it stores. A
server resumes there when a source that it had before is added again."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from reconciler.model.wire.questions import CopiedUpTo
from reconciler.server.read.messages import Message, Problem, at, last, next_after
from reconciler.server.wire.api import JetStream

READ = 256
"""How many of the newest messages to read at most."""
SOURCE = "nats-stream-source"
BEFORE_2_15 = 5
"""Words with which a copy says where it came from; later servers add one."""


async def copied_up_to(js: JetStream, question: CopiedUpTo) -> dict[str, Any] | Problem:
    """Return how far the source was copied. Mostly the newest message under its subjects is its own, or there is
    none."""
    stream = question.stream
    said = await asyncio.gather(*(last(js, stream, one) for one in question.subjects))
    if problem := _problem(said):
        return problem
    newest = max((one for one in said if isinstance(one, Message)), key=lambda one: one.sequence, default=None)
    if newest is None:
        return {"seq": 0, "others": False}
    if (found := _copied(newest, question.source)) is not None:
        return {"seq": found, "others": False, **_stored(newest)}
    sequences = range(newest.sequence - 1, max(0, newest.sequence - 1 - READ), -1)
    read = await asyncio.gather(next_after(js, stream, 0), *(at(js, stream, one) for one in sequences))
    if problem := _problem(read):
        return problem
    first, *others = (one if isinstance(one, Message) else None for one in read)
    through = any(one and _is_through_another(one, question.source) for one in (newest, *others))
    own = ((found, one) for one in others if one and (found := _copied(one, question.source)) is not None)
    if (last_own := next(own, None)) is not None:
        found, copy = last_own
        return {"seq": found, "others": through, **_stored(copy)}
    is_all = first is None or newest.sequence - first.sequence <= READ
    return {"others": through} | ({"seq": 0} if is_all else await _at_least(js, question, newest.sequence))


async def _at_least(js: JetStream, question: CopiedUpTo, last: int) -> dict[str, Any]:
    """Find the end of a source by bisection, where another source followed it. The source may have come back after
    that."""
    subject, *others = question.subjects
    first = None if others else await next_after(js, question.stream, 0, subject)
    if not isinstance(first, Message) or (found := _copied(first, question.source)) is None:
        return {}
    low = first.sequence
    while last - low > 1:
        middle = (low + last) // 2
        one = await next_after(js, question.stream, middle - 1, subject)
        number = _copied(one, question.source) if isinstance(one, Message) and one.sequence < last else None
        if isinstance(one, Message) and number is not None:
            found, low = number, one.sequence
        else:
            last = middle
    return {"least": found}


def _problem(said: Iterable[Message | Problem | None]) -> Problem | None:
    return next((one for one in said if one is not None and not isinstance(one, Message)), None)


def _copied(message: Message, source: tuple[str, str, str]) -> int | None:
    """The sequence in its origin, if the message came through this source."""
    said = _source(message)
    if len(said) < 4 or (said[0], said[2], said[3]) != source or not said[1].isdecimal():
        return None
    return int(said[1])


def _is_through_another(message: Message, source: tuple[str, str, str]) -> bool:
    """Did it come from the same origin through another source?"""
    return _source(message)[:1] == [source[0]] and _copied(message, source) is None


def _stored(copy: Message) -> dict[str, str]:
    """When the copy was stored, if it tells which stream of that name it came from."""
    return {"stored": copy.time} if len(_source(copy)) > BEFORE_2_15 else {}


def _source(message: Message) -> list[str]:
    """What a copy says of itself: `ORDERS 7 orders.> > orders.a`; from 2.15 on also which stream of that name it was."""
    return {name.lower(): value for name, value in message.headers.items()}.get(SOURCE, "").split(" ")
