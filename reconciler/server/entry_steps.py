"""KV entries: always compare-and-set; a lost acknowledgement is settled by reading the key again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from reconciler.core.wire import Step
from reconciler.server import problems, settled
from reconciler.server.api import Conflict, NoAnswer, Put, Silence, Stored
from reconciler.server.handling import Result, Run, Succeeded

SETTLING = 2.0
"""Seconds in which a bucket made a moment ago may still have nobody listening."""


async def put(run: Run, step: Step) -> Result:
    bucket, key = step.on
    value, expected = (step.value or "").encode(), run.written.get(step.on, step.revision)
    said = await _when_listening(lambda: settled.put(run.js, bucket, key, value, expected_revision=expected))
    return _written(run, step, said)


async def remove(run: Run, step: Step) -> Result:
    bucket, key = step.on
    expected = run.written.get(step.on, step.revision)
    said = await _when_listening(lambda: settled.delete(run.js, bucket, key, expected_revision=expected))
    return _written(run, step, said)


async def _when_listening(put: Callable[[], Awaitable[Put]]) -> Put:
    """A bucket created a moment ago in a cluster may not listen yet; nobody listening means nothing done."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + SETTLING
    while True:
        said = await put()
        if not (isinstance(said, NoAnswer) and said.why is Silence.NO_RESPONDERS) or loop.time() > deadline:
            return said
        await asyncio.sleep(0.05)


def _written(run: Run, step: Step, said: Put) -> Result:
    if isinstance(said, Stored):
        run.written[step.on] = said.revision
        return Succeeded(revision=said.revision)
    if isinstance(said, NoAnswer) and said.outcome_unknown:
        return problems.in_doubt(step, said)
    return problems.changed(step, [str(said)]) if isinstance(said, Conflict) else problems.refused(step, said)
