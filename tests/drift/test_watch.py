"""A watch looks when something changes, and asks nothing while nothing does."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import urllib.request
from collections.abc import Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reconciler.cli.drift.watch import Outlets, WatchReporter
from reconciler.journeys.drift.drift import Drift
from reconciler.journeys.drift.watch import AccountUnreachable, FilesUnusable, FullLook, Happening, Watch
from reconciler.journeys.drift.watch_text import (
    ConnectedAgain,
    ConnectionLost,
    WatchLine,
    change_lines,
    line_json,
    problem_line,
)
from reconciler.journeys.permissions.permissions import permissions
from reconciler.journeys.permissions.text import config_block
from reconciler.model.diagnostic import CannotContinue, Diagnostic, Severity
from reconciler.model.run_options import RunOptions
from reconciler.model.wire.permissions import Purpose
from reconciler.server.connect.options import ConnectOptions
from reconciler.server.read.permission_subjects import Api
from reconciler.server.wire.api import JetStream
from tests.cli.running import command, environment
from tests.drift.account import Owner, authors, item, updating
from tests.drift.looking import APPLIED, look
from tests.e2e.someone import login
from tests.support.accounts import Account, accounts_config
from tests.support.contracts import followed
from tests.support.jetstream import done
from tests.support.jwt import Operator
from tests.support.servers import NatsServer
from tests.support.topologies import HEADER, from_files
from tests.support.versions import on_every_version

HOUR = 3_600_000_000_000
PATIENCE = 60.0
"""Seconds in which whatever is told at all is told, also on a busy machine; unless asked to, it looks by itself much later."""
ORDERS = """
streams:
  S:
    subjects: [s.*]
    max_age: 7d
    consumers:
      c: {ack_policy: explicit, max_ack_pending: 500}
    groups:
      g:
        type: elastic
        max_members: 2
        partitioning_filters: [{filter: s.*, partitioning_wildcards: [1]}]
        members: [a, b]
"""


class Watching:
    """A watch under way, and what it tells."""

    def __init__(self, owner: Owner, every: float) -> None:
        self.told: asyncio.Queue[Happening] = asyncio.Queue()
        self.file = owner.folder / "watched.yaml"
        self.file.write_text(HEADER + ORDERS)
        self.watch = Watch(
            paths=[self.file], connecting=owner.where, options=RunOptions(), every=every, tell=self.told.put_nowait
        )

    async def next(self, kind: type[Any]) -> Any:
        """What it tells next of this sort."""
        async with asyncio.timeout(PATIENCE):
            while not isinstance(found := await self.told.get(), kind):
                pass
        return found

    async def until(self, is_so: Callable[[Drift], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not is_so((await self.next(FullLook)).drift):
                pass


@asynccontextmanager
async def watching(owner: Owner, every: float = 900) -> Any:
    under_way = Watching(owner, every)
    task = asyncio.create_task(under_way.watch.run())
    first = asyncio.create_task(under_way.next(FullLook))
    try:
        await asyncio.wait([task, first], return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            task.result()
        await first
        yield under_way
    finally:
        first.cancel()
        under_way.watch.stop.set()
        await task


@pytest.fixture
def owner(account: Account, tmp_path: Path) -> Owner:
    return Owner(account, tmp_path)


async def as_alice(owner: Owner, deed: Callable[[JetStream], Awaitable[Any]]) -> None:
    nc = await owner.account.connect(name="alice")
    await deed(await JetStream.open(nc))
    await nc.close()


async def narrower(js: JetStream) -> None:
    config = {**done(await js.request("CONSUMER.INFO.S.c"))["config"], "max_ack_pending": 5}
    done(await js.request("CONSUMER.CREATE.S.c", {"stream_name": "S", "action": "update", "config": config}))


async def fewer(js: JetStream) -> None:
    record = {
        "max_members": 2,
        "partitioning_filters": [{"filter": "s.*", "partitioning_wildcards": [1]}],
        "members": ["a"],
    }
    await js.put_entry("elastic-consumer-groups", "S.g", json.dumps(record).encode(), expected_revision=None)


def strayed(drift: Drift, address: str) -> bool:
    return any(one.address == address for one in drift.drifted)


def by(drift: Drift, address: str) -> dict[str, str]:
    """Who made each field of it stray; the event that names them may come after a look that saw what they did."""
    return authors(item(drift, address)) if strayed(drift, address) else {}


@on_every_version
def test_each_sort_of_change_is_told_when_it_is_made_with_who_made_it(owner: Owner) -> None:
    owner.apply(ORDERS)

    async def work() -> None:
        async with watching(owner) as watch:
            await as_alice(owner, updating("S", max_age=HOUR))
            await watch.until(lambda drift: by(drift, "stream/S") == {"max_age": "alice"})
            await as_alice(owner, narrower)
            await watch.until(lambda drift: by(drift, "consumer/S/c") == {"max_ack_pending": "alice"})
            await as_alice(owner, fewer)
            await watch.until(lambda drift: by(drift, "elastic_group/S/g") == {"members": "unknown"})
            await as_alice(owner, updating("S", max_age=7 * 24 * HOUR))
            await watch.until(lambda drift: not strayed(drift, "stream/S"))

    asyncio.run(work())


async def sent_by_watch(owner: Owner) -> int:
    """How many messages the server got over the watch's connection."""
    nc = await owner.account.connect_system()
    said = await nc.request(
        "$SYS.REQ.SERVER.PING.CONNZ", json.dumps({"auth": True, "limit": 1024}).encode(), timeout=PATIENCE
    )
    await nc.close()
    found = json.loads(said.data)["data"]["connections"]
    mine = [
        one for one in found if one.get("name") == "reconciler" and one.get("authorized_user") == owner.account.user
    ]
    return int(max(mine, key=lambda one: int(one["cid"]))["in_msgs"])  # one that has just ended may still be listed


