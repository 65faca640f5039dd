"""What publishers try: plain and large messages, ids, expectations, lifetimes, rollups, counters, schedules and
batches; what is stored then, and for how long; and gets, deletions and purges."""

from __future__ import annotations

import asyncio
import base64
import re
from collections.abc import Iterable, Mapping
from dataclasses import field

from reconciler.changes.effect import Side
from reconciler.model.dataclass import dataclass
from reconciler.model.resource import Json
from reconciler.testbed.probes.client import NO_ANSWER, Client
from reconciler.testbed.probes.record import FAILS, Notes
from reconciler.testbed.probes.scene import Body

FIRST = "{first}"
Gets = tuple[tuple[str, str, Mapping[str, Json] | None], ...]
GETS: Gets = (
    ("by sequence", "{stream}", {"seq": 3}),
    ("the last of a subject", "{stream}", {"last_by_subj": FIRST}),
    ("the last of a subject by its name", "{stream}.{first}", None),
    ("the last of all subjects", "{stream}", {"multi_last": [">"], "batch": 100}),
)


TIMES = 12
"""How often a get is tried that several streams may answer, so that each of them does."""


async def note_stored(client: Client, notes: Notes, stream: str, body: Body, when: str, *given: str) -> None:
    """Record how many messages of which subject are stored; a copy is on a side of its own."""
    info = await client.ask(f"STREAM.INFO.{stream}", {"subjects_filter": ">"})
    side = Side.COPIES if body.get("mirror") or body.get("sources") else Side.STORED
    notes.add(f"stored {when} in {stream}", side, info if isinstance(info, str) else _state_text(info["state"]), *given)


async def try_gets(client: Client, notes: Notes, stream: str, subject: str, gets: Gets, *, answers: int = 1) -> None:
    """Try gets that this many streams may answer, any of them each time."""
    given = f"stored at first in {stream}"
    for words, endpoint, body in gets:
        request = {key: subject if value == FIRST else value for key, value in body.items()} if body else None
        subject_or_stream = endpoint.format(stream=stream, first=subject)
        results = await asyncio.gather(
            *(client.get(subject_or_stream, request) for _ in range(TIMES if answers > 1 else 1))
        )
        notes.add(f"get {words} from {stream}", Side.DIRECT_GETS, _distinct_results_text(results), given)
    message = await client.ask(f"STREAM.MSG.GET.{stream}", {"last_by_subj": subject})
    led = message if isinstance(message, str) else f"message {message['message']['seq']}"
    notes.add(f"get from the leader of {stream}", Side.DIRECT_GETS, led, given)


def _distinct_results_text(results: Iterable[str]) -> str:
    """Join the different results, those that brought something first."""
    return " or ".join(sorted(set(results), key=lambda result: (result.startswith(FAILS), result)))


async def try_deletions(client: Client, notes: Notes, stream: str, subject: str) -> None:
    """Try deletions, whatever is there: a purge of nothing is allowed or refused all the same."""
    info = await client.ask(f"STREAM.INFO.{stream}")
    last = 1 if isinstance(info, str) else info["state"]["last_seq"]
    for words, endpoint, body in (
        ("delete the last message", "MSG.DELETE", {"seq": last}),
        ("purge a subject", "PURGE", {"filter": subject}),
        ("purge everything", "PURGE", {}),
    ):
        answer = await client.ask(f"STREAM.{endpoint}.{stream}", body)
        notes.add(f"{words} of {stream}", Side.DELETIONS, answer if isinstance(answer, str) else "done", "stored after")


def _state_text(state: Mapping[str, Json]) -> str:
    subjects = sorted((state.get("subjects") or {}).items())
    return f"{state['messages']} from {state['first_seq']} on: " + ", ".join(
        f"{subject} {n}" for subject, n in subjects
    )


SPARE = "{spare}"
NUMBER = "Probe"
"""The header that tells which publish a stored message came from."""
UNANSWERED = "stored without an answer"
LARGE = 2_000
"""Bytes of a large message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Publish:
    """One message to the first of a stream's subjects, or to the one that may lose what it holds."""

    name: str
    subject: str = FIRST
    size: int = 10
    headers: Mapping[str, str] = field(default_factory=dict)
    is_late: bool = False
    """After the time that the battery lets pass."""
    is_fast: bool = False
    """As a fast batch, which servers before 2.14 take for an ordinary message."""


