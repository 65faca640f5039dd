"""The battery on real servers: it finds nothing in a scene that stays as it is, and shows what a change does to clients."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import pytest

from reconciler.changes.effect import Side
from reconciler.testbed.probes.battery import STANDARD, Battery
from reconciler.testbed.probes.record import Difference, Record
from reconciler.testbed.probes.scene import Change, Scene
from tests.probes.running import felt, recorded, twins
from tests.probes.scenes import HOUR, bucket, consumer_changed, copied, mirror_changed, scene, store, stream_changed
from tests.support.accounts import Pool
from tests.support.binaries import MINORS, NEWEST

PLAIN, DIRECT, TIGHT = scene(), scene({"allow_direct": True}), scene({"discard": "new"})
SILENT, WAITED = scene({"no_ack": True}), replace(PLAIN, waits=(("S", "c"),))
FORGETFUL = scene({"duplicate_window": 200_000_000})
"""A server takes a shorter window when it next looks over its ids, which may be minutes later; a longer one at once."""
HASTY = scene(reader={"ack_wait": 40_000_000}, is_pushed=True)
PINNED = scene(reader={"priority_policy": "pinned_client", "priority_groups": ["a"], "priority_timeout": HOUR})
PRIORITIES = scene(reader={"priority_policy": "overflow", "priority_groups": ["a"]})
MIRRORED = copied({"allow_direct": True}, {"allow_direct": True})
PARTLY = copied({}, {"mirror": {"name": "S", "filter_subject": "s.a"}})
PARTLY = replace(PARTLY, since=(stream_changed(PARTLY, allow_direct=True),))
PUSHED, BUCKET, STORE = scene(is_pushed=True), bucket(), store()


@dataclass(frozen=True, slots=True)
class Shown:
    """A change, with one of the operations that feel it."""

    scene: Scene
    change: Change
    operation: str
    side: Side
    without: Callable[[Battery], Battery]
    """The battery that lacks every operation of that kind."""


def _no_publishes(battery: Battery) -> Battery:
    return replace(battery, plain=(), bucket=(), store=())


def _no_pulls(battery: Battery) -> Battery:
    return replace(battery, pulls=())


SHOWN: Mapping[str, Shown] = {
    "payloads withheld": Shown(
        PLAIN, consumer_changed(PLAIN, headers_only=True), "read one by S/c", Side.READERS, _no_pulls
    ),
    "large messages refused": Shown(
        PLAIN, stream_changed(PLAIN, max_msg_size=1024), "publish large", Side.PUBLISHERS, _no_publishes
    ),
    "every message refused": Shown(
        TIGHT, stream_changed(TIGHT, discard="new", max_msgs=10), "publish small", Side.PUBLISHERS, _no_publishes
    ),
    "publishers without an answer": Shown(
        PLAIN, stream_changed(PLAIN, no_ack=True), "publish small", Side.PUBLISHERS, _no_publishes
    ),
    "the same message stored once": Shown(
        FORGETFUL, stream_changed(FORGETFUL, duplicate_window=60_000_000_000), "publish with the same id, later",
        Side.PUBLISHERS, _no_publishes,
    ),
    "large messages refused without a word": Shown(
        SILENT, stream_changed(SILENT, max_msg_size=1024), "publish large", Side.PUBLISHERS, _no_publishes
    ),
    "direct gets without an answer": Shown(
        DIRECT, stream_changed(DIRECT, allow_direct=False), "get by sequence from S", Side.DIRECT_GETS,
        lambda battery: replace(battery, gets=()),
    ),
    "a mirror's direct gets without an answer": Shown(
        MIRRORED, mirror_changed(MIRRORED, allow_direct=False), "get by sequence from M", Side.DIRECT_GETS,
        lambda battery: replace(battery, gets=()),
    ),
    "a mirror that answers for its origin, and holds a part": Shown(
        PARTLY, mirror_changed(PARTLY), "get the last of all subjects from S", Side.DIRECT_GETS,
        lambda battery: replace(battery, gets=()),
    ),
    "a standby that takes over": Shown(
        PINNED, consumer_changed(PINNED, priority_timeout=300_000_000), "contend for two as a standby by S/c", Side.READERS,
        lambda battery: replace(battery, contends=False),
    ),
    "a standby that is served": Shown(
        PRIORITIES, consumer_changed(PRIORITIES, priority_policy="pinned_client"), "contend for two as a standby by S/c",
        Side.READERS, lambda battery: replace(battery, contends=False),
    ),
    "purges refused": Shown(
        PLAIN, stream_changed(PLAIN, deny_purge=True), "purge everything of S", Side.DELETIONS,
        lambda battery: replace(battery, deletes=False),
    ),
    "pulls refused": Shown(PLAIN, consumer_changed(PLAIN, max_batch=10), "read 100 by S/c", Side.READERS, _no_pulls),
    "large values refused": Shown(
        BUCKET, stream_changed(BUCKET, max_msg_size=1024), "publish put a large value", Side.PUBLISHERS, _no_publishes
    ),
    "history forgotten": Shown(
        BUCKET, stream_changed(BUCKET, max_msgs_per_subject=1), "stored at first in KV_B", Side.STORED, _no_publishes
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def changed(pool: Pool) -> Mapping[str, tuple[Difference, ...]]:
    """All changes side by side, since they mostly wait."""

    async def every() -> list[tuple[Difference, ...]]:
        return await asyncio.gather(*(felt(twins(pool, NEWEST), one.scene, [one.change]) for one in SHOWN.values()))

    return dict(zip(SHOWN, asyncio.run(every()), strict=True))


@pytest.mark.parametrize("name", SHOWN)
def test_a_change_shows_where_clients_feel_it(changed: Mapping[str, tuple[Difference, ...]], name: str) -> None:
    found = {one.operation: one.side for one in changed[name]}
    assert found.get(SHOWN[name].operation) is SHOWN[name].side, found


@pytest.mark.parametrize("name", [name for name in SHOWN if name != "history forgotten"])
def test_a_change_shows_on_no_other_side(changed: Mapping[str, tuple[Difference, ...]], name: str) -> None:
    found = [one for one in changed[name] if not one.follows]
    assert {one.side for one in found} == {SHOWN[name].side}, [str(one) for one in found]


@pytest.mark.parametrize("minor", MINORS)
def test_nothing_shows_where_nothing_changes(pool: Pool, minor: str) -> None:
    scenes = (PLAIN, DIRECT, PUSHED, PINNED, PRIORITIES, PARTLY, BUCKET, STORE)

    async def every() -> list[tuple[Difference, ...]]:
        return await asyncio.gather(*(felt(twins(pool, minor), one, []) for one in scenes))

    for found in asyncio.run(every()):
        assert not found, [str(one) for one in found]


def test_what_comes_again_to_a_client_that_waits_is_seen(pool: Pool) -> None:
    found = asyncio.run(felt(twins(pool, NEWEST), WAITED, [consumer_changed(WAITED, max_deliver=1)]))
    assert "refuse what was in flight by S/c" in {one.operation for one in found}, [str(one) for one in found]


def test_it_ends_where_messages_come_again_for_ever(pool: Pool) -> None:
    async def recorded_in_time() -> Record:
        async with asyncio.timeout(90):
            return await recorded(pool.account(NEWEST), HASTY)

    assert "read by subscription by S/c" in asyncio.run(recorded_in_time())


def test_a_battery_that_lacks_the_operation_shows_nothing(pool: Pool) -> None:
    """Each operation of the table above is the one that shows its change."""

    async def every() -> list[tuple[Difference, ...]]:
        return await asyncio.gather(
            *(felt(twins(pool, NEWEST), one.scene, [one.change], one.without(STANDARD)) for one in SHOWN.values())
        )

    for shown, found in zip(SHOWN.values(), asyncio.run(every()), strict=True):
        assert shown.side is Side.STORED or shown.operation not in {one.operation for one in found}


@pytest.mark.parametrize(
    ("limits", "trims"),
    [({}, False), ({"max_msgs": 10}, True), ({"max_msgs": 10, "discard": "new"}, False), ({"max_msgs": 1000}, False)],
)
def test_how_much_waiting_clients_get_is_not_noted_where_it_depends_on_the_moment(
    limits: Mapping[str, object], trims: bool
) -> None:
    assert scene(dict(limits)).trims("S") is trims
