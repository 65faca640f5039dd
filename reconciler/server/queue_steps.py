"""A queue that another stream feeds: how far it has come, and when it may forget where it was begun.

A queue made with a start sequence keeps it until it has stored a message: an update before imports everything from the
first on. Kept for ever, servers before 2.15 begin there again when they restart with the queue empty.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from reconciler.core.binds import BINDS, Bind, passed, queued_at, sourced, told_of_source
from reconciler.core.growth import most
from reconciler.core.resource import Json
from reconciler.core.wire import MessagesFrom, QueuedFrom, Step
from reconciler.server import problems, settled
from reconciler.server.api import NO_MESSAGE, NO_STREAM, Answer, JetStream, NoAnswer, Refusal
from reconciler.server.counting import messages_from
from reconciler.server.handling import Result, Run, Succeeded, unlike_planned

POLL = 0.1
OVERTAKEN = 50
"""Looks in whose midst a message may be processed; of members that are so fast nothing can be read."""
REST = 4.0
"""Seconds without any movement after which a queue that lags behind nothing has all there is. One that could not store
a message tries again after about two."""


async def read(run: Run, step: Step) -> Result:
    """Looks until it is known what is to be bound, or time is up. A look that was overtaken is no look, however long it
    took."""
    loop, known = asyncio.get_running_loop(), BINDS[Bind(step.bind or Bind.RESUME_POINT)]
    deadline = loop.time() + step.body["timeout"] / 1e9
    stood, since, overtaken = None, loop.time(), 0
    while True:
        seen = await look(run.js, step.on[0], step.body["from"])
        if _has_moved(seen) and overtaken < OVERTAKEN:
            overtaken += 1
            await asyncio.sleep(POLL)
            continue
        if not isinstance(seen, dict):
            return problems.unreadable(step, seen) if not _is_gone(seen) else await _gone(run, step)
        if unlike := unlike_planned(run, step, seen["queue"]):
            return unlike
        if (gone := passed(seen)) > most("messages", step.body["gone"]):
            return problems.outlived(step, gone)
        if _stand(seen) != stood:
            stood, since = _stand(seen), loop.time()
        seen["rested"] = loop.time() - since >= REST and _is_fed(seen)
        if known(seen) is not None or loop.time() >= deadline:
            return Succeeded(seen)
        await asyncio.sleep(POLL)


async def look(js: JetStream, name: str, origin: str) -> dict[str, Any] | Refusal | NoAnswer:
    """The source before and after: what arrives between the looks counts as not yet taken in, and is no sign of a new one."""
    source = await js.read(f"STREAM.INFO.{origin}")
    if not isinstance(source, Mapping):
        return source
    queue = await js.read(f"STREAM.INFO.{name}")
    if not isinstance(queue, Mapping):
        return queue
    seen: dict[str, Any] = {"source": source, "queue": queue, "rested": False}
    if queue["state"]["messages"]:
        lowest = await _message(js, name, queue["state"]["first_seq"])
        if not isinstance(lowest, Mapping):
            return lowest
        seen["lowest"] = lowest["message"]
    afterwards = await js.read(f"STREAM.INFO.{origin}")
    return {**seen, "afterwards": afterwards} if isinstance(afterwards, Mapping) else afterwards


async def queued_from(js: JetStream, question: QueuedFrom) -> dict[str, Any] | Refusal | NoAnswer:
    """Whatever the source lacks from there on counts: nobody says which of it was taken in. Of a queue that went since the
    account was read, as another apply made the group anew, nothing is left to lose: ours will find that out."""
    seen = await look(js, question.stream, question.source)
    if isinstance(seen, NoAnswer):  # in a cluster, what is being deleted is silent; by now it is gone, or there anew
        seen = await look(js, question.stream, question.source)
    for _ in range(OVERTAKEN):
        if not _has_moved(seen):
            break
        seen = await look(js, question.stream, question.source)
    if not isinstance(seen, dict):
        return {"gone": 0} if _is_gone(seen) else seen
    queued, point = seen["queue"]["state"]["messages"], queued_at(seen)
    return {"gone": queued if point is None else min(queued, passed(seen) + await _holes(js, question, seen, point))}


async def _holes(js: JetStream, question: QueuedFrom, seen: Mapping[str, Any], point: int) -> int:
    """Messages deleted from within the source, after the lowest one queued."""
    source = seen["source"]["state"]
    if not (holes := int(source.get("num_deleted", 0))):
        return 0
    said = await messages_from(js, MessagesFrom(stream=question.source, start=point))
    if not isinstance(said, dict) or "messages" not in said:
        return holes
    there: int = source["last_seq"] + 1 - max(point, source["first_seq"])
    return max(0, min(holes, there - int(said["messages"])))


async def _message(js: JetStream, stream: str, sequence: int) -> Answer:
    """The first one from there on, as the leader has it."""
    return await js.read(f"STREAM.MSG.GET.{stream}", {"seq": sequence, "next_by_subj": ">"})


def _stand(seen: Mapping[str, Any]) -> tuple[Json, ...]:
    return seen["source"]["state"]["last_seq"], seen["queue"]["state"]["last_seq"], seen["queue"]["state"]["messages"]


def _is_fed(seen: Mapping[str, Any]) -> bool:
    """Heard from its source since it came to rest; a negative number means not yet."""
    return 0 <= float(told_of_source(seen["queue"]).get("active", -1)) < REST * 1e9


async def settle(run: Run, step: Step) -> Result:
    """Updates as soon as a message is stored; where none is to come, or none comes in time, that is left to a later run."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + step.body["timeout"] / 1e9
    while True:
        live = await run.js.read(f"STREAM.INFO.{step.on[0]}")
        if not isinstance(live, Mapping):
            return problems.unreadable(step, live) if not _is_gone(live) else problems.changed(step, ["it is gone"])
        if (start := _start(live)) is None:
            return Succeeded(live)
        if live["state"]["last_seq"]:
            return await _settled(run, step, live)
        if loop.time() >= deadline or not await _is_more_to_come(run, step, start):
            run.tell(step, f"{step.on[0]} is resuming at {start}: nothing has come yet, so a later run finishes it")
            return Succeeded(live)
        await asyncio.sleep(POLL)


