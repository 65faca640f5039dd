"""Many requests in flight over one connection: one inbox, our own futures, one sweep over all deadlines.

nats-py's own `request` starts a timer and a token generator per call; with thousands of calls that costs more than the
server does. It also lets a denied publish run into its timeout, although the server reported it at once.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import field
from enum import StrEnum
from typing import NamedTuple

import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.aio.transport import TcpTransport, Transport

from reconciler.model import waits
from reconciler.model.dataclass import dataclass
from reconciler.model.wire.permissions import subject_in_its_domain
from reconciler.server.wire.shared_connection import SharedConnection

SWEEP = 0.05
"""Seconds between two looks at the deadlines."""
_DENIED = re.compile(r'permissions violation for (publish|subscription) to "([^"]+)"')


class Silence(StrEnum):
    """Why there is no answer."""

    TIMEOUT = "no answer in time"
    NO_RESPONDERS = "nobody listens there"
    DENIED = "permission denied"
    CLOSED = "connection closed"
    OFFLINE = "no connection"
    UNSENT = "could not be sent"


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """The server said nothing; whether a write happened is unknown only for TIMEOUT and CLOSED."""

    why: Silence
    detail: str

    @property
    def outcome_unknown(self) -> bool:
        """May the request have been carried out all the same? Then a write must not simply be sent again."""
        return self.why in (Silence.TIMEOUT, Silence.CLOSED)

    def __str__(self) -> str:
        return f"{self.why}: {self.detail.removesuffix('.')}"


class Reply(NamedTuple):
    data: bytes
    headers: Mapping[str, str]

    @property
    def status(self) -> str | None:
        """Return the status where the server speaks for itself: 204 end of batch, 404 not found, 503 no listener. A
        stored message that is returned may have a header of that name."""
        return None if "Nats-Sequence" in self.headers else self.headers.get("Status")


@dataclass(slots=True)
class _Waiting:
    subject: str
    deadline: float
    within: float
    future: asyncio.Future[list[Reply] | NoAnswer]
    ends: Callable[[Reply], bool]
    replies: list[Reply] = field(default_factory=list)


NOT_CONNECTED = NoAnswer(Silence.OFFLINE, "the connection is closed")


class MomentaryReason(str):
    """A reason that may pass in a moment."""

    __slots__ = ()


Unless = Callable[[], str | None]
"""Returns why a request must not be sent, asked at the last moment; None: it may."""


def end_at_first_reply(_reply: Reply) -> bool:
    """End with the first reply."""
    return True


def allow_always() -> str | None:
    """Allow every write."""
    return None


@dataclass(frozen=True, slots=True)
class _QueuedWrite:
    """A request that changes something, and waits for its turn to be sent."""

    token: str
    waiting: _Waiting
    payload: bytes
    headers: dict[str, str] | None
    unless: Unless


Window = int | AbstractAsyncContextManager[object]
"""How many requests may be under way at once; or what each of them has to enter, which several connections may
share."""


class _ImmediateQueue(asyncio.Queue[Msg]):
    """Processes messages at once, in place of a queue and a task of nats-py's: for thousands of answers, those cost as
    much as reading them."""

    def __init__(self, arrived: Callable[[Msg], None]) -> None:
        super().__init__()
        self.put_nowait = arrived  # type: ignore[assignment, method-assign]


class Pipeline:
    """A bounded window of requests on one connection, and on the one that replaces it."""

    def __init__(self, line: SharedConnection, *, window: Window = 64) -> None:
        self.nc = line.nc
        self._line = line
        self._window = asyncio.Semaphore(window) if isinstance(window, int) else window
        self._opening: asyncio.Task[NoAnswer | None] | None = None
        self._inbox = line.nc.new_inbox() + "."
        self._waiting: dict[str, _Waiting] = {}
        self._writes: list[_QueuedWrite] = []
        self._sender: asyncio.Task[None] | None = None
        self._count = 0
        self._sweeper: asyncio.TimerHandle | None = None
        self._subscription: Subscription | None = None
        self._inbox_denied = False
        self._passed_on: Callable[[Exception], Awaitable[None]] = line.nc._error_cb

    def beside(self) -> Pipeline:
        """Return another pipeline over the same line, whose inbox opens with the first request."""
        return Pipeline(self._line)

    @property
    def server_id(self) -> str | None:
        """Return the id of the server at the other end; nats-py has no public name for it."""
        return self.nc._server_info.get("server_id")

    @property
    def _server_name(self) -> str:
        """The same, as people call it."""
        return f"nats-server {self.nc._server_info.get('server_name') or ''}".rstrip()

    @property
    def has_jetstream(self) -> bool:
        """Does that server itself have JetStream, rather than one behind a leaf node?"""
        return bool(self.nc._server_info.get("jetstream"))

    @property
    def connection(self) -> Client:
        """Return the connection in use now; a lost connection is replaced by another."""
        return self._line.nc

    async def connected_client(self) -> Client:
        """Return the connection in use, after an attempt to restore a lost one."""
        await self._ensure_connected()
        return self._line.nc

    async def open(self) -> None:
        """Subscribe to the inbox. When this returns, the server has accepted or refused it."""
        # nats-py has no public way to learn of a denied publish after connecting: it only calls this.
        self.nc._error_cb = self._handle_error
        subscription = await self.nc.subscribe(self._inbox + "*", pending_msgs_limit=0, pending_bytes_limit=0)
        subscription._pending_queue = _ImmediateQueue(self._take_reply)
        # A refusal of the inbox must be known before anything is written whose answer would be lost. nats-py's first
        # ping may overtake the subscription; the second cannot.
        await self.nc.flush()
        await self.nc.flush()
        self._subscription = subscription

    async def close(self) -> None:
        """Give up the inbox. The connection stays open, because others may use it."""
        if self._opening is not None:
            await asyncio.wait([self._opening])
        if self._sweeper is not None:
            self._sweeper.cancel()
        if self.nc._error_cb == self._handle_error:
            self.nc._error_cb = self._passed_on
        subscription, self._subscription = self._subscription, None
        if subscription is not None and not self.nc.is_closed:
            await subscription.unsubscribe()

    async def _ensure_connected(self) -> NoAnswer | None:
        """Return the present line with our inbox on it, or that there is none."""
        if self._subscription is not None and not self.nc.is_closed:
            return None
        if self._opening is None or self._opening.done():
            self._opening = asyncio.create_task(self._restore_line())
        # A cancelled waiter must not cancel the dialling: nats-py would lose the connection.
        return await asyncio.shield(self._opening)

    async def _restore_line(self) -> NoAnswer | None:
        if (why := await self._line.restore()) is not None:
            return NoAnswer(Silence.UNSENT if self._line.is_over else Silence.OFFLINE, why)
        if self.nc is not self._line.nc:
            self._sweep()  # requests over the old connection get no answer any more
            self.nc, self._subscription = self._line.nc, None
            self._passed_on = self.nc._error_cb
        try:
            await self.open()
        except (nats.errors.Error, TimeoutError) as error:
            return NoAnswer(Silence.OFFLINE, str(error).removeprefix("nats: "))
        return None

    async def request(
        self,
        subject: str,
        payload: bytes,
        *,
        within: float,
        headers: dict[str, str] | None = None,
        unless: Unless = allow_always,
    ) -> Reply | NoAnswer:
        """Return the first reply, or why none came; `within` is in seconds."""
        replies = await self.stream(
            subject, payload, within=within, headers=headers, ends=end_at_first_reply, unless=unless
        )
        return replies if isinstance(replies, NoAnswer) else replies[0]

    async def stream(
        self,
        subject: str,
        payload: bytes,
        *,
        within: float,
        ends: Callable[[Reply], bool],
        headers: dict[str, str] | None = None,
        unless: Unless = allow_always,
    ) -> list[Reply] | NoAnswer:
        """Yield replies until one `ends` it; `within` counts from the latest reply."""
        if self._inbox_denied:
            return NoAnswer(Silence.DENIED, f"may not subscribe to {self._inbox}*, where answers arrive")
        async with self._window:
            if (offline := await self._ensure_connected()) is not None:
                return offline
            token, waiting = self._expect(subject, within, ends)
            wait = waits.begin(
                f"for {self._server_name} to answer {subject}", within if ends is end_at_first_reply else None
            )
            try:
                if unless is allow_always:
                    await self._publish(token, waiting, payload, headers)
                else:
                    self._send_soon(_QueuedWrite(token, waiting, payload, headers, unless))
                return await waiting.future
            finally:
                waits.end(wait)
                del self._waiting[token]

    async def _publish(self, token: str, waiting: _Waiting, payload: bytes, headers: dict[str, str] | None) -> None:
        """Leave it to nats-py to send this in a moment."""
        try:
            await self.nc.publish(waiting.subject, payload, reply=self._inbox + token, headers=headers)
        except nats.errors.ConnectionClosedError:
            _settle(waiting, NOT_CONNECTED)
        except nats.errors.Error as error:
            _settle(waiting, NoAnswer(Silence.UNSENT, f"{waiting.subject}: {str(error).removeprefix('nats: ')}"))
        except Exception as error:  # noqa: BLE001 - whoever asked for this one is told, and the others are sent
            waiting.future.set_exception(error)

    def _send_soon(self, write: _QueuedWrite) -> None:
        """Send it with all others that are ready now: a system call for each would wake the server for each."""
        write.waiting.deadline = math.inf
        self._writes.append(write)
        if self._sender is None or self._sender.done():
            self._sender = asyncio.create_task(self._send())

    async def _send(self) -> None:
        while self._writes:
            within, unless = self._writes[0].waiting.within, self._writes[0].unless
            if not await self._wait_until_sent(within):
                for write in self._writes:
                    why = f"{write.waiting.subject}: the connection took nothing within {within:g} s"
                    _settle(write.waiting, NoAnswer(Silence.UNSENT, why))
            due = [write for write in self._writes if write.unless == unless]
            self._writes = [write for write in self._writes if write.unless != unless]
            await self._write_to_socket([write for write in due if not write.waiting.future.done()], unless)

    async def _wait_until_sent(self, within: float) -> bool:
        """Wait until the socket has taken all earlier writes: what is left in this process would go out unasked."""
        deadline = asyncio.get_running_loop().time() + within
        while not self.nc.is_closed and _unsent_bytes(self.nc._transport):
            if asyncio.get_running_loop().time() > deadline:
                return False
            await asyncio.sleep(0.005)  # rare, and nothing tells when the very last byte has gone
        return True

    async def _write_to_socket(self, writes: Sequence[_QueuedWrite], unless: Unless) -> None:
        """Give them to the socket right after the condition was asked. nats-py would send them a moment later, and a
        process suspended in that moment would send them when nothing may be written any more."""
        nc, now = self.nc, asyncio.get_running_loop().time()
        earlier, size, nc._pending = nc._pending, nc._pending_data_size, []
        for write in writes:
            write.waiting.deadline = now + write.waiting.within
            await self._publish(write.token, write.waiting, write.payload, write.headers)  # goes on at once
        ready, nc._pending, nc._pending_data_size = nc._pending, earlier, size
        if nc._transport is None or not nc.is_connected:
            hindered: NoAnswer | None = NOT_CONNECTED
        elif (hindered := _unsent_answer(unless())) is None:
            nc._pending, nc._pending_data_size = [], 0
            nc._transport.writelines(earlier + ready)
        if hindered is not None:
            for write in writes:
                _settle(write.waiting, hindered)

    def _expect(self, subject: str, within: float, ends: Callable[[Reply], bool]) -> tuple[str, _Waiting]:
        loop = asyncio.get_running_loop()
        self._count += 1
        token = str(self._count)
        waiting = _Waiting(subject, loop.time() + within, within, loop.create_future(), ends)
        self._waiting[token] = waiting
        if self._sweeper is None:
            self._sweeper = loop.call_later(SWEEP, self._sweep)
        return token, waiting

    def _take_reply(self, msg: Msg) -> None:
        waiting = self._waiting.get(msg.subject[len(self._inbox) :])
        if waiting is None or waiting.future.done():
            return
        reply = Reply(msg.data, msg.headers or {})
        if reply.headers and reply.status == "503":
            _settle(waiting, NoAnswer(Silence.NO_RESPONDERS, waiting.subject))
            return
        waiting.replies.append(reply)
        if waiting.ends(reply):
            waiting.future.set_result(waiting.replies)
        else:
            waiting.deadline = asyncio.get_running_loop().time() + waiting.within

    def _sweep(self) -> None:
        if self._sweeper is not None:
            self._sweeper.cancel()
            self._sweeper = None
        loop = asyncio.get_running_loop()
        now, closed = loop.time(), self.nc.is_closed
        for waiting in self._waiting.values():
            if waiting.deadline == math.inf:
                continue  # its turn to be sent has not come
            if closed:
                _settle(waiting, NoAnswer(Silence.CLOSED, f"{waiting.subject}: the connection closed before an answer"))
            elif now > waiting.deadline:
                _settle(waiting, NoAnswer(Silence.TIMEOUT, f"{waiting.subject}: nothing within {waiting.within:g} s"))
        if self._waiting:
            self._sweeper = loop.call_later(SWEEP, self._sweep)

    async def _handle_error(self, error: Exception) -> None:
        if not self._handle_denial(str(error)):
            await self._passed_on(error)

    def _handle_denial(self, text: str) -> bool:
        """Give a permissions violation to the requests it concerns. nats-py reports the subject in lower case."""
        match = _DENIED.search(text.lower())
        if match is None:
            return False
        direction, subject = match.groups()
        if direction == "subscription":
            self._inbox_denied = self._inbox_denied or subject == (self._inbox + "*").lower()
            return self._inbox_denied
        concerned = False
        for waiting in self._waiting.values():
            for subject_sent in (waiting.subject, subject_in_its_domain(waiting.subject)):
                if subject_sent.lower() == subject:
                    _settle(waiting, NoAnswer(Silence.DENIED, f"may not publish to {subject_sent}"))
                    concerned = True
        return concerned


def _unsent_bytes(transport: Transport | None) -> int:
    """Count the bytes that wait in this process because the socket would not take them; with TLS, also those already
    encrypted."""
    if not isinstance(transport, TcpTransport):
        return 0
    writers = {transport._io_writer, transport._bare_io_writer} - {None}
    return sum(writer.transport.get_write_buffer_size() for writer in writers if writer is not None)


def _unsent_answer(why: str | None) -> NoAnswer | None:
    return (
        why if why is None else NoAnswer(Silence.OFFLINE if isinstance(why, MomentaryReason) else Silence.UNSENT, why)
    )


def _settle(waiting: _Waiting, answer: NoAnswer) -> None:
    if not waiting.future.done():
        waiting.future.set_result(answer)
