"""A sample of the drill: every cut once on some version, with every state and every change. `make drill` runs it all."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.drill.cases import Case, killed_sample, sample
from tests.drill.drill import Drill
from tests.support.binaries import MINORS
from tests.support.servers import running

on_every_version = pytest.mark.parametrize("number", range(len(MINORS)), ids=MINORS)


@on_every_version
def test_nothing_is_lost_wherever_it_is_cut(number: int, tmp_path: Path) -> None:
    assert wrong(MINORS[number], tmp_path, sample()[number :: len(MINORS)]) == []


@on_every_version
def test_nothing_is_lost_after_whichever_request_it_is_killed(number: int, tmp_path: Path) -> None:
    assert wrong(MINORS[number], tmp_path, killed_sample()[number :: len(MINORS)]) == []


def wrong(minor: str, folder: Path, cases: Sequence[Case]) -> list[str]:
    """Also what came to its end before it could be cut."""
    with running(minor) as server:
        drill = Drill(server, folder)
        outcomes = [asyncio.run(drill.run(case)) for case in cases]
    return [str(outcome) for outcome in outcomes if outcome.ran_through or not outcome.is_good]
