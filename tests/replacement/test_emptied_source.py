"""Elastic groups whose source no longer stores what their queue holds: it cannot be taken in again, and is said to be lost."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from reconciler.changes.events import Finished
from reconciler.changes.plan import PlannedChange
from reconciler.journeys.apply.apply import apply
from reconciler.journeys.plan.plan import Planned, plan, predicted_forms
from reconciler.model.topology import Topology
from reconciler.model.wire.questions import QueuedFrom
from reconciler.model.wire.steps import Call
from reconciler.server.read.observe import ask
from reconciler.server.run.execute import execute
from reconciler.server.wire.api import JetStream
from tests.replacement.consuming import OPTIONS
from tests.support.accounts import Account
from tests.support.jetstream import done, make_consumer, talk
from tests.support.topologies import read
from tests.support.versions import on_every_version

QUEUED = 10


def _ends_at(sequence: int, info: Mapping[str, Any]) -> bool:
    return bool(info["state"]["last_seq"] == sequence)


class Source:
    """A stream, and a group that has taken in all ten messages of it."""

    def __init__(self, js: JetStream, folder: Path, stream: str = "") -> None:
        self.js, self._folder, self.stream, self.group = js, folder, stream, ""

    def file(self, partitions: int, *codes: str) -> Topology:
        allow = ", ".join(f"{{code: {code}, to: {partitions}, reason: meant}}" for code in codes)
        filters = "[{filter: s.*, partitioning_wildcards: [1]}]"
        group = f"{{type: elastic, max_members: {partitions}, partitioning_filters: {filters}, {self.group} allow: [{allow}]}}"
        folder = self._folder / str(len(list(self._folder.iterdir())))
        return read(folder, f"streams: {{S: {{subjects: [s.*], {self.stream} groups: {{g: {group}}}}}}}")

    async def plan(self, wanted: Topology) -> Planned:
        return await plan(wanted, self.js, OPTIONS)

    async def applied(self, wanted: Topology) -> Finished:
        events = [event async for event in apply(await self.plan(wanted), self.js)]
        assert isinstance(events[-1], Finished), events
        return events[-1]

    async def begin(self) -> None:
        assert (await self.applied(self.file(4))).is_success
        await self.until("S-g", lambda info: float(info["sources"][0].get("active", -1)) >= 0)
        for number in range(QUEUED):
            await self.js.pipeline.nc.request(f"s.{number % 3}", b"", timeout=20)
            await self.until("S-g", partial(_ends_at, number + 1))

    async def until(self, stream: str, what: Callable[[Any], bool]) -> None:
        async with asyncio.timeout(60):
            while not what(done(await self.js.request(f"STREAM.INFO.{stream}"))):  # noqa: ASYNC110 - nothing announces it
                await asyncio.sleep(0.01)

    async def drops(self, **request: Any) -> None:
        done(await self.js.request("STREAM.PURGE.S", request))

    async def queued(self) -> int:
        return int(done(await self.js.request("STREAM.INFO.S-g"))["state"]["messages"])

    async def gone(self) -> int:
        """What the plan's question says."""
        question = QueuedFrom(stream="S-g", source="S")
        answer = (await ask(self.js, [question]))[question]
        assert isinstance(answer, dict), answer
        return int(answer["gone"])


def played(account: Account, folder: Path, story: Callable[[Source], Awaitable[None]], stream: str = "") -> None:
    async def work(js: JetStream) -> None:
        source = Source(js, folder, stream)
        await source.begin()
        await story(source)

    talk(account, work)


def told(planned: Planned) -> tuple[bool, list[tuple[str, dict[str, int]]]]:
    change: PlannedChange = next(one for one in planned.plan.changes if one.address == "elastic_group/S/g")
    return change.is_blocked, [(one.code, dict(one.quantities)) for one in change.verdicts if one.code != "EG101"]


@on_every_version
def test_what_the_source_dropped_is_lost_with_the_queue_as_said(account: Account, tmp_path: Path) -> None:
    async def story(source: Source) -> None:
        await source.drops(keep=4)
        assert told(await source.plan(source.file(6, "EG101"))) == (True, [("EG302", {"messages": QUEUED - 4})])
        assert await source.queued() == QUEUED
        wanted = source.file(6, "EG101", "EG302")
        assert told(await source.plan(wanted)) == (False, [("EG302", {"messages": QUEUED - 4})])
        assert (await source.applied(wanted)).is_success
        await source.until("S-g", lambda info: info["state"]["last_seq"] == 4)

    played(account, tmp_path, story)


