"""An apply with the server's whole store kept at each answer to a write: what a power cut in that moment may leave."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import shutil
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

import nats
import nats.errors
from nats.aio.client import Client

from reconciler.changes.events import Finished
from reconciler.journeys.apply.apply import apply
from reconciler.journeys.plan.plan import Planned, plan
from reconciler.model.run_options import RunOptions
from reconciler.model.topology import Topology
from reconciler.server.wire.api import JetStream
from tests.faults.scenes import ALLOWED, Scene, Sections
from tests.faults.traffic import ACKNOWLEDGED, others
from tests.faults.wire import Request, wire
from tests.support.servers import NatsServer
from tests.support.suspending import suspended
from tests.support.topologies import TODAY, from_files

OPTIONS = RunOptions(today=TODAY, allow=tuple((code, "*") for code in ALLOWED))
BUCKET = "KV_reconciler"
STREAMS = Path("store/jetstream/$G/streams")
"""Where a server keeps them, in its own folder."""
ACK_WAIT = "500ms"


class Part(StrEnum):
    """What of a stream may be older than the rest: all of it, or what has a file of its own."""

    ALL = "all of it"
    MESSAGES = "messages"
    CONSUMERS = "consumers"


PLACES = {Part.ALL: "", Part.MESSAGES: "msgs", Part.CONSUMERS: "obs"}


@dataclass(frozen=True, slots=True)
class Moment:
    """Just after a write was done, and before its answer arrived."""

    number: int
    request: Request
    store: Path
    """All streams as they were on disk."""
    processed: frozenset[str]
    """Messages that were acknowledged by then."""

    @property
    def is_memory(self) -> bool:
        """Something of ours was written: the ledger, an intent, the lease, the journal."""
        return self.request.subject.startswith("$KV.reconciler.") or self.request.subject.endswith(f".{BUCKET}")

    def digest(self, stream: str, part: Part) -> str:
        """Of its files; empty where there is no such stream."""
        folder = self.store / stream
        return _digest(folder / PLACES[part]) if (folder / "meta.inf").exists() else ""

    @property
    def streams(self) -> list[str]:
        """Those that are there."""
        return sorted(one.name for one in self.store.iterdir() if (one / "meta.inf").exists())


@dataclass(frozen=True, slots=True)
class Recording:
    scene: Scene
    minor: str
    wanted: Topology
    moments: tuple[Moment, ...]
    behind: frozenset[str]
    """Processed long before, with all that comes before them on their subject: no server gives them again."""


def _digest(folder: Path) -> str:
    files = (one for one in sorted(folder.rglob("*")) if one.is_file())
    return hashlib.sha256(b"".join(one.name.encode() + one.read_bytes() for one in files)).hexdigest()


def file(folder: Path, name: str, sections: Sections) -> Topology:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.yaml"
    path.write_text(json.dumps({"reconciler": 1, "topology": "t", **_hasty(sections)}))
    return from_files(path)


def _hasty(said: Any) -> Any:
    """What is not acknowledged comes again soon."""
    if isinstance(said, dict):
        return {key: ACK_WAIT if key == "ack_wait" else _hasty(value) for key, value in said.items()}
    return [_hasty(one) for one in said] if isinstance(said, list) else said


async def quiet(_error: Exception) -> None:
    return None


async def carried_out(planned: Planned, js: JetStream) -> Finished:
    return [event async for event in apply(planned, js) if isinstance(event, Finished)][-1]


@asynccontextmanager
async def connected(port: int) -> AsyncIterator[tuple[Client, JetStream]]:
    nc = await nats.connect(f"nats://127.0.0.1:{port}", allow_reconnect=False, error_cb=quiet)
    js = await JetStream.open(nc, within=20)
    try:
        yield nc, js
    finally:
        await js.close()
        await nc.close()


@dataclass(frozen=True, slots=True)
class Kept:
    """What a server acknowledged to a publisher."""

    subject: str
    stream: str
    sequence: int
    write: int
    """After which write of the apply it was published."""

    def __str__(self) -> str:
        return f"acknowledged as {self.stream} {self.sequence}, published to {self.subject} after write {self.write}"


@dataclass(slots=True)
class Clients:
    """Publishers and workers, who do a little between any two steps."""

    nc: Client
    scene: Scene
    home: Path
    """Of the server."""
    stored: dict[str, list[str]] = field(default_factory=dict)
    """By subject, in order."""
    processed: set[str] = field(default_factory=set)
    """Messages whose acknowledgement the server has confirmed."""
    received: set[str] = field(default_factory=set)
    """Those and messages whose confirmation did not come, although the server may hold them for acknowledged."""
    number: int = 0
    kept: dict[str, Kept] = field(default_factory=dict)
    """By text."""

    async def publish(self, write: int = 0) -> None:
        for subject in self.scene.subjects:
            self.number += 1
            text = f"m{self.number}"
            with contextlib.suppress(nats.errors.Error, TimeoutError):
                said = await self.nc.request(subject, text.encode(), timeout=2)
                if "error" not in (answer := json.loads(said.data)):
                    self.stored.setdefault(subject, []).append(text)
                    self.kept[text] = Kept(subject, answer["stream"], answer["seq"], write)

    async def work(self) -> None:
        """Each consumer that is there does a few more; one with nothing behind it is up with its stream so."""
        for stream, consumer in self.scene.readers:
            for _ in range(1 if self.scene.worked_on else 8):
                if not (consumer and await self._take(stream, consumer)):
                    break

    async def begin(self) -> None:
        for _ in range(6):
            await self.publish()
        for stream, consumer in self.scene.worked_on:
            subscription = await self.nc.jetstream().pull_subscribe_bind(consumer, stream=stream)
            messages = await subscription.fetch(6, timeout=10)
            for number in ACKNOWLEDGED:
                await messages[number].ack_sync(timeout=10)
                self.processed.add(messages[number].data.decode())
            await subscription.unsubscribe()
            await self._written(stream, consumer)

    async def _written(self, stream: str, consumer: str) -> None:
        """Until the server has put on disk what was acknowledged, which it does a little later."""
        there, now = self.home / STREAMS / stream / "obs" / consumer / "o.dat", time.time()
        while not (there.exists() and there.stat().st_mtime > now):  # noqa: ASYNC110 - a file announces nothing
            await asyncio.sleep(0.01)

    async def _take(self, stream: str, consumer: str) -> bool:
        body = json.dumps({"batch": 1, "no_wait": True}).encode()
        with contextlib.suppress(nats.errors.Error, TimeoutError):
            subject = f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}"
            message = await self.nc.request(subject, body, timeout=0.3, old_style=True)
            if not (message.headers or {}).get("Status"):
                self.received.add(message.data.decode())
                await message.ack_sync(timeout=2)
                self.processed.add(message.data.decode())
                return True
        return False

    @property
    def done(self) -> Iterator[str]:
        for texts in self.stored.values():
            for text in texts:
                if text not in self.processed:
                    break
                yield text


async def recorded(scene: Scene, minor: str, folder: Path) -> Recording:
    """The store at each answer to a write of the apply that makes `wanted` of `before`."""
    moments: list[Moment] = []
    with NatsServer(minor, home=Path(folder) / "server") as server:
        async with connected(server.port) as (nc, js):
            before, wanted = file(folder, "before", scene.before), file(folder, "wanted", scene.wanted)
            finished = await carried_out(await plan(before, js, OPTIONS), js)
            assert finished.is_success, finished
            await others(js)
            clients = Clients(nc, scene, server.home)
            await clients.begin()
            behind = frozenset(clients.done)
            one_at_a_time = asyncio.Lock()

            async def kept(request: Request) -> None:
                if request.is_write:
                    async with one_at_a_time:
                        await clients.publish()
                        await clients.work()
                        store = folder / f"moment-{len(moments)}"
                        frozen_copy(server, store)
                        moments.append(Moment(len(moments), request, store, frozenset(clients.processed)))

            async with wire(lambda: server.port) as between:
                between.answered_by = kept
                async with connected(between.port) as (_, through):
                    last = await carried_out(await plan(wanted, through, OPTIONS), through)
                    assert last.is_success, last
        server.kill()
    shutil.rmtree(folder / "server")
    return Recording(scene, minor, wanted, tuple(moments), behind)


def frozen_copy(server: NatsServer, store: Path) -> None:
    """While nothing is written."""
    with suspended(server.pid):
        shutil.copytree(server.home / STREAMS, store)
