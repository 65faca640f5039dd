"""A stream that only copies read, as it turns from limits to interest: what stays, and until when."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from reconciler.model.wire.snapshot import hears_origin
from reconciler.server.wire.api import JetStream
from tests.agreement.harm import Alone, change
from tests.quantities.losing import publish, settled, state
from tests.support.binaries import MINORS
from tests.support.jetstream import done, make_stream, talk
from tests.support.servers import running

COPIES: dict[str, dict[str, Any]] = {
    "a mirror": {"mirror": {"name": "O"}},
    "a stream with a source": {"sources": [{"name": "O"}]},
    "the queue of a group": {"sources": [{"name": "O"}], "retention": "workqueue", "discard": "new"},
}


async def copied(js: JetStream, number: int) -> None:
    async with asyncio.timeout(60):
        while (await state(js, "C"))["last_seq"] < number:  # noqa: ASYNC110 - nothing announces it
            await asyncio.sleep(0.05)


async def heard(js: JetStream) -> None:
    """Until then an interest stream stores nothing: nobody reads it."""
    async with asyncio.timeout(30):
        while not any(hears_origin(one) for one in _told(done(await js.request("STREAM.INFO.C")))):  # noqa: ASYNC110 - as above
            await asyncio.sleep(0.05)


def _told(info: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [info["mirror"]] if info.get("mirror") else info.get("sources") or []


@pytest.mark.parametrize(("minor", "copy"), [(minor, copy) for minor in MINORS for copy in COPIES])
def test_everything_stays_until_the_copy_starts_anew(minor: str, copy: str) -> None:
    left = 0 if minor in ("2.14", "2.15") else 8

    async def turn(js: JetStream) -> int:
        await make_stream(js, "O", subjects=["o"])
        await make_stream(js, "C", **COPIES[copy])
        await publish(js, *["o"] * 5)
        await copied(js, 5)
        await change(js, "O", retention="interest")
        await publish(js, *["o"] * 3)
        await copied(js, 8)
        await asyncio.sleep(1)
        return int((await state(js, "O"))["messages"])

    async def start_anew(js: JetStream) -> tuple[int, int]:
        await heard(js)
        await publish(js, "o")
        await copied(js, 9)
        return await settled(js, "O", left), (await state(js, "C"))["messages"]

    with running(minor) as server:
        stays = talk(Alone(server), turn)
        server.restart()
        stored, in_the_copy = talk(Alone(server), start_anew)
    assert stays == 8
    assert stored == left
    assert in_the_copy == 9
