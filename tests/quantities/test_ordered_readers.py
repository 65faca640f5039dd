"""What XX231 and ST310 say of clients that watch, or read in order, beside what these skip when their stream is recreated."""

from __future__ import annotations

from pathlib import Path

import pytest
from nats.aio.msg import Msg
from nats.js.client import JetStreamContext

from reconciler.server.wire.api import JetStream
from tests.quantities.losing import applied, planned, publish
from tests.support.accounts import Account
from tests.support.jetstream import done, talk
from tests.support.versions import on_every_version

REMOVED = "streams: {OTHER: {}}\nremoved: [{address: %s, reason: over}]"
PLACES = {
    "kv_bucket/B": ("streams: {OTHER: {}}\nkv_buckets: {B: {history: 5}}", "KV_B", "$KV.B.k", "XX231"),
    "object_store/B": ("streams: {OTHER: {}}\nobject_stores: {B: {}}", "OBJ_B", "$O.B.C.k", "XX231"),
    "stream/S": ("streams: {OTHER: {}, S: {subjects: [s.*]}}", "S", "s.k", "ST310"),
}


async def ordered(js: JetStream, stream: str) -> JetStreamContext.PushSubscription:
    """As a watcher subscribes, with heartbeats that come sooner."""
    client = js.pipeline.nc.jetstream()
    return await client.subscribe(">", stream=stream, ordered_consumer=True, idle_heartbeat=0.5)


def sequence(message: Msg) -> int:
    return message.metadata.sequence.stream


@on_every_version
@pytest.mark.parametrize("address", PLACES)
def test_clients_skip_as_much_of_the_new_one_as_the_plan_says(account: Account, tmp_path: Path, address: str) -> None:
    declared, stream, subject, code = PLACES[address]

    async def work(js: JetStream) -> tuple[str, int]:
        await applied(js, tmp_path, declared)
        await publish(js, *[subject] * 5)
        reader = await ordered(js, stream)
        assert [sequence(await reader.next_msg(timeout=20)) for _ in range(5)] == [1, 2, 3, 4, 5]
        verdict = (await planned(js, tmp_path, REMOVED % address))[code]
        config = done(await js.request(f"STREAM.INFO.{stream}"))["config"]
        done(await js.request(f"STREAM.DELETE.{stream}"))
        done(await js.request(f"STREAM.CREATE.{stream}", config))
        await publish(js, *[subject] * 7)
        return verdict.message, sequence(await reader.next_msg(timeout=60))

    said, first = talk(account, work)
    assert first == 6
    assert f"if {stream} is created again" in said and "skip up to its first 5 messages, until they restart" in said
