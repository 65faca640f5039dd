"""Brings a backup back over the server's own API, as `nats stream restore` does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from reconciler.server.wire.api import JetStream
from tests.support.jetstream import done

CHUNK = 64 << 10


async def restore(js: JetStream, folder: Path) -> dict[str, Any]:
    """The restored stream as the server then describes it."""
    head = json.loads((folder / "backup.json").read_text())
    name = head["config"]["name"]
    body = {"config": head["config"], "state": head["state"]}
    deliver = done(await js.request(f"STREAM.RESTORE.{name}", body, within=10))["deliver_subject"]
    archive = (folder / "stream.tar.s2").read_bytes()
    for start in range(0, len(archive), CHUNK):
        said = await js.pipeline.nc.request(deliver, archive[start : start + CHUNK], timeout=10)
        assert not said.data, said.data
    ended = json.loads((await js.pipeline.nc.request(deliver, b"", timeout=20)).data)
    assert "error" not in ended, ended
    return dict(ended)


async def messages(js: JetStream, stream: str) -> list[dict[str, Any]]:
    """Every message with its sequence, subject, headers, time and payload."""
    state = done(await js.read(f"STREAM.INFO.{stream}"))["state"]
    found = []
    for sequence in range(state["first_seq"], state["last_seq"] + 1):
        said = await js.read(f"STREAM.MSG.GET.{stream}", {"seq": sequence})
        if isinstance(said, dict):
            found.append(said["message"])
    return found
