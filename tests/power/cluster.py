"""One node of three comes back with an older store in the middle of an apply: the others give it what it lost.

What only the older node and one other had stored may be gone: the third does not have it either, and may become leader
with the vote of the older node, for these two are a majority. No server can prevent that, since a server acknowledges what two
of three have stored, and they must not forget it. So a node goes when all three have what was acknowledged.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import tempfile
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nats
from nats.aio.client import Client

from reconciler.journeys.plan.plan import plan
from reconciler.server.read.observe import observe
from reconciler.server.wire.api import JetStream
from tests.faults.cluster import settled
from tests.faults.scenes import REMOVED, Scene, replaced, replicated
from tests.faults.wire import Request, wire
from tests.power.evidence import told
from tests.power.recording import BUCKET, OPTIONS, Clients, carried_out, file, quiet
from tests.support.accounts import Account, Pool
from tests.support.jetstream import done
from tests.support.servers import NatsServer
from tests.support.suspending import suspended

PATIENCE = 120.0
"""Seconds in which a cluster is whole again."""


@dataclass(frozen=True, slots=True)
class Point:
    """After the so-and-so-many-th answer to a write a node goes, and comes back as it was after an earlier one."""

    scene: Scene
    node: int
    goes: int
    older: int

    def __str__(self) -> str:
        return f"{self.scene.name}: node {self.node} after write {self.goes}, as after write {self.older}"


@dataclass(slots=True)
class Healed:
    point: Point
    wrong: list[str] = field(default_factory=list)
    was_reached: bool = False

    def __str__(self) -> str:
        return "; ".join([str(self.point), *self.wrong])


class _Playing:
    def __init__(self, point: Point, account: Account, folder: Path) -> None:
        assert account.cluster is not None
        self.point, self.account, self.cluster, self.folder = point, account, account.cluster, folder
        self.scene, self.healed, self.writes = replicated(point.scene), Healed(point), 0
        self.node: NatsServer = self.cluster.nodes[point.node]
        self.others = [one for one in self.cluster.nodes if one is not self.node]

    async def story(self) -> Healed:
        nc = await self._connected([one.port for one in self.others])
        js = await JetStream.open(nc, within=20)
        try:
            await self._played(nc, js)
        except Exception as error:  # noqa: BLE001 - one point that goes wrong must not end the others
            self.healed.wrong.append(f"THE TEST ITSELF: {type(error).__name__} {error}")
        finally:
            await js.close()
            await nc.close()
        return self.healed

    async def _connected(self, ports: list[int]) -> Client:
        user = self.account.user
        urls = [f"nats://127.0.0.1:{port}" for port in ports]
        return await nats.connect(urls, user=user, password=user, error_cb=quiet)

    async def _played(self, nc: Client, js: JetStream) -> None:
        before = file(self.folder, "before", self.scene.before)
        wanted = file(self.folder, "wanted", self.scene.wanted)
        assert (await carried_out(await plan(before, js, OPTIONS), js)).is_success
        async with asyncio.timeout(PATIENCE):
            await settled(js)
        clients = Clients(nc, self.scene, self.node.home)
        for _ in range(6):
            await clients.publish()

        async def answered(request: Request) -> None:
            if request.is_write:
                self.writes += 1
                await clients.publish(self.writes)
                if self.writes == self.point.goes:
                    await self._is_stored_by_all()
                await asyncio.to_thread(self._falls)

        async with wire(lambda: self.others[0].port) as between:
            between.answered_by = answered
            through = await self._connected([between.port])
            applying = await JetStream.open(through, within=20)
            finished = await carried_out(await plan(wanted, applying, OPTIONS), applying)
            await applying.close()
            await through.close()
        if not finished.is_success:
            self.healed.wrong.append(f"DID NOT GO ON: {finished.stopped} {finished.failed}")
        await asyncio.to_thread(self.cluster.wait_until_ready)
        async with asyncio.timeout(PATIENCE):
            await settled(js)
        await clients.publish(self.writes + 1)
        if changes := (await plan(wanted, js, OPTIONS)).plan.changes:
            self.healed.wrong.append(f"STILL TO DO: {[one.address for one in changes]}")
        streams = (await observe(js)).streams.items()
        await self._is_the_same_there([name for name, one in streams if one["config"]["retention"] == "interest"])
        await self._delivered(js, clients)

    def _falls(self) -> None:
        if self.writes == self.point.older:
            with suspended(self.node.pid):
                shutil.copytree(self.node.store, self.folder / "older")
        elif self.writes == self.point.goes:
            self.healed.was_reached = True
            self.node.kill()
            shutil.rmtree(self.node.store)
            shutil.copytree(self.folder / "older", self.node.store)
            self.node.start()

    async def _is_the_same_there(self, interest: Collection[str]) -> None:
        """What each of the three has on its own disk; of an interest stream only that it ends where the others do."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + PATIENCE
        views: dict[str, Any] = {}
        while len(views) < len(self.cluster.nodes) or len({str(one) for one in views.values()}) > 1:
            if loop.time() > deadline:
                self.healed.wrong.append(f"NOT THE SAME EVERYWHERE: {views}")
                return
            views = {name: _held(streams, interest) for name, streams in (await self._views()).items()}

    async def _is_stored_by_all(self) -> None:
        async with asyncio.timeout(PATIENCE):
            while len({str(_stored(streams)) for streams in (await self._views(consumers=True)).values()}) > 1:
                pass

    async def _views(self, *, consumers: bool = False) -> dict[str, Any]:
        nc = await self.account.connect_system()
        try:
            inbox = nc.new_inbox()
            answers = await nc.subscribe(inbox)
            body = {"accounts": True, "streams": True, "consumer": consumers, "account": self.account.user}
            await nc.publish("$SYS.REQ.SERVER.PING.JSZ", json.dumps(body).encode(), reply=inbox)
            found = [json.loads((await answers.next_msg(timeout=5)).data) for _ in self.cluster.nodes]
        finally:
            await nc.close()
        return {one["server"]["name"]: one["data"]["account_details"][0]["stream_detail"] for one in found}

    async def _delivered(self, js: JetStream, clients: Clients) -> None:
        """A consumer whose leader is new may say for a moment that nothing is pending: what it has delivered tells."""
        stored = set(clients.kept)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                while stored - clients.received and await self._is_more(js):
                    await clients.work()
        if lost := sorted(stored - clients.received)[:20]:
            said = await told(lost, clients, js, self.cluster.nodes, await self._views(consumers=True))
            self.healed.wrong.append(f"LOST: {lost}\n  {said}")

    async def _is_more(self, js: JetStream) -> bool:
        for stream, name in self.scene.readers:
            one = done(await js.read(f"CONSUMER.INFO.{stream}.{name}"))
            last = done(await js.read(f"STREAM.INFO.{stream}"))["state"]["last_seq"]
            if one["num_pending"] or one["num_ack_pending"] or one["delivered"]["stream_seq"] < last:
                return True
        return False


