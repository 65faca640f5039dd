"""Opens the connection that everything else uses, or says in one sentence why it cannot.

nats-py retries for minutes, prints tracebacks and continues without TLS when a server offers none. So servers are tried
here one after the other, within one deadline, and a connection that must be encrypted is checked before the login.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import field
from typing import Any

from nats.aio.client import Client, RawCredentials
from nats.errors import Error as NatsError

from reconciler.model.dataclass import dataclass
from reconciler.model.waits import waiting
from reconciler.server.connect import credentials
from reconciler.server.connect.options import ConnectOptions, Server
from reconciler.server.connect.unreachable import Attempt, DialProgress, NoTls, connection_error, early_end_error
from reconciler.server.wire.api import JetStream
from reconciler.server.wire.pipeline import Window
from reconciler.server.wire.shared_connection import SharedConnection


@asynccontextmanager
async def session(options: ConnectOptions, *, window: Window = 64) -> AsyncIterator[JetStream]:
    """Open the JetStream API of one account, and close it after the block however it is left."""
    line = SharedConnection(await connect(options), lambda: connect(options))
    try:
        where = {"domain": options.js_domain, "prefix": options.js_api_prefix}
        try:
            js = await JetStream.open(line, **where, within=options.timeout, window=window)
        except NatsError as error:
            raise early_end_error(options, error) from None
        try:
            yield js
        finally:
            await js.close()
    finally:
        await close(await line.stop_dialling())


CLOSING = 2.0
"""Seconds that a server has to say goodbye; TLS servers that are gone never do."""


async def connect(options: ConnectOptions) -> Client:
    """Return a raw nats-py client, connected. Raises CannotContinue with one diagnostic. The client never reconnects by
    itself."""
    login = _Login.read(options)
    logging.getLogger("asyncio").addFilter(_filter_end_warnings)
    attempts: list[Attempt] = []
    deadline = time.monotonic() + options.timeout
    for tried, server in enumerate(options.servers):
        # Each server gets a share of the remaining time, so that one which swallows packets does not use all of it.
        share = (deadline - time.monotonic()) / (len(options.servers) - tried)
        outcome = await _try_server(options, server, login, share)
        if isinstance(outcome, Client):
            return outcome
        attempts.append(outcome)
    raise connection_error(options, attempts, login.credentials) from None


def _filter_end_warnings(record: logging.LogRecord) -> bool:
    """Filter warnings of asyncio about the end of a connection: nats-py does not tell its reader that there is TLS, and
    the waiting request reports a lost write anyway."""
    return not any(text in record.msg for text in ("eof_received() has no effect", "socket.send() raised exception"))


@asynccontextmanager
async def connection(options: ConnectOptions) -> AsyncIterator[Client]:
    """Connect inside the block, and close the connection after it however it is left."""
    nc = await connect(options)
    try:
        yield nc
    finally:
        await close(nc)


async def close(nc: Client, within: float = CLOSING) -> None:
    """Close the connection within a moment, even when the other side is gone."""
    with contextlib.suppress(TimeoutError, OSError, NatsError):
        async with asyncio.timeout(within):
            await nc.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Login:
    """The login, read once before any server is dialled."""

    credentials: credentials.UserCredentials | None
    fixed: Mapping[str, Any] = field(repr=False)

    @classmethod
    def read(cls, options: ConnectOptions) -> _Login:
        user = credentials.user_credentials(options)
        nkey = credentials.nkey_seed(options)
        fixed: dict[str, Any] = {"token": credentials.resolved_secret(options.token, "token")}
        if options.user is not None:
            fixed |= {"user": options.user, "password": credentials.resolved_secret(options.password, "password")}
        if user and user.seed:
            fixed["user_credentials"] = RawCredentials(_DECORATED.format(jwt=user.jwt, seed=user.seed))
        elif user:
            jwt = user.jwt.encode()
            fixed |= {"user_jwt_cb": lambda: bytearray(jwt), "signature_cb": lambda _nonce: b""}
        if nkey:
            fixed["nkeys_seed_str"] = nkey[0]
        if options.wants_tls or any(server.wants_tls for server in options.servers):
            fixed |= {"tls": credentials.tls_context(options), "tls_handshake_first": options.tls_first}
        return cls(credentials=user, fixed={key: value for key, value in fixed.items() if value is not None})

    def to(self, server: Server) -> dict[str, Any]:
        """Choose the login: one in the URL counts more than a general one, as in every NATS client."""
        if server.user is None:
            return dict(self.fixed)
        own = {"token": server.user} if server.password is None else {"user": server.user, "password": server.password}
        return {key: value for key, value in self.fixed.items() if key not in ("user", "password", "token")} | own


_DECORATED = """-----BEGIN NATS USER JWT-----
{jwt}
------END NATS USER JWT------
-----BEGIN USER NKEY SEED-----
{seed}
------END USER NKEY SEED------
"""


_HEADER_LINES = re.compile(r"^([^:\r\n]+):[ \t]*([^\r\n]*)", re.MULTILINE)


class _Client(Client):
    """A client that remembers how far it came, and logs in only over TLS where TLS is wanted."""

    def __init__(self, *, needs_tls: bool) -> None:
        super().__init__()
        self.stage = DialProgress.DIALLING
        self.last: BaseException | None = None
        self.greeting: Mapping[str, Any] = {}
        self._needs_tls = needs_tls

    @staticmethod
    def _parse_header_lines(raw: bytes) -> dict[str, str]:
        """Parse header lines quickly: nats-py looks at every character of every name, which is a third of the time for
        thousands of records."""
        return dict(_HEADER_LINES.findall(raw.decode("utf-8", "replace")))

    async def remember(self, error: Exception) -> None:
        self.last = error

    async def _process_pong(self) -> None:
        """Ignore a pong whose waiter is gone; nats-py would take it for an error, print that and stop reading."""
        if self._pongs and self._pongs[0].done():
            self._pongs[0] = asyncio.get_running_loop().create_future()
        await super()._process_pong()

    async def _close(self, status: int, do_cbs: bool = True) -> None:
        """Close what nats-py leaves open when it is interrupted: the socket, and tasks that wait for a pong."""
        try:
            await super()._close(status, do_cbs)
        except asyncio.CancelledError:
            if self._transport:
                self._transport.close()  # type: ignore[no-untyped-call]
            raise
        finally:
            for waiting in self._pongs:
                if not waiting.done():
                    waiting.set_result(False)  # the next request reports that the connection is closed

    async def _process_connect_init(self) -> None:
        self.stage = DialProgress.GREETING
        await super()._process_connect_init()

    async def _process_info(self, info: dict[str, Any], initial_connection: bool = False) -> None:
        """Insist on TLS between the greeting and the login, which is the last possible moment."""
        if initial_connection:
            self.stage, self.greeting = DialProgress.LOGIN, info
            if self._needs_tls and not (info.get("tls_required") or info.get("tls_available")):
                raise NoTls
            info["tls_required"] = bool(info.get("tls_required") or self._needs_tls)
        await super()._process_info(info, initial_connection)


async def _try_server(options: ConnectOptions, server: Server, login: _Login, share: float) -> Client | Attempt:
    nc = _Client(needs_tls=options.wants_tls or server.wants_tls)
    began = time.monotonic()
    failure: BaseException | None = None
    try:
        with waiting(f"for {options.where_text(server)} to let us in", share):
            async with asyncio.timeout(share):
                await nc.connect(
                    servers=[server.url],
                    error_cb=nc.remember,
                    allow_reconnect=False,
                    max_reconnect_attempts=1,  # 0 would never return
                    reconnect_time_wait=0,
                    connect_timeout=max(1, int(share) + 1),
                    inbox_prefix=options.inbox_prefix,
                    name="reconciler",
                    **login.to(server),
                )
    except (NatsError, OSError, TimeoutError, ValueError) as error:
        failure = nc.last if nc.stage is DialProgress.DIALLING and nc.last is not None else error
    finally:
        if not nc.is_connected:  # also when interrupted: nats-py leaves the socket of a failed attempt open
            took = time.monotonic() - began
            await close(nc, within=0.1)  # the socket is closed at once; waiting for more hangs after a failed handshake
    if nc.is_connected:
        return nc
    reason = failure or ConnectionResetError()  # nats-py takes an end of file for an answer
    return Attempt(server=server, stage=nc.stage, error=reason, seconds=took, greeting=nc.greeting)
