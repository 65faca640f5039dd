"""The test servers themselves: what every other test with a server relies on."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support import accounts
from tests.support.accounts import Account, accounts_config
from tests.support.binaries import PROJECT, VERSIONS
from tests.support.clusters import cluster
from tests.support.jetstream import make_stream, talk
from tests.support.servers import running
from tests.support.versions import on_every_version


async def ask(account: Account, subject: str) -> dict[str, Any]:
    nc = await account.connect()
    try:
        answer: dict[str, Any] = json.loads((await nc.request(subject, b"{}", timeout=20)).data)
        return answer
    finally:
        await nc.close()


def create_stream(account: Account, name: str, replicas: int = 1) -> Mapping[str, Any]:
    return talk(account, lambda js: make_stream(js, name, subjects=[name], num_replicas=replicas))


def stream_names(account: Account) -> list[str]:
    return asyncio.run(ask(account, "$JS.API.STREAM.NAMES"))["streams"] or []


@on_every_version
def test_an_account_runs_on_the_version_it_asks_for(account: Account) -> None:
    async def version() -> str:
        nc = await account.connect()
        found = str(nc._server_info["version"])
        await nc.close()
        return found

    assert asyncio.run(version()) == account.version == VERSIONS[account.minor]


def test_two_accounts_of_one_server_see_nothing_of_each_other(new_account: Callable[..., Account]) -> None:
    one, other = new_account(), new_account()
    create_stream(one, "A")
    assert (stream_names(one), stream_names(other)) == (["A"], [])


def test_a_clustered_account_holds_streams_of_three_replicas(clustered_account: Account) -> None:
    assert len(create_stream(clustered_account, "A", replicas=3)["cluster"]["replicas"]) == 2


def test_the_system_user_sees_the_server(account: Account) -> None:
    async def server_name() -> str:
        nc = await account.connect_system()
        answer = json.loads((await nc.request("$SYS.REQ.SERVER.PING", b"", timeout=20)).data)
        await nc.close()
        return str(answer["server"]["name"])

    assert asyncio.run(server_name()) == account.server.name


def test_a_restarted_server_keeps_its_data_and_address() -> None:
    with running("2.11") as server:
        before = Account(server=server, user="", password="")
        create_stream(before, "A")
        url = server.url
        server.restart("2.15")
        assert (server.url, server.version, stream_names(before)) == (url, VERSIONS["2.15"], ["A"])


def test_a_killed_node_of_a_cluster_comes_back() -> None:
    system = (accounts.SYSTEM_USER, accounts.SYSTEM_USER)
    with cluster("2.11", config=accounts_config(1), system=system, user=("a0", "a0")) as nodes:
        nodes.nodes[1].kill()
        nodes.nodes[1].start()
        nodes.wait_until_ready()
        account = Account(server=nodes.nodes[1], user="a0", password="a0", cluster=nodes)
        assert len(create_stream(account, "A", replicas=3)["cluster"]["replicas"]) == 2


STARTS_AND_WAITS = """
import pathlib, sys; from tests.support.servers import NatsServer
server = NatsServer(home=pathlib.Path(sys.argv[1])).start()
print(server.pid, flush=True)
input()
"""


def test_servers_end_with_the_process_that_started_them(tmp_path: Path) -> None:
    environ = {**os.environ, "PYTHONPATH": str(PROJECT)}
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", STARTS_AND_WAITS, str(tmp_path)], env=environ, **pipes) as owner:
        assert owner.stdout is not None
        server = int(owner.stdout.readline())
        assert is_alive(server)
        owner.kill()
    deadline = time.monotonic() + 60
    while is_alive(server):
        assert time.monotonic() < deadline
        time.sleep(0.01)  # the end of somebody else's child is announced to nobody


def is_alive(pid: int) -> bool:
    """Running and not merely waiting to be forgotten by init."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_pool_goes_on_when_the_accounts_of_a_server_are_used_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accounts, "ACCOUNTS", 2)
    pool = accounts.Pool()
    handed_out = [pool.account() for _ in range(3)]
    assert [account.user for account in handed_out] == ["a0", "a1", "a0"]
    assert [stream_names(account) for account in handed_out] == [[], [], []]
    pool.close()
