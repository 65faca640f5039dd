"""The steps that a plan prints for another name or other settings of a group on a queue, done as they are printed while
clients work."""

from __future__ import annotations

import asyncio
import re
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from nats.aio.msg import Msg

from reconciler.journeys.plan.plan import plan
from reconciler.model.run_options import RunOptions
from reconciler.server.wire.api import JetStream
from tests.cli.running import environment
from tests.e2e.pipeline import Pipeline
from tests.faults import members
from tests.support.accounts import Account
from tests.support.jetstream import done, talk
from tests.support.topologies import TODAY, read
from tests.support.versions import on_every_version

GROUP = "%s: {type: elastic, max_members: %d, partitioning_filters: [{filter: ord.*, partitioning_wildcards: [1]}], members: [a, b]}"
EVERY = 0.005
"""Seconds between two messages."""
BEFORE, AFTER = 40, 40
"""Messages published before publishers are stopped, and after they start again, at least."""


def declared(retention: str, **partitions: int) -> str:
    named = ", ".join(GROUP % group for group in partitions.items())
    return f"streams: {{ORD: {{subjects: [ord.>], retention: {retention}, groups: {{{named}}}}}}}"


class Team:
    """Publishers, and the members of both groups; whoever follows a step calls one of these."""

    def __init__(self, js: JetStream, account: Account, folder: Path, retention: str) -> None:
        self.line, self.account, self.retention = Pipeline(js, folder), account, retention
        self.js, self.at_work = js, dict[str, list[members.Member]]()
        self.publishing: asyncio.Task[None] | None = None
        self.goal = dict[str, int]()
        """The groups with their partitions that the team wants in the end."""

    def starts_publishing(self) -> None:
        async def going() -> None:
            while True:
                await asyncio.shield(self.line.publish(f"ord.k{len(self.line.published) % 7}", 1))
                await asyncio.sleep(EVERY)

        self.publishing = asyncio.create_task(going())

    async def stops_publishing(self) -> None:
        assert self.publishing
        self.publishing.cancel()
        await asyncio.gather(self.publishing, return_exceptions=True)

    async def members_start(self, group: str) -> None:
        async def arrived(message: Msg) -> None:
            if not (message.headers or {}).get("Status"):
                self.line.processed[message.data.decode()] += 1
                await self.line.nc.request(message.reply, b"", timeout=20)

        self.at_work[group] = [members.Member(self.js, ("ORD", group, name), arrived) for name in "ab"]
        await asyncio.gather(*(one.begins() for one in self.at_work[group]))

    async def members_stop(self, group: str) -> None:
        await asyncio.gather(*(one.ends() for one in self.at_work.pop(group)))

    async def stored(self) -> int:
        info = done(await self.js.request("STREAM.INFO.ORD", {"subjects_filter": "ord.*"}))
        return sum((info["state"].get("subjects") or {}).values())

    async def nothing_is_stored(self) -> None:
        async with asyncio.timeout(30):
            while await self.stored():  # noqa: ASYNC110 - nothing announces that a stream has become empty
                await asyncio.sleep(0.05)

    async def copies(self, group: str) -> None:
        """An interest stream deletes what is published before anybody copies it."""
        async with asyncio.timeout(30):
            while done(await self.js.request(f"STREAM.INFO.ORD-{group}"))["sources"][0]["active"] < 0:  # noqa: ASYNC110 - nothing says so
                await asyncio.sleep(0.05)

    async def nothing_waits(self, arguments: str) -> None:
        async with asyncio.timeout(60):
            while True:
                said = await self.reconciler(arguments.split())
                if "queue ORD-g: 0 messages" in said and "not copied" not in said:
                    return

    async def reconciler(self, arguments: list[str]) -> str:
        login = ("--server", self.account.url, "--user", self.account.user, "--password", self.account.password)
        ran = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "reconciler", *arguments, *login, stdout=asyncio.subprocess.PIPE,
            env=environment(self.line.folder),
        )  # fmt: skip
        out, _ = await ran.communicate()
        assert ran.returncode == 0, out.decode()
        return out.decode()

    async def declares(self, **beside: int) -> None:
        await self.line.applied(declared(self.retention, **self.goal, **beside))

    async def removes(self, entry: str) -> None:
        kept = {group: number for group, number in self.goal.items() if f"/{group}," not in entry}
        await self.line.applied(f"{declared(self.retention, **kept)}\n{entry.replace('…', 'as the plan says')}")


Deed = Callable[[Team, re.Match[str]], Awaitable[None]]


async def nothing_to_do(_team: Team, _said: re.Match[str]) -> None:
    return None


