"""The connection of a session: when it ends, a fresh one replaces it, to which nothing was handed before.

nats-py's own reconnecting would keep what was not sent yet and send it later, when somebody else may have the lease.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from nats.aio.client import Client

from reconciler.model.diagnostic import CannotContinue

PATIENCE = 20.0
"""Seconds without a connection after which the session stops dialling; servers restart in a few."""


class SharedConnection:
    """The client in use now; everybody who works over it shares one attempt to dial again."""

    def __init__(self, nc: Client, dial: Callable[[], Awaitable[Client]] | None = None) -> None:
        """Without `dial`, the end of the connection is final."""
        self.nc = nc
        self.is_over = dial is None
        """There will be no other connection after this one."""
        self._dial = dial
        self._dialling: asyncio.Task[str | None] | None = None
        self._cut_at: float | None = None

    async def restore(self) -> str | None:
        """Restore the connection, or return why it cannot be restored now."""
        if not self.nc.is_closed:
            return None
        now = asyncio.get_running_loop().time()
        self._cut_at = now if self._cut_at is None else self._cut_at
        self.is_over = self.is_over or now - self._cut_at > PATIENCE
        if self._dial is None or self.is_over:
            return "the connection is closed"
        if self._dialling is None or self._dialling.done():
            self._dialling = asyncio.create_task(self._dial_again(self._dial))
        return await asyncio.shield(self._dialling)

    async def _dial_again(self, dial: Callable[[], Awaitable[Client]]) -> str | None:
        try:
            self.nc = await dial()
        except CannotContinue as error:
            return error.diagnostics[0].message.removesuffix(" Nothing was changed.")
        self._cut_at = None
        return None

    async def stop_dialling(self) -> Client:
        """Stop dialling, and return the client to close."""
        self.is_over = True
        if self._dialling is not None:
            await self._dialling
        return self.nc
