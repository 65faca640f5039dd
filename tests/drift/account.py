"""A topology applied to a real account, others who meddle with it, and the drift that is found then."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nats.aio.client import Client

import reconciler
from reconciler.journeys.drift.drift import Drift, Item
from reconciler.journeys.plan.plan import Planned
from reconciler.model.topology import Topology
from reconciler.server.connect.options import ConnectOptions
from reconciler.server.wire.answers import answer_of
from reconciler.server.wire.api import JetStream
from reconciler.server.wire.audit import SUBJECT, Attribution
from tests.cli.running import EXAMPLES
from tests.support.accounts import Account, connect
from tests.support.jetstream import done
from tests.support.topologies import from_files, read


@dataclass(frozen=True, slots=True)
class Owner:
    account: Account
    folder: Path

    @property
    def where(self) -> ConnectOptions:
        return ConnectOptions.to(self.account.url, user=self.account.user, password=self.account.password)

    def topology(self, text: str) -> Topology:
        return read(self.folder, text)

    def apply(self, text: str) -> Topology:
        topology = self.topology(text)
        self._apply(topology)
        return topology

    def audited(self) -> None:
        """From now on the account keeps its audit trail."""
        self._apply(from_files(EXAMPLES / "audit.yaml"))

    def _apply(self, topology: Topology) -> None:
        self.carry_out(reconciler.plan(topology, self.where))

    def carry_out(self, planned: Planned) -> None:
        finished = reconciler.apply(planned, self.where)
        assert finished.is_success, finished

    def drift(self, topology: Topology) -> Drift:
        return reconciler.drift(topology, self.where)

    def meddle(self, *deeds: tuple[str, Callable[[JetStream], Awaitable[Any]]]) -> None:
        """Each under the name of somebody, one right after the other, over connections that are open before."""

        async def work() -> None:
            names = list(dict.fromkeys(name for name, _ in deeds))
            clients = {name: await self.account.connect(name=name) for name in names}
            apis = {name: await JetStream.open(nc) for name, nc in clients.items()}
            await self._heard_from_every_node(clients[names[0]])
            for name, deed in deeds:
                await deed(apis[name])
            js = apis[names[0]]
            if done(await js.request("STREAM.NAMES", {"subject": SUBJECT}))["streams"]:
                done(
                    answer_of(await js.pipeline.request(SUBJECT, b"", within=10))
                )  # stored, as all that was told before it
            for nc in clients.values():
                await nc.close()

        asyncio.run(work())

    async def _heard_from_every_node(self, nc: Client) -> None:
        """Until each node of a cluster knows that somebody listens to events here: one that does not yet sends none."""
        events = await nc.subscribe(SUBJECT)
        for node in self.account.cluster.nodes if self.account.cluster else ():
            there = await connect(node.url, self.account.user, self.account.password)
            mark = {"Node": node.url}
            while True:
                await there.publish(SUBJECT, b"", headers=mark)
                with suppress(TimeoutError):
                    if (await events.next_msg(0.5)).headers == mark:
                        break
            await there.close()


def updating(stream: str, **fields: Any) -> Callable[[JetStream], Awaitable[Any]]:
    """As a client does it that keeps everything else."""

    async def deed(js: JetStream) -> None:
        config = done(await js.request(f"STREAM.INFO.{stream}"))["config"]
        await _asked(js, f"STREAM.UPDATE.{stream}", {**config, **fields})

    return deed


def asking(endpoint: str, body: dict[str, Any] | None = None) -> Callable[[JetStream], Awaitable[Any]]:
    async def deed(js: JetStream) -> None:
        await _asked(js, endpoint, body)

    return deed


async def _asked(js: JetStream, endpoint: str, body: dict[str, Any] | None) -> None:
    """And told of by the server, which it does a moment after its answer."""
    events = await js.pipeline.nc.subscribe(SUBJECT)
    done(await js.request(endpoint, body))
    while f'$JS.API.{endpoint}"'.encode() not in (await events.next_msg(30)).data:
        pass
    await events.unsubscribe()


def item(drift: Drift, address: str) -> Item:
    return next(one for one in drift.items if one.address == address)


def authors(one: Item) -> dict[str, str]:
    """Who changed each field; `unknown` where nobody is named."""
    return {field.path: _name(field.by) for field in one.fields if field.is_drift}


def author(one: Item) -> str:
    return _name(one.by)


def _name(by: Attribution | None) -> str:
    assert by is not None
    return by.actor.client if by.actor else "unknown"
