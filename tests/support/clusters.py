"""Clusters of tested versions. Node i has the server tags `node:i` and `all`, unless switched off."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from reconciler.testbed.node import SYSTEM, Settings
from reconciler.testbed.node import Cluster as AnyCluster
from tests.support.binaries import NEWEST
from tests.support.servers import NatsServer

__all__ = ["SYSTEM", "Cluster", "cluster"]


class Cluster(AnyCluster):
    nodes: list[NatsServer]  # type: ignore[assignment]

    def __init__(self, minor: str = NEWEST, config: str = "", *, tags: bool = True, **options: Any) -> None:
        def node(name: str, text: Callable[[], str], jetstream: Settings | bool) -> NatsServer:
            return NatsServer(minor, text, name=name, jetstream=jetstream)

        self.minor = minor
        super().__init__(node, config, tags=("node:{i}", "all") if tags else (), **options)

    def meta_leader(self) -> str:
        """Return the name of the node that decides what exists; while it is gone, nobody answers a LIST."""
        return self._wait_for(self._leader)

    async def _leader(self) -> str | None:
        return next((str(view["leader"]) for view in (await self._ask_nodes()).values() if view.get("leader")), None)


@contextlib.contextmanager
def cluster(minor: str = NEWEST, n: int = 3, config: str = "", **options: Any) -> Iterator[Cluster]:
    """A cluster for one test."""
    with Cluster(minor, config, size=n, **options) as found:
        yield found
