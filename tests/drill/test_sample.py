"""A sample of the drill: every cut once on some version, with every state and every change. `make drill` runs it all."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.drill.cases import sample
from tests.drill.drill import Drill
from tests.support.binaries import MINORS
from tests.support.servers import running


@pytest.mark.parametrize("number", range(len(MINORS)), ids=MINORS)
def test_nothing_is_lost_wherever_it_is_cut(number: int, tmp_path: Path) -> None:
    with running(MINORS[number]) as server:
        drill = Drill(server, tmp_path)
        outcomes = [asyncio.run(drill.run(case)) for case in sample()[number :: len(MINORS)]]
    assert [str(outcome) for outcome in outcomes if not outcome.is_good] == []
