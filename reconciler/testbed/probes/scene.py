"""A scene: streams and consumers with messages, some of them in flight, as the operations of a battery find them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field

from nats.aio.msg import Msg

from reconciler.model.dataclass import dataclass
from reconciler.model.resource import Json
from reconciler.testbed.probes.client import Client

Body = Mapping[str, Json]
Change = tuple[str, Body]
"""A request that changes a scene: endpoint and body."""
PULLED, ACKNOWLEDGED = 5, 2
"""Of each consumer's messages, before anything changes."""
BEGINS = 10
"""Messages that exist when readers begin, unless a scene says how many; a subscriber gets all of these."""
SETTLES = 120
"""The most looks until no message is under way to a copy."""
NEVER = -1
"""How long ago a copy heard from an origin that has not answered yet."""


class SceneRefused(Exception):
    """The server refuses a part of the scene."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    streams: Mapping[str, Body]
    """Configurations by name, in the order in which they are created."""
    consumers: Mapping[tuple[str, str], Body] = field(default_factory=dict)
    messages: tuple[tuple[str, int], ...] = ()
    """Subject and size of each."""
    subjects: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Where publishers of a stream publish; messages of the last subject need not stay."""
    waits: tuple[tuple[str, str], ...] = ()
    """Pull consumers whose clients have got everything, and wait for more while something changes."""
    since: tuple[Change, ...] = ()
    """Changes made after the creation, and before any client came."""
    listen: tuple[str, ...] = ()
    """Subjects to which the server itself publishes."""
    begins: int = BEGINS
    """Of the messages, those that exist when readers begin."""

    @property
    def gets(self) -> Mapping[str, str]:
        """Return the streams that clients get messages from directly, with a subject of each: a copy holds what its
        origin does."""
        by_stream = {stream: subjects[0] for stream, subjects in self.subjects.items()}
        for stream, body in self.streams.items():
            for origin in _copied_streams(body):
                by_stream |= {stream: by_stream[origin]} if stream not in by_stream and origin in by_stream else {}
        return by_stream

    def answers(self, stream: str) -> int:
        """Return how many streams may answer direct gets of this one: itself, and its mirrors."""
        mirrors = [
            name for name, body in self.streams.items() if stream in _copied_streams({"mirror": body.get("mirror")})
        ]
        return 1 + len(mirrors)

    def trims(self, stream: str) -> bool:
        """Does it soon remove what is published, so that what waiting clients get depends on the moment?"""
        body = self.streams[stream]
        return body.get("discard") != "new" and any(0 < (body.get(limit) or 0) < most for limit, most in _SOON.items())


_SOON = {"max_msgs": 100, "max_msgs_per_subject": 30, "max_bytes": 1 << 20}
"""Limits below these are reached while a battery publishes."""


def _copied_streams(body: Body) -> Iterator[str]:
    yield from (copied["name"] for copied in (body.get("mirror"), *(body.get("sources") or ())) if copied)


async def build_scene(client: Client, scene: Scene) -> None:
    """Build the scene. Raises SceneRefused where the server refuses a part."""
    await create_objects(client, scene)
    await bring_clients(client, scene)


async def create_objects(client: Client, scene: Scene) -> None:
    """Create its objects, before any client comes. Raises SceneRefused where the server refuses one."""
    for name, body in scene.streams.items():
        raise_if_refused(await client.ask(f"STREAM.CREATE.{name}", {"name": name, **body}))
    for (stream, name), body in scene.consumers.items():
        raise_if_refused(await client.ask(*consumer_request(stream, name, body, "create")))
    for endpoint, body in scene.since:
        raise_if_refused(await client.ask(endpoint, body))


async def bring_clients(client: Client, scene: Scene) -> None:
    """Let clients come to existing streams and consumers: messages are stored, and some of them read."""
    await _fill(client, scene, 0, scene.begins)
    await _wait_for_short_lives(scene)
    for (stream, name), body in scene.consumers.items():
        await _begin_reading(client, stream, name, body)
    await _fill(client, scene, scene.begins, len(scene.messages))
    await _wait_for_short_lives(scene)
    for stream, name in scene.waits:
        await _catch_up(client, stream, name, scene.consumers[stream, name])


