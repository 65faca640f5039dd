"""A JetStream cluster of our own nodes, handed out when its meta group has a leader that sees every node."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Self, TypeVar

import nats
from nats.aio.client import Client
from nats.errors import Error as NatsError

from reconciler.model.waits import waiting
from reconciler.testbed.node import START_TIMEOUT, Node, Settings

T = TypeVar("T")
SYSTEM = ("sys", "sys")
UNKNOWN = "known-nowhere"
"""A stream and a tag that nothing has."""
_SYSTEM_ACCOUNT = "accounts { SYS: {users: [{user: sys, password: sys}]} }\nsystem_account: SYS\n"


class Cluster:
    """Nodes that find each other over loopback."""

    def __init__(
        self,
        make: Callable[[str, Callable[[], str], Settings | bool], Node],
        config: str = "",
        *,
        size: int = 3,
        name: str = "C1",
        jetstream: Settings | bool = True,
        tags: Sequence[str] = (),
        system: tuple[str, str] | None = None,
        user: tuple[str, str] | None = None,
    ) -> None:
        """Prepare a cluster. `make` gives a node of this name, configuration and JetStream. `config` is the same on all
        of them; if it has a system account, `system` is a user of it, and `user` one of an account with JetStream. Each
        node has all `tags`, with `{i}` as its number."""
        self.name = name
        self._system = system or SYSTEM
        self._user = user
        self._common = config if system else config + "\n" + _SYSTEM_ACCOUNT
        self._tags = tags
        self.nodes: list[Node] = []
        self.nodes += [make(f"{name}-{i}", partial(self._text, i), jetstream) for i in range(size)]

    def _text(self, i: int) -> str:
        tags = [tag.replace("{i}", str(i)) for tag in self._tags]
        tagged = f"server_tags: {json.dumps(tags)}\n" if tags else ""
        return self._common + "\n" + tagged + self._cluster_config(i)

    def _cluster_config(self, i: int) -> str:
        ports = [node.reserve("cluster") for node in self.nodes]
        routes = ", ".join(f'"nats://127.0.0.1:{port}"' for j, port in enumerate(ports) if j != i)
        listen = f"127.0.0.1:{ports[i]}"
        return f'cluster {{ name: {json.dumps(self.name)}, listen: "{listen}", routes: [{routes}], pool_size: -1 }}\n'

    @property
    def urls(self) -> list[str]:
        """Return where clients connect: one URL for each node that runs now."""
        return [node.url for node in self.nodes if node.is_running]

    @property
    def url(self) -> str:
        """Return the first of `urls`. Raises IndexError while no node runs."""
        return self.urls[0]

    def start(self) -> Self:
        """Start every node and wait until the cluster is ready. Raises RuntimeError if it does not become ready in
        time."""
        for node in self.nodes:
            node.start()
        self.wait_until_ready()
        return self

    def wait_until_ready(self) -> None:
        """Wait until the meta group has a leader, every node is there and current, and where a user is known, replicas
        can be placed on all of them."""
        self._wait_for(self._is_ready)

    def _wait_for(self, look: Callable[[], Awaitable[T | None]]) -> T:
        """Wait until there is something to see."""
        deadline = time.monotonic() + 3 * START_TIMEOUT
        with waiting(f"for {len(self.nodes)} throw-away nats-servers to agree on a leader", 3 * START_TIMEOUT):
            while not (result := asyncio.run(_look_or_none(look))):
                if time.monotonic() > deadline:
                    logs = "\n".join(n.log[-2000:] for n in self.nodes)
                    raise RuntimeError(f"the cluster did not become ready:\n{logs}")
                time.sleep(0.05)  # the meta group announces nothing before it has a leader
        return result

    async def _is_ready(self) -> bool:
        return _agrees(await self._ask_nodes(), len(self.nodes)) and await self._knows_all_peers()

    async def _knows_all_peers(self) -> bool:
        """Does the leader know the room of all nodes? The leader of 2.11 places nothing on a node that has not reported
        its room, and shows that only to a request for replicas. These are for tags that no node has, so they are
        refused in any case."""
        if self._user is None:
            return True
        wanted = {"num_replicas": len(self.nodes), "max_bytes": 1, "placement": {"tags": [UNKNOWN]}}
        nc = await self._connect(self._user)
        try:
            body = json.dumps({"name": UNKNOWN, **wanted}).encode()
            answer = await nc.request(f"$JS.API.STREAM.CREATE.{UNKNOWN}", body, timeout=2)
        finally:
            await nc.close()
        return b"peer offline" not in answer.data

    async def _ask_nodes(self) -> dict[str, dict[str, Any]]:
        nc = await self._connect(self._system)
        try:
            return await self._meta_views(nc)
        finally:
            await nc.close()

    async def _connect(self, login: tuple[str, str]) -> Client:
        user, password = login
        return await nats.connect(self.url, user=user, password=password, allow_reconnect=False, connect_timeout=2)

    async def _meta_views(self, nc: Client) -> dict[str, dict[str, Any]]:
        """Return what each running node says about the meta group, by node name."""
        inbox = nc.new_inbox()
        answers = await nc.subscribe(inbox)
        await nc.publish("$SYS.REQ.SERVER.PING.JSZ", b"{}", reply=inbox)
        infos = [json.loads((await answers.next_msg(timeout=1)).data) for node in self.nodes if node.is_running]
        return {answer["server"]["name"]: answer["data"].get("meta_cluster") or {} for answer in infos}

    def close(self) -> None:
        """End every node, as `Node.close` does."""
        for node in self.nodes:
            node.close()

    def __enter__(self) -> Self:
        return self if self.nodes[0].is_running else self.start()

    def __exit__(self, *_: object) -> None:
        self.close()


async def _look_or_none(look: Callable[[], Awaitable[T | None]]) -> T | None:
    """Return what a look shows; None also where a server does not answer yet."""
    with contextlib.suppress(NatsError, OSError, asyncio.TimeoutError):
        return await look()
    return None


def _agrees(views: dict[str, dict[str, Any]], size: int) -> bool:
    """Do all name one leader, and does the leader know every running node as current? Followers cannot know that."""
    leaders = {view.get("leader") for view in views.values()}
    leader = views.get(next(iter(leaders)) or "", {}) if len(leaders) == 1 else {}
    current = {peer["name"] for peer in leader.get("replicas") or () if peer.get("current")}
    return leader.get("cluster_size") == size and len(current & set(views)) == len(views) - 1
