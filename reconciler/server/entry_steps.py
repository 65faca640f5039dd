"""KV entries: always compare-and-set; a lost acknowledgement is settled by reading the key again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from reconciler.core.wire import Entry, Step
from reconciler.server import problems
from reconciler.server.api import Conflict, NoAnswer, Put, Silence, Stored
from reconciler.server.handling import Result, Run, Succeeded
from reconciler.server.read_kv import entry

SETTLING = 2.0
"""Seconds in which a bucket made a moment ago may still have nobody listening."""


async def put(run: Run, step: Step) -> Result:
    bucket, key = step.on
    value, expected = (step.value or "").encode(), run.written.get(step.on, step.revision)
    said = await _when_listening(lambda: run.js.put_entry(bucket, key, value, expected_revision=expected))
    return await _written(run, step, said, value, deleted=False)


async def remove(run: Run, step: Step) -> Result:
    bucket, key = step.on
    expected = run.written.get(step.on, step.revision)
    said = await _when_listening(lambda: run.js.delete_entry(bucket, key, expected_revision=expected))
    return await _written(run, step, said, b"", deleted=True)


async def _when_listening(put: Callable[[], Awaitable[Put]]) -> Put:
    """A bucket created a moment ago in a cluster may not listen yet; nobody listening means nothing done."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + SETTLING
    while True:
        said = await put()
        if not (isinstance(said, NoAnswer) and said.why is Silence.NO_RESPONDERS) or loop.time() > deadline:
            return said
        await asyncio.sleep(0.05)


async def _written(run: Run, step: Step, said: Put, value: bytes, *, deleted: bool) -> Result:
    if isinstance(said, NoAnswer) and said.outcome_unknown:
        there = await entry(run.js, *step.on)
        if not isinstance(there, Entry) or (there.value, there.deleted) != (value, deleted):
            return problems.in_doubt(step, said)
        said = Stored(there.revision)
    if isinstance(said, Stored):
        run.written[step.on] = said.revision
        return Succeeded(revision=said.revision)
    return problems.changed(step, [str(said)]) if isinstance(said, Conflict) else problems.refused(step, said)