@on_every_version
@pytest.mark.parametrize("direct", [True, False], ids=["direct", "leader"])
def test_holes_in_the_source_are_counted_from_the_lowest_one_queued_on(
    account: Account, tmp_path: Path, direct: bool
) -> None:
    async def story(source: Source) -> None:
        done(await source.js.request("STREAM.MSG.DELETE.S", {"seq": 3}))
        assert await source.gone() == 1
        done(await source.js.request("STREAM.PURGE.S-g", {"seq": 5}))
        assert await source.gone() == (0 if direct else 1)
        await source.drops(filter="s.0")  # 1, 4, 7, 10
        assert await source.gone() == (2 if direct else 4)

    played(account, tmp_path, story, f"allow_direct: {str(direct).lower()},")


def test_a_queue_that_went_since_the_account_was_read_has_nothing_to_lose(account: Account, tmp_path: Path) -> None:
    """As a second apply finds it while the first one makes the group anew."""

    async def story(source: Source) -> None:
        done(await source.js.request("STREAM.DELETE.S-g"))
        assert await source.gone() == 0

    played(account, tmp_path, story)


def test_an_interest_stream_has_nothing_left_of_what_is_queued(account: Account, tmp_path: Path) -> None:
    async def story(source: Source) -> None:
        await source.until("S", lambda info: not info["state"]["messages"])
        (change,) = (await source.plan(source.file(6, "EG101", "EG302"))).plan.changes
        assert change.is_refused
        assert "it deletes what S-g has copied" in change.verdicts[0].message

    played(account, tmp_path, story, "retention: interest,")


@pytest.mark.parametrize("ended", [False, True], ids=["before its members end", "after"])
def test_what_the_source_drops_after_the_plan_is_found_before_the_queue_goes(
    account: Account, tmp_path: Path, ended: bool
) -> None:
    """As long as the old queue is there the group can be as it was, and its members can process what is queued."""

    async def story(source: Source) -> None:
        if ended:
            planned = await source.plan(source.file(6, "EG101"))
            await carried_out(
                source.js, planned, [step.call for step in planned.plan.steps].index(Call.ENTRY_DELETE) + 1
            )
        planned = await source.plan(source.file(6, "EG101"))
        await source.drops(keep=4)
        (failed,) = (await carried_out(source.js, planned)).failed
        assert failed.reason.code == "AP114"
        assert re.search(
            r"Up to 6 of the messages queued in \S+ are no longer in S, but the plan said 0", failed.reason.message
        )
        assert told(await source.plan(source.file(6, "EG101"))) == (True, [("EG302", {"messages": QUEUED - 4})])
        assert (await source.applied(source.file(4))).is_success
        assert (await source.plan(source.file(4))).plan.changes == ()
        assert await source.queued() == QUEUED

    played(account, tmp_path, story)


@on_every_version
def test_members_that_still_consume_are_not_said_to_have_ended(account: Account, tmp_path: Path) -> None:
    async def story(source: Source) -> None:
        await make_consumer(source.js, "S-g", "b1", filter_subjects=["0.s.*"])
        planned = await source.plan(source.file(6, "EG101"))
        await carried_out(source.js, planned, [step.call for step in planned.plan.steps].index(Call.ENTRY_DELETE) + 1)
        assert await said(source) == (
            "Its members were told to end, but b1 still has a consumer; the owners of all must restart them"
        )
        done(await source.js.request("CONSUMER.DELETE.S-g.b1"))
        assert await said(source) == "Its members have ended, and their owners must restart them"

    async def said(source: Source) -> str:
        (change,) = (await source.plan(source.file(6, "EG101"))).plan.changes
        (found,) = [one.message for one in change.consequences if one.message.startswith("Its members")]
        return found

    played(account, tmp_path, story)


async def carried_out(js: JetStream, planned: Planned, steps: int | None = None) -> Finished:
    """All of it, or cut off after so many steps."""
    events = [event async for event in execute(js, planned.plan.steps[:steps], forms=predicted_forms(planned.snapshot))]
    assert isinstance(events[-1], Finished)
    return events[-1]
