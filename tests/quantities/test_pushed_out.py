"""What the copies of a new source push out of a stream that has a limit is what the plan said."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from reconciler.changes.amount import exactly
from reconciler.changes.verdict import Verdict
from reconciler.server.wire.api import JetStream
from tests.quantities.losing import applied, publish, state, take
from tests.support.accounts import Account
from tests.support.jetstream import talk
from tests.support.versions import on_every_version

OWN, COPIES, ACKED = 45, 60, 10


def file(config: dict[str, Any], **more: Any) -> str:
    own = {"subjects": ["s.>"], "consumers": {"c": {"ack_policy": "explicit"}}, **config, **more}
    return json.dumps({"streams": {"O": {"subjects": ["o.>"], "allow_direct": True}, "S": own}})


async def filled(js: JetStream, folder: Path, config: dict[str, Any]) -> Mapping[str, Any]:
    """A stream with messages of its own, of which its consumer has processed some, beside one that it can copy."""
    await applied(js, folder, file(config))
    await publish(js, *["o.a"] * COPIES, *["s.a"] * OWN)
    await take(js, "S", "c", ACKED)
    return await state(js, "S")


async def sourced(js: JetStream, folder: Path, config: dict[str, Any], come: int) -> dict[str, Verdict]:
    """What the plan says of a source that is added; it has copied so many messages then."""
    last = (await state(js, "S"))["last_seq"]
    found = await applied(js, folder, file(config, sources=[{"name": "O"}]), "ST307")
    async with asyncio.timeout(30):
        while (await state(js, "S"))["last_seq"] < last + come:  # noqa: ASYNC110 - nothing announces a copy
            await asyncio.sleep(0.02)
    return found


LIMITS = [
    {"max_msgs": 60},
    {"max_msgs": 45},
    {"max_msgs": 90},
    {"max_bytes": 3000},
    {"max_bytes": 3000, "max_msgs": 60},
]


@on_every_version
@pytest.mark.parametrize("limits", LIMITS, ids=" ".join)
def test_copies_push_out_as_many_messages_as_the_plan_said(
    account: Account, tmp_path: Path, limits: dict[str, int]
) -> None:
    async def work(js: JetStream) -> tuple[dict[str, Verdict], int, int]:
        before = await filled(js, tmp_path, limits)
        said = await sourced(js, tmp_path, limits, COPIES)
        first = min((await state(js, "S"))["first_seq"], before["last_seq"] + 1)
        return said, first - before["first_seq"], first - before["first_seq"] - ACKED

    said, gone, unprocessed = talk(account, work)
    found = said["ST307"]
    bounds = {name: found.bounds.get(name, exactly(found.quantities[name])) for name in ("messages", "unprocessed")}
    assert bounds["messages"].least <= gone <= bounds["messages"].most, found.message
    assert bounds["unprocessed"].least <= unprocessed <= bounds["unprocessed"].most, found.message
    assert gone > 0
    assert "; c has not processed" in found.message


@on_every_version
def test_what_fits_pushes_nothing_out(account: Account, tmp_path: Path) -> None:
    async def work(js: JetStream) -> tuple[dict[str, Verdict], int]:
        limits = {"max_msgs": OWN + COPIES}
        await filled(js, tmp_path, limits)
        said = await sourced(js, tmp_path, limits, COPIES)
        return said, (await state(js, "S"))["first_seq"]

    said, first = talk(account, work)
    assert "ST307" not in said
    assert first == 1


@on_every_version
def test_copies_fill_a_stream_that_refuses_and_publishers_are_told(account: Account, tmp_path: Path) -> None:
    limits = {"max_msgs": 60, "discard": "new"}

    async def work(js: JetStream) -> tuple[Verdict, int, dict[str, Any]]:
        await filled(js, tmp_path, limits)
        said = await sourced(js, tmp_path, limits, 15)
        return (
            said["ST307"],
            (await state(js, "S"))["messages"],
            json.loads((await js.pipeline.nc.request("s.b", b"", timeout=20)).data),
        )

    said, stored, answer = talk(account, work)
    assert said.quantities == {"waiting": OWN + COPIES - stored} == {"waiting": 45}
    assert answer["error"]["err_code"] == 10077
    assert said.message.endswith(
        "45 messages of them wait, and the server refuses every publish (10077) until there is room"
    )
