"""Writes whose answer was lost: the present state says whether they happened, and whether to send them again.

A repeated write is harmless even if the first one happens after all: entries are compared before they are set, and
repeated updates and deletions of the same object have the same result.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

from reconciler.model.wire.snapshot import Entry
from reconciler.server.read.read_kv import entry
from reconciler.server.wire.answers import NOTHING_DONE, TRANSIENT, Answer, Conflict, Put, Refusal, Stored
from reconciler.server.wire.api import JetStream, Pauses
from reconciler.server.wire.pipeline import NoAnswer

T = TypeVar("T")


def is_unknown(answer: Answer | Put) -> bool:
    """Is it unknown whether the write was done? That is so after silence, or after a refusal that does not say."""
    if isinstance(answer, NoAnswer):
        return answer.outcome_unknown
    return isinstance(answer, Refusal) and answer.err_code in TRANSIENT - NOTHING_DONE


async def write_until_known(
    js: JetStream, send: Callable[[], Awaitable[Answer]], look: Callable[[], Awaitable[T | None]]
) -> Answer | T:
    """Return the answer or, where none came, what `look` finds. None: nothing was done yet, so the write is sent
    again."""
    with Pauses(js.patience) as pauses:
        while True:
            answer = await send()
            if not is_unknown(answer) or ((state := await look()) is None and not await pauses.wait()):
                return answer
            if state is not None:
                return state
            pauses.tell(_wait_text(answer))


async def put(
    js: JetStream,
    bucket: str,
    key: str,
    value: bytes,
    *,
    expected_revision: int | None,
    headers: Mapping[str, str] | None = None,
    whoever: bool = False,
) -> Put:
    """Write as `JetStream.put_entry` does, with the present entry as the answer where none came. With `whoever`, the
    same value counts even when somebody else wrote it."""
    perhaps_ours = whoever
    with Pauses(js.patience) as pauses:
        while True:
            answer = await js.put_entry(bucket, key, value, expected_revision=expected_revision, headers=headers)
            perhaps_ours = perhaps_ours or is_unknown(answer)
            if not perhaps_ours or not (is_unknown(answer) or isinstance(answer, Conflict)):
                return answer
            present = await entry(js, bucket, key)
            if isinstance(present, Entry) and (present.value, present.deleted) == (value, bool(headers)):
                return Stored(present.revision)
            if isinstance(answer, Conflict) or not await pauses.wait():
                return answer
            pauses.tell(_wait_text(answer))


def _wait_text(answer: Answer | Put) -> str:
    return f"to know whether it was done, and looking again: {answer}"


async def delete(js: JetStream, bucket: str, key: str, *, expected_revision: int | None) -> Put:
    """Leave a delete marker. Never a purge: members of a group take that for a broken record."""
    marker = {"KV-Operation": "DEL"}
    return await put(js, bucket, key, b"", expected_revision=expected_revision, headers=marker)
