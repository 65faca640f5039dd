"""Appliers with short leases."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tests.cli.running import environment
from tests.support.accounts import Account
from tests.support.forked import Forked, forked

TTL = 5
"""Seconds of a lease that somebody waits out, long enough to be seen by them first; who keeps theirs has a longer one."""
HEADER = "reconciler: 1\ntopology: t\n"


@dataclass(slots=True)
class Applier:
    """A process that applies; what it says is read line by line."""

    process: Forked
    ear: IO[str]
    """What goes in there it hears."""
    voice: asyncio.StreamReader

    @classmethod
    @asynccontextmanager
    async def started(cls, folder: Path, account: Account, text: str, ttl: int = 20) -> AsyncIterator[Applier]:
        """It makes its plan and waits to be told; killed after the block, whatever it does then."""
        line = (str(written(folder, text)), account.url, account.user, str(ttl))
        (hears, ear), (mouth, says) = _pipe(), _pipe()
        with hears, says, Path(os.devnull).open("w") as nothing:  # noqa: ASYNC230 - it is no file
            process = forked(
                "tests.lease.applying", *line, folder=folder, environment=environment(folder),
                streams=(hears, says, nothing),
            )  # fmt: skip
        voice = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        reading, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(voice), mouth)
        try:
            yield cls(process, ear, voice)
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await asyncio.to_thread(process.wait, 60)
            reading.close()
            ear.close()

    async def has_planned(self) -> None:
        assert await self.says() == "planned"

    def goes(self, how: str = "") -> None:
        self.ear.write(f"{how}\n")
        self.ear.flush()

    async def says(self, within: float = 60) -> str:
        line = await asyncio.wait_for(self.voice.readline(), within)
        return line.decode().strip()

    async def last(self) -> str:
        """What it says in the end."""
        lines = (await asyncio.wait_for(self.voice.read(), 120)).decode().split("\n")
        return next((line for line in reversed(lines) if line), "")


def _pipe() -> tuple[IO[str], IO[str]]:
    """Where to read what is written where."""
    source, sink = os.pipe()
    return os.fdopen(source), os.fdopen(sink, "w")


def written(folder: Path, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / "topology.yaml"
    file.write_text(HEADER + text)
    return file


def streams(number: int) -> str:
    return "streams:\n" + "".join(f"  S{n}: {{subjects: [s.{n}]}}\n" for n in range(number))
