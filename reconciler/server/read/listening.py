"""Hears what happens in an account without sending requests: advisories, API audit events, writes to buckets.

Nothing is requested, so nothing is written, and an idle account stays idle. All of it is plain subscriptions, which
end with the connection; the next full look finds whatever they miss.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from dataclasses import field

from nats.aio.client import Client
from nats.aio.msg import Msg
from pydantic_core import from_json

from reconciler.changes.kind import Raw
from reconciler.model.code_pages import PAGES
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import CannotContinue
from reconciler.server.read.permission_subjects import ADVISORIES, HEARD
from reconciler.server.wire.api import JetStream
from reconciler.server.wire.audit import SUBJECT, AuditedClient, Event, client_of, event_of

MOST = 5_000
"""How many changes are remembered, to name their authors."""


@dataclass(slots=True)
class ChangeListener:
    """What was heard since the last look, and what was changed since the listening began."""

    ours: AuditedClient
    stirred: asyncio.Event = field(default_factory=asyncio.Event)
    """Something may have changed."""
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    changes: list[Event] = field(default_factory=list)
    heard: int = 0
    """How many advisories mattered."""
    consumers: Collection[Raw] = ()
    """Consumers to report; others come and go all the time."""

    async def advisory(self, msg: Msg) -> None:
        """Take in one advisory. Only an audit event is also kept, to name the author of the change."""
        if msg.subject == SUBJECT:
            self._take_audit_event(msg.data)
        elif (on := _object_of(msg.data)) is not None:
            self._record_change(on)

    def _take_audit_event(self, data: bytes) -> None:
        """Reads and refusals change nothing, and our own requests are reads."""
        if client_of(data) == self.ours:
            return
        if (change := event_of(data)) is not None and self._record_change(change.on) and len(self.changes) < MOST:
            self.changes.append(change)

    def _record_change(self, on: Raw) -> bool:
        if on.type == "consumer" and on not in self.consumers:
            return False
        self.heard += 1
        self.stirred.set()
        return True

    async def take_write(self, _msg: Msg) -> None:
        """Take in one write to a watched bucket. It has no author, because writes leave no audit event."""
        self.heard += 1
        self.stirred.set()

    async def take_end(self) -> None:
        """The connection is closed: wake everybody who waits for news, because nothing more will be heard."""
        self.closed.set()
        self.stirred.set()

    @property
    def is_full(self) -> bool:
        """Is the memory of changes full, so that no author can be named for further ones?"""
        return len(self.changes) >= MOST


def _object_of(data: bytes) -> Raw | None:
    """The stream or consumer that was created, changed or deleted, also without a request, as when it was unused for
    long."""
    try:
        advisory = from_json(data)
    except ValueError:
        return None
    kind = str(advisory.get("type", "")).rpartition(".")[2] if isinstance(advisory, dict) else ""
    if kind == "stream_action":
        return Raw("stream", (str(advisory.get("stream")),))
    if kind in ("consumer_action", "consumer_pause"):
        return Raw("consumer", (str(advisory.get("stream")), str(advisory.get("consumer"))))
    return None


async def listen(js: JetStream, nc: Client) -> ChangeListener:
    """Subscribe; the subscriptions exist when this returns. Raises CannotContinue where this user may not hear
    advisories."""
    ear = ChangeListener(ours=AuditedClient(str(nc._server_info.get("server_name", "")), nc.client_id or 0))
    nc._closed_cb = ear.take_end  # nats-py takes it only when it connects
    await nc.subscribe(ADVISORIES, cb=ear.advisory)
    if await _is_refused(nc):
        raise _advisories_refused()
    for bucket, keys in HEARD.items():
        await nc.subscribe(js.entry_subject(bucket, keys), cb=ear.take_write)
    await nc.flush()
    return ear


async def _is_refused(nc: Client) -> bool:
    before: Callable[[Exception], Awaitable[None]] = nc._error_cb
    errors: list[str] = []

    async def hear(error: Exception) -> None:
        errors.append(str(error).lower())
        await before(error)

    nc._error_cb = hear
    await nc.flush()
    await nc.flush()  # the first ping may overtake the subscription
    nc._error_cb = before
    return any("permissions violation for subscription" in text for text in errors)


def _advisories_refused() -> CannotContinue:
    message = f"This user may not subscribe to {ADVISORIES}, so a watch would never hear of a change."
    fix = "Allow it, or look from time to time: `reconciler drift`."
    return CannotContinue.because("DR111", PAGES["DR111"].name, message, fix=fix)
