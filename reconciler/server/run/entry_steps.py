"""Steps on KV entries: always compare-and-set; after a lost acknowledgement the key is read again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from pydantic_core import from_json

from reconciler.changes.events import Strayed
from reconciler.model.resource import Json
from reconciler.model.wire.snapshot import Entry
from reconciler.model.wire.steps import Step
from reconciler.server.read import lost_answers as settled
from reconciler.server.read.read_kv import entry
from reconciler.server.run import problems
from reconciler.server.run.handling import Result, RunContext, Succeeded
from reconciler.server.run.problems import Unsuccessful
from reconciler.server.wire.answers import Conflict, Put, Refusal, Stored
from reconciler.server.wire.pipeline import NoAnswer, Silence

SETTLING = 2.0
"""Seconds in which a new bucket may not listen yet."""


async def put(run: RunContext, step: Step) -> Result:
    """Write the entry, unless somebody else wrote its key after the plan was made."""
    bucket, key = step.on
    value, expected = (step.value or "").encode(), run.written.get(step.on, step.revision)
    said = await _when_listening(lambda: settled.put(run.js, bucket, key, value, expected_revision=expected))
    return await _written(run, step, said)


async def remove(run: RunContext, step: Step) -> Result:
    """Delete the entry, unless somebody else wrote its key after the plan was made."""
    bucket, key = step.on
    expected = run.written.get(step.on, step.revision)
    said = await _when_listening(lambda: settled.delete(run.js, bucket, key, expected_revision=expected))
    return await _written(run, step, said)


async def _when_listening(put: Callable[[], Awaitable[Put]]) -> Put:
    """Retry while a new bucket in a cluster does not listen yet; without a listener nothing was done."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + SETTLING
    while True:
        said = await put()
        if not (isinstance(said, NoAnswer) and said.why is Silence.NO_RESPONDERS) or loop.time() > deadline:
            return said
        await asyncio.sleep(0.05)


async def _written(run: RunContext, step: Step, said: Put) -> Result:
    if isinstance(said, Conflict):
        return await _changed(run, step, said)
    if isinstance(said, Stored):
        run.written[step.on] = said.revision
        return Succeeded(revision=said.revision)
    if isinstance(said, NoAnswer) and said.outcome_unknown:
        return problems.in_doubt(step, said)
    return problems.refused(step, said)


async def _changed(run: RunContext, step: Step, said: Conflict) -> Unsuccessful:
    """Describe what somebody wrote there, with the value the plan was made from and the wanted one, as far as these are
    known."""
    planned, now = run.forms.stored(step.on), await entry(run.js, *step.on)
    is_as_planned = step.on not in run.written and (planned.revision if planned else 0) == step.revision
    if isinstance(now, Refusal | NoAnswer) or not is_as_planned:
        return problems.changed(step, [str(said)])
    was, is_, wanted = _record(planned), _record(now), _decoded(step.value)
    if was is not None and is_ is None:
        return problems.gone(step)
    found = _strayed(was, is_, wanted)
    return problems.strayed(step, found) if found else problems.changed(step, [str(said)])


def _record(there: Entry | None) -> Json:
    return None if there is None or there.deleted else _decoded(there.value)


def _decoded(value: bytes | str | None) -> Json:
    try:
        return None if value is None else from_json(value, allow_inf_nan=False)
    except ValueError:
        return value.decode(errors="replace") if isinstance(value, bytes) else value


def _strayed(was: Json, is_: Json, wanted: Json) -> list[Strayed]:
    """Compare by the fields of the record, or as a whole where one of the two has none."""
    if not (isinstance(was, Mapping) and isinstance(is_, Mapping)):
        was, is_, wanted = {"record": was}, {"record": is_}, {"record": wanted}
    wanted = wanted if isinstance(wanted, Mapping) else {}
    return [
        Strayed(path=name, planned=was.get(name), now=is_.get(name), wanted=wanted.get(name))
        for name in sorted(was.keys() | is_.keys())
        if was.get(name) != is_.get(name)
    ]
