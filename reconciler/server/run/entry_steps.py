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
    answer = await _when_listening(lambda: settled.put(run.js, bucket, key, value, expected_revision=expected))
    return await _result_of(run, step, answer)


async def remove(run: RunContext, step: Step) -> Result:
    """Delete the entry, unless somebody else wrote its key after the plan was made."""
    bucket, key = step.on
    expected = run.written.get(step.on, step.revision)
    answer = await _when_listening(lambda: settled.delete(run.js, bucket, key, expected_revision=expected))
    return await _result_of(run, step, answer)


async def _when_listening(put: Callable[[], Awaitable[Put]]) -> Put:
    """Retry while a new bucket in a cluster does not listen yet; without a listener nothing was done."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + SETTLING
    while True:
        answer = await put()
        if not (isinstance(answer, NoAnswer) and answer.why is Silence.NO_RESPONDERS) or loop.time() > deadline:
            return answer
        await asyncio.sleep(0.05)


async def _result_of(run: RunContext, step: Step, answer: Put) -> Result:
    if isinstance(answer, Conflict):
        return await _changed_since_plan(run, step, answer)
    if isinstance(answer, Stored):
        run.written[step.on] = answer.revision
        return Succeeded(revision=answer.revision)
    if isinstance(answer, NoAnswer) and answer.outcome_unknown:
        return problems.in_doubt(step, answer)
    return problems.refused(step, answer)


async def _changed_since_plan(run: RunContext, step: Step, conflict: Conflict) -> Unsuccessful:
    """Describe what somebody wrote there, with the value the plan was made from and the wanted one, as far as these are
    known."""
    planned, now = run.forms.stored(step.on), await entry(run.js, *step.on)
    is_as_planned = step.on not in run.written and (planned.revision if planned else 0) == step.revision
    if isinstance(now, Refusal | NoAnswer) or not is_as_planned:
        return problems.changed(step, [str(conflict)])
    was, is_, wanted = _record_in(planned), _record_in(now), _decoded_value(step.value)
    if was is not None and is_ is None:
        return problems.gone(step)
    changed = _changed_fields(was, is_, wanted)
    return problems.strayed(step, changed) if changed else problems.changed(step, [str(conflict)])


def _record_in(stored: Entry | None) -> Json:
    return None if stored is None or stored.deleted else _decoded_value(stored.value)


def _decoded_value(value: bytes | str | None) -> Json:
    try:
        return None if value is None else from_json(value, allow_inf_nan=False)
    except ValueError:
        return value.decode(errors="replace") if isinstance(value, bytes) else value


def _changed_fields(was: Json, is_: Json, wanted: Json) -> list[Strayed]:
    """Compare by the fields of the record, or as a whole where one of the two has none."""
    if not (isinstance(was, Mapping) and isinstance(is_, Mapping)):
        was, is_, wanted = {"record": was}, {"record": is_}, {"record": wanted}
    wanted = wanted if isinstance(wanted, Mapping) else {}
    return [
        Strayed(path=name, planned=was.get(name), now=is_.get(name), wanted=wanted.get(name))
        for name in sorted(was.keys() | is_.keys())
        if was.get(name) != is_.get(name)
    ]
