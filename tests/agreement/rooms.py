"""Rooms: the accounts cases run in. Most share one; some need an account alone, or one with limits.

A server is one process of one version; its rooms are filled, compared and cleaned together.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections import defaultdict
from collections.abc import Coroutine, Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from nats.aio.client import Client

from reconciler.model.wire.version import Version
from reconciler.server.wire.api import JetStream
from tests.agreement.case import SHARED, Case
from tests.support.accounts import Account, connect
from tests.support.servers import NatsServer

T = TypeVar("T")

LIMITED = {
    "alone": "jetstream: enabled",
    "few-streams": "jetstream: {max_mem: 64M, max_file: 64M, max_streams: 2, max_consumers: -1}",
    "few-consumers": "jetstream: {max_mem: 64M, max_file: 64M, max_streams: -1, max_consumers: 2}",
    "bytes-required": "jetstream: {max_mem: 64M, max_file: 64M, max_bytes_required: true,"
    " mem_max_stream_bytes: 1048576, disk_max_stream_bytes: 2097152}",
    "small-store": "jetstream: {max_mem: 1048576, max_file: 2097152}",
    "few-pending": "jetstream: {max_mem: 64M, max_file: 64M, max_ack_pending: 100}",
}
"""Limits of accounts, in the server's own words."""
HIDDEN = "hidden"
"""The room on a server with settings of its own."""
SETTINGS = {"duplicate_window": "30s", "max_request_batch": 50, "max_ack_pending": 500}
EACH = 10
"""Accounts of each kind: so many of such cases run at once."""
TOGETHER = 120
"""Cases that share an account at once."""


def _accounts() -> str:
    kinds = {**LIMITED, HIDDEN: "jetstream: enabled"}
    names = {f"{kind}-{n}": limits for kind, limits in kinds.items() for n in range(EACH)}
    names[SHARED] = "jetstream: enabled"
    lines = [
        f'"{name}": {{{limits}, users: [{{user: "{name}", password: "{name}"}}]}}' for name, limits in names.items()
    ]
    lines.append("SYS: {users: [{user: sys, password: sys}]}")
    return "accounts {\n" + "\n".join(lines) + "\n}\nsystem_account: SYS\n"


class Ground:
    """One server of one version with its rooms, used from plain functions."""

    patience = 20.0
    """Seconds for one answer."""

    def __init__(self, minor: str, *, hidden: bool = False) -> None:
        """`hidden`: with settings that no API shows."""
        self.server = NatsServer(minor, _accounts(), jetstream={"limits": SETTINGS} if hidden else True)
        self.version = Version.parse(self.server.version)
        self.folder = Path(tempfile.mkdtemp(prefix="reconciler-agreement-", dir=self.server.home))
        self._runner = asyncio.Runner()
        self._open: dict[str, tuple[Client, JetStream]] = {}

    def __enter__(self) -> Ground:
        self.server.start()
        return self

    def __exit__(self, _kind: type[BaseException] | None, _error: object, _trace: TracebackType | None) -> None:
        self.run(self.leave())
        self._runner.close()
        self.server.close()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(work)

    async def room(self, name: str) -> JetStream:
        """The API of one account; its connection is kept."""
        if name not in self._open:
            nc = await self.connected(name)
            self._open[name] = (nc, await JetStream.open(nc, within=self.patience))
        return self._open[name][1]

    async def connected(self, _name: str) -> Client:
        return await connect(self.server.url, _name, _name)

    async def leave(self) -> None:
        for nc, js in self._open.values():
            await js.close()
            await nc.close()
        self._open.clear()

    async def restart(self) -> None:
        """On the same store; connections are made anew."""
        await self.leave()
        await asyncio.to_thread(self.server.stop)
        self.server.start()  # from the main thread: the server ends with the thread that started it


class Borrowed(Ground):
    """An account in a cluster that others use as well: one room, and no restarts."""

    patience = 5.0

    def __init__(self, account: Account) -> None:
        self._account = account
        self.version = Version.parse(account.version)
        self._home = tempfile.TemporaryDirectory(prefix="reconciler-agreement-")
        self.folder = Path(self._home.name)
        self._runner = asyncio.Runner()
        self._open = {}

    def __enter__(self) -> Borrowed:
        return self

    def __exit__(self, *_: object) -> None:
        self.run(self.leave())
        self._runner.close()
        self._home.cleanup()

    async def connected(self, _name: str) -> Client:
        return await self._account.connect()


def seated(cases: Iterable[Case]) -> list[dict[str, list[Case]]]:
    """Cases by account, in sittings: many in the shared room, one in each other."""
    waiting: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        waiting[case.room].append(case)
    sittings = []
    while any(waiting.values()):
        sitting: dict[str, list[Case]] = {}
        for kind, queue in waiting.items():
            now, waiting[kind] = _split(queue, TOGETHER if kind == SHARED else EACH)
            if kind == SHARED and now:
                sitting[SHARED] = now
            elif kind != SHARED:
                sitting |= {f"{kind}-{n}": [case] for n, case in enumerate(now)}
        sittings.append(sitting)
    return sittings


def _split(queue: Sequence[Case], number: int) -> tuple[list[Case], list[Case]]:
    return list(queue[:number]), list(queue[number:])
