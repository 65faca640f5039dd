"""One small handler per primitive call: check that all is as planned, send, and verify that the answer is as predicted.

Streams and consumers have no compare-and-set on the server, so an update reads the object just before it writes, and
the window between the two is one round trip. KV entries have compare-and-set, and it is always used.

Steps on KV entries: always compare-and-set; after a lost acknowledgement the key is read again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime

from pydantic_core import from_json

from reconciler.changes.events import ChangedSince
from reconciler.engine.bindings import BINDS, with_bound_values
from reconciler.model.dataclass import dataclass
from reconciler.model.resource import Config, Json
from reconciler.model.wire.snapshot import Entry
from reconciler.model.wire.steps import Bind, Call, Step
from reconciler.server.read import lost_answers as settled
from reconciler.server.read.read_kv import entry
from reconciler.server.run import gates, problems, queue_steps
from reconciler.server.run.handling import (
    POLL,
    Result,
    RunContext,
    Succeeded,
    changed_fields_since_plan,
    info_endpoint,
    is_missing,
    unlike_planned,
)
from reconciler.server.run.problems import Doubtful, Unsuccessful
from reconciler.server.wire.answers import Answer, Conflict, Put, Refusal, Stored
from reconciler.server.wire.pipeline import NoAnswer, Silence

SETTLING = 2.0
"""Seconds in which a new bucket may not listen yet."""


async def put_entry(run: RunContext, step: Step) -> Result:
    """Write the entry, unless somebody else wrote its key after the plan was made."""
    bucket, key = step.on
    value, expected = (step.value or "").encode(), run.written.get(step.on, step.revision)
    answer = await _retry_until_listening(lambda: settled.put(run.js, bucket, key, value, expected_revision=expected))
    return await _result_of(run, step, answer)


async def remove_entry(run: RunContext, step: Step) -> Result:
    """Delete the entry, unless somebody else wrote its key after the plan was made."""
    bucket, key = step.on
    expected = run.written.get(step.on, step.revision)
    answer = await _retry_until_listening(lambda: settled.delete(run.js, bucket, key, expected_revision=expected))
    return await _result_of(run, step, answer)


async def _retry_until_listening(put: Callable[[], Awaitable[Put]]) -> Put:
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
    return problems.changed_since(step, changed) if changed else problems.changed(step, [str(conflict)])


def _record_in(stored: Entry | None) -> Json:
    return None if stored is None or stored.deleted else _decoded_value(stored.value)


def _decoded_value(value: bytes | str | None) -> Json:
    try:
        return None if value is None else from_json(value, allow_inf_nan=False)
    except ValueError:
        return value.decode(errors="replace") if isinstance(value, bytes) else value


def _changed_fields(was: Json, is_: Json, wanted: Json) -> list[ChangedSince]:
    """Compare by the fields of the record, or as a whole where one of the two has none."""
    if not (isinstance(was, Mapping) and isinstance(is_, Mapping)):
        was, is_, wanted = {"record": was}, {"record": is_}, {"record": wanted}
    wanted = wanted if isinstance(wanted, Mapping) else {}
    return [
        ChangedSince(path=name, planned=was.get(name), now=is_.get(name), wanted=wanted.get(name))
        for name in sorted(was.keys() | is_.keys())
        if was.get(name) != is_.get(name)
    ]


PAUSES_WITHIN = 2.0
"""Seconds in which a cluster makes a pause take effect; without it a little more is delivered twice, and nothing is
lost."""


async def carry_out(run: RunContext, step: Step) -> Result:
    """Carry out one step with the values that earlier steps bound, and bind what later steps need."""
    result = await _HANDLERS[step.call](run, with_bound_values(step, run.bound))
    if step.bind is None or not isinstance(result, Succeeded):
        return result
    run.bound[step.id] = BINDS[Bind(step.bind)](result.echo)
    return problems.position_unknown(step) if run.bound[step.id] is None else result


async def _create(run: RunContext, step: Step) -> Result:
    """Create explicitly. This may be repeated: it succeeds when the very same object exists, and is refused
    otherwise."""
    durable = {"durable_name": step.on[1]} if step.call is Call.CONSUMER_CREATE else {}
    config = {"name": step.on[-1], **durable, **step.body}
    result = await _write_and_verify(run, _Write(step, config, None, "create"))
    if isinstance(result, Succeeded):
        run.seen.made.add(step.on)
        run.seen.learn_servers([result.echo])
    return result


async def _update(run: RunContext, step: Step) -> Result:
    live = await run.js.read(info_endpoint(step))
    if isinstance(live, Refusal | NoAnswer):
        return problems.gone(step) if is_missing(live) else problems.unreadable(step, live)
    if unlike := unlike_planned(run, step, live):
        return unlike
    before = live["config"]
    config = run.forms.patch(before, step.set, step.unset)
    return await _write_and_verify(run, _Write(step, config, before, "update"))


@dataclass(frozen=True, slots=True)
class _Write:
    step: Step
    config: Config
    before: Config | None
    action: str

    def judge_echo(self, run: RunContext, echo: Mapping[str, Json]) -> Result:
        wrong = run.forms.wrong(self.step, self.config, self.before, echo["config"])
        return problems.unlike(self.step, wrong) if wrong else Succeeded(echo)

    async def check_answer(self, run: RunContext, echo: Mapping[str, Json]) -> Result:
        """Where the answer to an update of a consumer looks wrong, read the consumer again: a server answers the first
        one since its start with the old configuration, although it makes the update."""
        result = self.judge_echo(run, echo)
        if isinstance(result, Succeeded) or self.before is None or len(self.step.on) == 1:
            return result
        live = await run.js.read(info_endpoint(self.step))
        return self.judge_echo(run, live) if isinstance(live, Mapping) else result

    async def send(self, run: RunContext) -> Answer:
        name, step = ".".join(self.step.on), self.step
        if len(step.on) == 1:
            return await run.js.write(f"STREAM.{self.action.upper()}.{name}", self.config, level=step.level)
        body = {"stream_name": step.on[0], "action": self.action, "config": self.config}
        return await run.js.write(f"CONSUMER.CREATE.{name}", body, level=step.level)

    async def look(self, run: RunContext) -> Result | None:
        """Look at the object, because a lost answer says nothing. None: it is as before."""
        live = await run.js.read(info_endpoint(self.step))
        if isinstance(live, Mapping):
            result = self.judge_echo(run, live)
            if isinstance(result, Succeeded) or self.before is None:
                return result if isinstance(result, Succeeded) else None
            changed = changed_fields_since_plan(run, self.step, live["config"])
            return problems.changed_since(self.step, changed) if changed else None
        return problems.gone(self.step) if is_missing(live) and self.before is not None else None


async def _write_and_verify(run: RunContext, write: _Write) -> Result:
    answer: Answer | Result = await settled.write_until_known(run.js, lambda: write.send(run), lambda: write.look(run))
    if isinstance(answer, Mapping):
        return await write.check_answer(run, answer)
    return answer if isinstance(answer, Succeeded | Unsuccessful | Doubtful) else _result_of_answer(write.step, answer)


async def _delete(run: RunContext, step: Step) -> Result:
    read = info_endpoint(step)

    async def look() -> Result | None:
        live = await run.js.read(read)
        if isinstance(live, Mapping):
            return unlike_planned(run, step, live) if step.before is not None else None
        return Succeeded() if is_missing(live) else None if sent else problems.unreadable(step, live)

    sent = False
    if step.before is not None and isinstance(first_look := await look(), Unsuccessful):
        return first_look
    sent = True
    run.seen.made.discard(step.on)
    answer: Answer | Result = await settled.write_until_known(
        run.js, lambda: run.js.write(read.replace(".INFO.", ".DELETE.", 1)), look
    )
    if isinstance(answer, Refusal) and is_missing(answer):
        return Succeeded()
    return answer if isinstance(answer, Succeeded | Unsuccessful | Doubtful) else _result_of_answer(step, answer)


async def _pause(run: RunContext, step: Step) -> Result:
    answer = await _repeat_request(run, step, "PAUSE")
    until = step.body.get("pause_until")
    if isinstance(answer, Mapping) and until and not _is_same_moment(answer.get("pause_until"), until):
        return problems.unlike(step, [f"it is paused until {answer.get('pause_until')}, not {until}"])
    return _result_of_answer(step, answer)


async def _unpin(run: RunContext, step: Step) -> Result:
    return _result_of_answer(step, await _repeat_request(run, step, "UNPIN"))


async def _repeat_request(run: RunContext, step: Step, verb: str) -> Answer:
    """Repeat the request, without a look: done twice is the same as done once."""

    async def again() -> Answer | None:
        return None

    return await settled.write_until_known(
        run.js, lambda: run.js.write(f"CONSUMER.{verb}.{'.'.join(step.on)}", step.body), again
    )


async def _read_for_later_steps(run: RunContext, step: Step) -> Result:
    """Read what later steps need to know, from the very object that the plan was made for."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + PAUSES_WITHIN
    while True:
        live = await run.js.read(info_endpoint(step))
        if not isinstance(live, Mapping):
            return problems.gone(step) if is_missing(live) else problems.unreadable(step, live)
        if unlike := unlike_planned(run, step, live):
            return unlike
        if live.get("paused") or not step.body.get("paused") or loop.time() > deadline:
            return Succeeded(live)
        await asyncio.sleep(POLL / 5)


