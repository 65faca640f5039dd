"""What happens between two examples of a page without the reader typing it: messages come in, somebody changes things by hand.

A page asks for one in a comment: `<!-- scene: publish orders.eu.ann 500 -->`; `@eu publish …` is about that context's account.
"""

from __future__ import annotations

import asyncio
import json
import shlex
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import nats
from nats.aio.client import Client
from nats.js.api import KeyValueConfig

from reconciler.server.wire.api import JetStream
from tests.cli.running import EXAMPLES
from tests.support.jetstream import done

Scene = Callable[..., Awaitable[None]]


def play(words: str, folder: Path, address: Callable[[str | None], str]) -> None:
    """The scene of that name."""
    name, *said = shlex.split(words)
    context = name[1:] if name.startswith("@") else None
    if context:
        name, *said = said
    if name == "example":
        _example(folder, *said)
    else:
        asyncio.run(_with_client(SCENES[name], address(context), said))


def said(url: str, subject: str) -> dict[str, Any]:
    """What a server answers to this request of JetStream's API."""

    async def ask() -> dict[str, Any]:
        client = await nats.connect(url)
        try:
            return await _asked(client, subject, {})
        finally:
            await client.close()

    return asyncio.run(ask())


def _example(folder: Path, name: str, where: str = "") -> None:
    """A copy of something in examples/."""
    source = EXAMPLES / name
    target = folder / (where or name)
    target.parent.mkdir(parents=True, exist_ok=True)
    (shutil.copytree if source.is_dir() else shutil.copy)(source, target)


async def _with_client(scene: Scene, url: str, said: list[str]) -> None:
    client = await nats.connect(url)
    try:
        await scene(client, *said)
    finally:
        await client.close()


async def _publish(client: Client, subject: str, count: str, size: str = "64") -> None:
    """So many messages; `{n}` in the subject is the number of each."""
    js = client.jetstream()
    for number in range(int(count)):
        await js.publish(subject.replace("{n}", str(number)), b"x" * int(size))


async def _stream(client: Client, name: str, config: str) -> None:
    await _asked(client, f"STREAM.CREATE.{name}", {"name": name, **json.loads(config)})


async def _update(client: Client, name: str, config: str) -> None:
    """As somebody with the nats CLI does: the live configuration with these fields changed."""
    live = await _asked(client, f"STREAM.INFO.{name}", {})
    await _asked(client, f"STREAM.UPDATE.{name}", {**live["config"], **json.loads(config)})


async def _consumer(client: Client, stream: str, name: str, config: str) -> None:
    wanted = {"durable_name": name, "name": name, "ack_policy": "explicit", **json.loads(config)}
    await _asked(client, f"CONSUMER.CREATE.{stream}.{name}", {"stream_name": stream, "config": wanted})


async def _work(client: Client, stream: str, consumer: str, count: str, acknowledged: str = "") -> None:
    """A client that takes so many messages one by one, and acknowledges so many of them (all when not said)."""
    waiting = await client.jetstream().pull_subscribe_bind(consumer=consumer, stream=stream)
    for taken in range(int(count)):
        (message,) = await waiting.fetch(1, timeout=10)
        if taken < int(acknowledged or count):
            await message.ack_sync()


async def _holds(client: Client, stream: str, count: str) -> None:
    """What copies another stream has so many messages by now."""
    while True:
        if (await _asked(client, f"STREAM.INFO.{stream}", {}))["state"]["messages"] >= int(count):
            return
        await asyncio.sleep(0.05)  # nothing announces that a stream has copied everything


async def _bucket(client: Client, name: str, config: str, *entries: str) -> None:
    """A KV bucket as nats-py makes it, with `key=value` entries."""
    bucket = await client.jetstream().create_key_value(KeyValueConfig(bucket=name, **json.loads(config)))
    for entry in entries:
        key, value = entry.split("=", 1)
        await bucket.put(key, value.encode())


async def _delete(client: Client, kind: str, *names: str) -> None:
    await _asked(client, f"{kind.upper()}.DELETE.{'.'.join(names)}", {})


async def _asked(client: Client, subject: str, body: dict[str, Any]) -> dict[str, Any]:
    js = await JetStream.open(client)
    try:
        return dict(done(await js.request(subject, body, within=10)))
    finally:
        await js.close()


SCENES: dict[str, Scene] = {
    "publish": _publish,
    "stream": _stream,
    "update": _update,
    "consumer": _consumer,
    "work": _work,
    "holds": _holds,
    "bucket": _bucket,
    "delete": _delete,
}
