"""Real nats-servers that live as long as this process: loopback only, ready when they are handed out.

Their ports stay reserved before a server starts on them and while it is stopped. Rehearsals run on them, and so do the
tests.

A JetStream cluster of our own nodes, handed out when its meta group has a leader that sees every node.
"""

from __future__ import annotations

import asyncio
import contextlib
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
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeVar

import nats
from nats.aio.client import Client
from nats.errors import Error as NatsError

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
                self._wait_while_starting(deadline)
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

    def _wait_while_starting(self, deadline: float) -> None:
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


T = TypeVar("T")
SYSTEM = ("sys", "sys")
UNKNOWN = "known-nowhere"
"""A stream and a tag that nothing has."""
_SYSTEM_ACCOUNT = "accounts { SYS: {users: [{user: sys, password: sys}]} }\nsystem_account: SYS\n"


class Cluster:
    """Nodes that find each other over loopback."""

    def __init__(
        self,
        make: Callable[[str, Callable[[], str], Settings | bool], Node],
        config: str = "",
        *,
        size: int = 3,
        name: str = "C1",
        jetstream: Settings | bool = True,
        tags: Sequence[str] = (),
        system: tuple[str, str] | None = None,
        user: tuple[str, str] | None = None,
    ) -> None:
        """Prepare a cluster. `make` gives a node of this name, configuration and JetStream. `config` is the same on all
        of them; if it has a system account, `system` is a user of it, and `user` one of an account with JetStream. Each
        node has all `tags`, with `{i}` as its number."""
        self.name = name
        self._system = system or SYSTEM
        self._user = user
        self._common = config if system else config + "\n" + _SYSTEM_ACCOUNT
        self._tags = tags
        self.nodes: list[Node] = []
        self.nodes += [make(f"{name}-{i}", partial(self._text, i), jetstream) for i in range(size)]

    def _text(self, i: int) -> str:
        tags = [tag.replace("{i}", str(i)) for tag in self._tags]
        tagged = f"server_tags: {json.dumps(tags)}\n" if tags else ""
        return self._common + "\n" + tagged + self._cluster_config(i)

    def _cluster_config(self, i: int) -> str:
        ports = [node.reserve("cluster") for node in self.nodes]
        routes = ", ".join(f'"nats://127.0.0.1:{port}"' for j, port in enumerate(ports) if j != i)
        listen = f"127.0.0.1:{ports[i]}"
        return f'cluster {{ name: {json.dumps(self.name)}, listen: "{listen}", routes: [{routes}], pool_size: -1 }}\n'

    @property
    def urls(self) -> list[str]:
        """Return where clients connect: one URL for each node that runs now."""
        return [node.url for node in self.nodes if node.is_running]

    @property
    def url(self) -> str:
        """Return the first of `urls`. Raises IndexError while no node runs."""
        return self.urls[0]

    def start(self) -> Self:
        """Start every node and wait until the cluster is ready. Raises RuntimeError if it does not become ready in
        time."""
        for node in self.nodes:
            node.start()
        self.wait_until_ready()
        return self

    def wait_until_ready(self) -> None:
        """Wait until the meta group has a leader, every node is there and current, and where a user is known, replicas
        can be placed on all of them."""
        self._wait_for(self._is_ready)

    def _wait_for(self, look: Callable[[], Awaitable[T | None]]) -> T:
        """Wait until there is something to see."""
        deadline = time.monotonic() + 3 * START_TIMEOUT
        with waiting(f"for {len(self.nodes)} throw-away nats-servers to agree on a leader", 3 * START_TIMEOUT):
            while not (result := asyncio.run(_look_or_none(look))):
                if time.monotonic() > deadline:
                    logs = "\n".join(n.log[-2000:] for n in self.nodes)
                    raise RuntimeError(f"the cluster did not become ready:\n{logs}")
                time.sleep(0.05)  # the meta group announces nothing before it has a leader
        return result

    async def _is_ready(self) -> bool:
        return _has_agreed_leader(await self._ask_nodes(), len(self.nodes)) and await self._knows_all_peers()

    async def _knows_all_peers(self) -> bool:
        """Does the leader know the room of all nodes? The leader of 2.11 places nothing on a node that has not reported
        its room, and shows that only to a request for replicas. These are for tags that no node has, so they are
        refused in any case."""
        if self._user is None:
            return True
        wanted = {"num_replicas": len(self.nodes), "max_bytes": 1, "placement": {"tags": [UNKNOWN]}}
        nc = await self._connect(self._user)
        try:
            body = json.dumps({"name": UNKNOWN, **wanted}).encode()
            answer = await nc.request(f"$JS.API.STREAM.CREATE.{UNKNOWN}", body, timeout=2)
        finally:
            await nc.close()
        return b"peer offline" not in answer.data

    async def _ask_nodes(self) -> dict[str, dict[str, Any]]:
        nc = await self._connect(self._system)
        try:
            return await self._meta_views(nc)
        finally:
            await nc.close()

    async def _connect(self, login: tuple[str, str]) -> Client:
        user, password = login
        return await nats.connect(self.url, user=user, password=password, allow_reconnect=False, connect_timeout=2)

    async def _meta_views(self, nc: Client) -> dict[str, dict[str, Any]]:
        """Return what each running node says about the meta group, by node name."""
        inbox = nc.new_inbox()
        answers = await nc.subscribe(inbox)
        await nc.publish("$SYS.REQ.SERVER.PING.JSZ", b"{}", reply=inbox)
        infos = [json.loads((await answers.next_msg(timeout=1)).data) for node in self.nodes if node.is_running]
        return {answer["server"]["name"]: answer["data"].get("meta_cluster") or {} for answer in infos}

    def close(self) -> None:
        """End every node, as `Node.close` does."""
        for node in self.nodes:
            node.close()

    def __enter__(self) -> Self:
        return self if self.nodes[0].is_running else self.start()

    def __exit__(self, *_: object) -> None:
        self.close()


async def _look_or_none(look: Callable[[], Awaitable[T | None]]) -> T | None:
    """Return what a look shows; None also where a server does not answer yet."""
    with contextlib.suppress(NatsError, OSError, asyncio.TimeoutError):
        return await look()
    return None


def _has_agreed_leader(views: dict[str, dict[str, Any]], size: int) -> bool:
    """Do all name one leader, and does the leader know every running node as current? Followers cannot know that."""
    leaders = {view.get("leader") for view in views.values()}
    leader = views.get(next(iter(leaders)) or "", {}) if len(leaders) == 1 else {}
    current = {peer["name"] for peer in leader.get("replicas") or () if peer.get("current")}
    return leader.get("cluster_size") == size and len(current & set(views)) == len(views) - 1
