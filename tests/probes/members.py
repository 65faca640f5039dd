"""Members of an elastic group at work while it changes, as instances of the reference are: each follows the record, keeps a consumer
of just its partitions, and is the client that this consumer is pinned to."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from reconciler.changes.effect import Side
from reconciler.kinds.group_records.group_record import ELASTIC_BUCKET, PRIORITY_GROUP
from reconciler.kinds.subjects.partitions import assign
from reconciler.model.resource import Address, Json
from reconciler.report.document.partitions import ranges_text
from reconciler.testbed.probes.client import Client
from reconciler.testbed.probes.record import Notes, Record
from reconciler.testbed.probes.scene import wait_until_settled
from tests.support.background import end

MINUTE = 60_000_000_000
TRIES_EVERY = 0.1
"""Seconds after which a member tries again that was refused, since others still have what it gains."""
HELD = 3
"""Each so many-th message of the source stays in flight: its member is still at work on it."""
CONFIG: Mapping[str, Json] = {
    "ack_policy": "explicit", "ack_wait": MINUTE, "inactive_threshold": MINUTE, "priority_groups": [PRIORITY_GROUP],
    "priority_policy": "pinned_client", "priority_timeout": MINUTE,
}  # fmt: skip
PULL: Mapping[str, Json] = {"batch": 1000, "expires": MINUTE, "group": PRIORITY_GROUP}


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Who and what may be in it, before or after."""

    address: Address
    members: tuple[str, ...]
    partitions: int


@dataclass
class Crew:
    """All members that a group has before or after."""

    client: Client
    group: Address
    given: dict[tuple[str, int], list[int]] = field(default_factory=dict)
    """By member and partition: messages that nobody was given before, by their sequence in the source."""
    again: dict[tuple[str, int], list[int]] = field(default_factory=dict)
    known: set[int] = field(default_factory=set)
    done: set[int] = field(default_factory=set)
    held: list[tuple[str, Msg]] = field(default_factory=list)

    @property
    def queue(self) -> str:
        return "-".join(self.group.names)

    def takes(self, member: str, message: Msg) -> bool:
        """Whether it is done with it at once."""
        headers, place = message.headers or {}, (member, int(message.subject.partition(".")[0]))
        sequence = _origin(f"Nats-Stream-Source:{headers['Nats-Stream-Source']}")
        (self.again if sequence in self.known else self.given).setdefault(place, []).append(sequence)
        self.known.add(sequence)
        if sequence % HELD == 0:
            self.held.append((member, message))
            return False
        self.done.add(sequence)
        return True


class Member:
    def __init__(self, crew: Crew, name: str) -> None:
        self._crew, self._name, self._client = crew, name, crew.client
        self._at = f"{crew.queue}.{name}"
        self._record: Mapping[str, Json] | None = None
        self._filters: list[str] = []
        self._pin = ""
        self._news = asyncio.Event()
        self.is_settled = False
        self.has_ended = False

    async def begins(self) -> None:
        nc, key = self._client.nc, ".".join(self._crew.group.names)
        self._inbox = nc.new_inbox()
        self._subscriptions: list[Subscription] = [
            await nc.subscribe(self._inbox, cb=self._arrived),
            await nc.subscribe(f"$KV.{ELASTIC_BUCKET}.{key}", cb=self._heard),
        ]
        reply = await nc.request(f"$JS.API.DIRECT.GET.KV_{ELASTIC_BUCKET}.$KV.{ELASTIC_BUCKET}.{key}", b"", timeout=5)
        if self._record is None:
            await self._heard(reply)
        self.has_ended = self.is_settled = False
        self._going = asyncio.create_task(self._works())

    async def ends(self) -> None:
        await end(self._going)
        for one in self._subscriptions:
            await one.unsubscribe()
        self._record, self._filters = None, []

    async def _heard(self, message: Msg) -> None:
        """A new record, or the marker that the group is gone."""
        self._record = json.loads(message.data) if message.data else {}
        self.is_settled = False
        self._news.set()

    async def _works(self) -> None:
        while not self.has_ended:
            self._news.clear()
            await self._follows()
            with suppress(TimeoutError):
                async with asyncio.timeout(
                    None if self.is_settled else TRIES_EVERY
                ):  # `wait_for` can swallow a cancellation
                    await self._news.wait()

    async def _follows(self) -> None:
        """Whatever changes, an instance makes its consumer anew; whoever gains a partition is refused until the former owner has
        let go."""
        wanted, record = self._wanted(), self._record
        if self._filters:
            await self._client.ask(f"CONSUMER.DELETE.{self._at}")
            self._filters, self._pin = [], ""
        if wanted and not isinstance(await self._joins(wanted), str):
            self._filters = wanted
            await self._pull()
        if record is self._record and self._filters == wanted:
            self.is_settled, self.has_ended = True, not record

    async def _joins(self, filters: list[str]) -> Mapping[str, Json] | str:
        config = {**CONFIG, "name": self._name, "filter_subjects": filters}
        body = {"stream_name": self._crew.queue, "action": "create", "config": config}
        return await self._client.ask(f"CONSUMER.CREATE.{self._at}", body)

    def _wanted(self) -> list[str]:
        record = self._record or {}
        mappings = {one["member"]: one["partitions"] for one in record.get("member_mappings") or ()}
        owned = mappings or assign(record.get("members") or (), record.get("max_members", 0))
        filters = [one["filter"] for one in record.get("partitioning_filters") or ()] or [">"]
        mine = owned.get(self._name, ())
        return [f"{number}.>" for number in mine] if mappings else [f"{n}.{one}" for one in filters for n in mine]

    async def _pull(self) -> None:
        body = json.dumps({**PULL, **({"id": self._pin} if self._pin else {})}).encode()
        await self._client.nc.publish(f"$JS.API.CONSUMER.MSG.NEXT.{self._at}", body, reply=self._inbox)

    async def _arrived(self, message: Msg) -> None:
        headers = message.headers or {}
        if "Status" in headers:
            return
        self._pin = headers.get("Nats-Pin-Id", self._pin)
        if self._crew.takes(self._name, message):
            await self._client.nc.publish(message.reply, b"+ACK")


