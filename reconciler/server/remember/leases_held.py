"""Leases as others see them: who holds them, and the removal of one that was abandoned."""

from __future__ import annotations

import asyncio

from reconciler.memory.lease import PREFIX, Free, Held, found, lease_key, topology_of
from reconciler.model.records import BUCKET
from reconciler.server.read.read_kv import entry, names
from reconciler.server.remember.lease import GIVEN_BACK
from reconciler.server.wire.answers import NO_STREAM, Conflict, Refusal, Stored
from reconciler.server.wire.api import JetStream
from reconciler.server.wire.pipeline import NoAnswer

TRIES = 5
"""A live holder renews its lease now and then, perhaps at this moment."""


async def leases(js: JetStream) -> list[Held] | Refusal | NoAnswer:
    """Return every lease that is held in this account."""
    keys = await names(js, BUCKET, f"$KV.{BUCKET}.{PREFIX}.>")
    if isinstance(keys, Refusal) and keys.err_code == NO_STREAM:
        return []
    if not isinstance(keys, list):
        return keys
    topologies = sorted(topology for key in keys if (topology := topology_of(key)) is not None)
    seen = await asyncio.gather(*(look(js, topology) for topology in topologies))
    held: list[Held] = []
    for one in seen:
        if isinstance(one, Refusal | NoAnswer):
            return one
        if isinstance(one, Held):
            held.append(one)
    return held


async def look(js: JetStream, topology: str) -> Free | Held | Refusal | NoAnswer:
    """Return the state of a topology's lease: who holds it, or that it is free."""
    there = await entry(js, BUCKET, lease_key(topology))
    if isinstance(there, Refusal | NoAnswer):
        return there
    seen = found(there, topology)
    return seen if isinstance(seen, Held) else Free(seen.revision)


async def remove(js: JetStream, shown: Held) -> Free | Held | Refusal | NoAnswer:
    """Remove a lease. Free: it is gone. Held: somebody else has it by now, and keeps it."""
    topology = shown.holder.topology
    for _ in range(TRIES):
        now = await look(js, topology)
        if not isinstance(now, Held) or now.holder != shown.holder:
            return now
        said = await js.put_entry(BUCKET, lease_key(topology), b"", expected_revision=now.revision, headers=GIVEN_BACK)
        if isinstance(said, Stored):
            return Free(said.revision)
        if not isinstance(said, Conflict):
            return said
    return now
