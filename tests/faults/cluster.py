"""Leaders that are killed at a moment of one's choice, and start again a little later."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

import nats
from nats.aio.client import Client

from reconciler.model.wire.snapshot import Snapshot, is_stable
from reconciler.server.read.observe import observe
from reconciler.server.wire.api import JetStream
from tests.faults.wire import Request
from tests.support.accounts import Account
from tests.support.clusters import Cluster
from tests.support.servers import NatsServer

DOWN = 3.0
"""Seconds until a killed server starts again."""


@dataclass(slots=True)
class Throne:
    """The cluster of an account, and who of it is down."""

    account: Account
    down: list[asyncio.Task[None]] = field(default_factory=list)

    @property
    def cluster(self) -> Cluster:
        assert self.account.cluster is not None
        return self.account.cluster

    def port(self) -> int:
        """Of a server that runs."""
        return next(node.port for node in self.cluster.nodes if node.is_running)

    async def connect(self) -> Client:
        """A client that outlives any one of them."""
        urls = [node.url for node in self.cluster.nodes]
        user = self.account.user
        return await nats.connect(urls, user=user, password=user, max_reconnect_attempts=-1, reconnect_time_wait=0.1,
                                  error_cb=_quiet)  # fmt: skip

    async def depose(self, js: JetStream, request: Request, *, meta: bool) -> None:
        """Kills whoever leads what this request is about."""
        stream = _stream(request.subject)
        info = await js.request(f"STREAM.INFO.{stream}", within=2) if stream and not meta else None
        led = (info.get("cluster") or {}).get("leader") if isinstance(info, Mapping) else None
        name = led or await asyncio.to_thread(self.cluster.meta_leader)
        node = next((one for one in self.cluster.nodes if one.name == name and one.is_running), None)
        if node is not None:
            node.kill()
            self.down.append(asyncio.create_task(self._comes_back(node)))

    async def _comes_back(self, node: NatsServer) -> None:
        await asyncio.sleep(DOWN)
        node.start()

    async def whole(self) -> None:
        """Until everybody is there again."""
        await asyncio.gather(*self.down)
        await asyncio.to_thread(self.cluster.wait_until_ready)


async def settled(js: JetStream) -> None:
    """Until every server has every consumer: one that does not know it yet drops what is published for it."""
    while not _is_everywhere(await observe(js)):
        pass


def _is_everywhere(snapshot: Snapshot) -> bool:
    own = {name: info["config"]["num_replicas"] for name, info in snapshot.streams.items()}
    consumers = [(stream, one) for stream, found in snapshot.consumers.items() for one in found.values()]
    still = (is_stable(one, one["config"].get("num_replicas") or own[stream]) for stream, one in consumers)
    return not snapshot.unknown and all(still)


async def _quiet(_error: Exception) -> None:
    return None


def _stream(subject: str) -> str | None:
    """What a request is about: the stream it names, or the one behind a bucket."""
    tokens = subject.split(".")
    if tokens[0] == "$KV":
        return f"KV_{tokens[1]}"
    if tokens[3:5] == ["MSG", "GET"] or tokens[2] == "DIRECT":
        return tokens[-1]
    return tokens[4] if len(tokens) > 4 and tokens[2] in ("STREAM", "CONSUMER") else None
