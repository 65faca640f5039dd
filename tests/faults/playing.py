"""Plays the cases of one set-up, several at a time: first nothing goes wrong, which tells what can be cut."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from tests.faults.case import LATE, UNSEEN, Case, Outcome, Playing
from tests.faults.kinds import DEPOSING, Fault, points
from tests.faults.scenes import Scene, replicated, scenes
from tests.support.accounts import ACCOUNTS, Account, Pool
from tests.support.applying import warmed
from tests.support.binaries import NEWEST

CLUSTER = "cluster"
Expected = tuple[Case, dict[str, list[str]]]
"""With what lies about when nothing goes wrong."""
AT_ONCE = 5
"""Cases; half of the time they wait. With more, a server's answers take as long as if something had gone wrong."""
LANES = 5
"""Clusters beside each other in which leaders are killed; most of the time all wait until they are back."""
OTHERS = 10
"""In a cluster every how many-th of the cuts that have nothing to do with leaders is played, unless they are asked for."""
WAITING = frozenset({Fault.SUSPENDED, Fault.DELAYED})
ASLEEP = 24
"""Cases beside those in which a lease runs out, or an answer is waited for, while nobody works."""
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
    """Of each kind of fault; at least one."""

    def some(self, cases: Sequence[Expected]) -> list[Expected]:
        """From the middle of what they are spread over."""
        each = [[one for one in cases if one[0].fault is fault] for fault in Fault]
        return [one for own in each for one in own[(len(own) - 1) % self.every // 2 :: self.every]]


def run(setup: str, chosen: Chosen) -> list[Outcome]:
    """In a process of its own."""
    warmed("tests.faults.warmed")
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
        self._giving = asyncio.Lock()
        self._begun, self._ended = Counter[Pool](), Counter[Pool]()
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
        picked = self._chosen.some(cases)
        beside = [self._one(case, left) for case, left in picked if case.fault not in DEPOSING]
        outcomes = [*smooth, *await asyncio.gather(*beside)]
        return [*outcomes, *await self._deposed([one for one in picked if one[0].fault in DEPOSING])]

    def _cases(self, scene: Scene, smooth: Outcome) -> Iterator[Case]:
        for fault in self._chosen.faults or (*SINGLE, *(sorted(DEPOSING) if self._clustered else ())):
            is_sampled = self._clustered and not self._chosen.faults and fault not in DEPOSING
            cut = points(fault, smooth.asked)[:: OTHERS if is_sampled else 1]
            yield from (Case(scene, fault, point) for point in cut)

    async def _deposed(self, cases: list[Expected]) -> list[Outcome]:
        """A server that is gone is gone for everybody in its cluster, so that one case at a time is played in it."""
        left = iter(cases)
        lanes = [self.pools[0], *(Pool() for _ in range(LANES - 1))][: len(cases)]
        self.pools += lanes[1:]
        for pool in lanes:  # nothing else goes on while servers start
            await asyncio.to_thread(pool.clustered)

        async def lane(pool: Pool) -> list[Outcome]:
            return [
                await self._played(case, expected, await asyncio.to_thread(pool.clustered)) for case, expected in left
            ]

        return [outcome for played in await asyncio.gather(*map(lane, lanes)) for outcome in played]

    async def _one(self, case: Case, left: dict[str, list[str]] | None = None) -> Outcome:
        async with self._bed if case.fault in WAITING else self._turn, self._lent() as account:
            return await self._played(case, left, account)

    async def _played(self, case: Case, left: dict[str, list[str]] | None, account: Account) -> Outcome:
        outcome = await Playing(case, account, self._folder / str(next(self._numbers))).played(left)
        self._tell(outcome)
        return outcome

    def _tell(self, outcome: Outcome) -> None:
        shown = "." if outcome.is_good and outcome.word not in (UNSEEN, LATE) else f"\n{outcome} {outcome.word}\n"
        print(shown, end="", file=sys.stderr, flush=True)

    @asynccontextmanager
    async def _lent(self) -> AsyncIterator[Account]:
        """A pool ends with the last one at work there: dozens of servers that nobody needs any more are not idle."""
        async with self._giving:
            if self._begun[self.pools[-1]] == ACCOUNTS:
                self.pools.append(Pool())
            pool = self.pools[-1]
            self._begun[pool] += 1
            account = await asyncio.to_thread(pool.clustered) if self._clustered else pool.account(self._setup)
        try:
            yield account
        finally:
            self._ended[pool] += 1
            if self._ended[pool] == ACCOUNTS:
                await asyncio.to_thread(pool.close)
