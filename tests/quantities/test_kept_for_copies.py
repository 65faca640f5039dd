"""A work queue keeps what is processed until its copies acknowledge it, which they put off while clients publish: whoever starts
over is given it again, as the plan says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from reconciler.changes.plan import Plan
from reconciler.journeys.plan.plan import plan
from reconciler.model.run_options import RunOptions
from reconciler.server.wire.api import JetStream
from tests.groups.making import until
from tests.quantities.losing import applied, publish, state, take
from tests.support.accounts import Account
from tests.support.background import beside
from tests.support.jetstream import done, talk
from tests.support.topologies import read

on_versions_that_feed_copies_durably = pytest.mark.parametrize("account", ["2.14", "2.15"], indirect=True)
PROCESSED = 20
KEEPS = "Q keeps what is processed until COPY acknowledges it, after 1_000 messages or a second after the last publish"


def file(consumers: str, queue: str = "", more: str = "") -> str:
    streams = f"Q: {{subjects: [q.>], retention: workqueue{queue}, consumers: {{{consumers}}}}}, COPY: {{sources: [{{name: Q}}]}}"
    return f"{{streams: {{{streams}{more}}}}}"


def consumer(name: str, subjects: str, more: str = "") -> str:
    return f"{name}: {{ack_policy: explicit, filter_subjects: [{subjects}]{more}}}"


@asynccontextmanager
async def processed_while_clients_publish(
    js: JetStream, folder: Path, subjects: str = "q.a, q.b"
) -> AsyncIterator[None]:
    """The consumer w has processed all that it wants, and clients go on to publish what nobody wants."""
    await applied(js, folder, file(consumer("w", subjects)), "XX209")
    async with beside(_publish_on(js)):
        await until(js, lambda info: info["state"]["messages"] > 0, "STREAM.INFO.COPY")
        await publish(js, *["q.a", "q.b"] * (PROCESSED // 2))
        await take(js, "Q", "w", PROCESSED if "q.b" in subjects else PROCESSED // 2)
        yield


async def _publish_on(js: JetStream) -> None:
    while True:
        await publish(js, "q.other")
        await asyncio.sleep(0.05)


async def pending(js: JetStream, name: str) -> int:
    return int(done(await js.request(f"CONSUMER.INFO.Q.{name}"))["num_pending"])


async def planned(js: JetStream, folder: Path, text: str) -> Plan:
    return (await plan(read(folder, text), js, RunOptions())).plan


@on_versions_that_feed_copies_durably
@pytest.mark.parametrize(
    ("code", "consumers", "name", "more"),
    [
        ("CO106", consumer("w", "q.a, q.b", ", max_waiting: 100"), "w", ""),
        ("CO330", consumer("v", "q.a, q.b"), "v", "moved: [{from: consumer/Q/w, to: consumer/Q/v, reason: r}], "),
    ],
    ids=["recreated", "renamed"],
)
def test_a_consumer_that_is_made_anew_gets_again_what_is_kept(
    account: Account, tmp_path: Path, code: str, consumers: str, name: str, more: str
) -> None:
    async def work(js: JetStream) -> None:
        async with processed_while_clients_publish(js, tmp_path):
            said = (await applied(js, tmp_path, file(consumers).replace("{", "{" + more, 1), code))[code]
            assert await pending(js, name) == PROCESSED == said.quantities["redelivered"]
            assert f"the server redelivers up to {PROCESSED} messages processed already. {KEEPS}." in said.message

    talk(account, work)


@on_versions_that_feed_copies_durably
def test_a_second_after_the_last_publish_nothing_is_kept(account: Account, tmp_path: Path) -> None:
    async def work(js: JetStream) -> None:
        async with processed_while_clients_publish(js, tmp_path):
            pass
        await until(js, lambda info: not info["num_ack_pending"], f"CONSUMER.INFO.Q.{await _feeding(js)}")
        said = (await applied(js, tmp_path, file(consumer("w", "q.a, q.b", ", max_waiting: 100")), "CO106"))["CO106"]
        assert await pending(js, "w") == 0 == said.quantities["redelivered"]
        assert f"nothing of what is stored now is redelivered. {KEEPS}." in said.message

    talk(account, work)


async def _feeding(js: JetStream) -> str:
    """The server's own consumer that feeds the copy."""
    names: list[str] = done(await js.request("CONSUMER.NAMES.Q"))["consumers"]
    (name,) = [name for name in names if name != "w"]
    return name


@on_versions_that_feed_copies_durably
def test_the_other_half_of_a_consumer_gets_again_what_is_kept(account: Account, tmp_path: Path) -> None:
    async def work(js: JetStream) -> None:
        async with processed_while_clients_publish(js, tmp_path):
            halves = file(f"{consumer('w', 'q.a')}, {consumer('half', 'q.b')}")
            (half,) = [
                change
                for change in (await planned(js, tmp_path, halves)).changes
                if change.address == "consumer/Q/half"
            ]
            (start,) = [consequence for consequence in half.consequences if consequence.quantities]
            await applied(js, tmp_path, halves)
            assert await pending(js, "half") == PROCESSED // 2 == start.quantities["delivered_before"]
            assert start.message.endswith(
                f"w has delivered {PROCESSED // 2} of them, and this one delivers them too. {KEEPS}"
            )

    talk(account, work)


@on_versions_that_feed_copies_durably
def test_a_consumer_that_takes_more_gets_again_what_is_kept(account: Account, tmp_path: Path) -> None:
    async def work(js: JetStream) -> None:
        async with processed_while_clients_publish(js, tmp_path, "q.a"):
            said = (await applied(js, tmp_path, file(consumer("w", "q.a, q.b"))))["CO301"]
            again = await pending(js, "w") - PROCESSED // 2  # what nobody has processed yet
            assert again == PROCESSED // 2 == said.quantities["redelivered"]
            assert f"It delivers up to {again} messages that were processed already. {KEEPS}" in said.message

    talk(account, work)


@on_versions_that_feed_copies_durably
def test_what_is_kept_fills_a_queue(account: Account, tmp_path: Path) -> None:
    async def work(js: JetStream) -> None:
        async with processed_while_clients_publish(js, tmp_path):
            full = file(consumer("w", "q.a, q.b"), ", max_msgs: 100, discard: new")
            (queue,) = [
                change for change in (await planned(js, tmp_path, full)).changes if change.address == "stream/Q"
            ]
            assert [text.message for text in queue.consequences if KEEPS in text.message]
            await applied(js, tmp_path, full)
            while (await state(js, "Q"))["messages"] < 100:
                await js.pipeline.nc.request("q.a", timeout=20)
                await take(js, "Q", "w", await pending(js, "w"))
            assert await pending(js, "w") == 0
            assert b"10077" in (await js.pipeline.nc.request("q.a", timeout=20)).data

    talk(account, work)


@on_versions_that_feed_copies_durably
def test_a_second_copy_deletes_nothing_that_the_first_leaves(account: Account, tmp_path: Path) -> None:
    async def work(js: JetStream) -> None:
        async with processed_while_clients_publish(js, tmp_path):
            second = ", TWO: {sources: [{name: Q}]}"
            found = await planned(js, tmp_path, file(consumer("w", "q.a, q.b"), more=second))
            assert [
                verdict.code for change in found.changes for verdict in change.verdicts if verdict.code == "XX209"
            ] == []

    talk(account, work)
