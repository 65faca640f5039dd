"""Throw-away servers that stand for a real account: same version, account, cluster and domain names, same limits."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from reconciler.core.resource import Json
from reconciler.core.wire import Target
from reconciler.server.cluster import Cluster
from reconciler.server.node import Node, Settings
from reconciler.server.options import ConnectOptions

ROOM = 1 << 50
"""Bytes that may be reserved; nothing is stored."""
LIMITS = {
    "max_memory": "max_mem", "max_storage": "max_file", "max_streams": "max_streams", "max_consumers": "max_consumers",
    "max_ack_pending": "max_ack_pending", "memory_max_stream_bytes": "mem_max_stream_bytes",
    "storage_max_stream_bytes": "disk_max_stream_bytes", "max_bytes_required": "max_bytes_required",
}  # fmt: skip
"""Names in `$JS.API.INFO` → names in a server's configuration."""
_SYSTEM = "stage"


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
    nodes: list[Node]
    wait: Callable[[], None] = field(repr=False)
    account: str = "STAGE"
    password: str = field(default="", repr=False)
    domain: str | None = None

    def options(self) -> ConnectOptions:
        return ConnectOptions(
            servers=ConnectOptions.to(self.nodes[0].url).servers, user=_SYSTEM + "-user", password=self.password,
            js_domain=self.domain, timeout=20.0,
        )  # fmt: skip

    def restart(self, program: Path) -> None:
        """The same stores, as another version."""
        for node in self.nodes:
            node.stop()
        for node in self.nodes:
            node.restart(program)
        self.wait()


@contextmanager
def stage(cast: Cast, program: Path) -> Iterator[Stage]:
    """Runs until the block is left; then everything is gone."""
    password, target = secrets.token_urlsafe(16), cast.target
    settings: Settings = {"max_memory_store": ROOM, "max_file_store": ROOM}
    if target.domain:
        settings = {**settings, "domain": target.domain}
    account, config = target.account or "STAGE", _config(cast, password)
    if cast.size == 1:
        with Node(program, config, jetstream=settings) as node:
            yield Stage([node], lambda: None, account, password, target.domain)
        return

    def make(name: str, text: Callable[[], str], jetstream: Settings | bool) -> Node:
        return Node(program, text, name=name, jetstream=jetstream)

    cluster = Cluster(
        make, config, size=cast.size, name=target.cluster or "stage", jetstream=settings, tags=cast.tags,
        system=(_SYSTEM, password),
    )  # fmt: skip
    with cluster:
        yield Stage(cluster.nodes, cluster.wait_until_ready, account, password, target.domain)


def _config(cast: Cast, password: str) -> str:
    name = cast.target.account or "STAGE"
    limits = _limits(cast.target.limits)
    accounts = {
        f"{_SYSTEM}-system": {"users": [{"user": _SYSTEM, "password": password}]},
        name: {"users": [{"user": f"{_SYSTEM}-user", "password": password}], "jetstream": limits or "enabled"},
    }
    return f"accounts: {json.dumps(accounts)}\nsystem_account: {json.dumps(f'{_SYSTEM}-system')}\n"


def _limits(limits: Mapping[str, Json]) -> dict[str, Json]:
    """What is unlimited is left out; nothing at all means no limits."""
    return {
        ours: limits[theirs] for theirs, ours in LIMITS.items() if limits.get(theirs, -1) not in (-1, 0, False, None)
    }
