"""The test servers themselves: what every other test with a server relies on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from tests.support.accounts import Account
from tests.support.binaries import VERSIONS
from tests.support.versions import on_every_version


async def ask(account: Account, subject: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    nc = await account.connect()
    try:
        answer: dict[str, Any] = json.loads((await nc.request(subject, json.dumps(body or {}).encode())).data)
        return answer
    finally:
        await nc.close()


def create_stream(account: Account, name: str, replicas: int = 1) -> dict[str, Any]:
    body = {"name": name, "subjects": [name], "num_replicas": replicas}
    return asyncio.run(ask(account, f"$JS.API.STREAM.CREATE.{name}", body))


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
        answer = json.loads((await nc.request("$SYS.REQ.SERVER.PING", b"")).data)
        await nc.close()
        return str(answer["server"]["name"])

    assert asyncio.run(server_name()) == account.server.name
