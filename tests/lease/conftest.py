"""Appliers with short leases."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.cli.running import environment
from tests.support.accounts import Account

TTL = 2
HEADER = "reconciler: 1\ntopology: t\n"


@dataclass(slots=True)
class Applier:
    """A process that applies; what it says is read line by line."""

    process: asyncio.subprocess.Process

    @classmethod
    @asynccontextmanager
    async def started(cls, folder: Path, account: Account, text: str, ttl: int = TTL) -> AsyncIterator[Applier]:
        """It makes its plan and waits to be told; killed after the block, whatever it does then."""
        file = written(folder, text)
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.lease.applying", str(file), account.url, account.user, str(ttl),
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, env=environment(folder),
        )  # fmt: skip
        try:
            yield cls(process)
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.communicate()

    async def has_planned(self) -> None:
        assert await self.says() == "planned"

    def goes(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b"\n")

    async def says(self, within: float = 30) -> str:
        assert self.process.stdout is not None
        line = await asyncio.wait_for(self.process.stdout.readline(), within)
        return line.decode().strip()

    async def last(self) -> str:
        """What it says in the end."""
        assert self.process.stdout is not None
        lines = (await asyncio.wait_for(self.process.stdout.read(), 60)).decode().split("\n")
        await self.process.wait()
        return next((line for line in reversed(lines) if line), "")


def written(folder: Path, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / "topology.yaml"
    file.write_text(HEADER + text)
    return file


def streams(number: int) -> str:
    return "streams:\n" + "".join(f"  S{n}: {{subjects: [s.{n}]}}\n" for n in range(number))
