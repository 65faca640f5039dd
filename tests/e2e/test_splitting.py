"""A topology is split: what one file gives up the other takes, whatever its consumers have been through."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.e2e.here import somebody
from tests.e2e.someone import Someone
from tests.support.accounts import Account
from tests.support.versions import on_every_version

BEFORE = "streams: {ORDERS: {}, PAY: {subjects: [pay.*], consumers: {%s: {ack_policy: explicit}}}}\n"
RENAMED = BEFORE % "ledger" + "moved: [{from: consumer/PAY/c1, to: consumer/PAY/ledger, reason: better}]\n"
LEFT = "streams: {ORDERS: {}}\nforget: [stream/PAY, consumer/PAY/ledger]\n"
TAKEN = BEFORE.replace("ORDERS: {}, ", "") % "ledger"


async def _worked(account: Account, name: str, count: int) -> None:
    """Twenty more messages come, and its client acknowledges some."""
    connection = await account.connect()
    client = connection.jetstream()
    for _ in range(20):
        await client.publish("pay.x", b"x")
    waiting = await client.pull_subscribe_bind(consumer=name, stream="PAY")
    for _ in range(count):
        (message,) = await waiting.fetch(1, timeout=10)
        await message.ack_sync()
    await connection.close()


@pytest.fixture
def renamed(tmp_path: Path, account: Account, monkeypatch: pytest.MonkeyPatch) -> Someone:
    """Somebody who has renamed a consumer at work, from c1 to ledger."""
    someone = somebody(tmp_path, account, monkeypatch)
    someone.applied(BEFORE % "c1")
    asyncio.run(_worked(account, "c1", 7))
    someone.applied(RENAMED)
    return someone


@on_every_version
def test_a_consumer_that_was_renamed_changes_hands_as_it_stands(renamed: Someone, account: Account) -> None:
    asyncio.run(_worked(account, "ledger", 3))
    files = [renamed.write(LEFT, "left.yaml")]
    files.append(renamed.write(f"reconciler: 1\ntopology: pay\n{TAKEN}", "taken.yaml"))
    planned = renamed("plan", *files)
    assert planned.code == 0 and "replace" not in planned.out, planned
    assert renamed("apply", *files, "--yes").code == 0
    assert renamed.has_nothing_to_do("taken.yaml")
    assert renamed("drift", *files).code == 0
    held = renamed.ask(lambda js: js.read("CONSUMER.INFO.PAY.ledger"))
    assert isinstance(held, Mapping) and held["num_pending"] == 40 - 10, held


@on_every_version
def test_a_consumer_that_was_renamed_is_recognised_under_a_third_name(renamed: Someone) -> None:
    planned = " ".join(renamed.plan(BEFORE % "third").out.split())
    assert "consumer/PAY/third is new and declared alike. If it is this one under a new name, write" in planned, planned


@on_every_version
def test_a_rename_that_is_reverted_is_told_of_the_entry_that_keeps_the_position(renamed: Someone) -> None:
    planned = " ".join(renamed.plan(BEFORE % "c1").out.split())
    assert "consumer/PAY/c1 is new, and this one had that name before. To rename it back, write" in planned, planned
    assert "write `moved: [{from: consumer/PAY/ledger, to: consumer/PAY/c1, reason: …}]`" in planned
    otherwise = (BEFORE % "c1").replace("ack_policy: explicit", "ack_policy: explicit, max_ack_pending: 7")
    beside = " ".join(renamed.plan(otherwise).out.split())
    assert "consumer/PAY/c1 is new, and this one had that name before. To rename it back, write" in beside, beside