async def _wait_for_short_lives(scene: Scene) -> None:
    """Let short lives end, so that timing does not decide who gets what. What is stored for less than a second is gone
    before clients come; what is in flight or pinned for less is free before they wait for it."""
    times = [body.get("max_age") for body in scene.streams.values()]
    times += [
        scene.consumers[consumer].get(name) for consumer in scene.waits for name in ("ack_wait", "priority_timeout")
    ]
    ages = [int(time or 0) / 1e9 for time in times]
    if shortest := [age for age in ages if 0 < age < 1]:
        await asyncio.sleep(2 * max(shortest) + 0.1)


def consumer_request(stream: str, name: str, body: Body, action: str) -> tuple[str, dict[str, Json]]:
    """Return endpoint and body for a durable consumer; `action` is `create` or `update`."""
    config = {"durable_name": name, "name": name, **body}
    return f"CONSUMER.CREATE.{stream}.{name}", {"stream_name": stream, "action": action, "config": config}


async def wait_until_settled(client: Client, streams: Iterable[str], seen: Callable[[], object] = lambda: None) -> None:
    """Wait until three looks in a row find the same, also at what was `seen` meanwhile, and every copy has heard from
    its origins."""
    looks: list[object] = []
    for _ in range(SETTLES):
        infos = [await client.ask(f"STREAM.INFO.{name}") for name in streams]
        looks.append([seen(), *(_stored_numbers(info) for info in infos)])
        if looks[-3:] == 3 * looks[-1:] and not any(_lags_behind_origin(info) for info in infos):
            return
        await asyncio.sleep(0.03)


def _lags_behind_origin(info: Mapping[str, Json] | str) -> bool:
    if isinstance(info, str):
        return False
    origins = [*([info["mirror"]] if info.get("mirror") else []), *(info.get("sources") or ())]
    return any(origin.get("active") == NEVER or origin.get("lag") for origin in origins)


async def _fill(client: Client, scene: Scene, start: int, end: int) -> None:
    """Fill one stream after the other, so that a copy of several streams holds the same each time. Counters are counted
    up: they accept nothing else."""
    home = {subject: stream for stream, subjects in scene.subjects.items() for subject in subjects}
    counting = {stream for stream, body in scene.streams.items() if body.get("allow_msg_counter")}
    before = None
    for number, (subject, size) in enumerate(scene.messages[start:end], start + 1):
        if before is not None and home.get(subject) != home.get(before):
            await wait_until_settled(client, scene.streams)
        headers = {"Nats-Msg-Id": f"m{number}", "Kind": "scene"}
        if home.get(subject) in counting:
            size, headers = 0, {**headers, "Nats-Incr": "+1"}  # noqa: PLW2901
        await client.nc.publish(subject, b"x" * size, headers=headers)
        before = subject
    await wait_until_settled(client, scene.streams)


async def _begin_reading(client: Client, stream: str, name: str, body: Body) -> None:
    """Some messages are acknowledged and some are in flight."""
    messages = await _next_messages(client, stream, name, body)
    if body.get("ack_policy", "none") != "none":
        for message in messages[:ACKNOWLEDGED]:
            await client.answer(message, b"+ACK")
        client.held[stream, name] = messages[ACKNOWLEDGED:]


async def _catch_up(client: Client, stream: str, name: str, body: Body) -> None:
    while messages := await _next_messages(client, stream, name, body):
        for message in messages if body.get("ack_policy", "none") != "none" else ():
            await client.answer(message, b"+ACK")


async def _next_messages(client: Client, stream: str, name: str, body: Body) -> list[Msg]:
    number = min(PULLED, body.get("max_batch") or PULLED)
    return (await client.next(stream, name, body, batch=number, no_wait=True)).messages


def _stored_numbers(info: Mapping[str, Json] | str) -> object:
    return info if isinstance(info, str) else (info["state"]["last_seq"], info["state"]["messages"])


def raise_if_refused(answer: Mapping[str, Json] | str) -> None:
    """Check the answer. Raises SceneRefused with the words of `Client.ask` where the server did not do it."""
    if isinstance(answer, str):
        raise SceneRefused(answer)
