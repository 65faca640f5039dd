"""Names that mean something to a server's configuration, to a shell or to nsc arrive as they are."""

from __future__ import annotations

import asyncio
import csv
import json
import subprocess
from pathlib import Path
from typing import Any

from reconciler.journeys.permissions.text import nsc_lines
from reconciler.model.wire.permissions import Needs
from tests.permissions.scenes import needs, users
from tests.support.accounts import User
from tests.support.servers import NatsServer
from tests.support.topologies import read

NAME = "q\"'`$(id)\x1b[2J,é\u202e"


def awkward(folder: Path) -> Needs:
    return needs(read(folder, f"streams: {{{json.dumps(NAME)}: {{subjects: [a]}}}}\n"))


async def allowed(user: User) -> list[str]:
    nc = await user.connect()
    said: dict[str, Any] = json.loads((await nc.request("$SYS.REQ.USER.INFO", b"", timeout=5)).data)
    await nc.close()
    return sorted(said["data"]["permissions"]["publish"]["allow"])


def test_a_server_reads_the_printed_block_as_it_was_meant(tmp_path: Path) -> None:
    own = awkward(tmp_path)
    with NatsServer(config=users({"ci": own})) as server:
        assert asyncio.run(allowed(User(server, "ci"))) == sorted(need.subject for need in own.publish)


def test_a_shell_hands_every_subject_to_nsc_whole(tmp_path: Path) -> None:
    own = awkward(tmp_path)
    script = nsc_lines(own, "t", "ci").replace("nsc edit user", "printf '%s\\n'")
    done = subprocess.run(["bash", "-c", script], capture_output=True, check=True)
    handed = {next(csv.reader([line]))[0] for line in done.stdout.decode().splitlines()}
    assert {need.subject for need in own.publish} <= handed
