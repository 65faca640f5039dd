"""What clients get from a mirror that answers for its origin is what the plan said of it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from reconciler.changes.events import Finished
from reconciler.journeys.apply.apply import apply
from reconciler.journeys.plan.plan import plan
from reconciler.model.run_options import RunOptions
from reconciler.server.wire.api import JetStream
from tests.quantities.losing import applied, publish, settled, state
from tests.support.accounts import Account
from tests.support.jetstream import talk
from tests.support.topologies import read
from tests.support.versions import on_every_version

KEPT = "direct gets sometimes find deleted messages in M, which answers in its place (ST301)"


@on_every_version
@pytest.mark.parametrize(("own", "notes"), [("", [KEPT]), ("max_msgs: 10, ", [KEPT]), ("max_msgs: 1, ", [])])
def test_what_a_limit_removes_a_mirror_still_gives_to_who_asks_the_origin(
    account: Account, tmp_path: Path, own: str, notes: list[str]
) -> None:
    def file(limit: str = "") -> str:
        return f"streams: {{O: {{subjects: [o.*], allow_direct: true{limit}}}, M: {{{own}allow_direct: true, mirror: {{name: O}}}}}}"

    async def work(js: JetStream) -> tuple[list[str], set[str]]:
        await applied(js, tmp_path, file())
        await publish(js, "o.1", "o.2")
        async with asyncio.timeout(30):
            while (await state(js, "M"))["last_seq"] < 2:  # noqa: ASYNC110 - nothing announces it
                await asyncio.sleep(0.05)
        found = await plan(read(tmp_path, file(", max_msgs: 1")), js, RunOptions(allow=(("ST301", "*"),)))
        events = [event async for event in apply(found, js)]
        assert isinstance(events[-1], Finished) and events[-1].is_success, events[-1]
        assert await settled(js, "O", 1) == 1
        asked = [js.pipeline.nc.request("$JS.API.DIRECT.GET.O.o.1", b"", timeout=5) for _ in range(60)]
        replies = await asyncio.gather(*asked)
        (change,) = (one for one in found.plan.changes if one.address == "stream/O")
        said = [one.message for one in change.consequences if one.code == "ST301"]
        return said, {(reply.headers or {}).get("Status", "200") for reply in replies}

    assert talk(account, work) == (notes, {"200", "404"} if notes else {"404"})
