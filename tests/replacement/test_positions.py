"""Where servers say a consumer stands: before its first message, before its first acknowledgement, in a cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from reconciler.changes.change import Action
from reconciler.engine.bindings import first_needed_sequence
from tests.replacement.consuming import CONSENT, Work, at_work, file
from tests.support.accounts import Account
from tests.support.binaries import MINORS
from tests.support.jetstream import done, make_consumer, make_stream
from tests.support.versions import on_every_version

in_every_cluster = pytest.mark.parametrize("clustered_account", MINORS, indirect=True)
STARTS: Mapping[str, tuple[Mapping[str, Any], int]] = {
    "all": ({"deliver_policy": "all"}, 1),
    "new": ({"deliver_policy": "new"}, 11),
    "last": ({"deliver_policy": "last"}, 10),
    "by_start_sequence": ({"deliver_policy": "by_start_sequence", "opt_start_seq": 5}, 5),
    "beyond the end": ({"deliver_policy": "by_start_sequence", "opt_start_seq": 11}, 11),
    "by_start_time": ({"deliver_policy": "by_start_time", "opt_start_time": "2020-01-01T00:00:00Z"}, 1),
}


@on_every_version
def test_a_consumer_that_delivered_nothing_stands_where_it_starts(account: Account) -> None:
    async def story() -> None:
        work = await Work.over(await account.connect())
        await make_stream(work.js, "S", subjects=["s.*"])
        await work.publish(10)
        for number, (config, first) in enumerate(STARTS.values()):
            await make_consumer(work.js, "S", f"c{number}", **config)
            assert first_needed_sequence(await work.info(f"c{number}")) == first
        await work.close()

    asyncio.run(story())


@on_every_version
def test_before_its_first_acknowledgement_it_says_where_it_stands_or_is_not_replaced(
    account: Account, tmp_path: Path
) -> None:
    """Up to 2.12 the ack floor of a consumer that started at `new` is 0 until then: it would all be delivered again."""
    first, then = ("max_waiting: 512, deliver_policy: new", f"max_waiting: 64, deliver_policy: new{CONSENT}")

    async def story() -> None:
        work = await Work.over(await account.connect())
        await make_stream(work.js, "S", subjects=["s.*"])
        await work.publish(5)
        assert (await work.apply(file(tmp_path, "limits", first))).is_success
        await work.publish(5)
        await work.receive(3)
        (change,) = (await work.plan(file(tmp_path / "then", "limits", then))).plan.changes
        knows = account.minor not in ("2.11", "2.12")
        assert (change.is_refused, change.action is Action.REPLACE) == (not knows, knows)
        if knows:
            assert change.verdicts[0].quantities["redelivered"] == 3
        await work.close()

    asyncio.run(story())


@in_every_cluster
@pytest.mark.parametrize("retention", ["limits", "interest", "workqueue"])
def test_in_a_cluster_nothing_is_lost_and_nothing_comes_again_but_what_was_on_its_way(
    clustered_account: Account, tmp_path: Path, retention: str
) -> None:
    wanted = file(tmp_path / "wanted", retention, f"max_waiting: 64{CONSENT}", replicas=3)

    async def story() -> None:
        async with at_work(clustered_account, file(tmp_path, retention, replicas=3)) as work:
            delivered = set(work.seen)
            planned = await work.plan(wanted)
            await work.carry_out(planned, planned.plan.steps)
            assert (await work.plan(wanted)).plan.changes == ()
            assert await work.consumers() == ["c"]
            came = set(await work.work_off())
            assert set(work.acknowledged) | came == set(work.published)
            assert len(came & delivered) <= planned.plan.changes[0].verdicts[0].quantities["redelivered"]

    asyncio.run(story())


@in_every_cluster
def test_in_a_cluster_a_pause_is_felt_before_the_place_is_read(clustered_account: Account, tmp_path: Path) -> None:
    wanted = file(tmp_path / "wanted", "limits", f"max_waiting: 64{CONSENT}", replicas=3)

    async def story() -> None:
        async with at_work(clustered_account, file(tmp_path, replicas=3)) as work:
            planned = await work.plan(wanted)
            await work.carry_out(planned, planned.plan.steps[:4])
            assert (await work.info())["paused"]
            assert await work.fetch(1, within=0.3) == []

    asyncio.run(story())


@on_every_version
@pytest.mark.parametrize("retention", ["limits", "interest"])
def test_a_position_that_has_passed_messages_in_flight_is_no_position(
    account: Account, tmp_path: Path, retention: str
) -> None:
    """A consumer that were recreated there would never deliver the five that its clients still work on."""

    async def story() -> None:
        work = await Work.over(await account.connect())
        await make_stream(work.js, "S", subjects=["s.*"])
        assert (await work.apply(file(tmp_path, retention, "max_waiting: 512"))).is_success
        await work.publish(5)
        await work.nc.request("s.purged", b"m5", timeout=20)
        await work.publish(2)
        at_work_on = await work.receive(6)
        done(await work.js.request("STREAM.PURGE.S", {"filter": "s.purged"}))
        await work.acknowledge(await work.receive(2))
        info = await work.info()
        assert (info["num_ack_pending"], info["ack_floor"]["stream_seq"]) == (5, 8)
        then = file(tmp_path / "then", retention, f"max_waiting: 64{CONSENT}")
        (change,) = (await work.plan(then)).plan.changes
        assert change.is_refused
        assert "counts 5 messages in flight as acknowledged" in change.verdicts[0].message
        await work.acknowledge(at_work_on[:5])
        assert (await work.apply(then)).is_success
        assert await work.work_off() == []
        await work.close()

    asyncio.run(story())


@on_every_version
def test_a_stream_that_turns_to_interest_names_messages_in_flight_that_count_as_acknowledged(
    account: Account, tmp_path: Path
) -> None:
    async def story() -> None:
        work = await Work.over(await account.connect())
        await make_stream(work.js, "S", subjects=["s.*"])
        assert (await work.apply(file(tmp_path, "limits", "max_waiting: 512"))).is_success
        await work.publish(5)
        await work.nc.request("s.purged", b"m5", timeout=20)
        await work.publish(2)
        await work.receive(6)
        done(await work.js.request("STREAM.PURGE.S", {"filter": "s.purged"}))
        await work.acknowledge(await work.receive(2))
        turned = (await work.plan(file(tmp_path / "then", "interest", "max_waiting: 512"))).plan
        (told,) = (verdict for change in turned.changes for verdict in change.verdicts if verdict.code == "ST302")
        assert told.quantities["messages"] == 7
        assert "c has 5 messages in flight that the server counts as acknowledged" in told.message
        await work.js.request(
            "STREAM.UPDATE.S", {**done(await work.js.request("STREAM.INFO.S"))["config"], "retention": "interest"}
        )
        assert await work.left() == 0
        await work.close()

    asyncio.run(story())
