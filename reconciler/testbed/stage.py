"""Throw-away servers that represent a real account: same version, account, cluster and domain names, same limits.

The process that starts them may be killed: then the kernel ends the servers, and a process that waits for nothing else
removes their folder.
"""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path

from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import CannotContinue, Diagnostic, Severity
from reconciler.model.resource import Json
from reconciler.model.wire.snapshot import Target
from reconciler.server.connect.options import ConnectOptions
from reconciler.testbed.node import Cluster, Node, Settings

ROOM = 1 << 50
"""Bytes that may be reserved; nothing is stored."""
LIMITS = {
    "max_memory": "max_mem", "max_storage": "max_file", "max_streams": "max_streams", "max_consumers": "max_consumers",
    "max_ack_pending": "max_ack_pending", "memory_max_stream_bytes": "mem_max_stream_bytes",
    "storage_max_stream_bytes": "disk_max_stream_bytes", "max_bytes_required": "max_bytes_required",
}  # fmt: skip
"""Names in `$JS.API.INFO` → names in a server's configuration."""
DEFAULT = "$G"
"""The account of servers that have none of their own: nobody may declare it, nor give it limits."""
_SYSTEM = "stage"
# Its standard input ends when this process does, however that happens. Dying servers may still write: hence the attempts.
_SWEEP = (
    "import os, shutil, sys, time\n"
    "sys.stdin.read()\n"
    "for pause in [0] + [0.2] * 100:\n"
    "    time.sleep(pause * os.path.exists(sys.argv[1]))\n"
    "    shutil.rmtree(sys.argv[1], ignore_errors=True)\n"
)


@dataclass(frozen=True, slots=True)
class Cast:
    """What the stage has to look like."""

    target: Target
    size: int = 1
    """Nodes; more than one make a cluster."""
    tags: tuple[str, ...] = ()
    """Server tags that placements ask for; every node has them all."""


@dataclass(frozen=True, slots=True)
class Stage:
    servers: Node | Cluster
    account: str = "STAGE"
    password: str = field(default="", repr=False)
    domain: str | None = None

    @property
    def nodes(self) -> list[Node]:
        """Return the servers of the stage; a single one where it is no cluster."""
        return self.servers.nodes if isinstance(self.servers, Cluster) else [self.servers]

    def options(self) -> ConnectOptions:
        """Return how to connect to the stage as a user of its account."""
        return ConnectOptions(
            servers=ConnectOptions.to(self.nodes[0].url).servers, user=_SYSTEM + "-user", password=self.password,
            js_domain=self.domain, timeout=20.0,
        )  # fmt: skip

    def start(self, program: Path) -> None:
        """Start on existing stores, if any. Raises CannotContinue where this program does not serve them."""
        for node in self.nodes:
            node.program = program
        try:
            self.servers.start()
        except (RuntimeError, OSError) as error:
            raise CannotContinue(_stage_failure(program, error)) from error

    def restart(self, program: Path) -> None:
        """Restart on the same stores, as another version."""
        for node in self.nodes:
            node.stop()
        self.start(program)


def _stage_failure(program: Path, error: Exception) -> Diagnostic:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return Diagnostic(
        severity=Severity.ERROR, code="NA125", name="stage-failed",
        message=f"a throw-away server of the rehearsal did not start: {lines[-1] if lines else type(error).__name__}",
        fix=f"check that {program} runs on this machine; the account was not touched",
    )  # fmt: skip


@contextmanager
def stage(cast: Cast, program: Path) -> Iterator[Stage]:
    """Run until the block is left; then everything is gone."""
    with _temporary_folder() as folder:
        built = _build_stage(cast, program, folder)
        try:
            built.start(program)
            yield built
        finally:
            built.servers.close()


@contextmanager
def _temporary_folder() -> Iterator[Path]:
    folder = tempfile.mkdtemp(prefix="reconciler-stage-")
    sweeper = [sys.executable, "-ISc", _SWEEP, folder]
    with subprocess.Popen(sweeper, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True):
        yield Path(folder)


def _build_stage(cast: Cast, program: Path, folder: Path) -> Stage:
    password, target = secrets.token_urlsafe(16), cast.target
    settings: Settings = {"max_memory_store": ROOM, "max_file_store": ROOM}
    if target.domain:
        settings = {**settings, "domain": target.domain}
    account, config = target.account or "STAGE", _server_config(cast, password)
    if cast.size == 1:
        node = Node(program, config, jetstream=settings, home=folder / "1")
        return Stage(node, account, password, target.domain)

    def make(name: str, text: Callable[[], str], jetstream: Settings | bool) -> Node:
        return Node(program, text, name=name, jetstream=jetstream, home=folder / name.rpartition("-")[2])

    cluster = Cluster(
        make, config, size=cast.size, name=target.cluster or "stage", jetstream=settings, tags=cast.tags,
        system=(_SYSTEM, password), user=(_SYSTEM + "-user", password),
    )  # fmt: skip
    return Stage(cluster, account, password, target.domain)


def _server_config(cast: Cast, password: str) -> str:
    system = {f"{_SYSTEM}-system": {"users": [{"user": _SYSTEM, "password": password}]}}
    users = [{"user": f"{_SYSTEM}-user", "password": password}]
    limits = _limits(cast.target.limits)
    name = cast.target.account or "STAGE"
    if name == DEFAULT:
        settings: dict[str, Json] = {"accounts": system, "authorization": {"users": users}}
    else:
        settings = {"accounts": {**system, name: {"users": users, "jetstream": limits or "enabled"}}}
    settings["system_account"] = f"{_SYSTEM}-system"
    return "".join(f"{key}: {json.dumps(value)}\n" for key, value in settings.items())


def _limits(limits: Mapping[str, Json]) -> dict[str, Json]:
    """Leave out unlimited values; nothing at all means no limits."""
    return {
        ours: limits[theirs] for theirs, ours in LIMITS.items() if limits.get(theirs, -1) not in (-1, 0, False, None)
    }
