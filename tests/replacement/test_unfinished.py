"""What becomes of a replacement that was cut off when the world has moved on: taken back, removed, made by somebody else."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from reconciler.changes.change import Action, FieldClass
from reconciler.changes.plan import Plan
from reconciler.engine.pairing.unfinished import RESUMED, TAKEN_BACK
from reconciler.journeys.drift.drift import Standing
from reconciler.journeys.drift.look import look
from reconciler.model.topology import Topology
from reconciler.server.read.observe import observe
from tests.replacement.consuming import CONSENT, Work, at_work, file
from tests.support.accounts import Account
from tests.support.jetstream import done, make_consumer, make_stream
from tests.support.topologies import read
from tests.support.versions import on_every_version

BEFORE_DELETION, AFTER_DELETION, AFTER_CREATION = 6, 7, 8
"""Cuts of a replacement on an interest stream, whose placeholder is there at all of them."""


class Cut:
    """A replacement on an interest stream, and where it is cut off."""

    def __init__(self, account: Account, folder: Path) -> None:
        self._account, self.folder = account, folder
        self.old = file(folder / "old", "interest")
        self.wanted = file(folder / "new", "interest", f"max_waiting: 64{CONSENT}")

    def off(self, after: int, then: Callable[[Work], Awaitable[None]]) -> None:
        async def story() -> None:
            async with at_work(self._account, self.old) as work:
                planned = await work.plan(self.wanted)
                await work.carry_out(planned, planned.plan.steps[:after])
                await then(work)

        asyncio.run(story())

    def without_it(self, more: str = "") -> Topology:
        return read(self.folder / "without", f"streams: {{S: {{subjects: [s.*], retention: interest}}}}\n{more}")


@pytest.fixture
def cut(account: Account, tmp_path: Path) -> Cut:
    return Cut(account, tmp_path)


def actions(plan: Plan) -> list[tuple[str, Action]]:
    return [(change.address, change.action) for change in plan.changes]


async def is_clean(work: Work, wanted: Topology) -> None:
    assert (await work.plan(wanted)).plan.changes == ()
    assert not any("kept" in name for name in await work.consumers())
    assert set(work.acknowledged) | set(await work.work_off()) == set(work.published)
    assert await work.left() == 0


@pytest.mark.parametrize("after", range(1, BEFORE_DELETION + 1))
def test_not_wanted_any_more_before_the_deletion_it_is_taken_back(cut: Cut, after: int) -> None:
    async def then(work: Work) -> None:
        planned = await work.plan(cut.old)
        assert actions(planned.plan) == [("consumer/S/c", Action.UPDATE)]
        assert "nobody wants that change any more" in planned.plan.changes[0].reason
        before = (await work.info())["created"]
        assert (await work.apply(cut.old)).is_success
        info = await work.info()
        assert (info["created"], info["config"]["max_waiting"], "pause_until" in info["config"]) == (before, 512, False)
        await work.acknowledge(work.held)
        await is_clean(work, cut.old)

    cut.off(after, then)


@pytest.mark.parametrize("after", range(1, BEFORE_DELETION + 1))
@pytest.mark.parametrize("goes_on", [True, False], ids=["goes on", "taken back"])
def test_drift_says_what_was_cut_off_and_blames_nobody_else(cut: Cut, after: int, goes_on: bool) -> None:
    async def then(work: Work) -> None:
        wanted = cut.wanted if goes_on else cut.old
        (item,) = look(wanted, await observe(work.js)).drift.items
        (change,) = (await work.plan(wanted)).plan.changes
        assert item.standing is Standing.PENDING
        assert item.reason == (RESUMED if goes_on else TAKEN_BACK)
        paused = "pause_until" in (await work.info())["config"]
        assert [one.path for one in item.fields] == (["pause_until"] if paused else [])
        blamed = {one.path for one in change.fields if one.field_class in (FieldClass.DRIFTED, FieldClass.BOTH)}
        assert blamed == set()

    cut.off(after, then)


def test_not_wanted_any_more_after_the_deletion_the_old_one_comes_back_where_it_stood(cut: Cut) -> None:
    async def then(work: Work) -> None:
        assert (await work.apply(cut.old)).is_success
        assert (await work.info())["config"]["max_waiting"] == 512
        await is_clean(work, cut.old)

    cut.off(AFTER_DELETION, then)


def test_another_wish_after_the_deletion_is_made_at_the_noted_place(cut: Cut, tmp_path: Path) -> None:
    other = file(tmp_path / "other", "interest", "max_waiting: 33, replay_policy: original")

    async def then(work: Work) -> None:
        assert (await work.apply(other)).is_success
        assert (await work.info())["config"]["max_waiting"] == 33
        await is_clean(work, other)

    cut.off(AFTER_DELETION, then)


@pytest.mark.parametrize("after", [BEFORE_DELETION, AFTER_DELETION, AFTER_CREATION])
def test_what_is_removed_meanwhile_goes_with_its_placeholder(cut: Cut, after: int) -> None:
    removed = cut.without_it('removed: [{address: consumer/S/c, reason: "nobody reads it"}]')

    async def then(work: Work) -> None:
        assert actions((await work.plan(removed)).plan) == [("consumer/S/c", Action.DELETE)]
        assert (await work.apply(removed)).is_success
        assert done(await work.js.request("CONSUMER.NAMES.S"))["consumers"] in (None, [])
        assert not (await work.plan(removed)).plan.steps

    cut.off(after, then)


@pytest.mark.parametrize("after", [BEFORE_DELETION, AFTER_DELETION, AFTER_CREATION])
def test_what_is_no_longer_declared_is_listed_and_nothing_is_done(cut: Cut, after: int) -> None:
    undeclared = cut.without_it()

    async def then(work: Work) -> None:
        plan = (await work.plan(undeclared)).plan
        assert actions(plan) == [("consumer/S/c", Action.ORPHAN)]
        assert not plan.steps
        assert (await work.apply(cut.wanted)).is_success
        await is_clean(work, cut.wanted)

    cut.off(after, then)


def test_the_placeholder_is_nobodys_consumer(cut: Cut) -> None:
    async def then(work: Work) -> None:
        assert len(await work.consumers()) == 2
        assert (await work.plan(cut.wanted)).plan.unmanaged == ()

    cut.off(BEFORE_DELETION, then)


@on_every_version
@pytest.mark.parametrize("policy", ["all", "new"])
def test_what_an_application_made_meanwhile_is_replaced_at_the_noted_place(
    cut: Cut, tmp_path: Path, policy: str
) -> None:
    """A client that creates its consumer at start-up would otherwise skip what came while it was gone."""
    consents = CONSENT.replace("[", "[{code: CO101, to: all, reason: as declared}, ")
    wanted = file(tmp_path / "both", "interest", f"max_waiting: 64{consents}")

    async def then(work: Work) -> None:
        await make_consumer(work.js, "S", "c", deliver_policy=policy, max_waiting=512)
        await work.publish()
        assert (await work.apply(wanted)).is_success
        await is_clean(work, wanted)

    cut.off(AFTER_DELETION, then)


def test_a_stream_made_anew_meanwhile_is_read_as_the_file_says(cut: Cut) -> None:
    async def then(work: Work) -> None:
        done(await work.js.request("STREAM.DELETE.S"))
        await make_stream(work.js, "S", subjects=["s.*"])
        work.published, work.acknowledged = [], []
        await work.publish()
        as_limits = file(cut.folder / "limits", "limits", "max_waiting: 64")
        assert (await work.apply(as_limits)).is_success
        assert (await work.plan(as_limits)).plan.changes == ()
        assert await work.work_off() == work.published

    cut.off(AFTER_DELETION, then)


def test_an_unreadable_intent_stops_everything_about_its_consumer(cut: Cut) -> None:
    async def then(work: Work) -> None:
        await work.js.put_entry("reconciler", "intent.consumer.S.c", b"{", expected_revision=None)
        (change,) = (await work.plan(cut.wanted)).plan.changes
        assert (change.action, "its text is not JSON" in change.reason) == (Action.UNKNOWN, True)

    cut.off(AFTER_DELETION, then)


def test_somebody_elses_replacement_is_not_finished_here(cut: Cut, tmp_path: Path) -> None:
    theirs = read(
        tmp_path / "theirs", "streams: {S: {subjects: [s.*], retention: interest, consumers: {c: {}}}}", "theirs"
    )

    async def then(work: Work) -> None:
        blocked = {v.code for c in (await work.plan(theirs)).plan.changes for v in c.verdicts if v.blocks}
        assert "XX101" in blocked

    cut.off(AFTER_DELETION, then)