async def at_rest(owner: Owner) -> int:
    """The same, when what was told late of what came before has been looked at."""
    before, now = -1, await sent_by_watch(owner)
    async with asyncio.timeout(PATIENCE):
        while before != now:
            await asyncio.sleep(0.2)
            before, now = now, await sent_by_watch(owner)
    return now


def test_nothing_is_asked_while_nothing_happens(owner: Owner) -> None:
    owner.apply(ORDERS)

    async def work() -> tuple[int, int, int]:
        async with watching(owner) as watch:
            before = await at_rest(owner)
            await as_alice(owner, lambda js: js.request("STREAM.INFO.S"))
            await as_alice(owner, lambda js: js.pipeline.request("s.a", b"x", within=PATIENCE))
            await asyncio.sleep(0.5)  # that nothing comes can only be waited for
            meanwhile = await sent_by_watch(owner)
            await as_alice(owner, updating("S", max_age=HOUR))
            await watch.until(lambda drift: strayed(drift, "stream/S"))
            return before, meanwhile, await sent_by_watch(owner)

    before, meanwhile, after = asyncio.run(work())
    assert before == meanwhile < after


def test_everything_is_looked_at_every_so_often(owner: Owner) -> None:
    owner.apply(ORDERS)

    async def work() -> None:
        async with watching(owner, every=0.3) as watch:
            await watch.next(FullLook)

    asyncio.run(work())


def test_files_that_change_count_at_the_next_look_and_broken_ones_as_they_were(owner: Owner) -> None:
    owner.apply(ORDERS)

    async def work() -> None:
        async with watching(owner) as watch:
            watch.file.write_text(HEADER + ORDERS.replace("max_age: 7d", "max_age: 1h"))
            await as_alice(owner, updating("S", max_age=HOUR))
            await as_alice(owner, narrower)
            await watch.until(lambda drift: [one.address for one in drift.drifted] == ["consumer/S/c"])
            watch.file.write_text("streams: [")
            await as_alice(owner, updating("S", max_age=2 * HOUR))
            assert (await watch.next(FilesUnusable)).diagnostics
            await watch.until(lambda drift: strayed(drift, "stream/S"))

    asyncio.run(work())


@pytest.fixture
def server() -> Iterator[NatsServer]:
    with NatsServer(config=accounts_config(1)) as started:
        yield started


def test_a_server_that_restarts_is_watched_again_and_nothing_is_missed(server: NatsServer, tmp_path: Path) -> None:
    owner = Owner(Account(server=server, user="a0", password="a0"), tmp_path)
    owner.apply(ORDERS)

    async def work() -> None:
        async with watching(owner) as watch:
            await asyncio.to_thread(server.kill)
            await watch.next(AccountUnreachable)
            server.start()
            await as_alice(owner, updating("S", max_age=HOUR))
            await watch.until(lambda drift: strayed(drift, "stream/S"))
            assert watch.watch.reconnects >= 1

    asyncio.run(work())


def test_why_nothing_is_seen_is_told_once_and_again_when_it_is_for_another_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    operator, creds, file = Operator(), tmp_path / "watcher.creds", tmp_path / "t.yaml"
    file.write_text(HEADER + "streams: {}\n")
    creds.write_text(operator.creds(lasts=5))
    teller = WatchReporter(as_json=True, outlets=Outlets())
    heard: asyncio.Queue[Happening] = asyncio.Queue()

    def tell(happening: Happening) -> None:
        teller(happening)
        heard.put_nowait(happening)

    async def reasons(number: int) -> list[str]:
        """Why nothing was seen, so many times."""
        async with asyncio.timeout(PATIENCE):
            happenings = [await heard.get() for _ in range(number)]
        return [happening.code for happening in happenings if isinstance(happening, AccountUnreachable)]

    async def work(where: ConnectOptions) -> None:
        watch = Watch(paths=[file], connecting=where, options=RunOptions(), every=900, tell=tell)
        task = asyncio.create_task(watch.run())
        assert await reasons(1) == []
        creds.write_text(operator.creds(hears=["_INBOX.>"]))
        assert await reasons(3) == ["NA101", "DR111", "DR111"]
        creds.write_text(operator.creds(lasts=-60))
        assert await reasons(2) == ["NA102", "NA102"]
        creds.write_text(operator.creds())
        assert await reasons(1) == []
        watch.stop.set()
        await task

    with NatsServer(config=operator.config) as server:
        asyncio.run(work(replace(ConnectOptions.to(server.url), creds=str(creds))))
    lines = [followed("drift-watch", line) for line in capsys.readouterr().out.splitlines()]
    assert [line["event"] for line in lines] == ["watching", "lost", "lost", "lost", "back"]
    ended, deaf, expired = (line["why"] for line in lines[1:4])
    assert ended.startswith("the connection ended")
    assert deaf == "This user may not subscribe to $JS.EVENT.ADVISORY.>, so a watch would never hear of a change."
    assert ", which expired on " in expired


