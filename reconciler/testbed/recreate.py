"""Recreates an account, without its messages, on our own servers: what was read of it is written there, as raw as it
was. It names whatever a server does not take, because nothing that depends on that counts as rehearsed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Iterator, Mapping
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter
from typing import TypeVar

from reconciler.changes.rehearsal import Missing
from reconciler.model.ledger.entries import compact_json
from reconciler.model.ledger.intents import PREFIX as INTENT
from reconciler.model.ledger.records import BUCKET, PREFIX, decode_owned, encode_owned
from reconciler.model.resource import Json, users_metadata
from reconciler.model.wire.snapshot import Entry, Snapshot
from reconciler.server.remember import ledger
from reconciler.server.wire.answers import Refusal, Stored
from reconciler.server.wire.api import JetStream
from reconciler.server.wire.pipeline import NoAnswer

T = TypeVar("T")
AT_ONCE = 64
KEPT = (f"{PREFIX}.", f"{INTENT}.")
"""Entries of our own bucket that belong to the account; leases and journals belong to runs."""


async def recreate(js: JetStream, snapshot: Snapshot) -> list[Missing]:
    """Recreate streams (origins first), durable consumers, entries; what could not be read is missing too."""
    missing = [Missing(scope, why) for scope, why in snapshot.unknown.items()]
    if BUCKET in snapshot.entries and f"KV_{BUCKET}" not in snapshot.streams:
        await ledger.ensure_bucket(js, snapshot)  # of an account that was only imagined
    for names in _origins_first(snapshot):
        missing += await _missing_of(_create_stream(js, snapshot, name) for name in names)
    missing += await _missing_of(
        _send(js, f"consumer/{stream}/{name}", f"CONSUMER.CREATE.{stream}.{name}", _consumer_request(stream, info))
        for stream, own in snapshot.consumers.items()
        for name, info in own.items()
        if info["config"].get("durable_name")
    )
    missing += await _missing_of(
        _write_entry(js, bucket, key, entry) for bucket, own in snapshot.entries.items() for key, entry in own.items()
    )
    missing += await _missing_of(
        _seal(js, name) for name, info in snapshot.streams.items() if info["config"].get("sealed")
    )
    return missing


async def _missing_of(work: Iterable[Awaitable[Missing | None]]) -> list[Missing]:
    return [missing for missing in await few_at_a_time(work, AT_ONCE) if missing]


async def few_at_a_time(work: Iterable[Awaitable[T]], limit: int) -> list[T]:
    """Return the results of all this work, in its order; at most `limit` of it is under way at a time."""
    window = asyncio.Semaphore(limit)

    async def within_the_limit(item: Awaitable[T]) -> T:
        async with window:
            return await item

    return await asyncio.gather(*map(within_the_limit, work))


def _origins_first(snapshot: Snapshot) -> Iterator[list[str]]:
    """Streams after the origins they copy from; absent origins are created empty, before everything else."""
    needs = {name: set(origins_in_account(info["config"])) for name, info in snapshot.streams.items()}
    sorter = TopologicalSorter(needs)
    try:
        sorter.prepare()
    except CycleError:
        yield sorted(needs)
        return
    while sorter.is_active():
        ready = sorted(sorter.get_ready())
        yield ready
        sorter.done(*ready)


def origins_in_account(config: Mapping[str, Json]) -> Iterator[str]:
    """Yield the streams of the same account that a stream copies from."""
    for copied in (*([config["mirror"]] if config.get("mirror") else []), *(config.get("sources") or ())):
        if not copied.get("external"):
            yield copied["name"]


async def _create_stream(js: JetStream, snapshot: Snapshot, name: str) -> Missing | None:
    info = snapshot.streams.get(name)
    if info is None:
        return await _send(js, f"stream/{name}", f"STREAM.CREATE.{name}", {"name": name})
    config = {**_config_to_send(info["config"]), "sealed": False}
    return await _send(js, f"stream/{name}", f"STREAM.CREATE.{name}", config)


async def _seal(js: JetStream, name: str) -> Missing | None:
    """No server creates a sealed stream."""
    answer = await js.read(f"STREAM.INFO.{name}")
    if isinstance(answer, Refusal | NoAnswer):
        return None  # its creation was refused, and that is reported
    return await _send(
        js, f"stream/{name}", f"STREAM.UPDATE.{name}", {**_config_to_send(answer["config"]), "sealed": True}
    )


def _consumer_request(stream: str, info: Mapping[str, Json]) -> Mapping[str, Json]:
    return {"stream_name": stream, "config": _config_to_send(info["config"]), "action": "create"}


def _config_to_send(config: Mapping[str, Json]) -> dict[str, Json]:
    """Leave out what a server adds."""
    metadata = users_metadata(config.get("metadata") or {})
    rest = {name: value for name, value in config.items() if name != "metadata"}
    return {**rest, "metadata": metadata} if metadata else rest


async def _send(js: JetStream, object_name: str, endpoint: str, body: Mapping[str, Json]) -> Missing | None:
    answer = await js.write(endpoint, body)
    return Missing(object_name, str(answer)) if isinstance(answer, Refusal | NoAnswer) else None


async def _write_entry(js: JetStream, bucket: str, key: str, entry: Entry) -> Missing | None:
    if entry.deleted or (bucket == BUCKET and not key.startswith(KEPT)):
        return None
    value = _record_without_object(entry) if bucket == BUCKET and key.startswith(f"{PREFIX}.") else entry.value
    answer = await js.put_entry(bucket, key, value, expected_revision=0)
    return None if isinstance(answer, Stored) else Missing(f"entry {bucket}/{key}", str(answer))


def _record_without_object(entry: Entry) -> bytes:
    """Forget which object a record is about: here everything is recreated on purpose."""
    owned = decode_owned(entry)
    return entry.value if isinstance(owned, str) else compact_json(encode_owned(replace(owned, seen={})))
