"""What is said to be lost, out of reach or rewritten is what really happens when that version starts on the same store."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nats
import pytest
from nats.aio.client import Client

from reconciler.journeys.plan.plan import plan
from reconciler.journeys.upgrade.check import Checked, check_snapshot
from reconciler.journeys.upgrade.outcomes import Fate
from reconciler.model.wire.version import Version
from reconciler.server.read.observe import observe
from reconciler.server.wire.answers import Refusal
from reconciler.server.wire.api import JetStream
from reconciler.server.wire.pipeline import NoAnswer
from tests.agreement.harm import carried_out, pull
from tests.groups.making import until
from tests.quantities.losing import publish
from tests.support.binaries import VERSIONS
from tests.support.clusters import Cluster, cluster
from tests.support.jetstream import done, make_consumer, make_stream, talk
from tests.support.servers import running
from tests.support.topologies import account, read, target
from tests.upgrades.stores import LEFT, Place, filled, look, objects, rewritten

UP = [("2.11", "2.12"), ("2.11", "2.15"), ("2.12", "2.14"), ("2.12", "2.15"), ("2.14", "2.15")]
AGAIN = [(minor, minor) for minor in LEFT]
DOWN = [("2.14", "2.12"), ("2.12", "2.11")]


def addresses(found: Checked, *fates: Fate) -> set[str]:
    return {one.address for one in found.findings if one.fate in fates}


def below(gone: set[str], address: str) -> bool:
    """A consumer of a stream that is gone is gone with it."""
    return address.startswith("consumer/") and f"stream/{address.split('/')[1]}" in gone


@pytest.mark.parametrize(("before", "after"), [*UP, *AGAIN, *DOWN])
def test_what_is_said_of_a_store_happens_to_it(before: str, after: str) -> None:
    with running(before) as server:
        snapshot = filled(server, LEFT[before])
        found = check_snapshot(snapshot, Version.parse(VERSIONS[after]))
        there = objects(snapshot)
        left = objects(look(server.restart(after)))
    gone = set(there.keys() - left.keys())
    assert addresses(found, Fate.LOST, Fate.OFFLINE) == {one for one in gone if not below(gone, one)}
    said = {(one.address, one.path) for one in found.findings if one.fate is Fate.REWRITTEN}
    assert {one for one in said if one[0] not in gone} == rewritten(there, left)


@pytest.mark.parametrize(("before", "after"), [("2.12", "2.12"), ("2.11", "2.12"), ("2.12", "2.15")])
def test_what_is_not_said_to_be_refused_can_be_updated_there(before: str, after: str) -> None:
    with running(before) as server:
        found = check_snapshot(filled(server, LEFT[before]), Version.parse(VERSIONS[after]))
        left = look(server.restart(after)).streams

        async def refused(js: JetStream) -> set[str]:
            asked = {name: await js.request(f"STREAM.UPDATE.{name}", left[name]["config"]) for name in left}
            assert [answer for answer in asked.values() if isinstance(answer, NoAnswer)] == []
            return {f"stream/{name}" for name, answer in asked.items() if isinstance(answer, Refusal)}

        unchangeable = talk(Place(server), refused)
    assert unchangeable == {one for one in addresses(found, Fate.REFUSED) if one.startswith("stream/")}


@pytest.mark.parametrize(("before", "after"), [("2.12", "2.14"), ("2.12", "2.15"), ("2.15", "2.15"), ("2.11", "2.12")])
def test_what_each_restart_deletes_from_then_on_is_said(before: str, after: str) -> None:
    async def fill(js: JetStream) -> None:
        await make_stream(js, "B", subjects=["b"], retention="interest")
        await make_consumer(js, "B", "mail")
        await make_stream(js, "COPY", mirror={"name": "B"})
        await publish(js, *["b"] * 5)
        await until(js, lambda info: info["state"]["messages"] == 5, "STREAM.INFO.COPY")

    async def fed(js: JetStream) -> None:
        """Until the server has heard by a consumer of its own, if it has one, that the copy has all of it."""
        if after != "2.12":
            await until(js, lambda found: found["total"] == 2, "CONSUMER.NAMES.B")
            (own,) = {*done(await js.read("CONSUMER.NAMES.B"))["consumers"]} - {"mail"}
            await until(js, lambda info: info["ack_floor"]["stream_seq"] == 5, f"CONSUMER.INFO.B.{own}")

    with running(before) as server:
        talk(Place(server), fill)
        found = check_snapshot(look(server), Version.parse(VERSIONS[after]))
        talk(Place(server.restart(after)), fed)
        left = look(server.restart()).streams["B"]["state"]["messages"]
    assert addresses(found, Fate.EMPTIED) == ({"stream/B"} if left < 5 else set())
    assert left == (5 if after == "2.12" else 0)
    assert [one.already for one in found.findings] == [before == "2.15"] * (left < 5)


COPIED = """streams:
  B: {subjects: [b], retention: interest, num_replicas: %s, consumers: {mail: {ack_policy: explicit}}}
  COPY: {mirror: {name: B}}
