"""Plays the cases of one set-up, several at a time: first nothing goes wrong, which tells what can be cut."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from tests.faults.case import LATE, UNSEEN, Case, Outcome, Playing
from tests.faults.kinds import DEPOSING, Fault, points
from tests.faults.scenes import Scene, replicated, scenes
from tests.support.accounts import ACCOUNTS, Account, Pool
from tests.support.binaries import NEWEST

CLUSTER = "cluster"
AT_ONCE = 5
"""Cases; half of the time they wait. With more, a server's answers take as long as if something had gone wrong."""
ASLEEP = 10
"""Cases beside those in which somebody is suspended, and everybody waits until his lease is over."""
SINGLE = (
    Fault.KILLED, Fault.DISCONNECTED, Fault.TRANSIENT, Fault.PERMANENT, Fault.DELAYED, Fault.DOUBLED, Fault.SUSPENDED,
    Fault.EDITED,
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """Which of all cases; nothing said is all."""

    setups: tuple[str, ...] = ()
    scenes: tuple[str, ...] = ()
    faults: tuple[Fault, ...] = ()
    every: int = 1
    offset: int = 0


def run(setup: str, chosen: Chosen) -> list[Outcome]:
    """In a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        return played(setup, chosen, Path(folder))


def played(setup: str, chosen: Chosen, folder: Path) -> list[Outcome]:
    played = _Played(setup, chosen, folder)
    try:
        return asyncio.run(played.all())
    finally:
        for pool in played.pools:
            pool.close()


class _Played:
    def __init__(self, setup: str, chosen: Chosen, folder: Path) -> None:
        self._setup, self._chosen, self._folder = setup, chosen, folder
        self.pools: list[Pool] = [Pool()]
        if self._clustered:
            self.pools[0].clustered()
        self._numbers, self._turn, self._bed = count(), asyncio.Semaphore(AT_ONCE), asyncio.Semaphore(ASLEEP)

    @property
    def _clustered(self) -> bool:
        return self._setup == CLUSTER

    async def all(self) -> list[Outcome]:
        found = scenes(NEWEST if self._clustered else self._setup, clustered=self._clustered)
        if self._clustered:
            found = [replicated(one) for one in found]
        wanted = [one for one in found if not self._chosen.scenes or one.name in self._chosen.scenes]
        smooth = await asyncio.gather(*(self._one(Case(one, Fault.NONE)) for one in wanted))
        cases = [
            (case, outcome.left)
            for scene, outcome in zip(wanted, smooth, strict=True)
            for case in self._cases(scene, outcome)
        ]
        picked = cases[self._chosen.offset :: self._chosen.every]
        beside = [self._one(case, left) for case, left in picked if case.fault not in DEPOSING]
        outcomes = [*smooth, *await asyncio.gather(*beside)]
        for case, left in picked:  # a server that is gone is gone for everybody
            if case.fault in DEPOSING:
                outcomes.append(await self._one(case, left))
        return outcomes

    def _cases(self, scene: Scene, smooth: Outcome) -> Iterator[Case]:
        for fault in self._chosen.faults or (*SINGLE, *(sorted(DEPOSING) if self._clustered else ())):
            yield from (Case(scene, fault, point) for point in points(fault, smooth.asked))

    async def _one(self, case: Case, left: dict[str, list[str]] | None = None) -> Outcome:
        async with self._bed if case.fault is Fault.SUSPENDED else self._turn:
            number = next(self._numbers)
            outcome = await Playing(case, self._account(number), self._folder / str(number)).played(left)
            self._tell(outcome)
            return outcome

    def _tell(self, outcome: Outcome) -> None:
        shown = "." if outcome.is_good and outcome.word not in (UNSEEN, LATE) else f"\n{outcome} {outcome.word}\n"
        print(shown, end="", file=sys.stderr, flush=True)

    def _account(self, number: int) -> Account:
        """A pool ends a server when its accounts are used up, and somebody may still be at work there."""
        if number % ACCOUNTS == ACCOUNTS - 1 and not self._clustered:
            self.pools.append(Pool())
        return self.pools[-1].clustered() if self._clustered else self.pools[-1].account(self._setup)
