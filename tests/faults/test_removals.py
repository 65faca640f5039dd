"""What the faults found about removals: wherever one is cut off, the next apply can go on and leaves nothing behind."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

from reconciler.changes.events import Finished
from reconciler.journeys.apply.apply import apply
from reconciler.journeys.plan.plan import Planned, plan, predicted_forms
from reconciler.model.topology import Topology
from reconciler.model.wire.steps import Call
from reconciler.server.run.execute import execute
from reconciler.server.wire.api import JetStream
from tests.faults.case import OPTIONS
from tests.faults.scenes import REMOVED, Sections
from tests.support.accounts import Account
from tests.support.jetstream import done, make_stream, talk
from tests.support.topologies import from_files


def declared(folder: Path, sections: Sections) -> Topology:
    file = folder / "topology.yaml"
    file.write_text(json.dumps({"reconciler": 1, "topology": "t", **sections}))
    return from_files(file)


async def planned(js: JetStream, folder: Path, sections: Sections) -> Planned:
    return await plan(declared(folder, sections), js, OPTIONS)


async def applied(js: JetStream, folder: Path, sections: Sections) -> None:
    events = [event async for event in apply(await planned(js, folder, sections), js)]
    assert isinstance(events[-1], Finished)
    assert events[-1].is_success, events[-1]


def after_a_cut(account: Account, folder: Path, cut: Callable[[JetStream, Planned], Awaitable[None]]) -> list[str]:
    """The streams that are there in the end."""

    async def work(js: JetStream) -> list[str]:
        await applied(js, folder, REMOVED.before)
        await cut(js, await planned(js, folder, REMOVED.wanted))
        await applied(js, folder, REMOVED.wanted)
        assert (await planned(js, folder, REMOVED.wanted)).plan.changes == ()
        return sorted(done(await js.request("STREAM.NAMES"))["streams"])

    return talk(account, work)


LEFT = ["KEEP", "KV_elastic-consumer-groups", "KV_reconciler"]


def test_the_queue_of_a_group_whose_record_is_gone_already_goes_too(account: Account, tmp_path: Path) -> None:
    async def only_the_record(js: JetStream, made: Planned) -> None:
        steps = [step for step in made.plan.steps if step.call is Call.ENTRY_DELETE]
        *_, cut = [event async for event in execute(js, steps, forms=predicted_forms(made.snapshot))]
        assert isinstance(cut, Finished)
        assert [one.step.on for one in cut.done] == [("elastic-consumer-groups", "KEEP.g")], cut

    assert after_a_cut(account, tmp_path, only_the_record) == LEFT


def test_what_goes_with_its_stream_is_ours_until_that_has_gone(account: Account, tmp_path: Path) -> None:
    async def stopped_before_the_first_step(js: JetStream, made: Planned) -> None:
        stop = asyncio.Event()
        stop.set()
        *_, cut = [event async for event in apply(made, js, stop=stop)]
        assert isinstance(cut, Finished)
        assert (cut.stopped, cut.done) == ("interrupted", ()), cut

    assert after_a_cut(account, tmp_path, stopped_before_the_first_step) == LEFT


def test_a_stream_that_has_a_queues_name_by_the_time_the_members_have_left_stays(
    account: Account, tmp_path: Path
) -> None:
    """Somebody who takes the name over while the gate is shut."""

    async def work(js: JetStream) -> tuple[list[str], list[str]]:
        await applied(js, tmp_path, REMOVED.before)
        made = await planned(js, tmp_path, REMOVED.wanted)
        done(await js.write("STREAM.DELETE.KEEP-g"))
        await make_stream(js, "KEEP-g", subjects=["somebody.elses"])
        steps = [step for step in made.plan.steps if step.address == "elastic_group/KEEP/g"]
        events = [event async for event in execute(js, steps, forms=predicted_forms(made.snapshot))]
        assert isinstance(events[-1], Finished)
        return [one.step.id for one in events[-1].failed], done(await js.request("STREAM.NAMES"))["streams"]

    failed, streams = talk(account, work)
    assert (failed, "KEEP-g" in streams) == (["stop copying into stream/KEEP-g"], True)
