"""Reads all entries of one KV bucket: one request streams them; where that is not possible, the leader is asked per
key.

Direct answers may come from any replica, and that may lag: the leader's last sequence shows it.
"""

from __future__ import annotations

import asyncio
import base64
import re
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence

from reconciler.model.resource import Json
from reconciler.model.wire.snapshot import Entry
from reconciler.server.read.direct import batch
from reconciler.server.wire.answers import NO_MESSAGE, Refusal
from reconciler.server.wire.api import JetStream
from reconciler.server.wire.pipeline import NoAnswer, Reply, Silence

STALL = 2.0
"""Seconds without a message after which a stream of answers counts as cut off (an import that passes on one answer)."""
_MARKER = re.compile(rb"^(KV-Operation: *(DEL|PURGE)|Nats-Marker-Reason:)", re.IGNORECASE | re.MULTILINE)


async def entries(
    js: JetStream, bucket: str, stream: Mapping[str, Json], keys: Sequence[str] = (">",)
) -> dict[str, Entry] | Refusal | NoAnswer:
    """Return the last message of every key that matches one of `keys`; `stream` is the STREAM.LIST item of the backing
    stream."""
    if stream["state"]["messages"] == 0:
        return {}
    direct = bool(stream["config"].get("allow_direct")) and js.prefix.startswith("$JS.")
    by_key: dict[str, Entry] = {}
    for part in await asyncio.gather(*(_entries_matching(js, bucket, f"$KV.{bucket}.{key}", direct) for key in keys)):
        if isinstance(part, Refusal | NoAnswer):
            return part
        by_key |= part
    return by_key


async def _entries_matching(
    js: JetStream, bucket: str, matching: str, direct: bool
) -> dict[str, Entry] | Refusal | NoAnswer:
    if direct:
        by_key, last = await asyncio.gather(_read_directly(js, bucket, matching), _last_sequence(js, bucket, matching))
        if not isinstance(last, int):
            return last
        if by_key is not None and max((entry.revision for entry in by_key.values()), default=0) >= last:
            return by_key
    return await _read_from_leader(js, bucket, matching)


async def _last_sequence(js: JetStream, bucket: str, matching: str) -> int | Refusal | NoAnswer:
    """The leader's last sequence; a replica that has it has everything before it too. A user who may not ask for it has
    to believe any replica; a leader that does not answer is no reason to."""
    answer = await js.read(f"STREAM.MSG.GET.KV_{bucket}", {"last_by_subj": matching})
    if isinstance(answer, Mapping):
        return int(answer["message"]["seq"])
    nothing = isinstance(answer, Refusal) and answer.err_code == NO_MESSAGE
    return 0 if nothing or (isinstance(answer, NoAnswer) and answer.why is Silence.DENIED) else answer


async def _read_directly(js: JetStream, bucket: str, matching: str) -> dict[str, Entry] | None:
    """Read directly; None: this way is closed (not permitted, cut off, refused)."""
    by_key: dict[str, Entry] = {}
    start = 1
    while True:
        body = {"seq": start, "batch": 1_000_000, "next_by_subj": matching}
        replies = await batch(js, f"KV_{bucket}", body, within=STALL)
        if isinstance(replies, NoAnswer) or replies[-1].status not in ("204", "404"):
            return None
        *messages, end = replies
        if not is_unbroken(messages):
            return None
        by_key.update(_key_and_entry(bucket, message) for message in messages)  # with history, the later one counts
        if end.status == "404" or end.headers.get("Nats-Num-Pending", "0") == "0" or not messages:
            return by_key
        start = int(messages[-1].headers["Nats-Sequence"]) + 1


def is_unbroken(messages: Iterable[Reply]) -> bool:
    """Does each message name the one sent before it?"""
    before = "0"
    for message in messages:
        if message.headers.get("Nats-Last-Sequence") != before:
            return False
        before = message.headers["Nats-Sequence"]
    return True


def _key_and_entry(bucket: str, message: Reply) -> tuple[str, Entry]:
    headers = message.headers
    deleted = headers.get("KV-Operation") in ("DEL", "PURGE") or "Nats-Marker-Reason" in headers
    key = headers["Nats-Subject"].removeprefix(f"$KV.{bucket}.")
    return key, Entry(message.data, int(headers["Nats-Sequence"]), deleted, headers.get("Nats-Time-Stamp", ""))


async def _read_from_leader(js: JetStream, bucket: str, matching: str) -> dict[str, Entry] | Refusal | NoAnswer:
    keys = await names(js, bucket, matching)
    if not isinstance(keys, list):
        return keys
    by_key: dict[str, Entry] = {}
    for key, last in zip(keys, await asyncio.gather(*(entry(js, bucket, key) for key in keys)), strict=True):
        if isinstance(last, Refusal | NoAnswer):
            return last
        if last is not None:
            by_key[key] = last
    return by_key


async def names(js: JetStream, bucket: str, matching: str) -> list[str] | Refusal | NoAnswer:
    """Return the keys whose subject matches, including those of deletion markers."""
    subjects = await subject_counts(js, f"KV_{bucket}", matching)
    if not isinstance(subjects, dict):
        return subjects
    return [subject.removeprefix(f"$KV.{bucket}.") for subject in subjects]


async def entry(js: JetStream, bucket: str, key: str) -> Entry | Refusal | NoAnswer | None:
    """Return the last message of one key from the leader, as a compare-and-set needs it. None: never written."""
    answer = await js.read(f"STREAM.MSG.GET.KV_{bucket}", {"last_by_subj": f"$KV.{bucket}.{key}"})
    if isinstance(answer, Refusal) and answer.err_code == NO_MESSAGE:
        return None
    if isinstance(answer, Refusal | NoAnswer):
        return answer
    message = answer["message"]
    headers = base64.b64decode(message.get("hdrs") or "")
    value = base64.b64decode(message.get("data") or "")
    return Entry(value, message["seq"], bool(_MARKER.search(headers)), str(message.get("time", "")))


async def subject_counts(js: JetStream, stream: str, matching: str) -> dict[str, int] | Refusal | NoAnswer:
    """Count the messages that a stream holds per subject."""
    counts: dict[str, int] = {}
    async for page in subject_pages(js, stream, matching):
        if isinstance(page, Refusal | NoAnswer):
            return page
        counts |= page
    return counts


async def subject_pages(
    js: JetStream, stream: str, matching: str
) -> AsyncIterator[dict[str, int] | Refusal | NoAnswer]:
    """Yield the same as it comes, for streams with millions: the server gives at most 100,000 subjects at a time."""
    read, total = 0, 1
    while read < total:
        answer = await js.read(f"STREAM.INFO.{stream}", {"subjects_filter": matching, "offset": read})
        if isinstance(answer, Refusal | NoAnswer):
            yield answer
            return
        page = answer["state"].get("subjects") or {}
        if page:
            yield page
        read, total = read + len(page), answer.get("total", 0) if page else 0
