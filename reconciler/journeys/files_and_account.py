"""Reads the files while the account is read: each takes about as long, and neither needs the other until both are there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from reconciler.documents.read.files import DISK, Tree
from reconciler.documents.read.load import Loaded
from reconciler.journeys.plan.files import load, topology_of
from reconciler.model.diagnostic import about
from reconciler.model.topology import Topology
from reconciler.model.wire.snapshot import Snapshot
from reconciler.server.connect.options import ConnectOptions
from reconciler.server.connect.session import session
from reconciler.server.read.observe import observe
from reconciler.server.wire.api import JetStream
from reconciler.server.wire.pipeline import Window


@dataclass(frozen=True, slots=True, kw_only=True)
class Both:
    """What is wanted, what is live, and the connection to go on with."""

    loaded: Loaded
    topology: Topology
    js: JetStream
    snapshot: Snapshot


@asynccontextmanager
async def both(
    paths: Sequence[Path], options: ConnectOptions, tree: Tree = DISK, window: Window = 64
) -> AsyncIterator[Both]:
    """Open until the block is left. What is wrong with the files is said first, whatever the server does meanwhile."""
    async with AsyncExitStack() as stack:
        looking = asyncio.create_task(_look(stack, options, window))
        try:
            loaded = await asyncio.to_thread(load, paths, tree)
            topology = topology_of(loaded)
            with about(topology.name):
                js, snapshot = await looking
        except BaseException:
            looking.cancel()
            await asyncio.gather(looking, return_exceptions=True)  # whatever became of it, this is what is said
            raise
        with about(topology.name):
            yield Both(loaded=loaded, topology=topology, js=js, snapshot=snapshot)


async def _look(stack: AsyncExitStack, options: ConnectOptions, window: Window) -> tuple[JetStream, Snapshot]:
    js = await stack.enter_async_context(session(options, window=window))
    return js, await observe(js)
