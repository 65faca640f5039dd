"""Reads the files and the account at the same time: both take about as long, and neither needs the other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from reconciler.documents.parse.files import DISK, Tree
from reconciler.documents.read.load import Loaded
from reconciler.journeys.plan.files import load, topology_of
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import about_topology
from reconciler.model.topology import Topology
from reconciler.model.wire.snapshot import Snapshot
from reconciler.server.connect.connection import session
from reconciler.server.connect.options import ConnectOptions
from reconciler.server.read.observe import observe
from reconciler.server.wire.api import JetStream
from reconciler.server.wire.pipeline import Window


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesAndAccount:
    """What is declared, what is live, and the open connection."""

    loaded: Loaded
    topology: Topology
    js: JetStream
    snapshot: Snapshot


@asynccontextmanager
async def both(
    paths: Sequence[Path],
    options: ConnectOptions,
    tree: Tree = DISK,
    window: Window = 64,
    *,
    account: Snapshot | None = None,
) -> AsyncIterator[FilesAndAccount]:
    """Read both, and keep the connection open until the block is left. Errors in the files are reported first, whatever
    the server does. An `account` that is given is not read."""
    async with AsyncExitStack() as stack:
        looking = asyncio.create_task(_look(stack, options, window, account))
        try:
            loaded = await asyncio.to_thread(load, paths, tree)
            topology = topology_of(loaded)
            with about_topology(topology.name):
                js, snapshot = await looking
        except BaseException:
            looking.cancel()
            await asyncio.gather(
                looking, return_exceptions=True
            )  # the error in the files comes first, whatever became of this
            raise
        with about_topology(topology.name):
            yield FilesAndAccount(loaded=loaded, topology=topology, js=js, snapshot=snapshot)


async def _look(
    stack: AsyncExitStack, options: ConnectOptions, window: Window, account: Snapshot | None
) -> tuple[JetStream, Snapshot]:
    js = await stack.enter_async_context(session(options, window=window))
    return js, account or await observe(js)
