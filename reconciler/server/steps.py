"""One small handler per primitive call: check that all is as planned from, send, and see that the echo is as predicted.

Streams and consumers have no compare-and-set on the server, so an update re-reads the object just before it writes and
the window between the two is one round trip. KV entries have one, and it is always used.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from reconciler.core.binds import BINDS, Bind, filled
from reconciler.core.resource import Config, Json
from reconciler.core.wire import Call, Step, copies_all, partitions_of, stands_still
from reconciler.server import entry_steps, problems, queue_steps, settled
from reconciler.server.api import Answer, NoAnswer, Refusal
from reconciler.server.handling import Result, Run, Succeeded, changes_since
from reconciler.server.problems import Doubtful, Unsuccessful

NOT_FOUND = frozenset({10059, 10014})
POLL = 0.25
"""Seconds between two looks at consumers that are to disappear."""


PAUSES_WITHIN = 2.0
"""Seconds in which a cluster makes a pause felt; without it a little more is delivered twice, and nothing is lost."""


async def carry_out(run: Run, step: Step) -> Result:
    result = await _HANDLERS[step.call](run, filled(step, run.bound))
    if step.bind is None or not isinstance(result, Succeeded):
        return result
    run.bound[step.id] = BINDS[Bind(step.bind)](result.echo)
    return problems.unbound(step) if run.bound[step.id] is None else result


async def _create(run: Run, step: Step) -> Result:
    """An explicit create may be repeated: it succeeds when the very same is there, and is refused when not."""
    durable = {"durable_name": step.on[1]} if step.call is Call.CONSUMER_CREATE else {}
    config = {"name": step.on[-1], **durable, **step.body}
    return await _carried(run, _Write(step, config, None, "create"))


async def _update(run: Run, step: Step) -> Result:
    live = await run.js.read(_info(step))
    if isinstance(live, Refusal | NoAnswer):
        return _gone(step) if _is_missing(live) else problems.unreadable(step, live)
    before = live["config"]
    if changed := changes_since(step, before):
        return problems.strayed(step, changed)
    config = run.forms.patch(before, step.set, step.unset)
    return await _carried(run, _Write(step, config, before, "update"))


@dataclass(frozen=True, slots=True)
class _Write:
    step: Step
    config: Config
    before: Config | None
    action: str

    def judged(self, run: Run, echo: Mapping[str, Json]) -> Result:
        wrong = run.forms.wrong(self.step, self.config, self.before, echo["config"])
        return problems.unlike(self.step, wrong) if wrong else Succeeded(echo)

    async def send(self, run: Run) -> Answer:
        name, step = ".".join(self.step.on), self.step
        if len(step.on) == 1:
            return await run.js.write(f"STREAM.{self.action.upper()}.{name}", self.config, level=step.level)
        body = {"stream_name": step.on[0], "action": self.action, "config": self.config}
        return await run.js.write(f"CONSUMER.CREATE.{name}", body, level=step.level)

    async def look(self, run: Run) -> Result | None:
        """A lost answer says nothing; what is there now may. None: as it was before."""
        live = await run.js.read(_info(self.step))
        if isinstance(live, Mapping):
            seen = self.judged(run, live)
            if isinstance(seen, Succeeded) or self.before is None:
                return seen if isinstance(seen, Succeeded) else None
            return (
                problems.strayed(self.step, strayed) if (strayed := changes_since(self.step, live["config"])) else None
            )
        return _gone(self.step) if _is_missing(live) and self.before is not None else None


async def _carried(run: Run, write: _Write) -> Result:
    said: Answer | Result = await settled.written(run.js, lambda: write.send(run), lambda: write.look(run))
    if isinstance(said, Mapping):
        return write.judged(run, said)
    return said if isinstance(said, Succeeded | Unsuccessful | Doubtful) else _answered(write.step, said)


async def _delete(run: Run, step: Step) -> Result:
    read = _info(step)

    async def look() -> Result | None:
        live = await run.js.read(read)
        if isinstance(live, Mapping):
            changed = changes_since(step, live["config"]) if step.before is not None else ()
            return problems.strayed(step, changed) if changed else None
        return Succeeded() if _is_missing(live) else None if sent else problems.unreadable(step, live)

    sent = False
    if step.before is not None and isinstance(found := await look(), Unsuccessful):
        return found
    sent = True
    said: Answer | Result = await settled.written(
        run.js, lambda: run.js.write(read.replace(".INFO.", ".DELETE.", 1)), look
    )
    if isinstance(said, Refusal) and _is_missing(said):
        return Succeeded()
    return said if isinstance(said, Succeeded | Unsuccessful | Doubtful) else _answered(step, said)


async def _pause(run: Run, step: Step) -> Result:
    said = await _repeated(run, step, "PAUSE")
    until = step.body.get("pause_until")
    if isinstance(said, Mapping) and until and not _is_same_moment(said.get("pause_until"), until):
        return problems.unlike(step, [f"it is paused until {said.get('pause_until')}, not {until}"])
    return _answered(step, said)


async def _unpin(run: Run, step: Step) -> Result:
    return _answered(step, await _repeated(run, step, "UNPIN"))


async def _repeated(run: Run, step: Step, verb: str) -> Answer:
    """What done twice is the same as done once, so silence is no reason to look."""

    async def again() -> Answer | None:
        return None

    return await settled.written(run.js, lambda: run.js.write(f"CONSUMER.{verb}.{'.'.join(step.on)}", step.body), again)


async def _read(run: Run, step: Step) -> Result:
    """What later steps need to know, of the very object the plan was made for."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + PAUSES_WITHIN
    while True:
        live = await run.js.read(_info(step))
        if not isinstance(live, Mapping):
            return _gone(step) if _is_missing(live) else problems.unreadable(step, live)
        if changed := changes_since(step, live["config"]):
            return problems.strayed(step, changed)
        if live.get("paused") or not step.body.get("paused") or loop.time() > deadline:
            return Succeeded(live)
        await asyncio.sleep(POLL / 5)


