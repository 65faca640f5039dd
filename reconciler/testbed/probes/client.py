"""A client that publishes, pulls, subscribes and asks, and describes in words what it experienced."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import field
from functools import cached_property

import nats.errors
from nats.aio.client import Client as Connection
from nats.aio.msg import Msg
from pydantic_core import from_json

from reconciler.model.dataclass import dataclass
from reconciler.model.resource import Json
from reconciler.report.document.partitions import ranges_text

PATIENCE = 1.5
"""Seconds that an answer may take."""
AT_ONCE = 0.6
"""Seconds after which a pull that does not wait counts as unanswered, as it is on some versions while too much is in
flight."""
QUIET = 0.12
"""Seconds without a message after which a subscriber has got everything."""
LONGEST_QUIET = 0.25
"""On a busy machine, too: less than a short `ack_wait`."""
SHORT = 0.1
"""Seconds that a pull waits whose end is waited for, too."""
HANDED_ON = 5
"""Turns of the loop after which a subscription has handed on what the connection has read."""
WRONG_PIN = "423"
NO_ANSWER, NO_LISTENER = "no answer", "nothing listens there"


@dataclass(slots=True)
class Delivery:
    """What one pull or one subscription received."""

    messages: list[Msg] = field(default_factory=list)
    status: str = ""

    @property
    def bare(self) -> list[Msg]:
        """Return the messages that came without their payload."""
        return [message for message in self.messages if "Nats-Msg-Size" in (message.headers or {})]

    @property
    def count_text(self) -> str:
        """Return the number without saying which: what is published meanwhile may be gone again before it is
        delivered."""
        parts = [f"{len(self.messages)} messages", *(["headers only"] if self.bare else [])]
        return ", ".join([*parts, *([self.status] if self.status else [])])

    @property
    def any_text(self) -> str:
        """Say whether anything came, with or without payload, and what prevented it where nothing did."""
        if not self.messages:
            return self.count_text
        return "messages, headers only" if self.bare else "messages"

    @property
    def brought_text(self) -> str:
        """Say also whether any of it had been delivered before."""
        again = any(message.metadata.num_delivered > 1 for message in self.messages)
        return f"{self.count_text}, some of them again" if again else self.count_text

    @property
    def end_text(self) -> str:
        """Say up to which message: which ones before it depends on the moment where others wait and the stream
        trims."""
        if not self.messages:
            return f"0 messages {self.status}".strip()
        return f"messages up to {sequence(self.messages[-1])}{', headers only' if self.bare else ''}"

    def __str__(self) -> str:
        again = [message for message in self.messages if message.metadata.num_delivered > 1]
        parts = [f"{len(self.messages)} messages"]
        parts += [text for messages, text in ((self.messages, ""), (again, "again "), (self.bare, "headers only ")) for text in
                  ([f"{text}{ranges_text(map(sequence, messages))}"] if messages else [])]  # fmt: skip
        return ", ".join([*parts, *([self.status] if self.status else [])])


def sequence(message: Msg) -> int:
    """Return the sequence of the message in its stream, whatever its number in the consumer."""
    return int(message.metadata.sequence.stream)


class Client:
    """One connection to a scratch account. On a busy machine every wait is this many times as long."""

    def __init__(self, nc: Connection, times: float = 1.0) -> None:
        self.nc, self._times = nc, times
        self._patience, self._at_once, self._quiet = times * PATIENCE, times * AT_ONCE, times * QUIET
        self._pins: dict[tuple[str, str, Json], str] = {}
        """What the server gave this client to show that a group is pinned to it."""
        self.held: dict[tuple[str, str], list[Msg]] = {}
        """What it got of a consumer and has neither acknowledged nor refused."""

    @cached_property
    def standby(self) -> Client:
        """Return another client for the same groups, which does not share the pins of this one."""
        return Client(self.nc, self._times)

    async def ask(self, endpoint: str, body: Mapping[str, Json] | None = None) -> Mapping[str, Json] | str:
        """Return the API's answer, or in words why there is none."""
        payload = b"" if body is None else json.dumps(body).encode()
        reply = await self._request(f"$JS.API.{endpoint}", payload)
        return reply if isinstance(reply, str) else _parsed_answer(reply)

    async def publish(self, subject: str, payload: bytes = b"", headers: Mapping[str, str] | None = None) -> str:
        """Publish, and return the result: `stored in ORDERS`, `refused 10071`, or why there is no answer."""
        reply = await self._request(subject, payload, headers)
        return reply if isinstance(reply, str) else _publish_result(reply)

    async def publish_fast(self, subject: str, payload: bytes = b"", headers: Mapping[str, str] | None = None) -> str:
        """Publish a fast batch of one message, which its reply subject makes it."""
        async with self._inbox(f"{self.nc.new_inbox()}.probe.10.ok.1.2.$FI") as (inbox, arrived):
            await self.nc.publish(subject, payload, reply=inbox, headers=dict(headers) if headers else None)
            message = await self._next_message(arrived, self._patience)
        if message is None:
            return NO_ANSWER
        return NO_LISTENER if "Status" in (message.headers or {}) else _publish_result(message)

    async def get(self, subject: str, body: Mapping[str, Json] | None = None) -> str:
        """Get directly, and return how many messages came, and which status."""
        payload = b"" if body is None else json.dumps(body).encode()
        sequences: list[str] = []
        async with self._inbox() as (inbox, arrived):
            await self.nc.publish(f"$JS.API.DIRECT.GET.{subject}", payload, reply=inbox)
            while (message := await self._next_message(arrived, self._patience)) is not None:
                headers = message.headers or {}
                if "Nats-Sequence" in headers:
                    sequences.append(headers["Nats-Sequence"])
                if "Nats-Sequence" not in headers or "multi_last" not in (body or {}):
                    break
        status = (
            "" if message is None else _status_text(message) if "Nats-Sequence" not in (message.headers or {}) else ""
        )
        return f"messages {' '.join(sequences)}" if sequences else (status or NO_ANSWER)

    async def pull(self, stream: str, consumer: str, wanted: Mapping[str, Json]) -> Delivery:
        """Return everything that one pull request brings until a message comes a second time: unacknowledged ones may
        be redelivered forever. A waiting request ends with its inbox. A pinned client shows its pin unless it gives an
        id itself, and asks again without one that the server has forgotten."""
        delivery, group, sequences = Delivery(), (stream, consumer, wanted.get("group")), set[int]()
        request = {"id": self._pins[group], **wanted} if group in self._pins else wanted
        expires = request.get("expires", 0) / 1e9
        async with self._inbox() as (inbox, arrived):
            payload = json.dumps(request).encode()
            await self.nc.publish(f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}", payload, reply=inbox)
            ends = request.get("no_wait") or expires <= SHORT  # a server answers at its end, if not with a message
            wait = min(expires, SHORT) + (self._at_once if ends else self._quiet)
            while (
                len(delivery.messages) < request["batch"]
                and (message := await self._next_message(arrived, wait)) is not None
            ):
                if "Status" in (message.headers or {}):
                    delivery.status = _status_text(message)
                    break
                if sequence(message) in sequences:
                    break
                sequences.add(sequence(message))
                delivery.messages.append(message)
                if pin := (message.headers or {}).get("Nats-Pin-Id"):
                    self._pins[group] = pin
        if delivery.status.startswith(WRONG_PIN) and request.get("id") == self._pins.get(group, ""):
            del self._pins[group]
            return await self.pull(stream, consumer, wanted)
        return delivery

    async def next(self, stream: str, consumer: str, body: Mapping[str, Json], **request: Json) -> Delivery:
        """Return what a consumer with this configuration delivers next: to a subscriber, or to one pull request for its
        first group."""
        if subject := body.get("deliver_subject"):
            return await self.subscribe(subject, body.get("deliver_group", ""))
        group = {"group": body["priority_groups"][0]} if body.get("priority_groups") else {}
        return await self.pull(stream, consumer, {**request, **group})

    @contextlib.asynccontextmanager
    async def waiting_pull(self, stream: str, consumer: str, request: Mapping[str, Json]) -> AsyncIterator[Delivery]:
        """Return what one pull request brings meanwhile."""
        delivery, pin = Delivery(), self._pins.get((stream, consumer, request.get("group")))

        async def arrived(message: Msg) -> None:
            if "Status" in (message.headers or {}):
                delivery.status = _status_text(message)
            else:
                delivery.messages.append(message)

        inbox = self.nc.new_inbox()
        subscription = await self.nc.subscribe(inbox, cb=arrived)
        payload = json.dumps({**({"id": pin} if pin else {}), **request}).encode()
        await self.nc.publish(f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}", payload, reply=inbox)
        await self.nc.flush()
        try:
            yield delivery
        finally:
            await subscription.unsubscribe()

    async def subscribe(self, subject: str, queue: str = "") -> Delivery:
        """Return what a subscriber gets until it is quiet: unacknowledged messages may be redelivered forever."""
        delivery, quiet = Delivery(), min(self._quiet, LONGEST_QUIET)
        given_up = asyncio.get_running_loop().time() + self._patience
        async with self._inbox(subject, queue) as (_, arrived):
            while (
                asyncio.get_running_loop().time() < given_up
                and (message := await self._next_message(arrived, quiet)) is not None
            ):
                if "Status" not in (message.headers or {}):
                    delivery.messages.append(message)
                elif message.reply:
                    await self.nc.publish(message.reply)  # flow control
        return delivery

    @contextlib.asynccontextmanager
    async def listening(self, subject: str) -> AsyncIterator[list[Msg]]:
        """Collect what is published there meanwhile."""
        messages: list[Msg] = []
        async with self._inbox(subject) as (_, arrived):
            yield messages
            while (message := await self._next_message(arrived, self._quiet)) is not None:
                messages.append(message)

    async def answer(self, message: Msg, kind: bytes) -> str:
        """Send an acknowledgement of this kind, and return `taken` if the server confirms it, or why there is no
        answer."""
        reply = await self._request(message.reply, kind, within=self._patience / 5)
        return reply if isinstance(reply, str) else "taken"

    async def _request(
        self, subject: str, payload: bytes, headers: Mapping[str, str] | None = None, within: float | None = None
    ) -> Msg | str:
        try:
            return await self.nc.request(
                subject, payload, within or self._patience, headers=dict(headers) if headers else None
            )
        except nats.errors.NoRespondersError:
            return NO_LISTENER
        except (TimeoutError, nats.errors.TimeoutError):
            return NO_ANSWER

    async def _next_message(self, arrived: asyncio.Queue[Msg], within: float) -> Msg | None:
        """What the server has sent by then counts, even where this process was too busy to look."""
        try:
            async with asyncio.timeout(within):
                return await arrived.get()
        except TimeoutError:
            with contextlib.suppress(nats.errors.Error):
                await self.nc.flush()
            for _ in range(HANDED_ON):
                await asyncio.sleep(0)
            return None if arrived.empty() else arrived.get_nowait()

    @contextlib.asynccontextmanager
    async def _inbox(self, subject: str = "", queue: str = "") -> AsyncIterator[tuple[str, asyncio.Queue[Msg]]]:
        inbox = subject or self.nc.new_inbox()
        arrived: asyncio.Queue[Msg] = asyncio.Queue()
        subscription = await self.nc.subscribe(inbox, queue=queue, cb=arrived.put)
        try:
            yield inbox, arrived
        finally:
            await subscription.unsubscribe()


def _parsed_answer(reply: Msg) -> Mapping[str, Json] | str:
    if not reply.data:
        return {}
    body = from_json(reply.data)
    error = body.get("error")
    return body if error is None else f"refused {error.get('err_code')}"


def _publish_result(reply: Msg) -> str:
    answer = _parsed_answer(reply)
    if isinstance(answer, str):
        return answer
    stored = f"stored in {answer.get('stream')}"
    return f"{stored} already" if answer.get("duplicate") else stored


def _status_text(message: Msg) -> str:
    headers = message.headers or {}
    line = headers.get("Description", "").partition("\n")[0]  # nats-py takes what follows an empty one for a part of it
    words = "".join(letter for letter in line if not letter.isdigit())
    return f"{headers.get('Status', '')} {words}".strip()
