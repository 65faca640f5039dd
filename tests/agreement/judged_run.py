"""A whole run over one version: every row on both sides, and as many random cases as wanted."""

from __future__ import annotations

import random
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import islice
from multiprocessing import get_context
from typing import Any

from tests.agreement.case import Case
from tests.agreement.drawing import SIDES, Drawing, on_disk
from tests.agreement.rooms import HIDDEN, Ground
from tests.agreement.rows import ROWS
from tests.agreement.running import run
from tests.agreement.shrinking import shrunk
from tests.agreement.tally import Tally

AT_ONCE = 600
PASSES = 10
SHRUNK = 12
"""Disagreements made small; where there are more, these are enough to begin with."""


def every_version(minors: Sequence[str], **options: Any) -> list[Tally]:
    """All versions at once, each in a process of its own."""
    with ProcessPoolExecutor(len(minors), mp_context=get_context("spawn")) as processes:
        return list(processes.map(partial(judged_run, **options), minors))


def judged_run(minor: str, *, number: int, times: int, restarts: float, seed: int = 1) -> Tally:
    """`number` random cases beside every row, each side of it `times` times; a share of all also sees a restart."""
    with Ground(minor) as ground, Ground(minor, hidden=True) as hidden:
        tally = Tally(str(ground.version))
        drawing = Drawing(ground.version, size=max(100, min(2000, number // 4)), number=seed)
        chance = random.Random(seed)
        for once in range(PASSES):
            wanted = _rows(drawing, tally, times, spiced=once > 0 or times > 1)
            _tell(ground, hidden, tally, wanted, restarts, chance)
            if not tally.missing(times):
                break
        for start in range(0, number, AT_ONCE):
            free = [drawing.free() for _ in range(min(AT_ONCE, number - start))]
            _tell(ground, hidden, tally, free, restarts, chance)
        for why, cases in islice(tally.wrong.items(), SHRUNK):
            cases[:1] = [shrunk(ground, min(cases, key=lambda case: len(str(case))), why)]
        return tally


def _rows(drawing: Drawing, tally: Tally, times: int, *, spiced: bool) -> list[Case]:
    """What is still missing of every row; the first time at least each of its cases once."""
    cases: list[Case] = []
    first, missing = not tally.kinds, set(tally.missing(times))
    for row in ROWS:
        for side in SIDES:
            short = times - tally.hits[row.id, side] if (row.id, side) in missing else 0
            number = max(short, len(row.cases(side)) if first else 0)
            cases += islice(drawing.of_row(row, side, spiced=spiced and not first), number)
    return cases


def _tell(
    ground: Ground, hidden: Ground, tally: Tally, cases: Sequence[Case], restarts: float, chance: random.Random
) -> None:
    lasting = [on_disk(case) for case in cases if case.row.startswith("5.5") or chance.random() < restarts]
    for outcome in [
        *run(ground, [case for case in cases if case.room != HIDDEN]),
        *run(hidden, [case for case in cases if case.room == HIDDEN]),
        *run(ground, [case for case in lasting if case.room != HIDDEN], restart=True),
    ]:
        tally.add(outcome)
