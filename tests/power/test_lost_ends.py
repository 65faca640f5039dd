"""A stream that lost its end and has stored others since: what was noted by number before means other messages now."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.faults.scenes import Scene, replaced
from tests.power.case import Case, Outcome, played
from tests.power.playing import caught_up
from tests.power.recording import Moment, Part, Recording, recorded

BEGUN = "$KV.reconciler.journal.N.begun"


def after(recording: Recording, subject: str) -> Moment:
    return next(one for one in recording.moments if one.request.subject.startswith(subject))


def cut(scene: Scene, at: str, stream: str, older: str, folder: Path, part: Part) -> Outcome:
    recording = asyncio.run(recorded(scene, "2.15", folder))
    return played(Case(recording, after(recording, at), stream, after(recording, older), part), folder)


def test_a_replaced_consumer_skips_nothing_that_came_since(tmp_path: Path) -> None:
    scene = caught_up(replaced("limits"))
    found = cut(scene, "$JS.API.CONSUMER.DELETE.L.c", "L", BEGUN, tmp_path, Part.MESSAGES)
    assert (found.wrong, found.word) == ([], "converged")
