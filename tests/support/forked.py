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
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import IO, Any

import typer

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
    running: dict[int, socket.socket] = {}
    with _woken_by_children() as woken:
        while True:
            ready, _, _ = select.select([lifeline, woken], [], [])
            if woken in ready:
                woken.recv(4096)
                _bury(running)
            if lifeline in ready:
                said, passed, _, _ = socket.recv_fds(lifeline, 1, 4)
                if not said:
                    return
                _start(running, lifeline, *passed)


@contextlib.contextmanager
def _woken_by_children() -> Iterator[socket.socket]:
    """Something can be read from it whenever a child has ended."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.setblocking(False)
        signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        yield ours


def _bury(running: dict[int, socket.socket]) -> None:
    """Tell how each went that has ended since."""
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            with running.pop(ended[0]) as client, contextlib.suppress(OSError):  # which may be gone as well
                client.sendall(f"{os.waitstatus_to_exitcode(ended[1])}\n".encode())


def _start(running: dict[int, socket.socket], lifeline: socket.socket, line: int, *streams: int) -> None:
    """Tell its number at once."""
    client = socket.socket(fileno=line)
    with client.makefile() as saying:
        said = json.loads(saying.readline())
    if (pid := os.fork()) == 0:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for other in (lifeline, client, *running.values()):
            other.close()
        _become(said, streams)
    for one in streams:
        os.close(one)
    running[pid] = client
    with contextlib.suppress(OSError):
        client.sendall(f"{pid}\n".encode())


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
    _make_what_is_made_once()
    gc.freeze()  # pages that nobody writes to are shared


def _make_what_is_made_once() -> None:
    """Commands, and what reading files needs to know of specs: each command would make its own again."""
    root: Any = typer.main.get_command(importlib.import_module("reconciler.cli.app").app)
    for name in root.commands:
        if name != "fleet":
            root.commands[name]
    shapes = importlib.import_module("reconciler.documents.parse.shape")
    for kind in importlib.import_module("reconciler.kinds").REGISTRY.by_name.values():
        shapes.shape_of_spec(kind.spec)


if __name__ == "__main__":
    _import_everything()
    with socket.socket(fileno=int(sys.argv[1])) as from_the_tests:
        _serve(from_the_tests)
