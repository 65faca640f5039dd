"""Groups that are recreated by the same plan that deletes messages of their source: the new queue copies these first."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from reconciler.changes.events import Finished
from reconciler.changes.plan import Plan
from reconciler.journeys.apply.apply import apply
from reconciler.journeys.plan.plan import plan
from reconciler.model.run_options import RunOptions
from reconciler.model.wire.steps import Call
from tests.replacement.test_emptied_source import QUEUED, Source, carried_out, played
from tests.support.accounts import Account
from tests.support.jetstream import done
from tests.support.topologies import TODAY
from tests.support.versions import in_turn, on_every_version

CONSENTED = RunOptions(today=TODAY, allow=tuple((code, "*") for code in ("EG101", "EG302", "EG312", "ST301", "ST302")))
CUT = "max_msgs: 4,"


async def applied(source: Source, partitions: int) -> tuple[Plan, Finished]:
    planned = await plan(source.file(partitions), source.js, CONSENTED)
    assert not planned.plan.blocked, planned.plan.blocked
    events = [event async for event in apply(planned, source.js)]
    assert isinstance(events[-1], Finished), events
    return planned.plan, events[-1]


async def is_done(source: Source, partitions: int, queued: int) -> None:
    """The queue holds this much in its new form, and nothing is left to do."""
    assert await source.queued() == queued
    config = done(await source.js.request("STREAM.INFO.S-g"))["config"]
    assert f"Partition({partitions}," in config["sources"][0]["subject_transforms"][0]["dest"]
    assert (await plan(source.file(partitions), source.js, CONSENTED)).plan.changes == ()


async def stored(source: Source) -> int:
    return int(done(await source.js.request("STREAM.INFO.S"))["state"]["messages"])


def lost(told: Plan) -> dict[str, int]:
    """What the consents count of messages."""
    found = [one for change in told.changes for one in change.verdicts if "messages" in one.quantities]
    return {one.code: one.quantities["messages"] for one in found}


@in_turn(
    "cut, left",
    {
        "max_msgs": (CUT, 4),
        "max_bytes": ("max_bytes: 200,", None),
        "max_age": ("max_age: 1s, duplicate_window: 1s,", 0),
        "max_msgs_per_subject": ("max_msgs_per_subject: 1,", 3),
        "retention": ("retention: interest,", None),
    },
)
def test_a_group_is_recreated_before_its_source_is_cut(
    account: Account, tmp_path: Path, cut: str, left: int | None
) -> None:
    async def story(source: Source) -> None:
        done(await source.js.request("STREAM.PURGE.S-g", {"seq": 3}))
        await asyncio.sleep(1)  # until everything is too old
        source.stream = cut
        told, finished = await applied(source, 6)
        assert finished.is_success, finished
        assert "EG302" not in lost(told)
        await is_done(source, 6, QUEUED - 2)
        assert left is None or await stored(source) == left

    played(account, tmp_path, story)


@on_every_version
def test_only_what_was_lost_before_is_counted_and_lost(account: Account, tmp_path: Path) -> None:
    async def story(source: Source) -> None:
        await source.drops(keep=8)
        source.stream = CUT
        told, finished = await applied(source, 6)
        assert finished.is_success, finished
        assert lost(told) == {"EG302": 2, "ST301": 4}
        await is_done(source, 6, 8)
        assert await stored(source) == 4

    played(account, tmp_path, story)


@on_every_version
def test_the_source_is_cut_only_where_the_group_may_be_recreated(account: Account, tmp_path: Path) -> None:
    async def story(source: Source) -> None:
        source.stream = CUT
        only_the_cut = RunOptions(today=TODAY, allow=(("ST301", "*"),))
        changes = {one.address: one for one in (await plan(source.file(6), source.js, only_the_cut)).plan.changes}
        assert changes["stream/S"].blocked_by == "elastic_group/S/g"

    played(account, tmp_path, story)


CUTS = {
    "the members have ended": Call.ENTRY_DELETE,
    "the old queue is gone": Call.STREAM_DELETE,
    "the new queue exists": Call.STREAM_CREATE,
    "its start is removed": Call.QUEUE_SETTLE,
    "it has caught up": Call.GATE_QUEUE_CAUGHT_UP,
}


@in_turn("last", {name: (call,) for name, call in CUTS.items()})
def test_an_interrupted_recreation_goes_on_before_the_source_is_cut(
    account: Account, tmp_path: Path, last: Call
) -> None:
    async def story(source: Source) -> None:
        source.stream = CUT
        planned = await plan(source.file(6), source.js, CONSENTED)
        calls: Sequence[Call] = [step.call for step in planned.plan.steps]
        assert (await carried_out(source.js, planned, calls.index(last) + 1)).is_success
        assert await stored(source) == QUEUED
        told, finished = await applied(source, 6)
        assert finished.is_success, finished
        assert lost(told) == {"ST301": 6}
        await is_done(source, 6, QUEUED)
        assert await stored(source) == 4

    played(account, tmp_path, story)


@on_every_version
def test_a_queue_that_somebody_deleted_is_made_before_the_source_is_cut(account: Account, tmp_path: Path) -> None:
    async def story(source: Source) -> None:
        done(await source.js.request("STREAM.DELETE.S-g"))
        source.stream = CUT
        _, finished = await applied(source, 4)
        assert finished.is_success, finished
        await is_done(source, 4, QUEUED)

    played(account, tmp_path, story)


@on_every_version
def test_a_group_whose_messages_are_all_processed_waits_for_none(account: Account, tmp_path: Path) -> None:
    async def story(source: Source) -> None:
        done(await source.js.request("STREAM.PURGE.S-g"))
        source.stream = CUT
        _, finished = await applied(source, 6)
        assert finished.is_success, finished
        assert await source.queued() == 0
        assert await stored(source) == 4

    played(account, tmp_path, story)


@pytest.mark.parametrize("account", ["2.11", "2.15"], indirect=True)
def test_a_source_stays_as_it_is_while_the_new_queue_has_no_room(
    account: Account, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reconciler.kinds.elastic_group.refilling.PATIENCE", 5_000_000_000)

    async def story(source: Source) -> None:
        source.stream, source.group = CUT, "max_buffered_msg: 7,"
        told, finished = await applied(source, 6)
        (failed,) = finished.failed
        assert failed.reason.code == "AP115"
        assert "copied up to message 7, and the last one for it is message 10" in failed.reason.message
        (said,) = [
            one.message for change in told.changes for one in change.consequences if "deletes messages" in one.message
        ]
        assert "if S-g stands still for 5 s before that, apply fails and leaves S as it is" in said
        assert await stored(source) == QUEUED
        done(await source.js.request("STREAM.PURGE.S-g", {"seq": 6}))
        _, finished = await applied(source, 6)
        assert finished.is_success, finished
        await is_done(source, 6, 5)
        assert await stored(source) == 4

    played(account, tmp_path, story)
