"""Which power cuts there are in a recorded apply, and some or all of them played."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tests.faults.scenes import (
    FIRST,
    HANDED_OVER,
    MADE,
    MEMBERS,
    PROMOTED,
    RECREATED,
    REMOVED,
    RENAMED,
    SWAPPED,
    SWITCHED,
    Scene,
    replaced,
)
from tests.power.case import Case, Outcome, played
from tests.power.recording import Part, Recording, recorded
from tests.support.servers import memory

SCENES: tuple[Scene, ...] = (
    replaced("limits"), replaced("interest"), replaced("workqueue"), RECREATED, SWAPPED, MEMBERS, RENAMED, REMOVED, MADE,
    PROMOTED, SWITCHED, FIRST, HANDED_OVER,
)  # fmt: skip


def caught_up(scene: Scene) -> Scene:
    """With consumers that leave nothing undone, so that they stand where their stream ends."""
    return replace(scene, name=f"{scene.name}, caught up", worked_on=())


SCENES += (caught_up(replaced("limits")), caught_up(replaced("interest")))
THEIRS = ("THEIRS", "KV_theirs")


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """Which of all; nothing said is all."""

    scenes: tuple[str, ...] = ()
    every: int = 1

    def some(self, cases: Sequence[Case]) -> list[Case]:
        """Of each sort, from the middle of what they are spread over; at least one."""
        each = [[one for one in cases if one.sort == sort] for sort in dict.fromkeys(one.sort for one in cases)]
        return [one for own in each for one in own[(len(own) - 1) % self.every // 2 :: self.every]]


def scenes(minor: str) -> list[Scene]:
    return [one for one in SCENES if _number(one.since) <= _number(minor)]


def _number(minor: str) -> int:
    return int(minor.partition(".")[2])


def cases(recording: Recording) -> Iterator[Case]:
    """Every moment, with every stream as it was in every earlier one in which it was different."""
    for now in recording.moments:
        earlier = recording.moments[: now.number]
        for stream in sorted({name for one in (*earlier, now) for name in one.streams} - {*THEIRS}):
            for part in (Part.ALL,) if stream.startswith("KV_") else Part:
                seen = {now.digest(stream, part)}
                for then in reversed(earlier):
                    digest, is_whole = then.digest(stream, part), stream in now.streams and stream in then.streams
                    if digest not in seen and (is_whole or part is Part.ALL):
                        seen.add(digest)
                        yield Case(recording, now, stream, then, part)


def run(scene: Scene, minor: str, chosen: Chosen) -> list[Outcome]:
    """In a process of its own."""
    with tempfile.TemporaryDirectory(dir=memory()) as folder:
        recording = asyncio.run(recorded(scene, minor, Path(folder)))
        return [played(case, Path(folder)) for case in chosen.some([*cases(recording)])]
