"""A bucket that came back older than what it describes: what is not known to be ours stays, and who planned on more stops."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from reconciler.changes.plan import PlannedChange
from reconciler.journeys.plan.plan import plan
from reconciler.journeys.saved.saving import review, to_saved
from reconciler.model.diagnostic import CannotContinue
from reconciler.model.run_options import RunOptions
from reconciler.server.wire.api import JetStream
from tests.power.recording import BUCKET, OPTIONS, STREAMS, carried_out, connected, frozen_copy
from tests.support.binaries import MINORS
from tests.support.jetstream import done, make_stream
from tests.support.servers import NatsServer, running
from tests.support.topologies import read

S = "streams: {S: {subjects: [s.*]}}"
REMOVED = "streams: {OTHER: {subjects: [o.*]}}\nremoved: [{address: stream/S, reason: done with}]"
LIMITED = "streams: {S: {subjects: [s.*], max_age: 7d}}"


class Place:
    """A server whose power goes."""

    def __init__(self, server: NatsServer, folder: Path) -> None:
        self.server, self.folder = server, folder

    def do(self, work: Callable[[JetStream], Awaitable[object]]) -> None:
        async def session() -> None:
            async with connected(self.server.port) as (_, js):
                await work(js)

        asyncio.run(session())

    def apply(self, text: str) -> None:
        async def work(js: JetStream) -> None:
            finished = await carried_out(await plan(read(self.folder, text), js, OPTIONS), js)
            assert finished.is_success, finished

        self.do(work)

    def planned(self, text: str, options: RunOptions = OPTIONS) -> list[PlannedChange]:
        found: list[PlannedChange] = []

        async def work(js: JetStream) -> None:
            found.extend((await plan(read(self.folder, text), js, options)).plan.changes)

        self.do(work)
        return found

    def remember(self) -> None:
        frozen_copy(self.server, self.folder / "older")

    def comes_back(self, stream: str = BUCKET) -> None:
        """With this stream, or this part of it, as it was when that was remembered."""
        self.server.stop()
        shutil.rmtree(self.server.home / STREAMS / stream, ignore_errors=True)
        shutil.copytree(self.folder / "older" / stream, self.server.home / STREAMS / stream)
        self.server.start()


@contextmanager
def place(minor: str, folder: Path) -> Iterator[Place]:
    with running(minor) as server:
        yield Place(server, folder)


async def publish(js: JetStream) -> None:
    for _ in range(9):
        await js.pipeline.nc.request("s.x", b"", timeout=5)


def refusal(change: PlannedChange) -> str:
    (verdict,) = [one for one in change.verdicts if one.blocks]
    assert verdict.code == "XX104"
    return verdict.message


@pytest.mark.parametrize("minor", MINORS)
def test_what_somebody_made_anew_is_not_deleted_for_what_was_removed_before(minor: str, tmp_path: Path) -> None:
    with place(minor, tmp_path) as there:
        there.apply(S)
        there.do(publish)
        there.apply(S.replace("s.*", "s.>"))  # which is remembered with how far it had come
        there.remember()
        there.apply(REMOVED)
        there.do(lambda js: make_stream(js, "S", subjects=["theirs.*"]))
        there.comes_back()
        changes = {one.address: one for one in there.planned(REMOVED)}
        assert "the live object is not the one that was applied" in refusal(changes["stream/S"])


@pytest.mark.parametrize("minor", MINORS)
def test_what_was_removed_and_is_there_again_is_said_to_be(minor: str, tmp_path: Path) -> None:
    with place(minor, tmp_path) as there:
        there.apply(S)
        there.do(publish)
        there.remember()
        there.apply(REMOVED)
        there.comes_back("S")
        changes = {one.address: one for one in there.planned(REMOVED)}
        assert "it was removed and exists again, since somebody recreated it" in refusal(changes["stream/S"])
        there.apply(S)
        there.apply(REMOVED)
        assert there.planned(REMOVED) == []


def test_a_saved_plan_stops_where_the_bucket_knows_less_than_it_did(tmp_path: Path) -> None:
    async def reviewed(js: JetStream) -> None:
        saved = to_saved(await plan(read(tmp_path, LIMITED), js, OPTIONS))
        there.comes_back()
        async with connected(there.server.port) as (_, again):
            with pytest.raises(CannotContinue) as stopped:
                await review(saved, again)
        assert stopped.value.diagnostics[0].code == "LE108"

    with place("2.15", tmp_path) as there:
        there.apply(S)
        there.remember()
        there.apply(S.replace("s.*", "s.>"))
        there.do(reviewed)


def test_a_bucket_that_was_made_anew_between_two_runs_did_not_go_back(tmp_path: Path) -> None:
    async def twice(js: JetStream) -> None:
        for text in (S, LIMITED):
            finished = await carried_out(await plan(read(tmp_path, text), js, OPTIONS), js)
            assert finished.is_success, finished
            done(await js.request(f"STREAM.DELETE.{BUCKET}"))

    with place("2.15", tmp_path) as there:
        there.do(twice)


def test_a_placeholder_that_nobody_remembers_is_named_with_what_to_do(tmp_path: Path) -> None:
    queue = "streams: {S: {subjects: [s.*], retention: interest, consumers: {c: {ack_policy: explicit}}}}"

    async def held(js: JetStream) -> None:
        kept = "c-2e7d2c03-kept"
        about = "keeps the messages of consumer c while reconciler replaces it"
        config = {"name": kept, "durable_name": kept, "ack_policy": "explicit", "description": about}
        done(await js.request(f"CONSUMER.CREATE.S.{kept}", {"stream_name": "S", "action": "create", "config": config}))
        planned = await plan(read(tmp_path, queue), js, OPTIONS)
        (said,) = [one for one in planned.plan.diagnostics if one.code == "LE107"]
        assert f"nats consumer rm S {kept}" in str(said.fix)

    with place("2.15", tmp_path) as there:
        there.apply(queue)
        there.do(held)


@pytest.mark.parametrize("minor", ["2.11", "2.12"])
def test_a_consumer_behind_the_end_of_its_stream_is_named(minor: str, tmp_path: Path) -> None:
    read_by_c = "streams: {S: {subjects: [s.*], consumers: {c: {ack_policy: explicit}}}}"

    async def worked(js: JetStream) -> None:
        await publish(js)
        subscription = await js.pipeline.nc.jetstream().pull_subscribe_bind("c", stream="S")
        for message in await subscription.fetch(9, timeout=10):
            await message.ack_sync(timeout=10)

    async def told(js: JetStream) -> None:
        planned = await plan(read(tmp_path, read_by_c), js, OPTIONS)
        (said,) = [one for one in planned.plan.diagnostics if one.code == "LE109"]
        assert (said.address, "ends at 0" in said.message) == ("consumer/S/c", True)

    with place(minor, tmp_path) as there:
        there.apply(read_by_c)
        there.remember()
        there.do(worked)
        there.comes_back("S/msgs")
        there.do(told)


def test_a_queue_is_kept_that_holds_what_its_source_lost(tmp_path: Path) -> None:
    body = "type: elastic, partitioning_filters: [{filter: s.*, partitioning_wildcards: [1]}], members: [a]"
    group, other = (
        f"streams: {{S: {{subjects: [s.*], groups: {{g: {{max_members: {number}, {body}}}}}}}}}" for number in (4, 6)
    )

    async def taken_in(js: JetStream) -> None:
        await publish(js)
        async with asyncio.timeout(30):
            while done(await js.read("STREAM.INFO.S-g"))["state"]["messages"] < 9:  # noqa: ASYNC110 - see below
                await asyncio.sleep(0.01)  # nothing announces what a queue takes in

    async def as_many_again(js: JetStream) -> None:
        for text in range(9):
            await js.pipeline.nc.request("s.x", b"%d" % text, timeout=5)

    with place("2.15", tmp_path) as there:
        there.apply(group)
        there.remember()
        there.do(taken_in)
        there.comes_back("S")
        there.do(as_many_again)
        changes = {one.address: one for one in there.planned(other)}
        assert [one.code for one in changes["elastic_group/S/g"].verdicts if one.blocks] == ["EG302"]
