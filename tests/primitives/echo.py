"""Asks a real server what it makes of configurations: many at once, over one connection."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine, Iterable, Mapping
from types import TracebackType
from typing import Any, NamedTuple, TypeVar

from nats.aio.client import Client

from reconciler.model.wire.snapshot import Target
from reconciler.model.wire.version import Version
from tests.support.accounts import Account

Body = Mapping[str, Any]
T = TypeVar("T")


class Reply(NamedTuple):
    """The configuration a server echoed, or why it refused."""

    config: dict[str, Any] | None
    err_code: int = 0
    words: str = ""


class Request(NamedTuple):
    api: str
    body: Body


class Server:
    """One connection to a test's account, used from plain functions; requests of a batch are pipelined."""

    def __init__(self, account: Account) -> None:
        self.version = Version.parse(account.version)
        self.target = Target(version=self.version, peers=1)
        self._account = account
        self._runner = asyncio.Runner()

    def __enter__(self) -> Server:
        self._nc: Client = self._runner.run(self._account.connect())
        return self

    def __exit__(self, _kind: type[BaseException] | None, _error: object, _trace: TracebackType | None) -> None:
        self._runner.run(self._nc.close())
        self._runner.close()

    @property
    def client(self) -> Client:
        """The connection itself, for use in what `run` runs."""
        return self._nc

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(work)

    def ask(self, requests: Iterable[Request]) -> list[Any]:
        async def together() -> list[Any]:
            return await asyncio.gather(*(self._one(request) for request in requests))

        return self._runner.run(together())

    async def _one(self, request: Request) -> Any:
        answer = await self._nc.request("$JS.API." + request.api, json.dumps(request.body).encode(), timeout=20)
        return json.loads(answer.data)

    def replies(self, requests: Iterable[Request]) -> list[Reply]:
        return [_reply(answer) for answer in self.ask(requests)]

    def create_streams(self, bodies: Mapping[str, Body]) -> list[Reply]:
        return self.replies(Request(f"STREAM.CREATE.{name}", {**b, "name": name}) for name, b in bodies.items())

    def update_streams(self, bodies: Mapping[str, Body]) -> list[Reply]:
        return self.replies(Request(f"STREAM.UPDATE.{name}", {**b, "name": name}) for name, b in bodies.items())

    def consumers(self, stream: str, bodies: Mapping[str, Body], action: str = "create") -> list[Reply]:
        return self.replies(
            Request(
                f"CONSUMER.CREATE.{stream}.{name}",
                {"stream_name": stream, "action": action, "config": {"durable_name": name, **body}},
            )
            for name, body in bodies.items()
        )

    def listed_streams(self) -> dict[str, Body]:
        return self._listed("STREAM.LIST", "streams")

    def listed_consumers(self, stream: str) -> dict[str, Body]:
        return self._listed(f"CONSUMER.LIST.{stream}", "consumers")

    def _listed(self, api: str, key: str) -> dict[str, Body]:
        (page,) = self.ask([Request(api, {"offset": 0})])
        assert page["total"] <= page["limit"], "a batch fits one page"
        return {item["config"].get("name") or item["name"]: item["config"] for item in page[key] or ()}

    def delete_streams(self, names: Iterable[str]) -> None:
        async def together() -> None:
            await asyncio.gather(
                *(self._nc.request(f"$JS.API.STREAM.DELETE.{name}", b"", timeout=20) for name in names)
            )

        self._runner.run(together())

    def delete_consumers(self, stream: str, names: Iterable[str]) -> None:
        self.delete_named(f"CONSUMER.DELETE.{stream}", names)

    def delete_named(self, api: str, names: Iterable[str]) -> None:
        async def together() -> None:
            await asyncio.gather(*(self._nc.request(f"$JS.API.{api}.{name}", b"", timeout=20) for name in names))

        self._runner.run(together())


def _reply(answer: dict[str, Any]) -> Reply:
    if error := answer.get("error"):
        return Reply(None, error.get("err_code", 0), error.get("description", ""))
    return Reply(answer["config"])
