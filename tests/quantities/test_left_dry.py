"""Who gets no message any more on which subjects, once a transform takes a part of them or a subject goes: as the plan said."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from reconciler.changes.events import Finished
from reconciler.journeys.apply.apply import apply
from reconciler.journeys.plan.plan import plan
from reconciler.model.run_options import RunOptions
from reconciler.server.wire.api import JetStream
from tests.quantities.losing import applied, state
from tests.support.accounts import Account
from tests.support.jetstream import done, talk
from tests.support.topologies import read
from tests.support.versions import on_every_version


class Scene(NamedTuple):
    """The streams, what becomes of stream S, what clients publish before and after, and what is said."""

    file: str
    becomes: tuple[str, str]
    sends: tuple[str, ...]
    said: str
    gets: Mapping[str, tuple[int, int]]
    """How many of these messages each consumer of S and each copy gets before and after."""


PARTS = """
streams:
  S:
    subjects: [s.>]
    consumers:
      all: {}
      part: {filter_subject: s.x.>}
      dry: {filter_subject: s.x.a}
      deep: {filter_subject: s.x.*.>}
      two: {filter_subjects: [s.x.a, s.y.a]}
      follows: {filter_subjects: [s.x.*, z.>]}
  COPY: {sources: [{name: S, filter_subject: s.x.*}]}
  REST: {sources: [{name: S, filter_subject: s.x.*.>}]}
  WHOLE: {sources: [{name: S}]}
  NEXT: {sources: [{name: WHOLE, filter_subject: s.x.*}]}
"""
SCENES = {
    "a transform takes a part": Scene(
        PARTS, ("[s.>]", "[s.>]\n    subject_transform: {src: s.x.*, dest: 'z.{{wildcard(1)}}'}"),
        ("s.x.a", "s.x.b", "s.x.a.b", "s.y.a"),
        "nothing new will match the filters of consumer dry, stream COPY, stream NEXT; consumer part, consumer two will get no new "
        "messages on s.x.*",
        {
            "all": (4, 4), "part": (3, 1), "dry": (1, 0), "deep": (1, 1), "two": (2, 1), "follows": (2, 2),
            "COPY": (2, 0), "REST": (1, 1), "WHOLE": (4, 4), "NEXT": (2, 0), "S": (4, 4),
        },
    ),
    "a subject goes": Scene(
        """
streams:
  S:
    subjects: [s.a, s.b]
    consumers: {two: {filter_subjects: [s.a, s.b]}, wide: {filter_subject: 's.*'}, dry: {filter_subject: s.b}}
  COPY: {sources: [{name: S, subject_transforms: [{src: s.a, dest: c.a}, {src: s.b, dest: c.b}]}]}
  KEPT: {subjects: [s.x]}
""",
        ("[s.a, s.b]\n", "[s.a]\n"), ("s.a", "s.b", "s.x"),
        "nothing new will match the filters of consumer dry; consumer two, stream COPY will get no new messages on s.b",
        {"two": (2, 1), "wide": (2, 1), "dry": (1, 0), "COPY": (2, 1), "KEPT": (1, 1), "S": (2, 1)},
    ),
}  # fmt: skip


@on_every_version
@pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES)
def test_whoever_gets_no_message_on_a_subject_any_more_is_named(account: Account, tmp_path: Path, scene: Scene) -> None:
    async def work(js: JetStream) -> tuple[str, dict[str, tuple[int, int]]]:
        await applied(js, tmp_path, scene.file)
        before = await came(js, scene, 0)
        found = await plan(read(tmp_path, scene.file.replace(*scene.becomes)), js, RunOptions())
        assert isinstance([event async for event in apply(found, js)][-1], Finished)
        after = await came(js, scene, 1)
        (change,) = (one for one in found.plan.changes if one.address == "stream/S")
        said = [one.message for one in change.verdicts if one.code == "XX233"]
        return "; ".join(said), {name: (before[name], after[name]) for name in before}

    said, gets = talk(account, work)
    assert (said, gets) == (scene.said, scene.gets)


async def came(js: JetStream, scene: Scene, turn: int) -> dict[str, int]:
    """What each consumer and copy gets of one round of messages, some of which no stream may store."""
    before, loop = await counted(js), asyncio.get_running_loop()
    deadline, expected = loop.time() + 15, {name: both[turn] for name, both in scene.gets.items()}
    for subject in scene.sends:
        await js.pipeline.nc.publish(subject, b"x")
    while (more := await since(before, js)) != expected and loop.time() < deadline:  # noqa: ASYNC110 - nothing announces it
        await asyncio.sleep(0.1)
    await asyncio.sleep(0.5)  # for what comes besides
    return await since(before, js) if more == expected else more


async def since(before: Mapping[str, int], js: JetStream) -> dict[str, int]:
    now = await counted(js)
    return {name: now[name] - before[name] for name in now}


async def counted(js: JetStream) -> dict[str, int]:
    names = [one for one in done(await js.request("CONSUMER.NAMES.S"))["consumers"] if one.islower()]
    waiting = {one: int(done(await js.request(f"CONSUMER.INFO.S.{one}"))["num_pending"]) for one in names}
    streams = [one for one in done(await js.request("STREAM.NAMES"))["streams"] if not one.startswith("KV_")]
    return {**waiting, **{one: int((await state(js, one))["messages"]) for one in streams}}