"""


@pytest.mark.parametrize(
    ("before", "after", "is_said", "already"),
    [
        ("2.11", "2.12", True, False), ("2.12", "2.12", True, True), ("2.12", "2.14", True, True), ("2.12", "2.11", True, True),
        ("2.11", "2.14", False, False), ("2.14", "2.15", False, False), ("2.15", "2.12", True, False),
    ],
)  # fmt: skip
def test_a_cluster_that_comes_to_2_12_or_leaves_it_is_said_to_delete_from_copied_interest_streams(
    tmp_path: Path, before: str, after: str, is_said: bool, already: bool
) -> None:
    """Its servers restart one after another, and those of 2.12 stop feeding the copies of theirs."""
    for replicas, is_hit in ((3, is_said), (1, False)):
        snapshot = account(read(tmp_path, COPIED % replicas), target(before, cluster="C1"))
        found = check_snapshot(snapshot, Version.parse(VERSIONS[after]))
        assert addresses(found, Fate.EMPTIED) == ({"stream/B"} if is_hit else set())
        assert [one.already for one in found.findings] == [already] * is_hit
        assert all("cluster of nats-server 2.12 stops feeding COPY" in one.message for one in found.findings)


MEMORY = """
streams:
  MEM: {subjects: [mem], storage: memory, consumers: {c: {ack_policy: explicit}}}
  SAFE: {subjects: [safe], storage: memory, num_replicas: 3}
  COPY: {mirror: {name: MEM}, num_replicas: 3}
  SUM: {sources: [{name: MEM}], num_replicas: 3}
  R3:
    subjects: [r3]
    num_replicas: 3
    consumers: {m: {ack_policy: explicit, mem_storage: true, num_replicas: 1}, f: {ack_policy: explicit, mem_storage: true}}
kv_buckets: {sess: {storage: memory}}
"""


def _is_current(info: Mapping[str, Any]) -> bool:
    return [peer["current"] for peer in info["cluster"].get("replicas", ())] == [True] * 2


def _holds_ten(info: Mapping[str, Any]) -> bool:
    return bool(info["state"]["messages"] == 10)


def _has_delivered(info: Mapping[str, Any]) -> bool:
    return bool(info["delivered"]["consumer_seq"])


class Node:
    """A cluster, as clients of one of its nodes see it."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    async def connect(self) -> Client:
        return await nats.connect(self.cluster.nodes[0].url, allow_reconnect=False)


@pytest.mark.parametrize(("before", "after"), [("2.11", "2.12"), ("2.14", "2.15")])
def test_what_only_one_server_of_a_cluster_keeps_in_memory_is_named_before_and_after(
    before: str, after: str, tmp_path: Path
) -> None:
    """One server after the other is upgraded. The copies skip nothing once the stream counts on as the plan advises."""

    async def fill(js: JetStream) -> Checked:
        await carried_out(js, tmp_path, MEMORY)
        await publish(js, *["mem", "safe", "r3", "$KV.sess.k"] * 10)
        await until(js, lambda info: info["state"]["messages"] == 10, "STREAM.INFO.COPY")
        await until(js, lambda info: info["state"]["messages"] == 10, "STREAM.INFO.SUM")
        for stream, name in (("MEM", "c"), ("R3", "m"), ("R3", "f")):
            message = await pull(js.pipeline.nc, stream, name)
            assert message is not None
            await js.pipeline.nc.request(message.reply, b"", timeout=5)
        await carried_out(
            js, tmp_path, MEMORY.replace("mem_storage: true, num", "mem_storage: true, description: later, num")
        )
        await carried_out(js, tmp_path, MEMORY)
        return check_snapshot(await observe(js), Version.parse(VERSIONS[after]))

    async def caught_up(js: JetStream) -> None:
        """Until every server has what others keep too, as whoever upgrades a cluster waits for it. Meanwhile nobody may answer."""
        for subject, has_all in (("STREAM.INFO.SAFE", _holds_ten), ("CONSUMER.INFO.R3.f", _has_delivered)):
            async with asyncio.timeout(60):
                while not (isinstance(info := await js.read(subject), Mapping) and _is_current(info) and has_all(info)):  # noqa: ASYNC110
                    await asyncio.sleep(0.1)

    async def left(js: JetStream) -> set[str]:
        async with asyncio.timeout(60):
            while (snapshot := await observe(js)).unknown:  # some streams have no leader yet  # noqa: ASYNC110
                await asyncio.sleep(0.1)
        began = {
            f"consumer/{stream}/{name}": info["delivered"]["consumer_seq"]
            for stream, infos in snapshot.consumers.items()
            for name, info in infos.items()
        }
        ends = {f"stream/{name}": info["state"]["last_seq"] for name, info in snapshot.streams.items()}
        return {address for address, reached in (ends | began).items() if not reached}

    async def count_on(js: JetStream) -> dict[str, str]:
        told = (await plan(read(tmp_path, MEMORY), js)).plan.diagnostics
        done(await js.request("STREAM.PURGE.MEM", {"seq": 11}))
        await publish(js, *["mem"] * 7)
        for copy in ("COPY", "SUM"):
            await until(js, lambda info: info["state"]["messages"] == 17, f"STREAM.INFO.{copy}")
        return {one.address or "": one.fix or "" for one in told if one.code == "LE109"}

    with cluster(before) as servers:
        found = talk(Node(servers), fill)
        (waits,) = [text for text in found.news if "wait until" in text]
        for node in servers.nodes:
            node.restart(after)
            servers.wait_until_ready()
            talk(Node(servers), caught_up)
        empty = talk(Node(servers), left)
        told = talk(Node(servers), count_on)
    assert addresses(found, Fate.EMPTIED) == {"kv_bucket/sess", "stream/MEM", "consumer/R3/m"}
    assert not addresses(found, Fate.LOST)
    assert waits.endswith(" call every replica current: consumer/R3/f, stream/SAFE.")
    assert empty == {"stream/MEM", "stream/KV_sess", "consumer/MEM/c", "consumer/R3/m"}
    sourced = ["stream/SUM"] if after == "2.15" else []
    assert told.keys() == {"stream/COPY", *sourced, "consumer/R3/m"}
    assert all("run nats stream purge MEM --seq 11 --force" in told[copy] for copy in ("stream/COPY", *sourced))
