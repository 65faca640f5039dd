"""Members of an elastic group at work: each follows the group's record and keeps a consumer of just its partitions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable

from nats.aio.msg import Msg

from reconciler.kinds.subjects.partitions import assign
from reconciler.model.wire.snapshot import Entry
from reconciler.server.read.read_kv import entry
from reconciler.server.wire.api import JetStream

BUCKET = "elastic-consumer-groups"
LOOKS_EVERY = 0.2
"""Seconds between two looks at the record; each asks for messages for the next second too, so that somebody always waits."""
WITHIN = 2.0
"""Seconds any answer may take before a member asks again: those that a killed leader has taken along, of the record and
of the consumer, fit into its ack wait."""
WRONG_PIN = "423"
SECOND = 1_000_000_000
PULL = {"batch": 50, "expires": SECOND, "group": "PCG"}
CONFIG = {
    "ack_policy": "explicit", "ack_wait": 10 * SECOND, "inactive_threshold": 60 * SECOND,
    "priority_groups": ["PCG"], "priority_policy": "pinned_client", "priority_timeout": 10 * SECOND,
}  # fmt: skip
"""While a killed leader is followed by another, nobody gets his consumer back: the gate waits for one ack wait."""


class Member:
    """One client of a group; what it gets goes to `arrived`."""

    def __init__(self, js: JetStream, at: tuple[str, str, str], arrived: Callable[[Msg], Awaitable[None]]) -> None:
        stream, group, self._name = at
        self._js, self._arrived = js.beside(within=WITHIN), arrived
        self._key, self._at = f"{stream}.{group}", f"{stream}-{group}.{self._name}"
        self._filters: list[str] = []
        self._pin = ""
        self._settled, self._over = asyncio.Event(), asyncio.Event()

    async def begins(self) -> None:
        """Back when it has what the record gives it."""
        nc = self._js.pipeline.nc
        self._inbox = nc.new_inbox()
        await nc.subscribe(self._inbox, cb=self._got)
        self._going = asyncio.create_task(self._works())
        await self._settled.wait()

    async def ends(self) -> None:
        """Back when it has what the record gives it by now."""
        self._over.set()
        await self._going
        await self._js.close()

    async def _works(self) -> None:
        while not (await self._follows() and self._over.is_set()):
            if self._filters:
                body = json.dumps({**PULL, **({"id": self._pin} if self._pin else {})}).encode()
                await self._js.pipeline.nc.publish(f"$JS.API.CONSUMER.MSG.NEXT.{self._at}", body, reply=self._inbox)
            await asyncio.sleep(LOOKS_EVERY)

    async def _got(self, message: Msg) -> None:
        """Messages tell under which id one is pinned; the server says when it has forgotten that."""
        headers = message.headers or {}
        if headers.get("Status") == WRONG_PIN:
            self._pin = ""
        elif not headers.get("Status"):
            self._pin = headers["Nats-Pin-Id"]
        await self._arrived(message)

    async def _follows(self) -> bool:
        """Has it what the record gives it? Whoever gains a partition is refused until its former owner has let go."""
        wanted = await self._owned()
        if wanted != self._filters:
            await self._js.request(f"CONSUMER.DELETE.{self._at}")
            self._pin = ""
            self._filters = wanted if wanted and await self._joins(wanted) else []
        if is_settled := wanted == self._filters:
            self._settled.set()
        return is_settled

    async def _joins(self, filters: list[str]) -> bool:
        stream, name = self._at.split(".")
        config = {**CONFIG, "name": name, "filter_subjects": filters}
        body = {"stream_name": stream, "action": "create", "config": config}
        return isinstance(await self._js.request(f"CONSUMER.CREATE.{self._at}", body), dict)

    async def _owned(self) -> list[str]:
        """What the record gives it; what it has while nobody can read the record."""
        there = await entry(self._js, BUCKET, self._key)
        if not isinstance(there, Entry):
            return self._filters
        if there.deleted:
            return []
        record = json.loads(there.value)
        owned = assign(record["members"], record["max_members"]).get(self._name, ())
        return [f"{number}.{one['filter']}" for number in owned for one in record["partitioning_filters"]]
