"""A fresh JetStream account per test on a server shared by many tests."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import nats
from nats.aio.client import Client

from tests.support.binaries import NEWEST, VERSIONS
from tests.support.clusters import Cluster
from tests.support.servers import NatsServer

ACCOUNTS = 400
"""Accounts per shared server; when they are used up, the next server starts."""

SYSTEM_USER = "sys"
PATIENT = "authorization: {timeout: 60}\n"
"""Else a server hangs up on whoever needs two seconds on a busy machine to say who he is."""


def accounts_config(number: int = ACCOUNTS) -> str:
    """Accounts a0, a1, … with JetStream and one user each, named like it, password too; and the system user `sys`."""
    lines = [f"a{n}: {{jetstream: enabled, users: [{{user: a{n}, password: a{n}}}]}}" for n in range(number)]
    lines.append(f"SYS: {{users: [{{user: {SYSTEM_USER}, password: {SYSTEM_USER}}}]}}")
    return PATIENT + "accounts {\n" + "\n".join(lines) + "\n}\nsystem_account: SYS\n"


async def connect(url: str, user: str, password: str, **options: Any) -> Client:
    """A client that fails at once and says nothing on its own."""
    quiet = {"allow_reconnect": False, "max_reconnect_attempts": 1, "reconnect_time_wait": 0.1, "error_cb": _quiet}
    return await nats.connect(url, user=user, password=password, **{**quiet, **options})


async def _quiet(_error: Exception) -> None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """An account of its own: nothing in it but what the test puts there."""

    server: NatsServer
    user: str
    password: str
    cluster: Cluster | None = None
    """The cluster the account lives in; None on a single server."""

    @property
    def url(self) -> str:
        return self.server.url

    @property
    def minor(self) -> str:
        return self.server.minor

    @property
    def version(self) -> str:
        return VERSIONS[self.minor]

    async def connect(self, **options: Any) -> Client:
        return await connect(self.url, self.user, self.password, **options)

    def ask(self, endpoint: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """What JetStream answers to a request that somebody makes by hand."""

        async def asked() -> dict[str, Any]:
            client = await self.connect()
            try:
                answer = await client.request(f"$JS.API.{endpoint}", json.dumps(body or {}).encode(), timeout=10)
                found: dict[str, Any] = json.loads(answer.data)
                return found
            finally:
                await client.close()

        return asyncio.run(asked())

    async def connect_system(self, **options: Any) -> Client:
        """As the system account's user."""
        return await connect(self.url, SYSTEM_USER, SYSTEM_USER, **options)


@dataclass(frozen=True, slots=True)
class User:
    """Somebody whom a server's own configuration names like their password."""

    server: NatsServer
    name: str

    async def connect(self) -> Client:
        return await connect(self.server.url, self.name, self.name)

    @property
    def login(self) -> tuple[str, ...]:
        return ("--server", self.server.url, "--user", self.name, "--password", self.name)


def _users() -> Iterator[str]:
    return (f"a{n}" for n in range(ACCOUNTS))


class Pool:
    """Hands out fresh accounts; servers start when the first of their accounts is wanted and end with `close`: a single one
    also when it has no fresh account left, since a test that has taken its last may take another elsewhere."""

    def __init__(self) -> None:
        self._servers: dict[str, tuple[NatsServer, Iterator[str]]] = {}
        self._used_up: list[NatsServer] = []
        self._clusters: dict[str, tuple[Cluster, Iterator[str]]] = {}

    def account(self, minor: str = NEWEST) -> Account:
        if minor not in self._servers:
            self._servers[minor] = (NatsServer(minor, accounts_config()).start(), _users())
        server, users = self._servers[minor]
        if (user := next(users, None)) is None:
            self._used_up.append(server)
            del self._servers[minor]
            return self.account(minor)
        return Account(server=server, user=user, password=user)

    def clustered(self, minor: str = NEWEST) -> Account:
        """In a cluster of three."""
        if minor not in self._clusters:
            started = Cluster(minor, accounts_config(), system=(SYSTEM_USER, SYSTEM_USER), user=("a0", "a0")).start()
            self._clusters[minor] = (started, _users())
        found, users = self._clusters[minor]
        if (user := next(users, None)) is None:
            found.close()
            del self._clusters[minor]
            return self.clustered(minor)
        return Account(server=found.nodes[0], user=user, password=user, cluster=found)

    def close(self) -> None:
        for server in (*self._used_up, *(server for server, _ in self._servers.values())):
            server.close()
        self._used_up.clear()
        self._servers.clear()
        self.close_clusters()

    def close_clusters(self, but: str | None = None) -> None:
        """All of them, or all but that of one minor version."""
        for minor in self._clusters.keys() - {but}:
            self._clusters.pop(minor)[0].close()
