"""A consumer that somebody deleted and recreated is replaced where the record of the old one says: nothing is skipped."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from reconciler.changes.change import Action
from reconciler.kinds.consumer_position.recorded_position import MARGIN
from tests.replacement.consuming import Work, at_work, file
from tests.support.accounts import Account
from tests.support.jetstream import done, make_consumer
from tests.support.versions import in_turn, on_every_version

STOOD = 3
"""Two messages were acknowledged in a row when the record was written."""
TO_ALL = "max_waiting: 512, allow: [{code: CO101, to: all, reason: as it was}]"
TO_STOOD = (
    f"max_waiting: 512, deliver_policy: by_start_sequence, opt_start_seq: {STOOD}, "
    f"allow: [{{code: CO101, to: by_start_sequence, reason: as it stood}}, {{code: CO102, to: {STOOD}, reason: as it stood}}]"
)


def recreated(
    account: Account,
    folder: Path,
    story: Callable[[Work], Awaitable[None]],
    retention: str = "limits",
    **new: str | int,
) -> None:
    """Ten messages, six delivered, three of them acknowledged, and recorded so; then the consumer is another one."""

    async def run() -> None:
        async with at_work(account, file(folder / "first", retention)) as work:
            assert (
                await work.apply(file(folder / "later", retention, "max_waiting: 512, description: later"))
            ).is_success
            if retention == "interest":  # its messages stay while another consumer wants them
                await make_consumer(work.js, "S", "other")
            done(await work.js.write("CONSUMER.DELETE.S.c"))
            await make_consumer(work.js, "S", "c", max_waiting=512, description="later", **new)
            await story(work)

    asyncio.run(run())


async def comes(work: Work) -> set[str]:
    return {*(await work.work_off())}


@on_every_version
@pytest.mark.parametrize("begun", [False, True], ids=["idle", "has delivered"])
def test_at_new_messages_it_says_what_is_skipped_and_consent_gets_it(
    account: Account, tmp_path: Path, begun: bool
) -> None:
    wanted = file(tmp_path / "wanted", "limits", TO_ALL)

    async def story(work: Work) -> None:
        if begun:
            await work.publish()
            await work.acknowledge(await work.receive(1))
        (change,) = (await work.plan(wanted)).plan.changes
        said = {verdict.code: verdict for verdict in change.verdicts}
        assert f"skips up to {8 + begun} messages from sequence 3 on" in said["CO312"].message
        assert f"at sequence {STOOD}, where the deleted one stood when it was recorded" in said["CO101"].message
        assert said["CO101"].quantities["redelivered"] == 8 + begun
        assert (await work.apply(wanted)).is_success
        assert (await work.plan(wanted)).plan.changes == ()
        assert await comes(work) == {*work.published[STOOD - 1 :]}

    recreated(account, tmp_path, story, deliver_policy="new")


LATER: dict[str, dict[str, str | int]] = {
    "at new messages": {"deliver_policy": "new"},
    "at a sequence": {"deliver_policy": "by_start_sequence", "opt_start_seq": 11},
}


@on_every_version
@pytest.mark.parametrize("start", LATER.values(), ids=LATER.keys())
def test_what_the_new_one_has_delivered_since_is_not_skipped(
    account: Account, tmp_path: Path, start: dict[str, str | int]
) -> None:
    """Ten are stored, the old one stood at the third, and the new one delivers three that came long after it."""
    as_it_was = file(tmp_path / "as it was", "limits", "max_waiting: 512, description: later")

    async def story(work: Work) -> None:
        if start["deliver_policy"] == "new":
            await asyncio.sleep(MARGIN / 1e9)
        for _ in range(3):
            await work.publish()
        await work.acknowledge(await work.receive(3))
        (change,) = (await work.plan(as_it_was)).plan.changes
        said = {verdict.code: verdict for verdict in change.verdicts}
        assert "skips up to 8 messages from sequence 3 on" in said["CO312"].message
        assert said["CO312"].quantities["skipped"] == 8

    recreated(account, tmp_path, story, "limits", **start)


@on_every_version
@pytest.mark.parametrize("begun", [0, 1], ids=["idle", "has delivered"])
def test_alike_the_advice_is_followed_and_what_was_processed_does_not_come_again(
    account: Account, tmp_path: Path, begun: int
) -> None:
    as_it_was = file(tmp_path / "as it was", "limits", "max_waiting: 512, description: later")
    wanted = file(tmp_path / "wanted", "limits", TO_STOOD)

    async def story(work: Work) -> None:
        await work.acknowledge(await work.receive(begun))
        (change,) = (await work.plan(as_it_was)).plan.changes
        (lost,) = change.verdicts
        assert (lost.code, dict(lost.quantities)) == ("CO312", {"redelivered": 10}), "what has come again counts, too"
        assert f"write deliver_policy: by_start_sequence and opt_start_seq: {STOOD}, or a later one if" in (
            lost.fix or ""
        )
        assert (await work.apply(wanted)).is_success
        assert (await work.plan(wanted)).plan.changes == ()
        assert await comes(work) == {*work.published[STOOD - 1 :]}

    recreated(account, tmp_path, story)


CUTS = {
    f"{retention} after {cut}": (retention, cut)
    for retention, last in (("limits", 6), ("interest", 8))
    for cut in range(last)
}


@in_turn("retention, cut", CUTS)
def test_cut_after_any_step_the_next_apply_still_continues_there(
    account: Account, tmp_path: Path, retention: str, cut: int
) -> None:
    wanted = file(tmp_path / "wanted", retention, TO_ALL)

    async def story(work: Work) -> None:
        planned = await work.plan(wanted)
        assert [change.action for change in planned.plan.changes if change.action.writes] == [Action.REPLACE]
        await work.carry_out(planned, [step for step in planned.plan.steps if step.undoes is None][:cut])
        assert (await work.apply(wanted)).is_success
        assert not (await work.plan(wanted)).plan.steps
        assert {*work.published} - {*work.acknowledged} <= await comes(work)

    recreated(account, tmp_path, story, retention, deliver_policy="new")