@dataclass(frozen=True, slots=True)
class AtWork:
    """A crew, and what becomes of it."""

    crew: Crew
    partitions: int
    members: Mapping[str, Member]
    ended: list[str] = field(default_factory=list)
    """Who had to be started again."""

    async def rest(self) -> None:
        """Until everybody has what the record gives him, and got all there is."""

        def seen() -> object:
            states = [one.is_settled for one in self.members.values()]
            return states if not all(states) else (len(self.crew.known), sum(map(len, self.crew.again.values())))

        await wait_until_settled(self.crew.client, (self.crew.group.stream, self.crew.queue), seen)

    async def start_again(self) -> None:
        """Members that have ended, as their owners do."""
        self.ended.extend(name for name, one in self.members.items() if one.has_ended)
        for name in self.ended:
            await self.members[name].ends()
            await self.members[name].begins()
        await self.rest()

    async def told(self) -> Record:
        """What the members experienced."""
        notes, crew = Notes(), self.crew
        queued, (_, last) = await self._queued(), await self._range(crew.group.stream)
        lost = [number for number in range(1, last + 1) if number not in crew.done | queued]
        notes.add("look for what is lost", Side.STORED, f"neither done nor queued: {ranges_text(lost)}", "publish ")
        for name in self.members:
            answers = [crew.client.answer(one, b"+ACK") for member, one in crew.held if member == name]
            taken = (await asyncio.gather(*answers)).count("taken")
            notes.add(
                f"acknowledge late as member {name}", Side.READERS, f"{taken} taken of {len(answers)}", "publish "
            )
            notes.add(f"stay at work as member {name}", Side.READERS, "ended" if name in self.ended else "stayed")
            for number in range(self.partitions):
                given, again = (sorted(of.get((name, number), ())) for of in (crew.given, crew.again))
                words = f"{len(given) + len(again)} messages, {ranges_text(given)}, again {ranges_text(again)}"
                notes.add(f"read partition {number} as member {name}", Side.READERS, words, "publish ")
        words = f"{len(queued)} messages"
        notes.add("see what stays in the queue", Side.COPIES, words, "publish ", "read partition", "acknowledge late")
        return notes.lines

    async def _queued(self) -> set[int]:
        """What the queue holds, by the sequences of its source."""
        client, (first, last) = self.crew.client, await self._range(self.crew.queue)
        asked = (client.ask(f"STREAM.MSG.GET.{self.crew.queue}", {"seq": number}) for number in range(first, last + 1))
        found = [one["message"] for one in await asyncio.gather(*asked) if not isinstance(one, str)]
        return {_origin(base64.b64decode(one["hdrs"]).decode()) for one in found}

    async def _range(self, stream: str) -> tuple[int, int]:
        info = await self.crew.client.ask(f"STREAM.INFO.{stream}")
        return (1, 0) if isinstance(info, str) else (info["state"]["first_seq"], info["state"]["last_seq"])


def _origin(headers: str) -> int:
    """A message's sequence in the source."""
    return int(headers.partition("Nats-Stream-Source:")[2].split()[1])


@asynccontextmanager
async def at_work(client: Client, group: Group) -> AsyncIterator[AtWork]:
    crew = Crew(client, group.address)
    working = AtWork(crew, group.partitions, {name: Member(crew, name) for name in group.members})
    for one in working.members.values():
        await one.begins()
    await working.rest()
    try:
        yield working
    finally:
        for one in working.members.values():
            await one.ends()
