"""A replacement may end after any of its steps: the next apply finishes it, and every message still comes to its consumer."""

from __future__ import annotations

import asyncio
from pathlib import Path

from reconciler.changes.change import Action
from tests.replacement.consuming import CONSENT, Work, at_work, file
from tests.support.accounts import Account
from tests.support.versions import in_turn

LAST = {"limits": 9, "interest": 11, "workqueue": 5}
"""How many steps a replacement has when nothing is refused."""

CUTS = {f"{retention} after {cut}": (retention, cut) for retention, steps in LAST.items() for cut in range(steps + 1)}


async def nothing_is_lost(work: Work, at_most_again: int) -> None:
    """Whatever was published comes; of what had been delivered before, no more comes again than was said."""
    delivered, processed = set(work.seen), set(work.acknowledged)
    came = set(await work.work_off())
    assert processed | came == set(work.published)
    assert len(came & delivered) <= at_most_again


@in_turn("retention, cut", CUTS)
def test_cut_after_any_step_the_next_apply_finishes(account: Account, tmp_path: Path, retention: str, cut: int) -> None:
    wanted = file(tmp_path / "wanted", retention, f"max_waiting: 64{CONSENT}")

    async def story() -> None:
        async with at_work(account, file(tmp_path, retention)) as work:
            planned = await work.plan(wanted)
            (change,) = planned.plan.changes
            assert (change.action, change.is_blocked) == (Action.REPLACE, False)
            assert len([step for step in planned.plan.steps if step.undoes is None]) == LAST[retention]
            await work.carry_out(planned, planned.plan.steps[:cut])
            assert [c.action for c in (await work.plan(wanted)).plan.changes] == [Action.REPLACE] * (
                cut < LAST[retention]
            )
            finished = await work.apply(wanted)
            assert finished.is_success, finished
            assert (await work.plan(wanted)).plan.changes == ()
            assert (await work.info())["config"]["max_waiting"] == 64
            assert await work.consumers() == ["c"]
            await nothing_is_lost(work, change.verdicts[0].quantities["redelivered"])
            assert await work.left() == (len(work.published) if retention == "limits" else 0)

    asyncio.run(story())
