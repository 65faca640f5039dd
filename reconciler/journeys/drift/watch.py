"""Watches an account: looks whenever somebody changes something, and reports what differs from the last look.

While nothing happens, it sends no request. It still takes a full look at intervals, because an advisory may be lost,
and whenever it had to reconnect.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import field, replace
from pathlib import Path

from nats.errors import Error as NatsError

from reconciler.changes.kind import Raw
from reconciler.documents.parse.files import DISK, Tree
from reconciler.journeys.drift.attribute import HeardEvents, attribute_drift
from reconciler.journeys.drift.drift import Drift
from reconciler.journeys.drift.look import Looked, look
from reconciler.journeys.plan.files import load
from reconciler.kinds import REGISTRY
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import CannotContinue, Diagnostic
from reconciler.model.resource import Address, Config
from reconciler.model.run_options import RunOptions
from reconciler.model.topology import Topology
from reconciler.server.connect.connection import close, connect
from reconciler.server.connect.options import ConnectOptions
from reconciler.server.read.listening import ChangeListener, listen
from reconciler.server.read.observe import observe
from reconciler.server.wire.api import JetStream

SETTLING = 0.1
"""Seconds to wait for what belongs together: a change, and the audit event that names its author."""
RETRY = 5.0
"""Seconds after which unreadable state is read again."""
PAUSES = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Seconds between attempts to reconnect; the last one repeats."""
UNREACHABLE = "NA101"


@dataclass(frozen=True, slots=True, kw_only=True)
class FullLook:
    """A full look was taken."""

    drift: Drift
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountUnreachable:
    """The account cannot be seen at the moment."""

    why: str
    code: str = UNREACHABLE
    """That of the page about it: with the same code, another sentence gives no other reason, as it holds times."""

    @classmethod
    def of(cls, problem: Diagnostic) -> AccountUnreachable:
        """Take it from the reason why nobody could connect, or listen."""
        return cls(why=problem.message.removesuffix(" Nothing was changed."), code=problem.code)


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesUnusable:
    """The files cannot be used as they are now; the watch continues with the earlier ones."""

    diagnostics: tuple[Diagnostic, ...]


Happening = FullLook | AccountUnreachable | FilesUnusable
OnHappening = Callable[[Happening], None]


@dataclass(slots=True, kw_only=True)
class Watch:
    """One watch, from the first look until `stop` is set."""

    paths: Sequence[Path]
    connecting: ConnectOptions
    options: RunOptions
    every: float
    tell: OnHappening
    tree: Tree = DISK
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    topology: Topology | None = None
    advisories: int = 0
    reconnects: int = 0

    async def run(self) -> None:
        """Watch until `stop` is set. Raises CannotContinue when not even the first look succeeds."""
        await self._read_files()
        failed = 0
        while not self.stop.is_set():
            try:
                async with self._listening() as (js, ear):
                    await self._look_again_and_again(js, ear)
                    failed = 0
                lost = AccountUnreachable(why="the connection ended")
            except CannotContinue as problem:
                if not self._has_looked:
                    raise
                lost = AccountUnreachable.of(problem.diagnostics[0])
            except NatsError as error:
                lost = AccountUnreachable(why=f"the connection ended ({error})")
            if not self.stop.is_set():
                self.tell(lost)
                await _wait_for_any(self.stop, within=PAUSES[min(failed, len(PAUSES) - 1)])
                failed, self.reconnects = failed + 1, self.reconnects + 1

    _has_looked: bool = False

    @asynccontextmanager
    async def _listening(self) -> AsyncIterator[tuple[JetStream, ChangeListener]]:
        nc = await connect(self.connecting)
        try:
            options = self.connecting
            js = await JetStream.open(
                nc, domain=options.js_domain, prefix=options.js_api_prefix, within=options.timeout
            )
            yield js, await listen(js, nc)
        finally:
            with contextlib.suppress(NatsError):
                await close(nc)

    async def _look_again_and_again(self, js: JetStream, ear: ChangeListener) -> None:
        live: dict[Address, Config] | None = None
        while not (self.stop.is_set() or ear.closed.is_set()):
            ear.stirred.clear()
            began, heard = time.monotonic(), len(ear.changes)
            looked = await self._look(js, ear, live)
            if ear.closed.is_set():
                return
            if live is None or ear.is_full:
                live = {address: resource.config for address, resource in looked.view.live.items()}
                del ear.changes[:heard]
            took = time.monotonic() - began
            self._has_looked = True
            self.tell(FullLook(drift=looked.drift, seconds=took))
            soon = RETRY if looked.drift.is_partial else self.every
            await _wait_for_any(self.stop, ear.stirred, within=min(soon, self.every))
            await _wait_for_any(self.stop, ear.closed, within=max(SETTLING, took / 2))
            self.advisories += ear.heard
            ear.heard = 0

    async def _look(self, js: JetStream, ear: ChangeListener, live: dict[Address, Config] | None) -> Looked:
        warnings = await self._read_files()
        assert self.topology is not None, "the first reading raises"
        snapshot = await observe(js)
        looked = look(self.topology, snapshot, replace(self.options, may_match_nothing=self._has_looked))
        ear.consumers = _watched_consumers(looked)
        heard = HeardEvents(events=tuple(ear.changes), live=live) if live is not None else None
        with_authors = await attribute_drift(looked, js, heard)
        return replace(
            with_authors, drift=replace(with_authors.drift, diagnostics=(*warnings, *with_authors.drift.diagnostics))
        )

    async def _read_files(self) -> tuple[Diagnostic, ...]:
        """Read the files as they are now, or keep the earlier ones while somebody edits them."""
        loaded = await asyncio.to_thread(load, self.paths, self.tree)
        if loaded.topology is not None:
            self.topology = loaded.topology
            return loaded.diagnostics
        if self.topology is None:
            raise CannotContinue(*loaded.diagnostics, topology=loaded.name)
        self.tell(FilesUnusable(diagnostics=loaded.diagnostics))
        return ()


def _watched_consumers(looked: Looked) -> frozenset[Raw]:
    raws = (REGISTRY.of(address).primary(address) for address in looked.view.changes)
    return frozenset(raw for raw in raws if raw.type == "consumer")


async def _wait_for_any(*events: asyncio.Event, within: float) -> None:
    """Wait until one of these happens, or the time is over."""
    tasks = [asyncio.create_task(event.wait()) for event in events]
    try:
        await asyncio.wait(tasks, timeout=within, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