def _stored(streams: list[dict[str, Any]]) -> list[Any]:
    """How far each stream is, and which consumers it has."""
    return sorted(
        (
            one["name"],
            one["state"]["last_seq"],
            sorted((each["name"], each["created"]) for each in one.get("consumer_detail") or ()),
        )
        for one in streams
    )


def _held(streams: list[dict[str, Any]], interest: Collection[str]) -> dict[str, tuple[int, ...]]:
    """Leases vanish by themselves, on one server a moment before the other."""
    state = {one["name"]: one["state"] for one in streams}
    return {
        name: (one["last_seq"],)
        if name in interest or name == BUCKET
        else (one["first_seq"], one["messages"], one["last_seq"])
        for name, one in sorted(state.items())
    }


async def healed(point: Point, account: Account, folder: Path) -> Healed:
    return await _Playing(point, account, folder).story()


POINTS = tuple(
    Point(scene, node, goes, older)
    for scene in (replaced("limits"), replaced("workqueue"), replaced("interest"), REMOVED)
    for node, goes, older in ((0, 5, 2), (1, 7, 1), (2, 9, 6))
)


def played(minor: str, points: Sequence[Point] = POINTS) -> list[Healed]:
    """In one loop: a node ends with the thread that has started it again, and threads end with their loop."""
    pool, found = Pool(), []
    try:
        with asyncio.Runner() as loop:
            for point in points:
                with tempfile.TemporaryDirectory() as folder:
                    found.append(loop.run(healed(point, pool.clustered(minor), Path(folder))))
        return found
    finally:
        pool.close()