PLAIN = (
    Publish(name="small"),
    Publish(name="large", size=LARGE),
    Publish(name="with an id", headers={"Nats-Msg-Id": "probe"}),
    Publish(name="with the same id", headers={"Nats-Msg-Id": "probe"}),
    Publish(name="with the id of a stored message", headers={"Nats-Msg-Id": "m1"}),
    Publish(name="with a wrong sequence expected", headers={"Nats-Expected-Last-Subject-Sequence": "999999"}),
    Publish(name="with a lifetime", subject=SPARE, headers={"Nats-TTL": "1s"}),
    Publish(name="a rollup", subject=SPARE, headers={"Nats-Rollup": "sub"}),
    Publish(name="a counter", subject=SPARE, size=0, headers={"Nats-Incr": "+1"}),
    Publish(name="another counter", size=0, headers={"Nats-Incr": "+1"}),
    Publish(name="a schedule", subject=SPARE,
            headers={"Nats-Schedule": "@at 2099-01-01T00:00:00Z", "Nats-Schedule-Target": FIRST}),
    Publish(name="a batch", headers={"Nats-Batch-Id": "probe", "Nats-Batch-Sequence": "1", "Nats-Batch-Commit": "1"}),
    Publish(name="a fast batch", is_fast=True),
    Publish(name="with the same id, later", headers={"Nats-Msg-Id": "probe"}, is_late=True),
)  # fmt: skip
BUCKET = (
    Publish(name="put"),
    Publish(name="put a large value", size=LARGE),
    Publish(name="create a key that is there", headers={"Nats-Expected-Last-Subject-Sequence": "0"}),
    Publish(name="put with a lifetime", subject=SPARE, headers={"Nats-TTL": "1s"}),
    Publish(name="delete a key", headers={"KV-Operation": "DEL"}, size=0),
    Publish(name="put again"),
    Publish(name="purge a key", subject=SPARE, headers={"KV-Operation": "PURGE", "Nats-Rollup": "sub"}, size=0),
)
STORE = (
    Publish(name="put a chunk"),
    Publish(name="put a large chunk", size=LARGE),
    Publish(name="put the description of an object", subject=SPARE, headers={"Nats-Rollup": "sub"}),
    Publish(name="put a link to an object", subject=SPARE, size=100, headers={"Nats-Rollup": "sub"}),
)
EACH = tuple(Publish(name=f"message {number}") for number in range(1, 4))
"""To every subject, for its shape and for what is full."""


async def try_publishes(
    client: Client,
    notes: Notes,
    stream: str,
    subjects: tuple[str, ...],
    operations: Iterable[Publish],
    is_late: bool = False,
    *,
    stream_name: str = "",
) -> None:
    """Publish in this order, because one connection keeps it; a publisher does not wait for the answer to the message
    before. `stream_name` is named where there are several streams to publish to."""
    chosen = [publish for publish in operations if publish.is_late is is_late]
    sent = [(f"publish {publish.name}", publish, {FIRST: subjects[0], SPARE: subjects[-1]}) for publish in chosen]
    for subject in () if is_late else subjects:
        sent += [(f"publish {publish.name} to {subject}", publish, {FIRST: subject}) for publish in EACH]
    numbers = [f"{'late ' if is_late else ''}{index}" for index in range(len(sent))]
    answers = await asyncio.gather(
        *(
            _publish(client, publish, subject_of, number)
            for (_, publish, subject_of), number in zip(sent, numbers, strict=True)
        )
    )
    stored_numbers = await _stored_publishes(client, stream) if NO_ANSWER in answers else frozenset()
    for (name, _, _), number, answer in zip(sent, numbers, answers, strict=True):
        experience = UNANSWERED if answer == NO_ANSWER and number in stored_numbers else answer
        notes.add(f"{name} into {stream_name}" if stream_name else name, Side.PUBLISHERS, experience)


async def _publish(client: Client, message: Publish, subject_of: Mapping[str, str], number: str) -> str:
    headers = {**{name: subject_of.get(value, value) for name, value in message.headers.items()}, NUMBER: number}
    publish = client.publish_fast if message.is_fast else client.publish
    return await publish(subject_of[message.subject], b"x" * message.size, headers)


async def _stored_publishes(client: Client, stream: str) -> frozenset[str]:
    """Return which publishes are stored, where no publisher learns it."""
    info = await client.ask(f"STREAM.INFO.{stream}")
    state = {"first_seq": 1, "last_seq": 0} if isinstance(info, str) else info["state"]
    sequences = range(state["first_seq"], state["last_seq"] + 1)
    answers = await asyncio.gather(
        *(client.ask(f"STREAM.MSG.GET.{stream}", {"seq": sequence}) for sequence in sequences)
    )
    headers = [
        base64.b64decode(answer["message"].get("hdrs") or "").decode()
        for answer in answers
        if not isinstance(answer, str)
    ]
    return frozenset(match[1] for text in headers if (match := re.search(rf"^{NUMBER}: (.*?)\r?$", text, re.MULTILINE)))