async def _settled(run: Run, step: Step, live: Mapping[str, Any]) -> Result:
    if (first := await _first(run, step, live)) is not None and first < (_start(live) or 0):
        return problems.unlike(step, [f"it took in message {first} of {step.body['from']}, before {_start(live)}"])
    bare = [{key: value for key, value in item.items() if key != "opt_start_seq"} for item in live["config"]["sources"]]
    if bare != step.set["sources"]:
        return problems.changed(step, [f"sources was {step.set['sources']} and is {bare} now"])
    config = run.forms.patch(live["config"], {"sources": bare}, ())

    async def settled_already() -> Answer | None:
        seen = await run.js.read(f"STREAM.INFO.{step.on[0]}")  # a lost answer says nothing; what is there now may
        return None if isinstance(seen, Mapping) and _start(seen) is not None else seen

    said: Answer = await settled.written(
        run.js, lambda: run.js.write(f"STREAM.UPDATE.{step.on[0]}", config, level=step.level), settled_already
    )
    if isinstance(said, NoAnswer) and said.outcome_unknown:
        return problems.in_doubt(step, said)
    if not isinstance(said, Mapping):
        return problems.refused(step, said)
    wrong = run.forms.wrong(step, config, live["config"], said["config"])
    return problems.unlike(step, wrong) if wrong else Succeeded(said)


async def _first(run: Run, step: Step, live: Mapping[str, Any]) -> int | None:
    """Which message of the source is the lowest one queued; None when nothing is."""
    said = await _message(run.js, step.on[0], live["state"]["first_seq"])
    return sourced(said["message"], step.body["from"]) if isinstance(said, Mapping) else None


def _start(info: Mapping[str, Any]) -> int | None:
    starts = [item["opt_start_seq"] for item in info["config"].get("sources") or () if item.get("opt_start_seq")]
    return starts[0] if starts else None


async def _is_more_to_come(run: Run, step: Step, start: int) -> bool:
    source = await run.js.read(f"STREAM.INFO.{step.body['from']}")
    return isinstance(source, Mapping) and source["state"]["last_seq"] >= start


async def _gone(run: Run, step: Step) -> Result:
    """The queue, unless it is what feeds it."""
    source = await run.js.read(f"STREAM.INFO.{step.body['from']}")
    return problems.changed(step, [f"its source {step.body['from']} is gone" if _is_gone(source) else "it is gone"])


def _is_gone(said: Answer) -> bool:
    return isinstance(said, Refusal) and said.err_code == NO_STREAM


def _has_moved(said: object) -> bool:
    """The message that was there a moment ago is processed."""
    return isinstance(said, Refusal) and said.err_code == NO_MESSAGE
