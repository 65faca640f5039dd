"""`reconciler apply` as a process that can be killed: forked off one that has everything imported already."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import reconciler.cli.account.apply  # noqa: F401 - the commands are imported when they are needed; here they are forked
from reconciler.cli.run import run

_PROCESSES = get_context("forkserver")
_PROCESSES.set_forkserver_preload([__name__])


def warmed(module: str) -> None:
    """Processes are forked off one that has imported this, too; to be said before the first of them."""
    _PROCESSES.set_forkserver_preload([__name__, module])


def applying(folder: Path, *arguments: str, said: str = "said", **environment: str) -> ForkServerProcess:
    """Runs in this folder, and writes what it says into the file `said` there."""
    return _PROCESSES.Process(target=_apply, args=(folder, arguments, said, environment), daemon=True)


async def ended(process: ForkServerProcess, within: float | None = None) -> None:
    """Waits so long for its end. In the thread that starts others: each start looks how all before it fare, and of two
    threads that ask the same process how it ended, one is told 255."""
    over, loop = asyncio.Event(), asyncio.get_running_loop()
    loop.add_reader(process.sentinel, over.set)
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                await over.wait()
    finally:
        loop.remove_reader(process.sentinel)


def _apply(folder: Path, arguments: tuple[str, ...], said: str, environment: dict[str, str]) -> None:
    os.chdir(folder)
    for name in [name for name in os.environ if name.startswith("NATS_")]:
        del os.environ[name]
    os.environ |= {"HOME": str(folder), **environment}
    with Path(os.devnull).open() as nothing, Path(said).open("w") as paper:
        sys.stdin, sys.stdout, sys.stderr = nothing, paper, paper
        code = run(("apply", *arguments))
    os._exit(code)
