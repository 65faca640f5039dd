"""Whoever publishes to a stream of a cluster reads in a plan that its next leader will not have answered everybody."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import nats
import pytest
from nats.aio.client import Client
from nats.errors import Error
from nats.js.errors import Error as RefusedByJetStream

from reconciler.journeys.plan.plan import plan
from reconciler.kinds.effects.listeners import BEHIND, CONSUMERS, FALLS, MOVES, PULLS, RISES, UNSTORED
from reconciler.kinds.fields.words import few
from reconciler.server.wire.api import JetStream
from tests.agreement.harm import carried_out, change, pull
from tests.support.accounts import Account
from tests.support.binaries import MINORS, NEWEST
from tests.support.jetstream import done, make_stream, talk
from tests.support.topologies import read, scene

RISE = {
    "stream": ("streams: {S: {subjects: [s], num_replicas: %s}}", "stream/S"),
    "bucket": ("kv_buckets: {S: {num_replicas: %s}}", "kv_bucket/S"),
    "store": ("object_stores: {S: {num_replicas: %s}}", "object_store/S"),
}


def told(
    folder: Path, desired: str, live: str, cluster: str | None = "C1", server: str = NEWEST, raw: Any = None
) -> list[str]:
    changes = scene(folder, desired, live, server=server, cluster=cluster, raw=raw).plan().changes
    return [
        one.message.rpartition(" (")[0] for change in changes for one in change.consequences if one.code.endswith("611")
    ]


@pytest.mark.parametrize("text, _address", RISE.values(), ids=RISE)
def test_more_servers_than_one_elect_a_leader(tmp_path: Path, text: str, _address: str) -> None:
    assert told(tmp_path, text % 3, text % 1) == [RISES]


@pytest.mark.parametrize("before, after", [(3, 2), (3, 5), (1, 1)])
def test_who_leads_already_goes_on(tmp_path: Path, before: int, after: int) -> None:
    text = RISE["stream"][0]
    assert told(tmp_path, text % after, text % before) == []


@pytest.mark.parametrize("text, _address", RISE.values(), ids=RISE)
def test_fewer_servers_than_two_may_leave_a_publish_without_an_answer(tmp_path: Path, text: str, _address: str) -> None:
    assert told(tmp_path, text % 1, text % 3) == [FALLS]


THREE = "streams: {S: {subjects: [s], num_replicas: %s, consumers: {%s}}}"
LEADS = {"leader": "n1", "replicas": [{"name": "n2", "current": True}, {"name": "n3", "current": True}]}
ELSEWHERE = {"leader": "n2", "replicas": [{"name": "n1", "current": True}, {"name": "n3", "current": True}]}
ALONE = {"leader": "n2"}
MOVING = f"consumer c moves to the one server that keeps it: {PULLS}"


@pytest.mark.parametrize(
    "server, consumer, words",
    [
        ("2.14", {"cluster": ELSEWHERE, "num_waiting": 3}, [f"{MOVING}; 3 pulls wait now"]),
        ("2.14", {"cluster": ELSEWHERE, "num_waiting": 1}, [f"{MOVING}; 1 pull waits now"]),
        ("2.14", {"cluster": ELSEWHERE, "num_waiting": 0}, [MOVING]),
        ("2.14", {"cluster": {}, "num_waiting": 0}, [MOVING]),
        ("2.14", {"cluster": LEADS, "num_waiting": 3}, []),
        ("2.14", {"cluster": ELSEWHERE, "config": {"deliver_subject": "d"}}, []),
        ("2.15", {"cluster": ELSEWHERE, "num_waiting": 3}, []),
        ("2.15", {"cluster": ALONE, "num_waiting": 3}, [f"{MOVING}; 3 pulls wait now"]),
    ],
)
def test_pulls_at_another_server_than_the_one_that_stays_wait_in_vain(
    tmp_path: Path, server: str, consumer: dict[str, Any], words: list[str]
) -> None:
    text = THREE.replace("{%s}", "{c: {ack_policy: explicit}}")
    raw = {"streams": {"S": {"cluster": LEADS}}, "consumers": {"S": {"c": consumer}}}
    assert told(tmp_path / "1", text % 1, text % 3, raw=raw, server=server) == [FALLS, *words]
    assert told(tmp_path / "2", text % 2, text % 3, raw=raw, server=server) == []


def test_a_consumer_that_apply_deletes_moves_nowhere(tmp_path: Path) -> None:
    after = THREE % (1, "") + "\nremoved: [{address: consumer/S/c, reason: r}]"
    raw = {"streams": {"S": {"cluster": LEADS}}, "consumers": {"S": {"c": {"cluster": ELSEWHERE}}}}
    assert told(tmp_path, after, THREE % (3, "c: {ack_policy: explicit}"), raw=raw, server="2.14") == [FALLS]


EXPIRES = 5
"""Seconds, in which the stream has one replica, also on a busy machine."""


@pytest.mark.parametrize("clustered_account", MINORS, indirect=True)
def test_pulls_that_are_said_to_wait_in_vain_get_nothing_and_all_others_an_answer(
    clustered_account: Account, tmp_path: Path
) -> None:
    kinds = {"follows": "ack_policy: explicit", "alone": "ack_policy: explicit, num_replicas: 1"}
    consumers = {f"{kind}{number}": fields for kind, fields in kinds.items() for number in range(6)}
    text = THREE.replace("{%s}", f"{{{', '.join(f'{name}: {{{said}}}' for name, said in consumers.items())}}}")

    async def work(js: JetStream) -> tuple[list[str], set[str]]:
        await carried_out(js, tmp_path, text % 3)
        for endpoint in ("STREAM.INFO.S", *(f"CONSUMER.INFO.S.{name}" for name in consumers)):
            await comes_to(js, endpoint, lambda info: (info.get("cluster") or {}).get("leader"))
        pulls = {name: asyncio.create_task(pull(js.pipeline.nc, "S", name, within=EXPIRES)) for name in consumers}
        for name in consumers:
            await comes_to(js, f"CONSUMER.INFO.S.{name}", lambda info: info["num_waiting"])
        changes = (await plan(read(tmp_path, text % 1), js)).plan.changes
        notes = [note for change in changes for note in change.consequences if note.code == "ST611"]
        said = [note.message for note in notes if PULLS in note.message]
        await change(js, "S", num_replicas=1)
        return said, {name for name, answer in pulls.items() if await answer is None}

    said, silent = talk(clustered_account, work)
    assert [note.rpartition(" (")[0] for note in said] == [moving(sorted(silent)) for _ in said]
    assert bool(said) == bool(silent)


async def comes_to(js: JetStream, endpoint: str, is_so: Callable[[Mapping[str, Any]], Any]) -> None:
    until = asyncio.get_running_loop().time() + 60
    while not is_so(info := done(await js.read(endpoint))):
        assert asyncio.get_running_loop().time() < until, info
        await asyncio.sleep(0.05)  # nothing announces a leader or a pull


def moving(names: list[str]) -> str:
    """What is said of these consumers, of which each has one pull."""
    who, wait = ("consumer {} moves", "pull waits") if len(names) == 1 else ("consumers {} move", "pulls wait")
    return f"{who.format(few(names))} to the one server that keeps it: {PULLS}; {len(names)} {wait} now"


def test_a_single_server_elects_nobody(tmp_path: Path) -> None:
    text = RISE["stream"][0]
    assert told(tmp_path, text % 3, text % 1, cluster=None) == []


PLACED = "streams: {S: {subjects: [s], placement: {tags: [%s]}%s}}"
ONE_CONSUMER = ", consumers: {c: {ack_policy: explicit}}"


@pytest.mark.parametrize("consumers, said", [("", MOVES), (ONE_CONSUMER, MOVES + CONSUMERS)], ids=["none", "one"])
def test_a_move_silences_the_consumers_that_there_are(tmp_path: Path, consumers: str, said: str) -> None:
    assert told(tmp_path, PLACED % ("b", consumers), PLACED % ("a", consumers)) == [said]


def test_before_2_12_a_duplicate_with_sequence_0_is_said_to_be_lost(tmp_path: Path) -> None:
    moved, live = (PLACED % (tag, ONE_CONSUMER) for tag in "ba")
    assert told(tmp_path / "1", moved, live, server="2.11") == [MOVES + UNSTORED + CONSUMERS]
    for number, (text, _address) in enumerate(RISE.values()):
        assert told(tmp_path / f"2{number}", text % 1, text % 3, server="2.11") == [FALLS + UNSTORED]
        assert told(tmp_path / f"3{number}", text % 1, text % 3, server="2.12") == [FALLS]
        assert told(tmp_path / f"4{number}", text % 3, text % 1, server="2.11") == [RISES]


@pytest.mark.parametrize("kind", RISE)
def test_where_something_is_stored_apply_is_said_not_to_wait_for_its_new_servers(tmp_path: Path, kind: str) -> None:
    text, _address = RISE[kind]
    name = {"stream": "S", "bucket": "KV_S", "store": "OBJ_S"}[kind]
    raw = {"streams": {name: {"state": {"messages": 3}}}}
    assert told(tmp_path / "rise", text % 3, text % 1, raw=raw) == [RISES, BEHIND]
    assert told(tmp_path / "fall", text % 1, text % 3, raw=raw) == [FALLS]


def test_nor_for_the_servers_that_it_moves_to(tmp_path: Path) -> None:
    raw = {"streams": {"S": {"state": {"messages": 3}}}}
    assert told(tmp_path, PLACED % ("b", ""), PLACED % ("a", ""), raw=raw) == [MOVES, BEHIND]


def test_a_move_counts_the_pulls_that_wait_on_whichever_server(tmp_path: Path) -> None:
    moved, live = (
        PLACED % (tag, ", consumers: {a: {ack_policy: explicit}, b: {ack_policy: explicit}}") for tag in "ba"
    )
    waiting = {"a": {"cluster": LEADS, "num_waiting": 2}, "b": {"cluster": ELSEWHERE, "num_waiting": 1}}
    raw = {"streams": {"S": {"cluster": LEADS}}, "consumers": {"S": waiting}}
    assert told(tmp_path, moved, live, raw=raw) == [f"{MOVES}{CONSUMERS}; 3 pulls wait now"]


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


PUBLISHERS = 10


@pytest.mark.parametrize("before, after", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("clustered_account", MINORS, indirect=True)
def test_what_is_sent_once_more_with_its_id_is_stored_unless_the_answer_says_sequence_0(
    clustered_account: Account, before: dict[str, object], after: dict[str, object]
) -> None:
    async def work(js: JetStream) -> tuple[int, int, int]:
        """How many messages were answered, how many of them with sequence 0, and how many are stored."""
        nc, sequences = js.pipeline.nc, list[int]()
        is_over = asyncio.Event()

        async def publish(name: str) -> None:
            for number in itertools.count():
                while True:
                    with contextlib.suppress(Error, RefusedByJetStream, TimeoutError):
                        headers = {"Nats-Msg-Id": f"{name}-{number}"}
                        sequences.append((await nc.jetstream().publish("s", b"", timeout=0.5, headers=headers)).seq)
                        break
                if is_over.is_set():
                    return

        await make_stream(js, "S", subjects=["s"], **before)
        async with asyncio.timeout(120), asyncio.TaskGroup() as publishers:
            for number in range(PUBLISHERS):
                publishers.create_task(publish(str(number)))
            for config in (after, before):
                await change(js, "S", **config)
                await asyncio.sleep(3)
            is_over.set()
        state = done(await js.request("STREAM.INFO.S", within=10))["state"]
        return len(sequences), sequences.count(0), int(state["messages"])

    answered, unstored, stored = talk(clustered_account, work)
    assert stored == answered - unstored
    assert not unstored or clustered_account.server.minor == "2.11"
