"""An apply that outlives the power cut of its server: it does nothing more before it knows what the bucket still holds."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path

import pytest

from reconciler.journeys.plan.plan import plan
from tests.faults.scenes import ALLOWED, replaced
from tests.faults.wire import Request, wire
from tests.power.recording import BUCKET, OPTIONS, STREAMS, carried_out, connected, file, frozen_copy
from tests.support.applying import applying, ended
from tests.support.jetstream import done
from tests.support.servers import NatsServer, running

SCENE = replaced("limits")
INTENT = "$KV.reconciler.intent.consumer.L.c"
LEASE = "$KV.reconciler.lease.t"
CUTS = {
    "the note of where it stands": (Request(INTENT, 2), Request("$JS.API.CONSUMER.PAUSE.L.c", 1)),
    "all that is noted": (Request(INTENT, 2), Request(LEASE, 1)),
    "the lease": (Request(INTENT, 1), None),
}
"""After which answer the power goes, and after which one the bucket was as it comes back; None: before the apply."""


@pytest.mark.parametrize("minor", ["2.11", "2.15"])
@pytest.mark.parametrize(("cut", "older"), CUTS.values(), ids=CUTS.keys())
def test_nothing_is_deleted_of_which_no_note_is_left(
    cut: Request, older: Request | None, minor: str, tmp_path: Path
) -> None:
    with running(minor) as server:
        said = asyncio.run(cut_off(server, cut, older, tmp_path))
    assert "went back" in said or "ran out" in said


async def cut_off(server: NatsServer, cut: Request, older: Request | None, folder: Path) -> str:
    """What the apply said that outlived it."""
    wanted = file(folder, "wanted", SCENE.wanted)
    async with connected(server.port) as (_, js):
        await carried_out(await plan(file(folder, "before", SCENE.before), js, OPTIONS), js)
    frozen_copy(server, folder / "older")

    async def answered(request: Request) -> None:
        if request == older:
            shutil.rmtree(folder / "older")
            frozen_copy(server, folder / "older")
        if request == cut:
            server.kill()
            shutil.rmtree(server.home / STREAMS / BUCKET)
            shutil.copytree(folder / "older" / BUCKET, server.home / STREAMS / BUCKET)
            server.start()

    async with wire(lambda: server.port) as between:
        between.answered_by = answered
        allowed = [word for code in ALLOWED for word in ("--allow", f"{code}=*/*")]
        url = f"nats://127.0.0.1:{between.port}"
        process = applying(folder, "wanted.yaml", "--yes", *allowed, "--server", url, "--timeout", "5s")
        process.start()
        await ended(process, 60)
    async with connected(server.port) as (_, js):
        assert done(await js.read("CONSUMER.INFO.L.c"))["config"]["max_waiting"] == 512, (folder / "said").read_text()
        assert "max_waiting" in json.dumps(
            [one.fields[0].path for one in (await plan(wanted, js, OPTIONS)).plan.changes]
        )
    assert process.exitcode == 1
    return (folder / "said").read_text()
