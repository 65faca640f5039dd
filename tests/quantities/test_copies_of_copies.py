"""A mirror that somebody deleted copies everything again: what its own copies skip, and what they store twice, was said."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from reconciler.changes.verdict import Outcome
from reconciler.journeys.plan.plan import plan
from reconciler.server.wire.api import JetStream
from tests.groups.making import until
from tests.quantities.losing import applied, publish, state
from tests.support.accounts import Account
from tests.support.jetstream import done, talk
from tests.support.topologies import read
from tests.support.versions import on_every_version

FILE = """
streams:
  O: {subjects: [o.*]}
  M: {mirror: {name: O}}
  CHAIN: {mirror: {name: M}}
  SUM: {sources: [{name: M}]}
"""
TAKEN_OFF = FILE.replace("sources: [{name: M}]", "subjects: [sum]")
STORED, LATER = 5, 2


async def has(js: JetStream, stream: str, messages: int) -> None:
    await until(js, lambda info: info["state"]["messages"] >= messages, f"STREAM.INFO.{stream}")


@on_every_version
def test_copies_of_a_mirror_that_is_gone_store_as_many_messages_twice_as_the_plan_said(
    account: Account, tmp_path: Path
) -> None:
    async def work(js: JetStream) -> tuple[Outcome, Mapping[str, int], dict[str, int]]:
        await applied(js, tmp_path, FILE)
        await publish(js, *["o.a"] * STORED)
        for stream in ("M", "CHAIN", "SUM"):
            await has(js, stream, STORED)
        done(await js.request("STREAM.DELETE.M"))
        found = await plan(read(tmp_path, FILE), js)
        (lost,) = (one for change in found.plan.changes for one in change.verdicts if one.code == "ST312")
        await applied(js, tmp_path, FILE, "ST312")
        await publish(js, *["o.a"] * LATER)
        for stream in ("M", "CHAIN"):
            await has(js, stream, STORED + LATER)
        await has(js, "SUM", STORED + LATER + lost.quantities.get("copied", 0))
        return lost.outcome, lost.quantities, {name: (await state(js, name))["messages"] for name in ("CHAIN", "SUM")}

    outcome, said, held = talk(account, work)
    copied = STORED if account.minor == "2.15" else 0
    assert held == {"CHAIN": STORED + LATER, "SUM": STORED + LATER + copied}
    assert {name: number for name, number in said.items() if name in ("skipped", "copied")} == (
        {"copied": STORED} if copied else {}
    )
    assert outcome is (Outcome.NEEDS_CONSENT if copied else Outcome.WARNS)


@on_every_version
def test_a_source_that_comes_back_after_its_origin_was_recreated_copies_as_many_as_the_plan_said(
    account: Account, tmp_path: Path
) -> None:
    copied = STORED if account.minor == "2.15" else 0

    async def work(js: JetStream) -> tuple[list[str], int]:
        await applied(js, tmp_path, FILE)
        await publish(js, *["o.a"] * STORED)
        for stream in ("M", "CHAIN", "SUM"):
            await has(js, stream, STORED)
        await applied(js, tmp_path, TAKEN_OFF)
        done(await js.request("STREAM.DELETE.M"))
        await applied(js, tmp_path, TAKEN_OFF, "ST312")
        await has(js, "M", STORED)
        found = await plan(read(tmp_path, FILE), js)
        (source,) = (change for change in found.plan.changes if change.address == "stream/SUM")
        await applied(js, tmp_path, FILE)
        await publish(js, *["o.a"] * LATER)
        await has(js, "SUM", STORED + copied + LATER)
        return [one.message for one in source.consequences if one.code == "ST304"], (await state(js, "SUM"))["messages"]

    said, held = talk(account, work)
    assert held == STORED + copied + LATER
    assert ["at once copies 5 messages that M stores" in one for one in said] == ([True] if copied else [])
