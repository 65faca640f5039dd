"""A stream without a leader is described by whichever copy answers first, and that copy may lack acknowledged writes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import nats
import pytest

from reconciler.server.read.read_kv import names
from reconciler.server.wire.answers import Refusal
from reconciler.server.wire.api import JetStream
from tests.support.clusters import Cluster, cluster
from tests.support.jetstream import done
from tests.support.servers import NatsServer

PATIENCE = 40
"""Seconds: a copy that starts waits for a leader before it finds that there is none."""


@pytest.mark.parametrize("minor", ["2.11", "2.15"])
def test_what_a_copy_tells_while_there_is_no_leader_is_not_believed(minor: str) -> None:
    with cluster(minor, 5) as servers:  # so that the cluster itself still works when two of them are gone
        asyncio.run(_look_at_a_copy_that_is_behind(servers))


async def _look_at_a_copy_that_is_behind(servers: Cluster) -> None:
    leader, copy, other = await _bucket_of_three(servers)
    await _write(leader, "before")
    await _follows(leader, copy)
    copy.kill()
    await _write(leader, "after")
    leader.kill()
    other.kill()
    copy.start()
    nc = await nats.connect(copy.url, error_cb=_quiet)
    js = await JetStream.open(nc, within=1)
    told = await _told(js)
    assert "$KV.x.after" not in told["state"].get("subjects", {}), "it lacks what the cluster acknowledged"
    assert await names(js, "x", "$KV.x.>") == Refusal(
        10008, 503, "there is no leader, and the copy that answered may be behind"
    )
    await js.close()
    await nc.close()


async def _bucket_of_three(servers: Cluster) -> tuple[NatsServer, NatsServer, NatsServer]:
    """Its leader, and those that follow."""
    nc = await nats.connect(servers.nodes[0].url)
    js = await JetStream.open(nc)
    config = {"name": "KV_x", "subjects": ["$KV.x.>"], "num_replicas": 3, "max_msgs_per_subject": 1}
    done(await js.persistent().write("STREAM.CREATE.KV_x", config))
    group = done(await js.persistent().read("STREAM.INFO.KV_x"))["cluster"]
    await js.close()
    await nc.close()
    named = {node.name: node for node in servers.nodes}
    copy, other = (named[one["name"]] for one in group["replicas"])
    return named[group["leader"]], copy, other


async def _write(leader: NatsServer, key: str) -> None:
    nc = await nats.connect(leader.url, error_cb=_quiet)
    acknowledged = await nc.request(f"$KV.x.{key}", b"", timeout=10)
    assert b'"seq"' in acknowledged.data
    await nc.close()


async def _follows(leader: NatsServer, copy: NatsServer) -> None:
    nc = await nats.connect(leader.url, error_cb=_quiet)
    js = await JetStream.open(nc)
    async with asyncio.timeout(PATIENCE):
        while not _is_current(done(await js.persistent().read("STREAM.INFO.KV_x")), copy.name):
            pass
    await js.close()
    await nc.close()


def _is_current(info: Mapping[str, object], name: str) -> bool:
    group = info["cluster"]
    assert isinstance(group, dict)
    return any(one["name"] == name and one["current"] and not one.get("lag") for one in group["replicas"])


async def _told(js: JetStream) -> Mapping[str, Any]:
    """What the copy says by itself, as soon as it says anything."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                reply = await js.pipeline.nc.request("$JS.API.STREAM.INFO.KV_x", b'{"subjects_filter": ">"}', timeout=1)
            except nats.errors.TimeoutError:
                continue
            said: Mapping[str, Any] = json.loads(reply.data)
            if "state" in said:
                return said


async def _quiet(_error: Exception) -> None:
    """Servers of ours are killed here."""
