"""Where a consumer begins means nothing once it has moved on: the file's word is remembered, and nothing else happens."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from reconciler.changes.change import Action
from reconciler.changes.plan import Plan
from reconciler.journeys.drift.look import look
from reconciler.server.read.observe import observe
from tests.replacement.consuming import CONSENT, OPTIONS, Work, at_work, file
from tests.support.accounts import Account
from tests.support.exporting import export
from tests.support.jetstream import done, make_consumer
from tests.support.topologies import from_files
from tests.support.versions import on_every_version

STARTS = ("deliver_policy: new", "deliver_policy: by_start_sequence, opt_start_seq: 9",
          "deliver_policy: by_start_time, opt_start_time: '2026-03-01T08:00:00Z'")  # fmt: skip


def at(account: Account, folder: Path, story: Callable[[Work], Awaitable[None]]) -> None:
    async def run() -> None:
        async with at_work(account, file(folder / "first")) as work:
            await story(work)

    asyncio.run(run())


def only(plan: Plan) -> tuple[Action, str]:
    [change] = plan.changes
    return change.action, change.reason


@on_every_version
@pytest.mark.parametrize("start", STARTS)
def test_another_start_is_remembered_and_the_consumer_stays(account: Account, tmp_path: Path, start: str) -> None:
    wanted = file(tmp_path / "wanted", "limits", f"max_waiting: 512, {start}")

    async def story(work: Work) -> None:
        before = await work.info()
        plan = (await work.plan(wanted)).plan
        action, reason = only(plan)
        assert (action, plan.steps, plan.is_empty, plan.exit_code) == (Action.ADOPT, (), True, 0)
        assert "moved on" in reason
        assert (await work.apply(wanted)).is_success
        after = await work.info()
        assert [after[part] for part in ("created", "config", "delivered", "ack_floor", "num_ack_pending")] == [
            before[part] for part in ("created", "config", "delivered", "ack_floor", "num_ack_pending")
        ]
        assert (await work.plan(wanted)).plan.changes == ()
        drift = look(wanted, await observe(work.js), OPTIONS).drift
        assert (drift.items, drift.exit_code) == ((), 0)

    at(account, tmp_path, story)


def test_beside_another_change_only_that_one_is_made(account: Account, tmp_path: Path) -> None:
    wanted = file(tmp_path / "wanted", "limits", "max_waiting: 512, deliver_policy: new, description: later")

    async def story(work: Work) -> None:
        plan = (await work.plan(wanted)).plan
        [change] = plan.changes
        assert (change.action, [one.path for one in change.fields]) == (Action.UPDATE, ["description"])
        assert (await work.apply(wanted)).is_success
        config = (await work.info())["config"]
        assert (config["description"], config["deliver_policy"]) == ("later", "all")
        assert (await work.plan(wanted)).plan.changes == ()

    at(account, tmp_path, story)


def test_the_way_back_is_remembered_too_and_an_export_says_what_the_server_has(
    account: Account, tmp_path: Path
) -> None:
    wanted, first = (
        file(tmp_path / "wanted", "limits", "max_waiting: 512, deliver_policy: new"),
        file(tmp_path / "again"),
    )

    async def story(work: Work) -> None:
        assert (await work.apply(wanted)).is_success
        exported = tmp_path / "exported.yaml"
        exported.write_text(await export(work.js, only=["stream/*", "consumer/*"]))
        for other in (from_files(exported), first):
            assert (await work.plan(other)).plan.is_empty
        assert (await work.apply(first)).is_success
        assert (await work.plan(first)).plan.changes == ()

    at(account, tmp_path, story)


@on_every_version
@pytest.mark.parametrize("start", STARTS)
def test_another_start_is_remembered_of_a_consumer_that_was_recreated_at_its_position(
    account: Account, tmp_path: Path, start: str
) -> None:
    """The server shows where the replacement began, and neither start of the file."""
    replaced = file(tmp_path / "replaced", "limits", f"max_waiting: 64{CONSENT}")
    wanted = file(tmp_path / "wanted", "limits", f"max_waiting: 64, {start}")
    once_more = file(tmp_path / "more", "limits", "max_waiting: 64, deliver_policy: last")

    async def story(work: Work) -> None:
        assert (await work.apply(replaced)).is_success
        await work.fetch(1)
        made = await work.info()
        assert made["config"]["deliver_policy"] == "by_start_sequence"
        for topology in (wanted, once_more, replaced):
            assert (await work.apply(topology)).is_success
            assert (await work.plan(topology)).plan.changes == ()
            assert look(topology, await observe(work.js), OPTIONS).drift.exit_code == 0
        assert (await work.info())["created"] == made["created"]

    at(account, tmp_path, story)


@on_every_version
def test_a_consumer_made_anew_elsewhere_is_seen(account: Account, tmp_path: Path) -> None:
    """What the file says was remembered for the consumer that went."""
    wanted = file(tmp_path / "wanted", "limits", "max_waiting: 512, deliver_policy: new")

    async def story(work: Work) -> None:
        assert (await work.apply(wanted)).is_success
        done(await work.js.write("CONSUMER.DELETE.S.c"))
        await make_consumer(work.js, "S", "c", ack_policy="explicit", deliver_policy="last", max_waiting=512)
        await work.publish()
        await work.fetch(1)
        plan = (await work.plan(wanted)).plan
        [change] = plan.changes
        assert [one.path for one in change.fields] == ["deliver_policy"]
        assert look(wanted, await observe(work.js), OPTIONS).drift.exit_code == 3

    at(account, tmp_path, story)


def test_one_that_has_not_begun_is_not_passed_over(account: Account, tmp_path: Path) -> None:
    text = "max_waiting: 512, filter_subject: s.never"
    first, wanted = (
        file(tmp_path / "one", "limits", text),
        file(tmp_path / "two", "limits", f"{text}, deliver_policy: new"),
    )

    async def story(work: Work) -> None:
        done(await work.js.write("CONSUMER.DELETE.S.c"))
        await make_consumer(work.js, "S", "c", ack_policy="explicit", filter_subject="s.never", max_waiting=512)
        assert (await work.apply(first)).is_success
        plan = (await work.plan(wanted)).plan
        assert "CO101" in {verdict.code for change in plan.changes for verdict in change.verdicts}

    at(account, tmp_path, story)