async def _reset(run: RunContext, step: Step) -> Result:
    """Reset while paused, so that nothing is delivered between two attempts."""
    return _result_of_answer(step, await _repeat_request(run, step, "RESET"))


_HANDLERS: Mapping[Call, Callable[[RunContext, Step], Awaitable[Result]]] = {
    Call.STREAM_CREATE: _create,
    Call.STREAM_UPDATE: _update,
    Call.STREAM_DELETE: _delete,
    Call.CONSUMER_CREATE: _create,
    Call.CONSUMER_UPDATE: _update,
    Call.CONSUMER_DELETE: _delete,
    Call.CONSUMER_PAUSE: _pause,
    Call.CONSUMER_UNPIN: _unpin,
    Call.CONSUMER_READ: _read_for_later_steps,
    Call.CONSUMER_RESET: _reset,
    Call.QUEUE_READ: queue_steps.read_bound_value,
    Call.QUEUE_SETTLE: queue_steps.settle,
    Call.ENTRY_PUT: put_entry,
    Call.ENTRY_DELETE: remove_entry,
    Call.GATE_CONSUMERS_GONE: gates.consumers_gone,
    Call.GATE_REPLICAS_CURRENT: gates.replicas_current,
    Call.GATE_CONSUMER_EVERYWHERE: gates.consumer_everywhere,
    Call.GATE_IN_FLIGHT_DONE: gates.in_flight_done,
    Call.GATE_MIRROR_CAUGHT_UP: gates.mirror_caught_up,
    Call.GATE_COPY_LISTENS: gates.copy_listens,
    Call.GATE_MEMBERS_BACK: gates.members_back,
    Call.GATE_QUEUE_CAUGHT_UP: queue_steps.caught_up,
}


def _result_of_answer(step: Step, answer: Answer) -> Result:
    if isinstance(answer, Mapping):
        return Succeeded(answer)
    if settled.is_unknown(answer):
        return problems.in_doubt(step, answer)
    return problems.refused(step, answer)


def _is_same_moment(time: Json, other: Json) -> bool:
    try:
        return datetime.fromisoformat(str(time)) == datetime.fromisoformat(str(other))
    except ValueError:
        return False
