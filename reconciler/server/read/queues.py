"""Reads how far a stream has copied another one through a source: of a queue whether it has everything, and what deleting it
would lose.

The headers of the copies tell. A server resumes there when a source that it had before is added again."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

from reconciler.engine.bindings import count_gone_from_source, is_other_message, lowest_queued_sequence, source_sequence
from reconciler.model.wire.questions import CopiedUpTo, Elsewhere, MessagesFrom, QueuedFrom
from reconciler.server.read.counting import messages_from
from reconciler.server.read.messages import Message, Problem, last_message, message_at, next_message_after
from reconciler.server.wire.answers import NO_MESSAGE, NO_STREAM, Answer, Refusal, answer_of
from reconciler.server.wire.api import JetStream
from reconciler.server.wire.pipeline import NoAnswer, Silence, end_at_first_reply

READ = 256
"""How many of the newest messages to read at most."""
SOURCE = "nats-stream-source"
BEFORE_2_15 = 5
"""Words with which a copy says where it came from; later servers add one."""


PATIENCE = 2.0
"""Seconds for an answer from another domain. Where nobody listens, the server says so at once."""


async def elsewhere(js: JetStream, question: Elsewhere) -> dict[str, Any] | Problem:
    """Ask where a server of this domain would ask for the copy."""
    if js.is_elsewhere:
        return NoAnswer(Silence.UNSENT, "another domain is not asked through a leaf node")
    subject = f"{question.api}.STREAM.INFO.{question.stream}"
    replies = await js.pipeline.stream(subject, b"", within=min(js.timeout, PATIENCE), ends=end_at_first_reply)
    answer = replies if isinstance(replies, NoAnswer) else answer_of(replies[-1])
    if isinstance(answer, NoAnswer) and answer.why is Silence.NO_RESPONDERS:
        return {"why_not": "where nobody answers now"}
    if isinstance(answer, Refusal) and answer.err_code == NO_STREAM:
        return {"why_not": "which does not exist there now"}
    return {"why_not": ""} if isinstance(answer, Mapping) else answer


async def copied_up_to(js: JetStream, question: CopiedUpTo) -> dict[str, Any] | Problem:
    """Return how far the source was copied. Mostly the newest message under its subjects is its own, or there is
    none."""
    stream = question.stream
    answers = await asyncio.gather(*(last_message(js, stream, subject) for subject in question.subjects))
    if problem := _first_problem(answers):
        return problem
    newest = max(
        (message for message in answers if isinstance(message, Message)),
        key=lambda message: message.sequence,
        default=None,
    )
    if newest is None:
        return {"seq": 0, "others": False}
    if (sequence := _origin_sequence(newest, question.source)) is not None:
        return {"seq": sequence, "others": False, **_storing_time(newest)}
    sequences = range(newest.sequence - 1, max(0, newest.sequence - 1 - READ), -1)
    read = await asyncio.gather(
        next_message_after(js, stream, 0), *(message_at(js, stream, sequence) for sequence in sequences)
    )
    if problem := _first_problem(read):
        return problem
    first, *others = (message if isinstance(message, Message) else None for message in read)
    through = any(message and _is_through_another(message, question.source) for message in (newest, *others))
    own = (
        (sequence, message)
        for message in others
        if message and (sequence := _origin_sequence(message, question.source)) is not None
    )
    if (last_own := next(own, None)) is not None:
        sequence, copy = last_own
        return {"seq": sequence, "others": through, **_storing_time(copy)}
    is_all = first is None or newest.sequence - first.sequence <= READ
    return {"others": through} | ({"seq": 0} if is_all else await _least_copied(js, question, newest.sequence))


async def _least_copied(js: JetStream, question: CopiedUpTo, end: int) -> dict[str, Any]:
    """Look where its copies are likely, or find the end of a source by bisection, where another source followed it. The source
    may have come back after that."""
    answers = await asyncio.gather(*(last_message(js, question.stream, pattern) for pattern in question.likely))
    copies = [
        (sequence, message)
        for message in answers
        if isinstance(message, Message) and (sequence := _origin_sequence(message, question.source))
    ]
    if copies:
        sequence, copy = max(copies, key=lambda copy: copy[1].sequence)
        return {"least": sequence, **_storing_time(copy)}
    subject, *others = question.subjects
    first = None if others else await next_message_after(js, question.stream, 0, subject)
    if not isinstance(first, Message) or (sequence := _origin_sequence(first, question.source)) is None:
        return {}
    low, copy = first.sequence, first
    while end - low > 1:
        middle = (low + end) // 2
        message = await next_message_after(js, question.stream, middle - 1, subject)
        number = (
            _origin_sequence(message, question.source)
            if isinstance(message, Message) and message.sequence < end
            else None
        )
        if isinstance(message, Message) and number is not None:
            sequence, low, copy = number, message.sequence, message
        else:
            end = middle
    return {"least": sequence, **_storing_time(copy)}


def _first_problem(answers: Iterable[Message | Problem | None]) -> Problem | None:
    return next((answer for answer in answers if answer is not None and not isinstance(answer, Message)), None)


def _origin_sequence(message: Message, source: tuple[str, str, str]) -> int | None:
    """Return the sequence in its origin, if the message came through this source."""
    words = _source_words(message)
    if len(words) < 4 or (words[0], words[2], words[3]) != source or not words[1].isdecimal():
        return None
    return int(words[1])


def _is_through_another(message: Message, source: tuple[str, str, str]) -> bool:
    """Did it come from the same origin through another source?"""
    return _source_words(message)[:1] == [source[0]] and _origin_sequence(message, source) is None


def _storing_time(copy: Message) -> dict[str, str]:
    """Return when the copy was stored, if it tells which stream of that name it came from."""
    return {"stored": copy.time} if len(_source_words(copy)) > BEFORE_2_15 else {}


def _source_words(message: Message) -> list[str]:
    """Return what a copy says of itself: `ORDERS 7 orders.> > orders.a`; from 2.15 on also which stream of that name it was."""
    return {name.lower(): value for name, value in message.headers.items()}.get(SOURCE, "").split(" ")


COMPARED = 256
"""How many of the newest queued messages are compared with their source."""
OVERTAKEN = 50
"""How often to look again when a message is processed during a look; some members are too fast for any look."""


async def look_at_queue(js: JetStream, name: str, origin: str) -> dict[str, Any] | Refusal | NoAnswer:
    """Read the queue between two looks at the source: what arrives in between counts as not yet copied, and is no
    sign of a new source."""
    source = await js.read(f"STREAM.INFO.{origin}")
    if not isinstance(source, Mapping):
        return source
    queue = await js.read(f"STREAM.INFO.{name}")
    if not isinstance(queue, Mapping):
        return queue
    queue_look: dict[str, Any] = {"source": source, "queue": queue, "rested": False}
    if queue["state"]["messages"]:
        lowest = await first_message_from(js, name, queue["state"]["first_seq"])
        if not isinstance(lowest, Mapping):
            return lowest
        queue_look["lowest"] = lowest["message"]
    afterwards = await js.read(f"STREAM.INFO.{origin}")
    return {**queue_look, "afterwards": afterwards} if isinstance(afterwards, Mapping) else afterwards


async def is_rewound(js: JetStream, queue_look: Mapping[str, Any], origin: str) -> bool:
    """Does the source now hold something else under the sequence of one of the newest queued messages? A source that
    came back without its end, as after a power cut, has given the same numbers to other messages since."""
    name, state, last_sequence = (
        queue_look["queue"]["config"]["name"],
        queue_look["queue"]["state"],
        queue_look["afterwards"]["state"]["last_seq"],
    )
    newest = range(max(state["first_seq"], state["last_seq"] + 1 - COMPARED), state["last_seq"] + 1)
    copies = await _readable_messages(js, name, newest if state["messages"] else ())
    numbers = [number for message in copies.values() if (number := source_sequence(message, origin))]
    given = await _readable_messages(js, origin, numbers)
    return any(
        is_other_message(message, given.get(source_sequence(message, origin) or 0), origin, last_sequence)
        for message in copies.values()
    )


async def _readable_messages(js: JetStream, stream: str, sequences: Iterable[int]) -> dict[int, Mapping[str, Any]]:
    """Return the messages among these that can be read, by sequence."""
    wanted = [*sequences]
    answers = await asyncio.gather(*(js.read(f"STREAM.MSG.GET.{stream}", {"seq": sequence}) for sequence in wanted))
    return {
        sequence: answer["message"]
        for sequence, answer in zip(wanted, answers, strict=True)
        if isinstance(answer, Mapping)
    }


async def queued_from(js: JetStream, question: QueuedFrom) -> dict[str, Any] | Refusal | NoAnswer:
    """Count everything that the source lacks from there on, because it is unknown what of it was copied. A queue that
    disappeared since the account was read, as when another apply recreated the group, has nothing left to lose; this
    apply will find that out."""
    queue_look = await look_at_queue(js, question.stream, question.source)
    # in a cluster, a stream that is being deleted is silent; by now it is gone, or recreated
    if isinstance(queue_look, NoAnswer):
        queue_look = await look_at_queue(js, question.stream, question.source)
    for _ in range(OVERTAKEN):
        if not has_moved(queue_look):
            break
        queue_look = await look_at_queue(js, question.stream, question.source)
    if not isinstance(queue_look, dict):
        return {"gone": 0} if is_gone(queue_look) else queue_look
    queue_look["rewound"] = await is_rewound(js, queue_look, question.source)
    queued, point = queue_look["queue"]["state"]["messages"], lowest_queued_sequence(queue_look)
    return {
        "gone": queued
        if point is None
        else min(queued, count_gone_from_source(queue_look) + await _deleted_within(js, question, queue_look, point))
    }


async def _deleted_within(js: JetStream, question: QueuedFrom, queue_look: Mapping[str, Any], point: int) -> int:
    """Count the messages deleted from within the source, after the lowest one queued."""
    source = queue_look["source"]["state"]
    if not (holes := int(source.get("num_deleted", 0))):
        return 0
    answer = await messages_from(js, MessagesFrom(stream=question.source, start=point))
    if not isinstance(answer, dict) or "messages" not in answer:
        return holes
    expected: int = source["last_seq"] + 1 - max(point, source["first_seq"])
    return max(0, min(holes, expected - int(answer["messages"])))


async def first_message_from(js: JetStream, stream: str, sequence: int) -> Answer:
    """Return the first message from there on, as the leader has it."""
    return await js.read(f"STREAM.MSG.GET.{stream}", {"seq": sequence, "next_by_subj": ">"})


def is_gone(answer: Answer) -> bool:
    """Did the server say that the stream does not exist? Silence does not count."""
    return isinstance(answer, Refusal) and answer.err_code == NO_STREAM


def has_moved(answer: object) -> bool:
    """Was the message processed that existed a moment ago?"""
    return isinstance(answer, Refusal) and answer.err_code == NO_MESSAGE
