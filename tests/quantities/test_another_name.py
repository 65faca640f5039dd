"""What is known of a consumer goes with its new name, even if it is gone before the rename is applied."""

from __future__ import annotations

from pathlib import Path

import pytest

from reconciler.changes.plan import Plan, PlannedChange
from reconciler.journeys.drift.drift import Standing
from reconciler.journeys.drift.look import look
from reconciler.journeys.plan.plan import plan
from reconciler.journeys.plan.plan import plan_from_snapshot as planned_from
from reconciler.server.read.observe import observe
from reconciler.server.wire.api import JetStream
from reconciler.testbed import imagined
from tests.quantities.losing import applied, publish, take
from tests.support.accounts import Account
from tests.support.jetstream import done, make_consumer, make_stream, talk
from tests.support.topologies import read
from tests.support.versions import on_every_version

OLD = "streams: {S: {subjects: [s.>], allow_direct: true, consumers: {old: {ack_policy: explicit%s}}}}"
RENAMED = OLD.replace("old:", "new:") + "\nmoved: [{from: consumer/S/old, to: consumer/S/new, reason: tidy names}]"
TEN = ("s.a",) * 10


async def planned(js: JetStream, folder: Path, file: str) -> Plan:
    return (await plan(read(folder, file), js)).plan


def of(found: Plan, address: str) -> PlannedChange:
    return next(one for one in found.changes if one.address == address)


async def half_way(js: JetStream, folder: Path, config: str = "") -> None:
    """Three of ten are acknowledged when an apply records that, and one more since."""
    await applied(js, folder, OLD % config)
    await publish(js, *TEN)
    await take(js, "S", "old", 3)
    await applied(js, folder, OLD % f", description: later{config}")
    await take(js, "S", "old", 1)


@on_every_version
@pytest.mark.parametrize("way", ["accept", "as-is"])
def test_renamed_before_the_ledger_was_lost_an_unread_consumer_is_adopted_without_touching_it(
    way: str, account: Account, tmp_path: Path
) -> None:
    """As the guide says it: its start is that of the replacement, and only the ledger knew."""
    start = ", deliver_policy: by_start_sequence, opt_start_seq: 1"

    async def work(js: JetStream) -> tuple[str, int]:
        await applied(js, tmp_path, OLD % "")
        await publish(js, *TEN)
        await applied(js, tmp_path, RENAMED % "")
        created = done(await js.request("CONSUMER.INFO.S.new"))["created"]
        done(await js.request("STREAM.DELETE.KV_reconciler"))
        codes = {verdict.code for verdict in of(await planned(js, tmp_path, RENAMED % ""), "consumer/S/new").verdicts}
        assert codes == {"XX104", "CO101"}
        await applied(js, tmp_path, RENAMED % start)
        if way == "as-is":  # the same record as `adopt --as-is` leaves: what is live
            (verdict,) = of(await planned(js, tmp_path, RENAMED % ""), "consumer/S/new").verdicts
            assert verdict.code == "CO101"
            await take(js, "S", "new", 1)
            await applied(js, tmp_path, RENAMED % "")
            assert (await planned(js, tmp_path, RENAMED % "")).changes == ()
        else:
            assert (await planned(js, tmp_path, RENAMED % start)).changes == ()
        info = done(await js.request("CONSUMER.INFO.S.new"))
        assert info["created"] == created
        return way, int(info["num_pending"])

    assert talk(account, work) == (way, 9 if way == "as-is" else 10)


async def pending(js: JetStream, name: str) -> int:
    return int(done(await js.request(f"CONSUMER.INFO.S.{name}"))["num_pending"])


@on_every_version
def test_renamed_after_somebody_deleted_it_a_consumer_asks_for_consent_and_names_its_position(
    account: Account, tmp_path: Path
) -> None:
    async def work(js: JetStream) -> tuple[list[int], int]:
        await half_way(js, tmp_path)
        done(await js.request("CONSUMER.DELETE.S.old"))
        file = RENAMED % ", description: later"
        drift = look(read(tmp_path, file), await observe(js)).drift
        assert [(one.address, one.standing) for one in drift.items] == [("consumer/S/new", Standing.MISSING)]
        found = await planned(js, tmp_path, file)
        assert of(found, "consumer/S/old").reason == "it is gone; consumer/S/new takes its place"
        (lost,) = of(found, "consumer/S/new").verdicts
        assert lost.code == "CO312"
        assert lost.consentable
        assert "before sequence 4 when it was recorded" in lost.message
        assert "opt_start_seq: 4, which skips nothing" in (lost.fix or "")
        await applied(js, tmp_path, file, "CO312")
        assert (await planned(js, tmp_path, file)).changes == ()
        return [*lost.quantities.values()], await pending(js, "new")

    assert talk(account, work) == ([10], 10)


