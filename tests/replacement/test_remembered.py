"""The start a replacement had to use stands for the file's deliver policy from then on, and is dropped with its consumer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from reconciler.changes.change import Action
from reconciler.journeys.plan.plan import Planned
from reconciler.model.ledger.records import decode_owned
from reconciler.model.topology import Topology
from reconciler.server.wire.answers import Refusal
from tests.replacement.consuming import CONSENT, Work, at_work, file
from tests.support.accounts import Account
from tests.support.exporting import export
from tests.support.jetstream import done, make_consumer
from tests.support.topologies import from_files
from tests.support.versions import on_every_version

START = {"deliver_policy": "by_start_sequence", "opt_start_seq": 3}


def made(**config: Any) -> dict[str, Any]:
    return {name: config.get(name) for name in START}


def after_replacing(account: Account, folder: Path, then: Callable[[Work, Topology], Awaitable[None]]) -> None:
    """The consumer replaced once, because its max_waiting changed; it had acknowledged two messages in order."""
    wanted = file(folder / "wanted", "limits", f"max_waiting: 64{CONSENT}")

    async def story() -> None:
        async with at_work(account, file(folder / "first")) as work:
            assert (await work.apply(wanted)).is_success
            await then(work, wanted)

    asyncio.run(story())


@on_every_version
def test_the_server_knows_the_start_and_the_plan_is_empty(account: Account, tmp_path: Path) -> None:
    async def then(work: Work, wanted: Topology) -> None:
        assert made(**(await work.info())["config"]) == START
        assert (await work.plan(wanted)).plan.changes == ()

    after_replacing(account, tmp_path, then)


@on_every_version
def test_an_application_that_creates_it_as_the_file_has_it_is_refused_from_then_on(
    account: Account, tmp_path: Path
) -> None:
    """It was not before. The plan says so."""
    said = "it refuses an application that creates the consumer itself at start-up, with another start (10012)"

    async def story() -> None:
        async with at_work(account, file(tmp_path / "first")) as work:
            asked = {name: value for name, value in (await work.info())["config"].items() if name != "metadata"}
            create = "CONSUMER.CREATE.S.c", {"stream_name": "S", "config": asked}
            done(await work.js.request(*create))
            wanted = file(tmp_path / "wanted", "limits", f"max_waiting: 64{CONSENT}")
            (change,) = (await work.plan(wanted)).plan.changes
            assert any(said in one.message for one in change.consequences)
            assert (await work.apply(wanted)).is_success
            asked |= {"max_waiting": 64}
            answer = await work.js.request(*create)
            assert isinstance(answer, Refusal)
            assert (answer.err_code, answer.description) == (10012, "deliver policy can not be updated")

    asyncio.run(story())


def test_an_ordinary_update_keeps_it_in_mind(account: Account, tmp_path: Path) -> None:
    async def then(work: Work, wanted: Topology) -> None:
        updated = file(tmp_path / "updated", "limits", "max_waiting: 64, description: later")
        assert [c.action for c in (await work.plan(updated)).plan.changes] == [Action.UPDATE]
        assert (await work.apply(updated)).is_success
        assert (await work.plan(updated)).plan.changes == ()

    after_replacing(account, tmp_path, then)


def test_a_second_replacement_starts_where_the_first_had_come_to(account: Account, tmp_path: Path) -> None:
    async def then(work: Work, _wanted: Topology) -> None:
        await work.work_off()
        again = file(tmp_path / "again", "limits", f"max_waiting: 65{CONSENT.replace('64', '65')}")
        assert (await work.apply(again)).is_success
        assert (await work.plan(again)).plan.changes == ()
        assert (await work.info())["config"]["opt_start_seq"] == 11
        assert (await work.info())["num_pending"] == 0

    after_replacing(account, tmp_path, then)


def test_the_record_keeps_the_files_words_beside_the_start(account: Account, tmp_path: Path) -> None:
    async def then(work: Work, wanted: Topology) -> None:
        entry = (await work.plan(wanted)).snapshot.entries["reconciler"]["owned.consumer.S.c"]
        owned = decode_owned(entry)
        assert not isinstance(owned, str)
        assert "deliver_policy" not in owned.fields
        assert owned.start == {**START, "opt_start_time": None}

    after_replacing(account, tmp_path, then)


def test_another_deliver_policy_needs_consent_and_keeps_the_place_all_the_same(
    account: Account, tmp_path: Path
) -> None:
    async def then(work: Work, _wanted: Topology) -> None:
        consent = "allow: [{code: CO101, to: new, reason: for those to come}]"
        other = file(tmp_path / "other", "limits", f"max_waiting: 64, deliver_policy: new, {consent}")
        (change,) = (await work.plan(other)).plan.changes
        assert [(f.path, f.live, f.desired) for f in change.fields] == [("deliver_policy", None, "new")]
        assert (await work.apply(other)).is_success
        assert (await work.plan(other)).plan.changes == ()
        assert set(await work.work_off()) == set(work.published) - {"m0", "m1"}

    after_replacing(account, tmp_path, then)


def only_renewed(made: Planned) -> bool:
    """The file now says the start that a replacement had to use, and the record still the words before."""
    return [(change.action, change.fields) for change in made.plan.changes] == [(Action.ADOPT, ())]


def test_a_file_that_says_what_is_live_is_in_order_as_well(account: Account, tmp_path: Path) -> None:
    async def then(work: Work, _wanted: Topology) -> None:
        literal = file(
            tmp_path / "literal", "limits", "max_waiting: 64, deliver_policy: by_start_sequence, opt_start_seq: 3"
        )
        assert only_renewed(await work.plan(literal))
        assert (await work.apply(literal)).is_success
        assert (await work.plan(literal)).plan.changes == ()

    after_replacing(account, tmp_path, then)


def test_an_export_says_what_is_live(account: Account, tmp_path: Path) -> None:
    async def then(work: Work, _wanted: Topology) -> None:
        exported = tmp_path / "exported.yaml"
        exported.write_text(await export(work.js, topology="orders"))
        assert "by_start_sequence" in exported.read_text()
        assert only_renewed(await work.plan(from_files(exported)))

    after_replacing(account, tmp_path, then)


def test_gone_behind_our_back_it_is_created_as_the_file_says(account: Account, tmp_path: Path) -> None:
    async def then(work: Work, wanted: Topology) -> None:
        done(await work.js.request("CONSUMER.DELETE.S.c"))
        (change,) = (await work.plan(wanted)).plan.changes
        assert [(one.code, one.blocks) for one in change.verdicts] == [("CO312", True)]
        agreed = file(tmp_path / "agreed", "limits", "max_waiting: 64, allow: [{code: CO312, reason: from the start}]")
        assert (await work.apply(agreed)).is_success
        assert "opt_start_seq" not in (await work.info())["config"]
        assert (await work.plan(wanted)).plan.changes == ()

    after_replacing(account, tmp_path, then)


@on_every_version
def test_made_by_an_application_as_the_file_says_it_is_told_what_that_repeats(account: Account, tmp_path: Path) -> None:
    """Which object the replacement made is in its record."""

    async def then(work: Work, wanted: Topology) -> None:
        done(await work.js.request("CONSUMER.DELETE.S.c"))
        await make_consumer(work.js, "S", "c", max_waiting=64)
        (change,) = (await work.plan(wanted)).plan.changes
        assert (change.action, change.fields) == (Action.ADOPT, ())
        assert {verdict.code for verdict in change.verdicts} == {"CO312"}
        assert "it was deleted, and recreated" in change.reason

    after_replacing(account, tmp_path, then)


def test_another_start_than_the_one_remembered_is_seen(account: Account, tmp_path: Path) -> None:
    async def then(work: Work, wanted: Topology) -> None:
        done(await work.js.request("CONSUMER.DELETE.S.c"))
        await make_consumer(work.js, "S", "c", max_waiting=64, deliver_policy="by_start_sequence", opt_start_seq=7)
        (change,) = (await work.plan(wanted)).plan.changes
        assert {field.path for field in change.fields} == {"deliver_policy", "opt_start_seq"}

    after_replacing(account, tmp_path, then)


FIXED = {
    "CO101": ("deliver_policy: all", "deliver_policy: last", "last"),
    "CO103": ("deliver_policy: by_start_time, opt_start_time: '2026-01-01T00:00:00Z'",
              "deliver_policy: by_start_time, opt_start_time: '2026-01-02T00:00:00Z'", "'2026-01-02T00:00:00Z'"),
    "CO102": ("deliver_policy: by_start_sequence, opt_start_seq: 1", "deliver_policy: by_start_sequence, opt_start_seq: 5", "5"),
    "CO105": ("replay_policy: instant", "replay_policy: original", "original"),
    "CO106": ("max_waiting: 512", "max_waiting: 64", "64"),
    "CO107": ("deliver_subject: d, idle_heartbeat: 5s, flow_control: true", "deliver_subject: d, idle_heartbeat: 5s", "false"),
    "CO108": ("deliver_subject: d, idle_heartbeat: 5s", "deliver_subject: d, idle_heartbeat: 6s", "6s"),
    "CO109": ("description: pulled", "description: pushed, deliver_subject: d", "d"),
    "CO110": ("mem_storage: false", "mem_storage: true", "true"),
}  # fmt: skip


@on_every_version
@pytest.mark.parametrize("code", FIXED)
def test_every_change_that_replaces_ends_in_an_empty_plan(account: Account, tmp_path: Path, code: str) -> None:
    before, after, to = FIXED[code]
    consents = f"allow: [{{code: {code}, to: {to}, reason: r}}, {{code: CO111, to: {to}, reason: r}}]"
    wanted = file(tmp_path / "wanted", "limits", f"{after}, {consents}")

    async def story() -> None:
        nc = await account.connect()
        work = await Work.over(nc)
        assert (await work.apply(file(tmp_path, "limits", before))).is_success
        (change,) = (await work.plan(wanted)).plan.changes
        assert (change.action, change.is_blocked) == (Action.REPLACE, False)
        assert (await work.apply(wanted)).is_success
        assert (await work.plan(wanted)).plan.changes == ()
        await work.close()

    asyncio.run(story())
