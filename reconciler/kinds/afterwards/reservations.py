"""The account's book of streams and reserved bytes, and how much room each change of a whole plan finds.

Streams that shrink or are deleted are entered first, as apply also does them first. Where the account counts each number
of replicas by itself, streams that get another number follow, each once its new tier has room for it, for then it leaves
room in the old one. Streams that are created or grow come last, by name. So each change is judged with everything that
comes before it, and a plan that is too large is refused at the change that does not fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import lru_cache
from itertools import chain

from reconciler.changes.view import View
from reconciler.kinds.afterwards.streams import afterwards, live_streams
from reconciler.kinds.fields.peers import account_limits
from reconciler.model.dataclass import dataclass
from reconciler.model.ledger import entries
from reconciler.model.ledger.records import BUCKET
from reconciler.model.resource import Config
from reconciler.model.wire.snapshot import Target
from reconciler.model.wire.version import Version

V2_12, V2_14 = Version(2, 12), Version(2, 14)


@dataclass(frozen=True, slots=True)
class StreamReservation:
    """A stream, as far as limits concern it."""

    max_bytes: int
    replicas: int
    storage: str

    @classmethod
    def of(cls, config: Config) -> StreamReservation:
        """From a stream's configuration. What it leaves out is one replica, file storage and no `max_bytes`."""
        replicas = max(1, config.get("num_replicas") or 1)
        return cls(config.get("max_bytes") or -1, replicas, config.get("storage") or "file")

    @property
    def reserves(self) -> int:
        """Bytes that one replica reserves in the account; 0 without `max_bytes`."""
        return max(0, self.max_bytes)

    def tier(self, target: Target) -> int:
        """Return what it is counted with: the streams of as many replicas if the account has limits for each number of
        replicas, else 0, which is all of them."""
        return self.replicas if has_tiers(target) else 0


def has_tiers(target: Target) -> bool:
    """Has the account limits for each number of replicas, and counts each of them separately?"""
    return bool(target.usage.get("tiers"))


STORED = {"file": ("max_storage", "storage_max_stream_bytes"), "memory": ("max_memory", "memory_max_stream_bytes")}
"""The account's limit on all streams of a storage together, and on one stream."""
LEDGER = f"KV_{BUCKET}"
"""Reconciler's own bucket, which the first apply creates before anything else."""


def future_ledger_reservation(view: View) -> StreamReservation | None:
    """What the next apply will create for that bucket; None: it is there, or cannot be used."""
    if LEDGER in view.snapshot.streams or not view.ledger_known:
        return None
    replicas = entries.bucket_replicas(view.target) if view.target.is_clustered else 1
    return StreamReservation(entries.reserved_bytes(view.target), replicas, "file")


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What a change finds at its turn: other streams, what they reserve, and what the server adds for its own
    stream."""

    streams: int
    reserved: int
    wanted: int
    recovered: int
    """What all of them together amount to when 2.11 reads its store again."""
    ledger: StreamReservation | None = None
    """Reconciler's own bucket, if it is yet to come and is one of the others."""

    @property
    def total(self) -> int:
        """Bytes that would be reserved with this change, to be compared with the account's limit."""
        return self.reserved + self.wanted


