"""A queue that another stream feeds: how far it has come, and when its start sequence may be removed.

A queue created with a start sequence must keep it until it has stored a message: an earlier update would import
everything from the first message on. If it keeps the sequence longer, servers before 2.15 begin there again when they
restart with the queue empty.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from reconciler.changes.recount import allowed_loss
from reconciler.engine.bindings import BINDS, count_gone_from_source, source_progress, source_sequence
from reconciler.model.resource import Json
from reconciler.model.waits import waiting
from reconciler.model.wire.steps import Bind, Step
from reconciler.server.read import lost_answers as settled
from reconciler.server.read.queues import OVERTAKEN, first_message_from, has_moved, is_gone, is_rewound, look_at_queue
from reconciler.server.run import problems
from reconciler.server.run.handling import Result, RunContext, Succeeded, unlike_planned
from reconciler.server.wire.answers import NO_MESSAGE, Answer, Refusal
from reconciler.server.wire.pipeline import NoAnswer

POLL = 0.1
REST = 4.0
"""Seconds without movement after which a queue that does not lag has everything. One that could not store a message
tries again after about two."""


async def read_bound_value(run: RunContext, step: Step) -> Result:
    """Look until the value to bind is known, or time is up. A look that was overtaken does not count, however long it
    took."""
    with waiting(f"for {step.on[0]} to take in what {step.body['from']} holds", step.body["timeout"] / 1e9):
        loop, bind = asyncio.get_running_loop(), BINDS[Bind(step.bind or Bind.RESUME_POINT)]
        deadline = loop.time() + step.body["timeout"] / 1e9
        stood, since, overtaken = None, loop.time(), 0
        rewound: bool | None = None
        while True:
            queue_look = await look_at_queue(run.js, step.on[0], step.body["from"])
            if has_moved(queue_look) and overtaken < OVERTAKEN:
                overtaken += 1
                await asyncio.sleep(POLL)
                continue
            if not isinstance(queue_look, dict):
                return (
                    problems.unreadable(step, queue_look)
                    if not is_gone(queue_look)
                    else await _result_for_gone_stream(run, step)
                )
            if unlike := unlike_planned(run, step, queue_look["queue"]):
                return unlike
            if rewound is None:
                rewound = await is_rewound(run.js, queue_look, step.body["from"])
            queue_look["rewound"] = rewound
            if (gone := count_gone_from_source(queue_look)) > allowed_loss("messages", step.body["gone"]):
                return problems.queue_outlives_source(step, gone)
            if _position(queue_look) != stood:
                stood, since = _position(queue_look), loop.time()
            queue_look["rested"] = loop.time() - since >= REST and _has_heard_source(queue_look)
            if bind(queue_look) is not None or loop.time() >= deadline:
                return Succeeded(queue_look)
            await asyncio.sleep(POLL)


def _position(info: Mapping[str, Any]) -> tuple[Json, ...]:
    return info["source"]["state"]["last_seq"], info["queue"]["state"]["last_seq"], info["queue"]["state"]["messages"]


def _has_heard_source(info: Mapping[str, Any]) -> bool:
    """Has the queue heard from its source since it came to rest? A negative number means not yet."""
    return 0 <= float(source_progress(info["queue"]).get("active", -1)) < REST * 1e9


async def caught_up(run: RunContext, step: Step) -> Result:
    """Wait until the queue has copied the last message that its source held for it when this began. As long as the queue
    copies more, this waits on."""
    with waiting(f"for {step.on[0]} to copy what {step.body['from']} holds", step.body["timeout"] / 1e9):
        loop = asyncio.get_running_loop()
        requests = ({"last_by_subj": subject} for subject in step.body["subjects"])
        answers = await asyncio.gather(
            *(run.js.read(f"STREAM.MSG.GET.{step.body['from']}", request) for request in requests)
        )
        for answer in answers:
            if not isinstance(answer, Mapping) and not (isinstance(answer, Refusal) and answer.err_code == NO_MESSAGE):
                return problems.unreadable(step, answer)
        end = max((int(answer["message"]["seq"]) for answer in answers if isinstance(answer, Mapping)), default=0)
        stood, since = None, loop.time()
        while True:
            live = await run.js.read(f"STREAM.INFO.{step.on[0]}")
            if not isinstance(live, Mapping):
                return problems.unreadable(step, live) if not is_gone(live) else problems.changed(step, ["it is gone"])
            stand = (live["state"]["last_seq"], live["state"]["messages"])
            if stand != stood:
                stood, since = stand, loop.time()
            reached = await _last_copied(run, step, live)
            if reached >= end or _has_come_to_rest(live, loop.time() - since):
                return Succeeded()
            if loop.time() - since >= step.body["timeout"] / 1e9:
                how = f"it has copied up to message {reached}" if reached else "how far it has come is not known"
                return problems.queue_behind(step, f"{how}, and the last one for it is message {end}")
            await asyncio.sleep(POLL)


async def _last_copied(run: RunContext, step: Step, live: Mapping[str, Any]) -> int:
    """Return the message of its source up to which the queue has everything; 0: unknown. It copies them in order."""
    before = (_start_sequence(live) or 1) - 1
    acknowledged = int(source_progress(live).get("seq") or 0)
    newest = await run.js.read(f"STREAM.MSG.GET.{step.on[0]}", {"last_by_subj": ">"})
    copied = source_sequence(newest["message"], step.body["from"]) if isinstance(newest, Mapping) else None
    return max(before, acknowledged, copied or 0)


def _has_come_to_rest(live: Mapping[str, Any], still: float) -> bool:
    """Has it everything, as far as it can tell: because members took out what it copied, or its source lost the last
    message? One that is full reports no lag either."""
    is_full = live["state"]["messages"] and any(
        live["config"].get(limit, -1) > 0 for limit in ("max_msgs", "max_bytes")
    )
    return still >= REST and _has_heard_source({"queue": live}) and not source_progress(live).get("lag") and not is_full


async def settle(run: RunContext, step: Step) -> Result:
    """Update as soon as a message is stored; where none is to come, or none comes in time, a later run does it."""
    with waiting(f"for {step.on[0]} to store a message of {step.body['from']}", step.body["timeout"] / 1e9):
        loop = asyncio.get_running_loop()
        deadline = loop.time() + step.body["timeout"] / 1e9
        while True:
            live = await run.js.read(f"STREAM.INFO.{step.on[0]}")
            if not isinstance(live, Mapping):
                return problems.unreadable(step, live) if not is_gone(live) else problems.changed(step, ["it is gone"])
            if (start := _start_sequence(live)) is None:
                return Succeeded(live)
            if live["state"]["last_seq"]:
                return await _remove_start(run, step, live)
            if loop.time() >= deadline or not await _is_more_to_come(run, step, start):
                run.tell(step, f"{step.on[0]} is resuming at {start}: nothing has come yet, so a later run finishes it")
                return Succeeded(live)
            await asyncio.sleep(POLL)


async def _remove_start(run: RunContext, step: Step, live: Mapping[str, Any]) -> Result:
    if (first := await _first_queued(run, step, live)) is not None and first < (_start_sequence(live) or 0):
        return problems.unlike(
            step, [f"it took in message {first} of {step.body['from']}, which is before {_start_sequence(live)}"]
        )
    bare = [{key: value for key, value in item.items() if key != "opt_start_seq"} for item in live["config"]["sources"]]
    if bare != step.set["sources"]:
        return problems.changed(step, [f"sources was {step.set['sources']} and is {bare} now"])
    config = run.forms.patch(live["config"], {"sources": bare}, ())

    async def settled_already() -> Answer | None:
        info = await run.js.read(f"STREAM.INFO.{step.on[0]}")  # a lost answer says nothing; the present state may
        return None if isinstance(info, Mapping) and _start_sequence(info) is not None else info

    answer: Answer = await settled.write_until_known(
        run.js, lambda: run.js.write(f"STREAM.UPDATE.{step.on[0]}", config, level=step.level), settled_already
    )
    if isinstance(answer, NoAnswer) and answer.outcome_unknown:
        return problems.in_doubt(step, answer)
    if not isinstance(answer, Mapping):
        return problems.refused(step, answer)
    wrong = run.forms.wrong(step, config, live["config"], answer["config"])
    return problems.unlike(step, wrong) if wrong else Succeeded(answer)


async def _first_queued(run: RunContext, step: Step, live: Mapping[str, Any]) -> int | None:
    """Return the source sequence of the lowest message queued; None when nothing is queued."""
    answer = await first_message_from(run.js, step.on[0], live["state"]["first_seq"])
    return source_sequence(answer["message"], step.body["from"]) if isinstance(answer, Mapping) else None


def _start_sequence(info: Mapping[str, Any]) -> int | None:
    starts = [item["opt_start_seq"] for item in info["config"].get("sources") or () if item.get("opt_start_seq")]
    return starts[0] if starts else None


async def _is_more_to_come(run: RunContext, step: Step, start: int) -> bool:
    source = await run.js.read(f"STREAM.INFO.{step.body['from']}")
    return isinstance(source, Mapping) and source["state"]["last_seq"] >= start


async def _result_for_gone_stream(run: RunContext, step: Step) -> Result:
    """Say which of the two is gone: the queue, unless it is its source."""
    source = await run.js.read(f"STREAM.INFO.{step.body['from']}")
    return problems.changed(step, [f"its source {step.body['from']} is gone" if is_gone(source) else "it is gone"])
