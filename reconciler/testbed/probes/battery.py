"""The battery: everything that clients do with a scene, in an order in which no operation spoils another."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable
from types import MappingProxyType

from reconciler.changes.effect import Side
from reconciler.model.dataclass import dataclass
from reconciler.testbed.probes.client import Client
from reconciler.testbed.probes.publishing import (
    BUCKET,
    GETS,
    PLAIN,
    STORE,
    Gets,
    Publish,
    note_stored,
    try_deletions,
    try_gets,
    try_publishes,
)
from reconciler.testbed.probes.reading import (
    CONTESTS,
    FRESH,
    PULLS,
    Pulls,
    Waits,
    contending_pulls,
    note_position,
    read_later,
    try_new_consumers,
    try_reads,
    waiting_pulls,
)
from reconciler.testbed.probes.record import Notes, Record
from reconciler.testbed.probes.scene import Body, Change, Scene, build_scene, raise_if_refused, wait_until_settled

PASSES = 1.3
"""Seconds for which the battery only waits: lifetimes, ages and thresholds of at most a second run out."""

SETTLED = 0.1
"""Seconds after a change in which the server trims and tells consumers of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Battery:
    """The operations to try."""

    plain: tuple[Publish, ...] = PLAIN
    bucket: tuple[Publish, ...] = BUCKET
    store: tuple[Publish, ...] = STORE
    pulls: Pulls = PULLS
    gets: Gets = GETS
    fresh: tuple[tuple[str, Body], ...] = FRESH
    passes: float = PASSES
    reads: bool = True
    """By consumers that existed before; otherwise each message is redelivered once, to a client that looks after a
    while."""
    deletes: bool = True
    contends: bool = True

    def publishes(self, stream: str) -> tuple[Publish, ...]:
        """Return what publishers try on this stream; buckets and object stores have publishes of their own."""
        return self.bucket if stream.startswith("KV_") else self.store if stream.startswith("OBJ_") else self.plain


STANDARD = Battery()


async def record(
    client: Client, scene: Scene, battery: Battery = STANDARD, waits: Waits = MappingProxyType({})
) -> Record:
    """Record what clients of a built scene experience; the scene is used up afterwards."""
    notes = Notes()
    await _note_state(client, notes, scene, "at first")
    await _try_reads(client, notes, scene, battery, waits)
    async with contending_pulls(client, scene, CONTESTS if battery.contends else {}) as contests:
        await _try_publishes(client, notes, scene, battery)
        _note_waits(notes, waits, scene)
        await asyncio.sleep(battery.passes)
        _note_waits(notes, contests, scene)
    await _after_a_while(client, notes, scene, battery)
    for stream, subjects in scene.subjects.items() if battery.deletes else ():
        await try_deletions(client, notes, stream, subjects[0])
    return notes.lines


async def experience(
    client: Client, scene: Scene, changes: Iterable[Change] = (), battery: Battery = STANDARD
) -> Record:
    """Build a scene, change it and record what its clients experience then. Raises SceneRefused where the server refuses."""
    await build_scene(client, scene)
    async with waiting_pulls(client, scene) as waits:
        for endpoint, body in changes:
            raise_if_refused(await client.ask(endpoint, body))
        await asyncio.sleep(SETTLED)
        return await record(client, scene, battery, waits)


def _note_waits(notes: Notes, waits: Waits, scene: Scene) -> None:
    for operation, delivery in waits.items():
        stream = operation.rpartition(" by ")[2].partition("/")[0]
        notes.add(
            operation, Side.READERS, delivery.any_text if scene.trims(stream) else delivery.brought_text, "publish "
        )


async def _note_state(client: Client, notes: Notes, scene: Scene, when: str, *given: str) -> None:
    for stream, body in scene.streams.items():
        await note_stored(client, notes, stream, body, when, *given)
    for stream, name in scene.consumers:
        await note_position(client, notes, stream, name, when, *given, f"stored {when} in {stream}")


async def _try_reads(client: Client, notes: Notes, scene: Scene, battery: Battery, waits: Waits) -> None:
    for stream, subject in scene.gets.items():
        await try_gets(client, notes, stream, subject, battery.gets, answers=scene.answers(stream))
    for stream in scene.subjects:
        await try_new_consumers(client, notes, stream, battery.fresh)
    for (stream, name), body in scene.consumers.items() if battery.reads else ():
        await try_reads(client, notes, stream, name, body, battery.pulls, waits)


async def _try_publishes(client: Client, notes: Notes, scene: Scene, battery: Battery) -> None:
    async with contextlib.AsyncExitStack() as stack:
        heard = {subject: await stack.enter_async_context(client.listening(subject)) for subject in scene.listen}
        for stream, subjects in scene.subjects.items():
            await try_publishes(
                client,
                notes,
                stream,
                subjects,
                battery.publishes(stream),
                stream_name=_stream_if_several(scene, stream),
            )
        await wait_until_settled(client, scene.streams)
    for subject, messages in heard.items():
        bare = sum("Nats-Msg-Size" in (message.headers or {}) for message in messages)
        notes.add(
            f"listen on {subject}",
            Side.COPIES,
            f"{len(messages)} messages" + (", headers only" if bare else ""),
            "publish ",
        )
    for stream, body in scene.streams.items():
        await note_stored(client, notes, stream, body, "after publishing", "publish ", "read ", "stored at first")


async def _after_a_while(client: Client, notes: Notes, scene: Scene, battery: Battery) -> None:
    for stream, subjects in scene.subjects.items():
        await try_publishes(
            client,
            notes,
            stream,
            subjects,
            battery.publishes(stream),
            is_late=True,
            stream_name=_stream_if_several(scene, stream),
        )
    for stream, body in scene.streams.items():
        await note_stored(client, notes, stream, body, "after a while", "publish ", "read ", "stored a")
    for (stream, name), body in scene.consumers.items():
        info = await client.ask(f"CONSUMER.INFO.{stream}.{name}")
        notes.add(
            f"position after a while of {stream}/{name}", Side.POSITIONS, info if isinstance(info, str) else "there"
        )
        waited = (stream, name) in scene.waits
        await read_later(client, notes, stream, name, body, waited=waited, follows=not (waited and scene.trims(stream)))


def _stream_if_several(scene: Scene, stream: str) -> str:
    """With only one stream to publish to, its name is left out."""
    return stream if len(scene.subjects) > 1 else ""
