"""What is predicted beside what really goes: a stream is filled, planned over, changed, and looked at again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reconciler.changes.events import Finished
from reconciler.changes.verdict import Verdict
from reconciler.journeys.apply.apply import apply
from reconciler.journeys.plan.plan import Planned, plan
from reconciler.model.run_options import RunOptions
from reconciler.server.wire.api import JetStream
from tests.support.jetstream import done
from tests.support.topologies import read


async def publish(js: JetStream, *subjects: str) -> None:
    for subject in subjects:
        assert b'"seq"' in (await js.pipeline.nc.request(subject, b"0123456789", timeout=20)).data


async def take(js: JetStream, stream: str, consumer: str, number: int, *, acknowledge: bool = True) -> list[str]:
    """Pulls that many messages and, when they are acknowledged, waits until the server has heard of it."""
    if not number:  # a server takes a batch of none for one of one
        return []
    nc = js.pipeline.nc
    inbox = nc.new_inbox()
    answers = await nc.subscribe(inbox)
    body = json.dumps({"batch": number, "expires": 20_000_000_000}).encode()
    await nc.publish(f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}", body, reply=inbox)
    taken = [await answers.next_msg(timeout=20) for _ in range(number)]
    for message in taken if acknowledge else ():
        await nc.request(message.reply, b"+ACK", timeout=20)
    await answers.unsubscribe()
    return [message.subject for message in taken]


async def planned(js: JetStream, folder: Path, text: str) -> dict[str, Verdict]:
    """The verdicts of a plan by code; here no rule speaks twice."""
    return _verdicts(await plan(read(folder, text), js, RunOptions()))


def _verdicts(found: Planned) -> dict[str, Verdict]:
    return {verdict.code: verdict for change in found.plan.changes for verdict in change.verdicts}


async def applied(js: JetStream, folder: Path, text: str, *allowed: str) -> dict[str, Verdict]:
    """The same, and then it is done, with these losses allowed."""
    found = await plan(read(folder, text), js, RunOptions(allow=tuple((code, "*") for code in allowed)))
    assert not found.plan.blocked, found.plan.blocked
    events = [event async for event in apply(found, js)]
    assert isinstance(events[-1], Finished), events
    assert events[-1].is_success, events[-1]
    return _verdicts(found)


async def state(js: JetStream, stream: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = done(await js.request(f"STREAM.INFO.{stream}"))["state"]
    return found


async def settled(js: JetStream, stream: str, expected: int | None = None, patience: float = 30) -> int:
    """How many messages are left once nothing more goes: two equal looks, some time apart, since the server trims later.
    While more are left than `expected`, it may just not have come to it."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + patience
    before, now = -1, (await state(js, stream))["messages"]
    while before != now or (expected is not None and now > expected and loop.time() < deadline):
        await asyncio.sleep(0.3)
        before, now = now, (await state(js, stream))["messages"]
    return int(now)


async def times(js: JetStream, stream: str) -> list[str]:
    """When each stored message came in."""
    look = await state(js, stream)
    answers = [
        await js.request(f"STREAM.MSG.GET.{stream}", {"seq": seq})
        for seq in range(look["first_seq"], look["last_seq"] + 1)
    ]
    return [answer["message"]["time"] for answer in answers if isinstance(answer, Mapping)]
