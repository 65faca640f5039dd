"""Reads how far a stream has copied another one through a source: of a queue whether it has everything, and what deleting it
would lose.

The headers of the copies tell. A server resumes there when a source that it had before is added again."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

from reconciler.engine.bindings import count_passed, is_unlike, lowest_queued_sequence, source_sequence
from reconciler.model.wire.questions import CopiedUpTo, MessagesFrom, QueuedFrom
from reconciler.server.read.counting import messages_from
from reconciler.server.read.messages import Message, Problem, at, last, next_after
from reconciler.server.wire.answers import NO_MESSAGE, NO_STREAM, Answer, Refusal
from reconciler.server.wire.api import JetStream
from reconciler.server.wire.pipeline import NoAnswer

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


async def _at_least(js: JetStream, question: CopiedUpTo, end: int) -> dict[str, Any]:
    """Look where its copies are likely, or find the end of a source by bisection, where another source followed it. The source
    may have come back after that."""
    said = await asyncio.gather(*(last(js, question.stream, one) for one in question.likely))
    copies = [(found, one) for one in said if isinstance(one, Message) and (found := _copied(one, question.source))]
    if copies:
        found, copy = max(copies, key=lambda one: one[1].sequence)
        return {"least": found, **_stored(copy)}
    subject, *others = question.subjects
    first = None if others else await next_after(js, question.stream, 0, subject)
    if not isinstance(first, Message) or (found := _copied(first, question.source)) is None:
        return {}
    low, copy = first.sequence, first
    while end - low > 1:
        middle = (low + end) // 2
        one = await next_after(js, question.stream, middle - 1, subject)
        number = _copied(one, question.source) if isinstance(one, Message) and one.sequence < end else None
        if isinstance(one, Message) and number is not None:
            found, low, copy = number, one.sequence, one
        else:
            end = middle
    return {"least": found, **_stored(copy)}


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


COMPARED = 256
"""How many of the newest queued messages are compared with their source."""
OVERTAKEN = 50
"""How often to look again when a message is processed during a look; some members are too fast for any look."""


async def look(js: JetStream, name: str, origin: str) -> dict[str, Any] | Refusal | NoAnswer:
    """Read the queue between two looks at the source: what arrives in between counts as not yet copied, and is no
    sign of a new source."""
    source = await js.read(f"STREAM.INFO.{origin}")
    if not isinstance(source, Mapping):
        return source
    queue = await js.read(f"STREAM.INFO.{name}")
    if not isinstance(queue, Mapping):
        return queue
    seen: dict[str, Any] = {"source": source, "queue": queue, "rested": False}
    if queue["state"]["messages"]:
        lowest = await message(js, name, queue["state"]["first_seq"])
        if not isinstance(lowest, Mapping):
            return lowest
        seen["lowest"] = lowest["message"]
    afterwards = await js.read(f"STREAM.INFO.{origin}")
    return {**seen, "afterwards": afterwards} if isinstance(afterwards, Mapping) else afterwards


async def is_rewound(js: JetStream, seen: Mapping[str, Any], origin: str) -> bool:
    """Does the source now hold something else under the sequence of one of the newest queued messages? A source that
    came back without its end, as after a power cut, has given the same numbers to other messages since."""
    name, state, last = seen["queue"]["config"]["name"], seen["queue"]["state"], seen["afterwards"]["state"]["last_seq"]
    newest = range(max(state["first_seq"], state["last_seq"] + 1 - COMPARED), state["last_seq"] + 1)
    copies = await _there(js, name, newest if state["messages"] else ())
    numbers = [number for one in copies.values() if (number := source_sequence(one, origin))]
    given = await _there(js, origin, numbers)
    return any(is_unlike(one, given.get(source_sequence(one, origin) or 0), origin, last) for one in copies.values())


async def _there(js: JetStream, stream: str, sequences: Iterable[int]) -> dict[int, Mapping[str, Any]]:
    """The messages among these that can be read."""
    asked = [*sequences]
    said = await asyncio.gather(*(js.read(f"STREAM.MSG.GET.{stream}", {"seq": one}) for one in asked))
    return {at: one["message"] for at, one in zip(asked, said, strict=True) if isinstance(one, Mapping)}


async def queued_from(js: JetStream, question: QueuedFrom) -> dict[str, Any] | Refusal | NoAnswer:
    """Count everything that the source lacks from there on, because it is unknown what of it was copied. A queue that
    disappeared since the account was read, as when another apply recreated the group, has nothing left to lose; this
    apply will find that out."""
    seen = await look(js, question.stream, question.source)
    # in a cluster, a stream that is being deleted is silent; by now it is gone, or recreated
    if isinstance(seen, NoAnswer):
        seen = await look(js, question.stream, question.source)
    for _ in range(OVERTAKEN):
        if not has_moved(seen):
            break
        seen = await look(js, question.stream, question.source)
    if not isinstance(seen, dict):
        return {"gone": 0} if is_gone(seen) else seen
    seen["rewound"] = await is_rewound(js, seen, question.source)
    queued, point = seen["queue"]["state"]["messages"], lowest_queued_sequence(seen)
    return {
        "gone": queued if point is None else min(queued, count_passed(seen) + await _holes(js, question, seen, point))
    }


async def _holes(js: JetStream, question: QueuedFrom, seen: Mapping[str, Any], point: int) -> int:
    """Messages deleted from within the source, after the lowest one queued."""
    source = seen["source"]["state"]
    if not (holes := int(source.get("num_deleted", 0))):
        return 0
    said = await messages_from(js, MessagesFrom(stream=question.source, start=point))
    if not isinstance(said, dict) or "messages" not in said:
        return holes
    there: int = source["last_seq"] + 1 - max(point, source["first_seq"])
    return max(0, min(holes, there - int(said["messages"])))


async def message(js: JetStream, stream: str, sequence: int) -> Answer:
    """Return the first message from there on, as the leader has it."""
    return await js.read(f"STREAM.MSG.GET.{stream}", {"seq": sequence, "next_by_subj": ">"})


def is_gone(said: Answer) -> bool:
    """Did the server say that the stream does not exist? Silence does not count."""
    return isinstance(said, Refusal) and said.err_code == NO_STREAM


def has_moved(said: object) -> bool:
    """Was the message processed that existed a moment ago?"""
    return isinstance(said, Refusal) and said.err_code == NO_MESSAGE
