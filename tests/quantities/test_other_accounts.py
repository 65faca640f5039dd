"""What the pages of ST303 and ST310 say of readers in other accounts: no server lists them to the owner of a stream."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from reconciler.server.read.observe import observe
from reconciler.server.wire.api import JetStream
from tests.groups.making import until
from tests.quantities.losing import planned
from tests.support.accounts import connect
from tests.support.binaries import MINORS
from tests.support.jetstream import make_stream
from tests.support.servers import NatsServer

ACCOUNTS = """
accounts {
  ORDERS: {jetstream: enabled, users: [{user: o, password: o}], exports: [{service: "$JS.API.>", response: stream}, {stream: "copied.>"}]}
  BILLING: {
    jetstream: enabled, users: [{user: b, password: b}]
    imports: [{service: {account: ORDERS, subject: "$JS.API.>"}, to: "orders.API.>"}, {stream: {account: ORDERS, subject: "copied.>"}}]
  }
}
"""
SOURCE = {"name": "ORDERS", "external": {"api": "orders.API", "deliver": "copied.here"}}


@pytest.mark.parametrize("minor", MINORS)
def test_a_source_in_another_account_is_seen_by_nobody_who_owns_the_stream(minor: str, tmp_path: Path) -> None:
    async def story(url: str) -> None:
        ours, theirs = await connect(url, "o", "o"), await connect(url, "b", "b")
        js, others = await JetStream.open(ours), await JetStream.open(theirs)
        await make_stream(js, "ORDERS", subjects=["orders.*"])
        for _ in range(3):
            await ours.request("orders.x", b"", timeout=20)
        await make_stream(others, "COPY", subjects=[], sources=[SOURCE])
        await until(others, lambda info: info["state"]["messages"] == 3, "STREAM.INFO.COPY")
        seen = await observe(js)
        assert (seen.state_of("ORDERS")["consumer_count"], seen.consumers, seen.copiers) == (0, {}, {})
        plan = await planned(js, tmp_path, "streams: {ORDERS: {subjects: [orders.new]}}")
        assert "COPY" not in str(plan)
        for client in (js, others):
            await client.close()
        for connection in (ours, theirs):
            await connection.close()

    with NatsServer(minor, config=ACCOUNTS) as server:
        asyncio.run(story(server.url))