PRINTED: tuple[tuple[str, Deed], ...] = (
    (r"Remove the entry from `moved`, and keep both declared until the end\.", nothing_to_do),
    (r"Stop what publishes to ORD\.", lambda team, _: team.stops_publishing()),
    (r"When nothing waits for the members of g any more, stop them: reconciler (groups show ORD/g)$",
     lambda team, said: stopped(team, said[1])),
    (r"Wait until ORD holds no messages on ord\.\* \(nats stream subjects ORD\): [gh] copies what it finds there, and its "
     r"members would process it again\.", lambda team, _: team.nothing_is_stored()),
    (r"This server may keep messages there forever: .*\.$", nothing_to_do),
    (r"Declare h with those members, and apply\.", lambda team, _: team.declares(g=2)),
    (r"Start them with the new name\.", lambda team, _: team.members_start("h")),
    (r"Write (removed: \[\{address: elastic_group/ORD/g, reason: …\}\]) instead of its declaration, and apply\.",
     lambda team, said: team.removes(said[1])),
    (r"Declare it again with the new settings, and apply\.", lambda team, _: team.declares()),
    (r"Start its members\.", lambda team, _: team.members_start("g")),
    (r"Publish again only (?:\d+ seconds )?after the (?:next step|removal)"
     r"(, and when ORD-[gh] copies from ORD \(nats stream info ORD-[gh] says when it last did\))?\."
     r"( Both groups get what is published before, and what then waits in the queue of g is deleted with it\.)?",
     nothing_to_do),
    (r"Publish again(, and when ORD-g copies from ORD \(nats stream info ORD-g says when it last did\))?\.$", nothing_to_do),
    (r"Until then this server counts .*\.$", nothing_to_do),
)  # fmt: skip
"""Each sentence that a plan may print, and what somebody does who reads it. Another sentence fails the test."""


async def stopped(team: Team, arguments: str) -> None:
    await team.nothing_waits(arguments)
    await team.members_stop("g")


async def followed(team: Team, step: str) -> None:
    while step := step.strip():
        said, deed = next(((found, deed) for words, deed in PRINTED if (found := re.match(words, step))), (None, None))
        assert said is not None and deed is not None, f"nobody knows what to do: {step}"
        await deed(team, said)
        step = step[said.end() :]


async def steps(team: Team, code: str, entry: str = "") -> list[str]:
    """As the plan prints them that refuses what the team wants."""
    text = f"{declared(team.retention, **team.goal)}\n{entry}"
    made = await plan(read(team.line.folder / "wanted", text), team.js, RunOptions(today=TODAY))
    (refused,) = (one for change in made.plan.changes for one in change.verdicts if one.code == code)
    return [re.sub(r"^ *\d+\. ", "", line) for line in (refused.fix or "").splitlines()[1:]]


async def published(team: Team, number: int) -> None:
    wanted = len(team.line.published) + number
    while len(team.line.published) < wanted:  # noqa: ASYNC110 - the publisher goes on by itself
        await asyncio.sleep(EVERY)


Ends = tuple[Counter[str], Counter[str], int]
"""Processed more than once, never processed, left in the queue."""
NOTHING: Ends = (Counter(), Counter(), 0)


async def done_as_printed(team: Team, code: str, goal: dict[str, int], entry: str = "") -> Ends:
    (group,) = goal
    await team.line.applied(declared(team.retention, g=2))
    await team.members_start("g")
    await team.copies("g")
    team.starts_publishing()
    await published(team, BEFORE)
    team.goal = goal
    printed = await steps(team, code, entry)
    for step in printed:
        await followed(team, step)
    said = "\n".join(printed)
    if f"when ORD-{group} copies from ORD" in said:
        await team.copies(group)
    if more := re.search(r"(\d+) seconds after", said):
        await asyncio.sleep(int(more[1]))
    team.starts_publishing()
    await published(team, AFTER)
    await team.stops_publishing()
    async with asyncio.timeout(60):
        while team.line.processed.total() < len(team.line.published):  # noqa: ASYNC110 - the members go on by themselves
            await asyncio.sleep(EVERY)
    await team.nothing_is_stored()
    await team.members_stop(group)
    left = done(await team.js.request(f"STREAM.INFO.ORD-{group}"))["state"]["messages"]
    every = Counter(team.line.published)
    return team.line.processed - every, every - team.line.processed, left


QUEUES = pytest.mark.parametrize("retention", ["workqueue", "interest"])


@pytest.fixture(autouse=True)
def lasting_members(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ack_wait", "inactive_threshold", "priority_timeout"):
        monkeypatch.setitem(members.CONFIG, name, 5 * members.SECOND)


@on_every_version
@QUEUES
def test_a_group_gets_another_name_and_members_of_either_process_each_message_once(
    account: Account, tmp_path: Path, retention: str
) -> None:
    async def work(js: JetStream) -> Ends:
        team = Team(js, account, tmp_path, retention)
        moved = "moved: [{from: elastic_group/ORD/g, to: elastic_group/ORD/h, reason: its own name}]"
        return await done_as_printed(team, "XX110", {"h": 2}, moved)

    assert talk(account, work) == NOTHING


@on_every_version
@QUEUES
def test_a_group_gets_more_partitions_and_members_process_each_message_once(
    account: Account, tmp_path: Path, retention: str
) -> None:
    async def work(js: JetStream) -> Ends:
        return await done_as_printed(Team(js, account, tmp_path, retention), "EG101", {"g": 4})

    assert talk(account, work) == NOTHING
