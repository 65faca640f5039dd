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
    found: dict[str, Entry] = {}
    for part in await asyncio.gather(*(_part(js, bucket, f"$KV.{bucket}.{key}", direct) for key in keys)):
        if isinstance(part, Refusal | NoAnswer):
            return part
        found |= part
    return found


async def _part(js: JetStream, bucket: str, matching: str, direct: bool) -> dict[str, Entry] | Refusal | NoAnswer:
    if direct:
        found, last = await asyncio.gather(_direct(js, bucket, matching), _last(js, bucket, matching))
        if not isinstance(last, int):
            return last
        if found is not None and max((entry.revision for entry in found.values()), default=0) >= last:
            return found
    return await _from_leader(js, bucket, matching)


async def _last(js: JetStream, bucket: str, matching: str) -> int | Refusal | NoAnswer:
    """The leader's last sequence; a replica that has it has everything before it too. A user who may not ask for it has
    to believe any replica; a leader that does not answer is no reason to."""
    said = await js.read(f"STREAM.MSG.GET.KV_{bucket}", {"last_by_subj": matching})
    if isinstance(said, Mapping):
        return int(said["message"]["seq"])
    nothing = isinstance(said, Refusal) and said.err_code == NO_MESSAGE
    return 0 if nothing or (isinstance(said, NoAnswer) and said.why is Silence.DENIED) else said


async def _direct(js: JetStream, bucket: str, matching: str) -> dict[str, Entry] | None:
    """Read directly; None: this way is closed (not permitted, cut off, refused)."""
    found: dict[str, Entry] = {}
    start = 1
    while True:
        body = {"seq": start, "batch": 1_000_000, "next_by_subj": matching}
        replies = await batch(js, f"KV_{bucket}", body, within=STALL)
        if isinstance(replies, NoAnswer) or replies[-1].status not in ("204", "404"):
            return None
        *messages, end = replies
        if not is_unbroken(messages):
            return None
        found.update(_entry(bucket, message) for message in messages)  # with history, the later one counts
        if end.status == "404" or end.headers.get("Nats-Num-Pending", "0") == "0" or not messages:
            return found
        start = int(messages[-1].headers["Nats-Sequence"]) + 1


def is_unbroken(messages: Iterable[Reply]) -> bool:
    """Does each message name the one sent before it?"""
    before = "0"
    for message in messages:
        if message.headers.get("Nats-Last-Sequence") != before:
            return False
        before = message.headers["Nats-Sequence"]
    return True


def _entry(bucket: str, message: Reply) -> tuple[str, Entry]:
    headers = message.headers
    deleted = headers.get("KV-Operation") in ("DEL", "PURGE") or "Nats-Marker-Reason" in headers
    key = headers["Nats-Subject"].removeprefix(f"$KV.{bucket}.")
    return key, Entry(message.data, int(headers["Nats-Sequence"]), deleted, headers.get("Nats-Time-Stamp", ""))


async def _from_leader(js: JetStream, bucket: str, matching: str) -> dict[str, Entry] | Refusal | NoAnswer:
    keys = await names(js, bucket, matching)
    if not isinstance(keys, list):
        return keys
    found: dict[str, Entry] = {}
    for key, last in zip(keys, await asyncio.gather(*(entry(js, bucket, key) for key in keys)), strict=True):
        if isinstance(last, Refusal | NoAnswer):
            return last
        if last is not None:
            found[key] = last
    return found


async def names(js: JetStream, bucket: str, matching: str) -> list[str] | Refusal | NoAnswer:
    """Return the keys whose subject matches, including those of deletion markers."""
    subjects = await subject_counts(js, f"KV_{bucket}", matching)
    if not isinstance(subjects, dict):
        return subjects
    return [subject.removeprefix(f"$KV.{bucket}.") for subject in subjects]


async def entry(js: JetStream, bucket: str, key: str) -> Entry | Refusal | NoAnswer | None:
    """Return the last message of one key from the leader, as a compare-and-set needs it. None: never written."""
    said = await js.read(f"STREAM.MSG.GET.KV_{bucket}", {"last_by_subj": f"$KV.{bucket}.{key}"})
    if isinstance(said, Refusal) and said.err_code == NO_MESSAGE:
        return None
    if isinstance(said, Refusal | NoAnswer):
        return said
    message = said["message"]
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
    seen, total = 0, 1
    while seen < total:
        said = await js.read(f"STREAM.INFO.{stream}", {"subjects_filter": matching, "offset": seen})
        if isinstance(said, Refusal | NoAnswer):
            yield said
            return
        page = said["state"].get("subjects") or {}
        if page:
            yield page
        seen, total = seen + len(page), said.get("total", 0) if page else 0
