"""Reads a queue that another stream feeds: how far it has come, and what deleting it would lose."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

from reconciler.engine.bindings import is_unlike, passed, queued_at, sourced
from reconciler.model.wire.questions import MessagesFrom, QueuedFrom
from reconciler.server.read.counting import messages_from
from reconciler.server.wire.answers import NO_MESSAGE, NO_STREAM, Answer, Refusal
from reconciler.server.wire.api import JetStream
from reconciler.server.wire.pipeline import NoAnswer

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
    numbers = [number for one in copies.values() if (number := sourced(one, origin))]
    given = await _there(js, origin, numbers)
    return any(is_unlike(one, given.get(sourced(one, origin) or 0), origin, last) for one in copies.values())


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
    queued, point = seen["queue"]["state"]["messages"], queued_at(seen)
    return {"gone": queued if point is None else min(queued, passed(seen) + await _holes(js, question, seen, point))}


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
