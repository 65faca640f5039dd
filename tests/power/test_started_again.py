"""A server answers the first update of a consumer since its start with what was before; that is no failure."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from reconciler.changes.events import Finished
from reconciler.journeys.plan.plan import plan
from tests.power.recording import OPTIONS, carried_out, connected
from tests.support.binaries import MINORS
from tests.support.servers import running
from tests.support.topologies import read

BEFORE, WANTED = (
    f"streams: {{S: {{subjects: [s.*], consumers: {{c: {{ack_policy: explicit, max_deliver: {number}}}}}}}}}"
    for number in (5, 7)
)


@pytest.mark.parametrize("minor", MINORS)
def test_an_update_after_a_start_is_seen_to_be_made(minor: str, tmp_path: Path) -> None:
    async def applied(port: int, text: str) -> Finished:
        async with connected(port) as (_, js):
            return await carried_out(await plan(read(tmp_path, text), js, OPTIONS), js)

    with running(minor) as server:
        assert asyncio.run(applied(server.port, BEFORE)).is_success
        server.kill()
        server.start()
        assert asyncio.run(applied(server.port, WANTED)).failed == ()