@on_every_version
def test_renamed_by_hand_a_consumer_is_told_from_the_one_that_stood_elsewhere(account: Account, tmp_path: Path) -> None:
    async def work(js: JetStream) -> tuple[int, int]:
        await half_way(js, tmp_path)
        done(await js.request("CONSUMER.DELETE.S.old"))
        await make_consumer(js, "S", "new", description="later")
        file = RENAMED % ", description: later"
        drift = look(read(tmp_path, file), await observe(js)).drift
        assert [(one.address, one.standing) for one in drift.items] == [("consumer/S/new", Standing.RECREATED)]
        found = await planned(js, tmp_path, file)
        assert of(found, "consumer/S/new").reason.startswith("consumer/S/old is gone, and this one was made at ")
        (lost,) = of(found, "consumer/S/new").verdicts
        await applied(js, tmp_path, file)
        assert (await planned(js, tmp_path, file)).changes == ()
        return lost.quantities["redelivered"], await pending(js, "new")

    assert talk(account, work) == (10, 10)


@on_every_version
def test_renamed_by_apply_it_has_nothing_more_to_say(account: Account, tmp_path: Path) -> None:
    async def work(js: JetStream) -> int:
        await half_way(js, tmp_path)
        file = RENAMED % ", description: later"
        await applied(js, tmp_path, file)
        assert (await planned(js, tmp_path, file)).changes == ()
        return await pending(js, "new")

    assert talk(account, work) == 6


def test_an_entry_that_finds_both_says_that_it_does_nothing(account: Account, tmp_path: Path) -> None:
    async def work(js: JetStream) -> str:
        await half_way(js, tmp_path)
        await make_consumer(js, "S", "new")
        return of(await planned(js, tmp_path, RENAMED % ""), "consumer/S/old").reason

    said = talk(account, work)
    assert said.startswith(
        "`moved` does nothing, because consumer/S/new is there already and has a position of its own"
    )


TWO = "streams: {A: {subjects: [a]}, B: {subjects: [b]}}"
JOINED = "streams: {B: {subjects: [a, b]}}\nmoved: [{from: stream/A, to: stream/B, reason: one is enough}]"


def test_two_streams_are_not_joined_by_an_entry(account: Account, tmp_path: Path) -> None:
    """Without the stream that is there already, what it holds would be lost: that is no advice."""

    async def work(js: JetStream) -> str:
        await applied(js, tmp_path, TWO)
        return of(await planned(js, tmp_path, JOINED), "stream/A").reason

    assert talk(account, work) == "`moved` does nothing, because stream/B is there already"


@pytest.mark.parametrize("by_hand", [False, True], ids=["gone", "made by hand"])
def test_a_stream_that_went_before_its_rename_is_said_to_be_lost(
    account: Account, tmp_path: Path, by_hand: bool
) -> None:
    """If there is one under the new name, clients or a source may have filled it, and nobody can tell."""
    file = "streams: {B: {subjects: [a]}}\nmoved: [{from: stream/A, to: stream/B, reason: better}]"

    async def work(js: JetStream) -> list[str]:
        await applied(js, tmp_path, "streams: {A: {subjects: [a]}}")
        await publish(js, "a", "a")
        await applied(js, tmp_path, "streams: {A: {subjects: [a], description: later}}")
        done(await js.request("STREAM.DELETE.A"))
        if by_hand:
            await make_stream(js, "B", subjects=["a"])
        return [one.message for one in of(await planned(js, tmp_path, file), "stream/B").verdicts]

    said = talk(account, work)
    assert ["it is gone with everything in it (2 messages" in one for one in said] == ([] if by_hand else [True])


@on_every_version
def test_a_new_owner_in_the_same_run_reads_what_the_old_one_recorded(account: Account, tmp_path: Path) -> None:
    async def work(js: JetStream) -> str:
        await half_way(js, tmp_path)
        done(await js.request("CONSUMER.DELETE.S.old"))
        forgetting = await plan(read(tmp_path, "forget: [consumer/S/old]"), js)
        left = imagined.snapshot_after_plan(forgetting.snapshot, forgetting.plan)
        theirs = read(tmp_path / "theirs", OLD.replace("S: {", "S: {external: true, ").replace(
            "subjects: [s.>], allow_direct: true, ", "") % ", description: later", "theirs")  # fmt: skip
        found = (await planned_from(theirs, left, js)).plan
        return of(found, "consumer/S/old").consequences[0].message

    assert talk(account, work).endswith(
        "10 of them were stored by then, and what is still stored of what it had acknowledged is redelivered"
    )
