"""What refusals tell people to do with a group that cannot become what they want, done as it is told: each message is
processed once, or as often as it is said."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from reconciler.journeys.plan.plan import plan
from reconciler.model.run_options import RunOptions
from reconciler.server.wire.api import JetStream
from tests.e2e.pipeline import Pipeline
from tests.support.accounts import Account
from tests.support.jetstream import done, make_consumer, talk
from tests.support.topologies import TODAY, read
from tests.support.versions import on_every_version

ELASTIC = "{{type: elastic, max_members: {}, members: [a], partitioning_filters: [{{filter: s.*, partitioning_wildcards: [1]}}]}}"


class Groups:
    """A stream of this retention, and the groups that take its messages."""

    def __init__(self, js: JetStream, folder: Path, retention: str) -> None:
        self.js, self.folder, self.retention = js, folder, retention
        self.line = Pipeline(js, folder)

    def text(self, removed: str = "", **partitions: int) -> str:
        groups = ", ".join(f"{name}: {ELASTIC.format(number)}" for name, number in partitions.items())
        stream = f"streams: {{S: {{subjects: [s.*], retention: {self.retention}, groups: {{{groups}}}}}}}"
        going = f"removed: [{{address: elastic_group/S/{removed}, reason: {removed}}}]" if removed else ""
        return f"{stream}\n{going}"

    async def applied(self, removed: str = "", **partitions: int) -> None:
        await self.line.applied(self.text(removed, **partitions))
        for name in partitions:
            await self.copies(name)

    async def copies(self, group: str) -> None:
        """Returns once its queue copies from the stream, which `nats stream info` shows."""
        async with asyncio.timeout(30):
            while (await self.queue(group))["sources"][0].get("active", -1) < 0:  # noqa: ASYNC110 - nothing announces it
                await asyncio.sleep(0.02)

    async def queue(self, group: str) -> dict[str, Any]:
        return dict(done(await self.js.request(f"STREAM.INFO.S-{group}")))

    async def publish(self, number: int) -> None:
        for key in range(number):
            await self.line.publish(f"s.k{key}", 1)

    async def process(self, group: str, most: int = 1_000) -> None:
        """Its member processes what is queued, or so many of it."""
        await make_consumer(self.js, f"S-{group}", "a")
        await self.line.process(f"S-{group}", "a", most)
        done(await self.js.request(f"CONSUMER.DELETE.S-{group}.a"))

    async def fix(self, code: str, text: str) -> str:
        """What the plan tells people to do instead."""
        made = (await plan(read(self.folder / code, text), self.js, RunOptions(today=TODAY))).plan
        (found,) = (one.fix for change in made.changes for one in change.verdicts if one.code == code and one.fix)
        return found


QUEUES = pytest.mark.parametrize("retention", ["workqueue", "interest"])


@on_every_version
@QUEUES
def test_two_groups_on_a_queue_process_what_is_published_twice(
    account: Account, tmp_path: Path, retention: str
) -> None:
    """Why the steps stop publishers first."""

    async def work(js: JetStream) -> Counter[int]:
        groups = Groups(js, tmp_path, retention)
        await groups.applied(g=2)
        await groups.applied(g=2, h=4)
        await groups.publish(40)
        await groups.line.copied("S-g", 40)
        await groups.line.copied("S-h", 40)
        await groups.process("g")
        await groups.process("h")
        return Counter(groups.line.processed.values())

    assert talk(account, work) == {2: 40}


@on_every_version
def test_a_group_whose_stream_keeps_messages_is_declared_again_and_gets_what_is_stored_once_more(
    account: Account, tmp_path: Path
) -> None:
    """Somebody has let its queue copy from a second stream as well, so nobody knows where a new queue would start."""

    async def work(js: JetStream) -> Counter[int]:
        groups = Groups(js, tmp_path, "limits")
        await groups.applied(g=2)
        await groups.publish(20)
        await groups.line.copied("S-g", 20)
        queue = (await groups.queue("g"))["config"]
        done(await js.request("STREAM.CREATE.T", {"name": "T", "subjects": ["t"]}))
        sources = [*queue["sources"], {"name": "T"}]
        done(await js.request("STREAM.UPDATE.S-g", {**queue, "sources": sources}))
        fix = await groups.fix("EG101", groups.text(g=4))
        assert "It starts with everything that S holds, so its members process that again" in fix
        await groups.process("g")
        await groups.applied(removed="g")
        await groups.applied(g=4)
        await groups.line.copied("S-g", 20)
        await groups.process("g")
        return Counter(groups.line.processed.values())

    assert talk(account, work) == {2: 20}


@on_every_version
def test_a_static_group_on_a_work_queue_gets_another_name_and_each_message_is_processed_once(
    account: Account, tmp_path: Path
) -> None:
    transform = 'subject_transform: {src: s.*, dest: "{{partition(2,1)}}.s.{{wildcard(1)}}"}'

    def text(*names: str, removed: str = "") -> str:
        groups = ", ".join(f"{name}: {{type: static, max_members: 2, filters: [s.*], members: [a]}}" for name in names)
        stream = f"streams: {{S: {{subjects: [s.*], retention: workqueue, {transform}, groups: {{{groups}}}}}}}"
        return stream + (f"\nremoved: [{{address: static_group/S/{removed}, reason: renamed}}]" if removed else "")

    async def joined(js: JetStream, group: str) -> None:
        await make_consumer(js, "S", f"{group}-a", filter_subjects=["0.s.*", "1.s.*"])

    async def work(js: JetStream) -> bool:
        groups = Groups(js, tmp_path, "workqueue")
        line = groups.line
        await line.applied(text("g"))
        await joined(js, "g")
        await groups.publish(30)
        await line.process("S", "g-a", 10)
        moved = "\nmoved: [{from: static_group/S/g, to: static_group/S/h, reason: another name}]"
        assert "Start them with the new name after the next step" in await groups.fix("XX110", text("h") + moved)
        await line.applied(text("g", "h"))
        with pytest.raises(AssertionError, match="10100"):
            await joined(js, "h")
        await groups.publish(5)
        await line.applied(text("h", removed="g"))
        await joined(js, "h")
        await groups.publish(5)
        await line.process("S", "h-a")
        return line.each_once()

    assert talk(account, work)
