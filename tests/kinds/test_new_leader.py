"""Whoever publishes to a stream of a cluster reads in a plan that its next leader will not have answered everybody."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path

import nats
import pytest
from nats.aio.client import Client
from nats.errors import Error
from nats.js.errors import Error as RefusedByJetStream

from reconciler.kinds.effects.listeners import CONSUMERS, MOVES, RISES
from reconciler.server.wire.api import JetStream
from tests.support.accounts import Account
from tests.support.binaries import MINORS, NEWEST
from tests.support.jetstream import done, make_stream, talk
from tests.support.topologies import scene

RISE = {
    "stream": ("streams: {S: {subjects: [s], num_replicas: %s}}", "stream/S"),
    "bucket": ("kv_buckets: {S: {num_replicas: %s}}", "kv_bucket/S"),
    "store": ("object_stores: {S: {num_replicas: %s}}", "object_store/S"),
}


def told(folder: Path, desired: str, live: str, cluster: str | None = "C1") -> list[str]:
    changes = scene(folder, desired, live, server=NEWEST, cluster=cluster).plan().changes
    return [
        one.message.rpartition(" (")[0] for change in changes for one in change.consequences if one.code.endswith("611")
    ]


@pytest.mark.parametrize("text, _address", RISE.values(), ids=RISE)
def test_more_servers_than_one_elect_a_leader(tmp_path: Path, text: str, _address: str) -> None:
    assert told(tmp_path, text % 3, text % 1) == [RISES]


@pytest.mark.parametrize("before, after", [(3, 1), (3, 5), (1, 1)])
def test_who_leads_already_goes_on(tmp_path: Path, before: int, after: int) -> None:
    text = RISE["stream"][0]
    assert told(tmp_path, text % after, text % before) == []


def test_a_single_server_elects_nobody(tmp_path: Path) -> None:
    text = RISE["stream"][0]
    assert told(tmp_path, text % 3, text % 1, cluster=None) == []


PLACED = "streams: {S: {subjects: [s], placement: {tags: [%s]}%s}}"
ONE_CONSUMER = ", consumers: {c: {ack_policy: explicit}}"


@pytest.mark.parametrize("consumers, said", [("", MOVES), (ONE_CONSUMER, MOVES + CONSUMERS)], ids=["none", "one"])
def test_a_move_silences_the_consumers_that_there_are(tmp_path: Path, consumers: str, said: str) -> None:
    assert told(tmp_path, PLACED % ("b", consumers), PLACED % ("a", consumers)) == [said]


def test_what_grows_where_it_is_says_so(tmp_path: Path) -> None:
    placed = "streams: {S: {subjects: [s], num_replicas: %s, placement: {tags: [a]}}}"
    assert told(tmp_path, placed % 3, placed % 1) == [RISES]


def test_what_moves_and_grows_says_so_once(tmp_path: Path) -> None:
    grown = "streams: {S: {subjects: [s], num_replicas: 3, placement: {tags: [b]}}}"
    assert told(tmp_path, grown, PLACED % ("a", "")) == [MOVES]


def test_without_a_placement_it_stays_where_it_is(tmp_path: Path) -> None:
    assert told(tmp_path, "streams: {S: {subjects: [s]}}", PLACED % ("a", "")) == []


CHANGES = {
    "more servers": ({"num_replicas": 1}, {"num_replicas": 3}),
    "another server": ({"placement": {"tags": ["node:0"]}}, {"placement": {"tags": ["node:1"]}}),
}


TRIES = 6
"""The election takes some hundredths of a second, and a busy machine may publish nothing in them."""


@pytest.mark.parametrize("before, after", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("clustered_account", (MINORS[0], NEWEST), indirect=True)
def test_publishes_while_the_leader_changes_get_no_answer_and_some_are_lost(
    clustered_account: Account, before: dict[str, object], after: dict[str, object]
) -> None:
    async def publishing(nc: Client, config: dict[str, object]) -> Counter[bool]:
        """How many publishes were answered, and how many were not, until one was not or the change is over."""
        seen: Counter[bool] = Counter()
        is_over = asyncio.Event()

        async def publish() -> None:
            try:
                await nc.jetstream().publish("s", b"", timeout=3)
                seen[True] += 1
            except (Error, RefusedByJetStream, TimeoutError):
                seen[False] += 1

        async def steadily() -> None:
            async with asyncio.TaskGroup() as publishes:
                while not (seen[False] or is_over.is_set()):
                    publishes.create_task(publish())
                    await asyncio.sleep(0.005)  # the rate

        publisher = asyncio.create_task(steadily())
        body = json.dumps({"name": "S", "subjects": ["s"], **config}).encode()
        await nc.request("$JS.API.STREAM.UPDATE.S", body, timeout=20)
        asyncio.get_running_loop().call_later(6, is_over.set)
        await publisher
        return seen

    async def work(js: JetStream) -> tuple[Counter[bool], int]:
        account, seen = clustered_account, Counter[bool]()
        nc = await nats.connect(account.url, user=account.user, password=account.password)
        await make_stream(js, "S", subjects=["s"], **before)
        for turn in range(TRIES):
            seen += await publishing(nc, (after, before)[turn % 2])
            if seen[False]:
                break
        await nc.close()
        return seen, int(done(await js.request("STREAM.INFO.S", within=10))["state"]["messages"])

    seen, stored = talk(clustered_account, work)
    assert seen[True] <= stored < seen.total()
