"""Real nats-servers that live as long as this process: loopback only, ready when they are handed out.

Their ports stay reserved before a server starts on them and while it is stopped. Rehearsals run on them, and so do the
tests."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

from reconciler.model.waits import waiting


class ReservedPort:
    """A loopback port chosen by the OS and kept by a bound socket that never listens: on Linux a server (they all set
    SO_REUSEADDR) can listen there all the same, while nobody else gets it."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.bind(("127.0.0.1", 0))
        self.number: int = self._socket.getsockname()[1]
        if sys.platform != "linux":
            self.release()  # elsewhere the bound socket would be in the server's way

    def release(self) -> None:
        """Release the port: from now on the OS may give it to anybody."""
        self._socket.close()


START_TIMEOUT = 60.0
"""Seconds; a start takes about 0.2, this is for machines under load."""

# The kernel ends the server when the process that started it is gone, however it went. It is a program of its own because
# `preexec_fn` is unsafe with threads. The signal is tied to the starting *thread*: start servers from the main one.
# A process that was gone before the server asked for the signal sends none; then somebody else is its parent.
_DIE_WITH_PARENT = (
    "import ctypes, os, sys\n"
    "if sys.platform == 'linux': ctypes.CDLL(None).prctl(1, 9)\n"
    "if os.getppid() == int(sys.argv[1]): os.execv(sys.argv[2], sys.argv[2:])\n"
)

Settings = Mapping[str, Any]
Config = str | Settings | Callable[[], str]
"""Text in the server's own format, or a mapping, or a function that makes the text at each start."""


class Node:
    """One nats-server process over a store that outlives it: stop, kill and restart it, also as another program."""

    def __init__(
        self,
        program: Path,
        config: Config = "",
        *,
        jetstream: bool | Settings = True,
        name: str | None = None,
        home: Path | None = None,
        below: Path | None = None,
    ) -> None:
        """Prepare a server. `config` is added to the top level of the server's own file; `jetstream` may hold keys such
        as `domain`. A `home` stays when it closes; without one it makes a folder that goes, `below` this one or among
        temporary files."""
        self.program = program
        self.name = name or f"n-{secrets.token_hex(4)}"
        self.home = home or Path(tempfile.mkdtemp(prefix="reconciler-nats-", dir=below))
        self._reserved = {"client": ReservedPort()}
        self._config = config
        self._jetstream = jetstream
        self._processes: list[subprocess.Popen[bytes]] = []
        owned = None if home else self.home
        self._finalizer = weakref.finalize(self, _clean_up, self._processes, self._reserved, owned)

    @property
    def port(self) -> int:
        """Return the port, which is the same for the whole life of this object."""
        return self.reserve("client")

    @property
    def url(self) -> str:
        """Return where clients on this machine connect; it stays the same over restarts."""
        return f"nats://127.0.0.1:{self.port}"

    @property
    def store(self) -> Path:
        """Return where JetStream keeps its files; they stay when the process ends."""
        return self.home / "store"

    def reserve(self, purpose: str) -> int:
        """Reserve a port of this server's own for a further listener: cluster, monitoring, leafnodes."""
        if purpose not in self._reserved:
            self._reserved[purpose] = ReservedPort()
        return self._reserved[purpose].number

    @property
    def pid(self) -> int:
        """Return the process id of the server. Raises IndexError while it is stopped."""
        return self._processes[0].pid

    @property
    def log(self) -> str:
        """Return all that the server has logged, over every start; empty before the first one."""
        return (self.home / "log").read_text() if (self.home / "log").exists() else ""

    @property
    def is_running(self) -> bool:
        """Is the process alive? It need not accept clients yet."""
        return any(process.poll() is None for process in self._processes)

    def start(self) -> Self:
        """Run until `stop`; returns when clients can connect."""
        self._launch()
        deadline = time.monotonic() + START_TIMEOUT
        with waiting(f"for a throw-away nats-server to start ({self.program})", START_TIMEOUT):
            while not _accepts(self.port):
                self._still_starting(deadline)
        return self

    def stop(self) -> None:
        """Shut down cleanly, as an operator would."""
        self._end(subprocess.Popen.terminate)

    def kill(self) -> None:
        """Kill, as a power cut would."""
        self._end(subprocess.Popen.kill)

    def restart(self, program: Path | None = None) -> Self:
        """Restart on the same store and port, as another program if one is named."""
        self.stop()
        self.program = program or self.program
        return self.start()

    def close(self) -> None:
        """End the process and remove its files."""
        self._finalizer()

    def __enter__(self) -> Self:
        return self if self.is_running else self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _launch(self) -> None:
        self.home.mkdir(parents=True, exist_ok=True)
        conf = self.home / "server.conf"
        conf.write_text(self._config_text())
        server = [str(self.program), "-c", str(conf), "-l", str(self.home / "log")]
        with (self.home / "output").open("ab") as output:
            process = subprocess.Popen(
                [sys.executable, "-ISc", _DIE_WITH_PARENT, str(os.getpid()), *server],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self._processes.append(process)

    def _config_text(self) -> str:
        own: dict[str, Any] = {"listen": f"127.0.0.1:{self.port}", "server_name": self.name}
        if self._jetstream is not False:
            limits = {"max_memory_store": 16 << 30, "max_file_store": 1 << 40, "store_dir": str(self.store)}
            own["jetstream"] = {**limits, **(self._jetstream if isinstance(self._jetstream, Mapping) else {})}
        if isinstance(self._config, Mapping):
            return json.dumps({**own, **self._config}, indent=1)
        added = self._config if isinstance(self._config, str) else self._config()
        return "\n".join([*(f"{key}: {json.dumps(value)}" for key, value in own.items()), added])

    def _still_starting(self, deadline: float) -> None:
        if not self.is_running or time.monotonic() > deadline:
            output = (self.home / "output").read_text()
            raise RuntimeError(f"{self.program} did not start:\n{output}{self.log[-4000:]}")
        time.sleep(0.01)  # nothing announces that a port is open

    def _end(self, how: Callable[[subprocess.Popen[bytes]], None]) -> None:
        while self._processes:
            how(self._processes[0])
            self._processes[0].wait(timeout=START_TIMEOUT)
            self._processes.pop()


def _clean_up(processes: list[subprocess.Popen[bytes]], reserved: dict[str, ReservedPort], home: Path | None) -> None:
    """Clean up at `close`, when the object is collected, or when Python exits: whichever comes first."""
    while processes:
        process = processes.pop()
        process.kill()
        process.wait()
    for port in reserved.values():
        port.release()
    if home is not None:
        shutil.rmtree(home, ignore_errors=True)


def _accepts(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True