async def _reset(run: Run, step: Step) -> Result:
    """It is held meanwhile, so that nothing is delivered between two tries."""
    return _answered(step, await _repeated(run, step, "RESET"))


async def _consumers_gone(run: Run, step: Step) -> Result:
    """Members delete their consumers themselves when they see the record gone; nobody can do it for them safely."""
    loop = asyncio.get_running_loop()
    deadline, told = loop.time() + step.body["timeout"] / 1e9, None
    while names := await _consumers_left(run, step):
        if loop.time() >= deadline:
            return problems.still_there(step, names)
        if names != told:
            run.tell(step, f"waiting for {', '.join(names)} to leave")
        told = names
        await asyncio.sleep(POLL)
    return Succeeded()


async def _consumers_left(run: Run, step: Step) -> list[str]:
    """Those named that are not known to be gone; without names, whoever is there."""
    stream, names = step.on[0], sorted(step.body.get("names", ()))
    if "names" not in step.body:
        said = await run.js.read(f"CONSUMER.NAMES.{stream}")
        unread = [] if _is_missing(said) else ["consumers nobody could list"]
        return sorted(said.get("consumers") or ()) if isinstance(said, Mapping) else unread
    answers = {name: await run.js.read(f"CONSUMER.INFO.{stream}.{name}") for name in names}
    return [name for name, said in answers.items() if not _is_missing(said)]


async def _replicas_current(run: Run, step: Step) -> Result:
    """Two looks in a row, since the first may show the time before the change."""
    deadline, told, looks = _deadline(step), "", 0
    while looks < 2:
        seen = await run.js.read(_info(step))
        if _is_missing(seen):
            return _gone(step)
        looks = looks + 1 if isinstance(seen, Mapping) and stands_still(seen, step.body["replicas"]) else 0
        how = _how_far(seen)
        if not looks and asyncio.get_running_loop().time() >= deadline:
            return problems.still_moving(step, how)
        if not looks and how != told:
            run.tell(step, f"waiting for the replicas of {step.on[0]}: {how}")
        told = how
        await asyncio.sleep(POLL)
    return Succeeded()


def _how_far(seen: Answer) -> str:
    if not isinstance(seen, Mapping):
        return str(seen)
    cluster = seen.get("cluster") or {}
    status = ((cluster.get("desired") or {}).get("status") or {}).get("description")
    behind = [peer["name"] for peer in cluster.get("replicas") or () if not peer.get("current")]
    return status or (f"{', '.join(behind)} not current" if behind else "the servers are agreeing")


async def _in_flight_done(run: Run, step: Step) -> Result:
    """Until all is acknowledged that was delivered by now. When ack_wait is over, the server would deliver it again in
    any case: from then on waiting protects nobody."""
    deadline, delivered, told = _deadline(step), None, None
    while isinstance(seen := await run.js.read(_info(step)), Mapping):
        delivered = seen["delivered"]["stream_seq"] if delivered is None else delivered
        is_done = not seen.get("num_ack_pending") or seen["ack_floor"]["stream_seq"] >= delivered
        if is_done or asyncio.get_running_loop().time() >= deadline:
            return Succeeded()
        if told != seen["num_ack_pending"]:
            told = seen["num_ack_pending"]
            run.tell(step, f"waiting until {told} in flight on {'/'.join(step.on)} are acknowledged")
        await asyncio.sleep(POLL)
    return _gone(step) if _is_missing(seen) else problems.unreadable(step, seen)


