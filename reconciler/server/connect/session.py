"""A session: a connection by options, or to the folder's own embedded server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from nats.errors import Error as NatsError

from reconciler.model.diagnostic import CannotContinue
from reconciler.server.connect.connection import close, connect
from reconciler.server.connect.options import ConnectOptions
from reconciler.server.connect.unreachable import ended
from reconciler.server.wire.api import JetStream
from reconciler.server.wire.pipeline import Window
from reconciler.server.wire.shared_connection import Line


@asynccontextmanager
async def session(options: ConnectOptions, *, window: Window = 64) -> AsyncIterator[JetStream]:
    """Open the JetStream API of one account, and close it after the block however it is left."""
    line = Line(await connect(options), lambda: connect(options))
    try:
        place = {"domain": options.js_domain, "prefix": options.js_api_prefix}
        try:
            js = await JetStream.open(line, **place, within=options.timeout, window=window)
        except NatsError as error:
            raise CannotContinue(ended(options, error)) from None
        try:
            yield js
        finally:
            await js.close()
    finally:
        await close(await line.hang_up())
