"""What is stored and for how long, and the experience of gets, deletions and purges."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

from reconciler.changes.effect import Side
from reconciler.model.resource import Json
from reconciler.testbed.probes.client import Client
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


async def stored(client: Client, notes: Notes, stream: str, body: Body, when: str, *given: str) -> None:
    """Record how many messages of which subject are stored; a copy is on a side of its own."""
    info = await client.ask(f"STREAM.INFO.{stream}", {"subjects_filter": ">"})
    side = Side.COPIES if body.get("mirror") or body.get("sources") else Side.STORED
    notes.add(f"stored {when} in {stream}", side, info if isinstance(info, str) else _state(info["state"]), *given)


async def getting(client: Client, notes: Notes, stream: str, subject: str, gets: Gets, *, answers: int = 1) -> None:
    """Try gets that this many streams may answer, any of them each time."""
    given = f"stored at first in {stream}"
    for words, endpoint, body in gets:
        asked = {key: subject if value == FIRST else value for key, value in body.items()} if body else None
        place = endpoint.format(stream=stream, first=subject)
        found = await asyncio.gather(*(client.get(place, asked) for _ in range(TIMES if answers > 1 else 1)))
        notes.add(f"get {words} from {stream}", Side.DIRECT_GETS, _any_of(found), given)
    message = await client.ask(f"STREAM.MSG.GET.{stream}", {"last_by_subj": subject})
    led = message if isinstance(message, str) else f"message {message['message']['seq']}"
    notes.add(f"get from the leader of {stream}", Side.DIRECT_GETS, led, given)


def _any_of(found: Iterable[str]) -> str:
    """The first result that brought something."""
    return " or ".join(sorted(set(found), key=lambda one: (one.startswith(FAILS), one)))


async def deleting(client: Client, notes: Notes, stream: str, subject: str) -> None:
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


def _state(state: Mapping[str, Json]) -> str:
    subjects = sorted((state.get("subjects") or {}).items())
    return f"{state['messages']} from {state['first_seq']} on: " + ", ".join(
        f"{subject} {n}" for subject, n in subjects
    )