async def _mirror_caught_up(run: Run, step: Step) -> Result:
    """Until it has all that its origin had, as the origin itself says: it speaks once a second also when nothing comes."""
    deadline, told = _deadline(step), ""
    while True:
        seen = await run.js.read(_info(step))
        if _is_missing(seen):
            return _gone(step)
        if isinstance(seen, Mapping) and copies_all(seen):
            return Succeeded()
        how = _how_far_behind(seen)
        if asyncio.get_running_loop().time() >= deadline:
            return problems.still_behind(step, how)
        if how != told:
            run.tell(step, f"waiting for mirror {step.on[0]}: {how}")
        told = how
        await asyncio.sleep(POLL)


def _how_far_behind(seen: Answer) -> str:
    if not isinstance(seen, Mapping):
        return str(seen)
    copied = seen.get("mirror") or {}
    if error := (copied.get("error") or {}).get("description"):
        return str(error)
    return f"{copied['lag']:_} messages behind" if copied.get("lag") else "its origin is silent"


async def _members_back(run: Run, step: Step) -> Result:
    """Every member makes its consumer anew when it sees the record; those that gain a partition wait for who loses it."""
    deadline, told = _deadline(step), None
    while away := await _members_away(run, step):
        if asyncio.get_running_loop().time() >= deadline:
            return problems.still_away(step, away)
        if away != told:
            run.tell(step, f"waiting for {', '.join(away)} to consume again")
        told = away
        await asyncio.sleep(POLL)
    return Succeeded()


async def _members_away(run: Run, step: Step) -> list[str]:
    """Those without a consumer of exactly their partitions."""
    away = []
    for name, numbers in step.body["partitions"].items():
        said = await run.js.read(f"CONSUMER.INFO.{step.on[0]}.{name}")
        if not isinstance(said, Mapping) or partitions_of(said["config"]) != sorted(numbers):
            away.append(name)
    return away


def _deadline(step: Step) -> float:
    return asyncio.get_running_loop().time() + float(step.body["timeout"]) / 1e9


_HANDLERS: Mapping[Call, Callable[[Run, Step], Awaitable[Result]]] = {
    Call.STREAM_CREATE: _create,
    Call.STREAM_UPDATE: _update,
    Call.STREAM_DELETE: _delete,
    Call.CONSUMER_CREATE: _create,
    Call.CONSUMER_UPDATE: _update,
    Call.CONSUMER_DELETE: _delete,
    Call.CONSUMER_PAUSE: _pause,
    Call.CONSUMER_UNPIN: _unpin,
    Call.CONSUMER_READ: _read,
    Call.CONSUMER_RESET: _reset,
    Call.QUEUE_READ: queue_steps.read,
    Call.QUEUE_SETTLE: queue_steps.settle,
    Call.ENTRY_PUT: entry_steps.put,
    Call.ENTRY_DELETE: entry_steps.remove,
    Call.GATE_CONSUMERS_GONE: _consumers_gone,
    Call.GATE_REPLICAS_CURRENT: _replicas_current,
    Call.GATE_IN_FLIGHT_DONE: _in_flight_done,
    Call.GATE_MIRROR_CAUGHT_UP: _mirror_caught_up,
    Call.GATE_MEMBERS_BACK: _members_back,
}


def _info(step: Step) -> str:
    return f"{'STREAM' if len(step.on) == 1 else 'CONSUMER'}.INFO.{'.'.join(step.on)}"


def _is_missing(said: Answer) -> bool:
    return isinstance(said, Refusal) and said.err_code in NOT_FOUND


def _gone(step: Step) -> Unsuccessful:
    return problems.changed(step, ["it existed then and is gone now"])


def _answered(step: Step, said: Answer) -> Result:
    if isinstance(said, Mapping):
        return Succeeded(said)
    if settled.is_unknown(said):
        return problems.in_doubt(step, said)
    return problems.refused(step, said)


def _is_same_moment(one: Json, other: Json) -> bool:
    try:
        return datetime.fromisoformat(str(one)) == datetime.fromisoformat(str(other))
    except ValueError:
        return False
