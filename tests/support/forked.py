"""Processes forked off one that has imported everything: started ones in all but the half second that importing takes.

A forked command has its own folder, environment, streams and end, and can be killed. What a new interpreter does before
it comes to our code is not in it; for that, tests start one (`Shell.cold`).
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import IO, Any

import reconciler

Streams = tuple[IO[str], IO[str], IO[str]]
"""What it reads from, prints to and complains to."""


@dataclass(slots=True)
class Forked:
    """A process that runs, or has ended."""

    line: socket.socket
    pid: int
    _code: int | None = field(default=None, init=False)

    def wait(self, within: float | None = None) -> int:
        """Its exit code, or the signal that ended it as a negative number. Raises TimeoutError."""
        if self._code is None:
            self.line.settimeout(within)
            self._code = _number(self.line)
            self.line.close()
        return self._code

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def forked(
    module: str, *arguments: str, folder: Path, environment: Mapping[str, str], streams: Streams | None = None
) -> Forked:
    """`python -m MODULE ARGUMENTS` in this folder; nobody talks to it and nobody listens, unless streams are named."""
    if streams is None:
        with Path(os.devnull).open("r+") as nothing:
            return forked(module, *arguments, folder=folder, environment=environment, streams=(nothing,) * 3)
    ours, theirs = socket.socketpair()
    with theirs:
        socket.send_fds(_lifeline(), [b"."], [theirs.fileno(), *(stream.fileno() for stream in streams)])
    said = {"module": module, "arguments": arguments, "folder": str(folder), "environment": dict(environment)}
    ours.sendall(json.dumps(said).encode() + b"\n")
    return Forked(ours, _number(ours))


def _number(line: socket.socket) -> int:
    """The next one said there; one byte at a time, as nobody else's may be taken."""
    said = b""
    while (byte := line.recv(1)) != b"\n":
        if not byte:
            raise RuntimeError("the process that commands are forked off is gone")
        said += byte
    return int(said)


@cache
def _lifeline() -> socket.socket:
    """To the trunk, which lives as long as this is open."""
    ours, theirs = socket.socketpair()
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    with theirs:
        trunk = subprocess.Popen(
            [sys.executable, "-m", __name__, str(theirs.fileno())], pass_fds=[theirs.fileno()],
            cwd=Path(reconciler.__file__).parents[1], env={**environment, "PYTHONWARNINGS": "error"},
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        )  # fmt: skip

    def end() -> None:
        ours.close()
        trunk.wait()

    atexit.register(end)
    return ours


# -- the trunk


def _serve(lifeline: socket.socket) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        said, passed, _, _ = socket.recv_fds(lifeline, 1, 4)
        _bury()
        if not said:
            return
        if os.fork() == 0:
            lifeline.close()
            _tell(*passed)
        for one in passed:
            os.close(one)


def _bury() -> None:
    """Those that have ended since."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _tell(line: int, *streams: int) -> None:
    """Its number at once, and how it went in the end."""
    client = socket.socket(fileno=line)
    with client.makefile() as saying:
        said = json.loads(saying.readline())
    if (pid := os.fork()) == 0:
        client.close()
        _become(said, streams)
    client.sendall(f"{pid}\n".encode())
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    client.sendall(f"{code}\n".encode())
    os._exit(0)


def _become(said: Mapping[str, Any], streams: Sequence[int]) -> None:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(said["folder"])
    os.environ.clear()
    os.environ.update(said["environment"])
    time.tzset()
    sys.argv = [said["module"], *said["arguments"]]
    runpy.run_module(said["module"], run_name="__main__", alter_sys=True)
    sys.exit()


def _import_everything() -> None:
    """But Spark, and what only runs."""
    os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"  # as the program does it, before it imports any of this
    root = Path(reconciler.__file__).parent
    for file in sorted(root.rglob("*.py")):
        name = ".".join(("reconciler", *file.relative_to(root).with_suffix("").parts))
        if "fleet" not in name and not name.endswith("__main__"):
            importlib.import_module(name.removesuffix(".__init__"))
    gc.freeze()  # pages that nobody writes to are shared


if __name__ == "__main__":
    _import_everything()
    with socket.socket(fileno=int(sys.argv[1])) as from_the_tests:
        _serve(from_the_tests)
