"""Whoever publishes to a stream of a cluster reads in a plan that its next leader will not have answered everybody."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import nats
import pytest
from nats.errors import Error
from nats.js.errors import Error as RefusedByJetStream

from reconciler.kinds.effects.new_leader import CONSUMERS, MOVES, RISES
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


@pytest.mark.parametrize("before, after", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("clustered_account", (MINORS[0], NEWEST), indirect=True)
def test_publishes_while_the_leader_changes_are_neither_answered_nor_stored(
    clustered_account: Account, before: dict[str, object], after: dict[str, object]
) -> None:
    account = clustered_account

    async def publishing() -> tuple[int, int]:
        """How many publishes were answered, and how many were not."""
        nc = await nats.connect(account.url, user=account.user, password=account.password)
        answered, unanswered, is_over = 0, 0, asyncio.Event()

        async def publish() -> None:
            nonlocal answered, unanswered
            try:
                await nc.jetstream().publish("s", b"", timeout=3)
                answered += 1
            except (Error, RefusedByJetStream, TimeoutError):
                unanswered += 1

        async def steadily() -> None:
            async with asyncio.TaskGroup() as publishes:
                while not (unanswered or is_over.is_set()):
                    publishes.create_task(publish())
                    await asyncio.sleep(0.005)  # the rate

        publisher = asyncio.create_task(steadily())
        config = {"name": "S", "subjects": ["s"], **after}
        await nc.request("$JS.API.STREAM.UPDATE.S", json.dumps(config).encode(), timeout=20)
        asyncio.get_running_loop().call_later(15, is_over.set)
        await publisher
        await nc.close()
        return answered, unanswered

    talk(account, lambda js: make_stream(js, "S", subjects=["s"], **before))
    answered, unanswered = asyncio.run(publishing())
    stored = talk(account, lambda js: js.request("STREAM.INFO.S", within=10))
    assert unanswered > 0
    assert done(stored)["state"]["messages"] == answered