def test_every_line_for_tools_is_as_its_schema_says(tmp_path: Path) -> None:
    raw = {"streams": {"S": {"config": {"max_age": HOUR}}, "T": None}}
    both = APPLIED + "  T: {subjects: [t.>]}\n"
    before, after = look(tmp_path / "a", both, both, raw=raw), look(tmp_path / "b", both, both)
    lines = [
        *change_lines(None, before),
        *change_lines(before, after),
        WatchLine(ConnectionLost(why="no servers"), ""),
        WatchLine(ConnectedAgain(), ""),
        problem_line([Diagnostic(severity=Severity.ERROR, code="XX510", name="yaml-syntax", message="it is no YAML")]),
    ]
    told = [(line.event.event, followed("drift-watch", line_json(line, 0))) for line in lines]
    assert {event for event, _ in told} == {"watching", "drift", "resolved", "clear", "lost", "back", "wrong"}
    drifted = {one["address"]: one.get("path", one.get("standing")) for event, one in told if event == "drift"}
    assert drifted == {"stream/S": "max_age", "stream/T": "missing"}
    assert {one["at"] for _, one in told} == {"1970-01-01T00:00:00Z"}


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_a_signal_ends_it_in_good_order(owner: Owner, number: signal.Signals, code: int) -> None:
    owner.apply(ORDERS)
    (owner.folder / "t.yaml").write_text(HEADER + ORDERS)
    metrics = owner.folder / "drift.prom"
    arguments = ("drift", "watch", "t.yaml", "--format", "json", "--metrics", str(metrics), "--listen", "127.0.0.1:0")
    with subprocess.Popen(
        command(*arguments, *login(owner.account)), cwd=owner.folder, env=environment(owner.folder), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stderr is not None
        first = followed("drift-watch", process.stdout.readline(), "watching")
        url = process.stderr.readline().split()[-1].rstrip(".")
        asyncio.run(as_alice(owner, updating("S", max_age=HOUR)))
        # who it was may be told a moment after what it was, in a line of its own
        drifted = next(
            line
            for line in (followed("drift-watch", line) for line in process.stdout)
            if line.get("by", {}).get("client")
        )
        with urllib.request.urlopen(url, timeout=PATIENCE) as page:
            fetched = page.read().decode()
        process.send_signal(number)
        assert process.wait(PATIENCE) == code
        assert process.stderr.read().count("\n") == 1  # what it looks at and when; nothing else
    assert first["event"] == "watching"
    assert (drifted["event"], drifted["address"], drifted["path"], drifted["by"]["client"]) == (
        "drift", "stream/S", "max_age", "alice",
    )  # fmt: skip
    for told in (fetched, metrics.read_text()):  # another look may lie between them
        assert 'reconciler_drift{topology="orders",address="stream/S",standing="changed"} 1' in told
    assert [one.name for one in owner.folder.iterdir() if one.name.endswith(".tmp")] == []


PRINTED = """
accounts {{ A: {{ jetstream: enabled, users: [
  {{user: a0, password: a0}}
  {{user: watcher, password: watcher, {permissions}}}
  {{user: deaf, password: deaf, permissions: {{subscribe: {{allow: "_INBOX.>"}}}}}}
] }} }}
"""


def test_printed_permissions_are_enough_to_watch_and_who_hears_nothing_is_told(tmp_path: Path) -> None:
    file = tmp_path / "t.yaml"
    file.write_text(HEADER + ORDERS)
    block = config_block(permissions(from_files(file), Purpose.DRIFT, Api(), watch=True), "drift")
    with NatsServer(config=PRINTED.format(permissions=block.replace("permissions {", "permissions: {"))) as server:
        admin, watcher, deaf = (
            Owner(Account(server=server, user=user, password=user), tmp_path) for user in ("a0", "watcher", "deaf")
        )
        admin.apply(ORDERS)

        async def work() -> None:
            async with watching(watcher) as watch:
                await as_alice(admin, fewer)
                await watch.until(lambda drift: strayed(drift, "elastic_group/S/g"))
                await as_alice(admin, updating("S", max_age=HOUR))
                await watch.until(lambda drift: strayed(drift, "stream/S"))
            with pytest.raises(CannotContinue) as refused:
                async with watching(deaf):
                    pass
            assert refused.value.diagnostics[0].code == "DR111"

        asyncio.run(work())