@dataclass(slots=True)
class ReservationSums:
    """Sums by tier, storage and replicas, so that thousands of entries cost no more than a few."""

    target: Target
    entries: dict[str, StreamReservation] = field(default_factory=dict)
    count: dict[int, int] = field(default_factory=dict)
    reserved: dict[tuple[int, str, int], int] = field(default_factory=dict)
    unlimited: dict[tuple[int, str], int] = field(default_factory=dict)
    """How many streams have no `max_bytes`."""

    def enter(self, name: str, need: StreamReservation) -> None:
        """Count this stream from now on; an earlier entry under its name is removed."""
        if name in self.entries:
            self._add(self.entries[name], -1)
        self.entries[name] = need
        self._add(need, 1)

    def _add(self, need: StreamReservation, sign: int) -> None:
        key = (need.tier(self.target), need.storage)
        self.unlimited[key] = self.unlimited.get(key, 0) + sign * (need.reserves == 0)
        self.reserve(need, sign)

    def reserve(self, need: StreamReservation, sign: int) -> None:
        """Count the place and the bytes alone."""
        tier = need.tier(self.target)
        self.count[tier] = self.count.get(tier, 0) + sign
        share = (tier, need.storage, need.replicas)
        self.reserved[share] = self.reserved.get(share, 0) + sign * need.reserves

    def room(
        self, name: str, need: StreamReservation, live: StreamReservation | None, ledger: StreamReservation | None
    ) -> Room:
        """What the stream `name` finds beside all other entries. `live`: as it is now, None for a new one."""
        tier, own_entry = need.tier(self.target), self.entries.get(name)
        reserved = sum(
            total * self._counted_replicas(need, replicas)
            for (other, storage, replicas), total in self.reserved.items()
            if (other, storage) == (tier, need.storage)
        )
        itself = own_entry is not None and own_entry.tier(self.target) == tier
        if own_entry and itself and own_entry.storage == need.storage:
            reserved -= own_entry.reserves * self._counted_replicas(need, own_entry.replicas)
        byte = not need.reserves or self.unlimited.get((tier, need.storage), 0) > (
            itself and not (own_entry and own_entry.reserves)
        )
        return Room(
            streams=self.count.get(tier, 0) - itself,
            reserved=reserved,
            wanted=self._wanted_bytes(need, live),
            recovered=reserved + need.reserves + byte,
            ledger=ledger if ledger is not None and ledger.tier(self.target) == tier else None,
        )

    def fits(self, name: str, need: StreamReservation, live: StreamReservation) -> bool:
        """Return whether the account may store what the stream reserves beside all other entries."""
        most: int = (account_limits(self.target, need.replicas) or {}).get(STORED[need.storage][0], -1)
        return most < 0 or self.room(name, need, live, None).total <= most

    def _counted_replicas(self, need: StreamReservation, replicas: int) -> int:
        """Untiered accounts count every replica; 2.11 counts as many for all others as the stream in question has."""
        if has_tiers(self.target):
            return 1
        return replicas if self.target.version >= V2_12 else need.replicas

    def _wanted_bytes(self, need: StreamReservation, live: StreamReservation | None) -> int:
        """A new stream without `max_bytes` counts as one byte. Before 2.14 its own replicas are not counted. An update
        then adds the growth to what the stream had, and 2.11 treats "no limit" as one byte less than nothing."""
        if self.target.version >= V2_14:
            return (need.reserves or (live is None)) * (1 if has_tiers(self.target) else need.replicas)
        if live is None:
            return need.reserves or 1
        had = live.reserves if self.target.version >= V2_12 else live.max_bytes
        return had * (1 if has_tiers(self.target) else live.replicas) + max(0, need.reserves - live.reserves)


@lru_cache(maxsize=4)
def room_by_stream(view: View) -> Mapping[str, Room]:
    """By stream that this plan creates or changes; computed once per view, which is compared by identity."""
    after, book = afterwards(view), ReservationSums(view.target)
    live = {name: StreamReservation.of(config) for name, config in live_streams(view).items()}
    wanted = {name: StreamReservation.of(config) for name, config in after.streams.items() if name in after.made_by}
    moving = {
        name for name in wanted if name in live and live[name].tier(view.target) != wanted[name].tier(view.target)
    }
    growing = {name for name, need in wanted.items() if name not in moving and _reserves_more(need, live.get(name))}
    for name, need in live.items():
        if name in after.streams:
            book.enter(name, need if name in moving | growing or name not in wanted else wanted[name])
    if ledger := future_ledger_reservation(view):
        book.reserve(ledger, 1)
    by_stream: dict[str, Room] = {}
    shrinking = (name for name in wanted if name not in moving | growing)
    by_address = sorted(growing, key=lambda name: (*reversed(after.made_by[name].address), name))
    for name in chain(shrinking, _moving_streams_in_order(moving, wanted, live, book), by_address):
        by_stream[name] = book.room(name, wanted[name], live.get(name), ledger)
        if name not in moving or book.fits(name, wanted[name], live[name]):
            book.enter(name, wanted[name])
    return by_stream


def _moving_streams_in_order(
    moving: set[str],
    wanted: Mapping[str, StreamReservation],
    live: Mapping[str, StreamReservation],
    book: ReservationSums,
) -> Iterator[str]:
    """Yield streams that leave their tier, each when its new tier has room for it; in the end those that find none."""
    waiting = sorted(moving)
    while waiting:
        fitting = (name for name in waiting if book.fits(name, wanted[name], live[name]))
        name = next(fitting, waiting[0])
        waiting.remove(name)
        yield name


def _reserves_more(need: StreamReservation, live: StreamReservation | None) -> bool:
    return live is None or need.reserves * need.replicas > live.reserves * live.replicas
