"""Many cases on one server version, many at a time, and what came of them by cause."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, groupby, islice

from reconciler.testbed.probes.record import is_relief
from tests.probes.drawing import OF_ONE_SCENE, Case, cases
from tests.probes.judging import Judged
from tests.probes.running import NotTaken, Room, Together, twins
from tests.support.accounts import Account, Pool

AT_A_TIME = 24
"""Cases mostly wait."""


@dataclass(slots=True)
class Tally:
    played: int = 0
    restarts: int = 0
    not_taken: Counter[str] = field(default_factory=Counter)
    refused: int = 0
    """By the plan."""
    felt: int = 0
    unforetold: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    wolves: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    needed: Counter[str] = field(default_factory=Counter)
    """Fields and codes without which something would be unforetold, where a field changes alone."""

    def add(self, found: Judged | NotTaken) -> None:
        if isinstance(found, NotTaken):
            self.not_taken[found.why] += 1
            return
        self.played += 1
        self.refused += found.is_refused
        self.restarts += found.case.restarts
        self.felt += bool(found.felt)
        self._needs(found)
        fields = ", ".join(sorted(found.case.changed))
        said = f"the plan says {', '.join(sorted(found.codes)) or 'nothing'}"
        for side in found.unforetold:
            differing = (*(found.beside or ()), *found.felt)
            shown = next(one for one in differing if one.side is side and not one.follows and not is_relief(one))
            self.unforetold[f"{found.case.address.kind} {side}: {fields}"].append(f"{shown} | {said} | {found.case}")
        for code in found.wolves:
            self.wolves[f"{code}: {fields}"].append(f"{said} | {found.case}")

    def _needs(self, found: Judged) -> None:
        if len(found.said.fields) != 1 or found.unforetold:
            return
        for code in found.codes:
            if replace(found, said=found.said.without(code)).unforetold:
                self.needed[f"{code} {next(iter(found.said.fields))}"] += 1

    def __iadd__(self, other: Tally) -> Tally:
        self.played, self.refused, self.felt = (
            self.played + other.played, self.refused + other.refused, self.felt + other.felt,
        )  # fmt: skip
        self.restarts += other.restarts
        self.not_taken += other.not_taken
        self.needed += other.needed
        for mine, theirs in ((self.unforetold, other.unforetold), (self.wolves, other.wolves)):
            for cause, examples in theirs.items():
                mine[cause] += examples
        return self

    @property
    def is_true(self) -> bool:
        return not self.unforetold and not self.wolves

    def __str__(self) -> str:
        return (
            f"{self.played} changes, {self.restarts} with a restart, {self.felt} felt, {self.refused} refused by the plan, "
            f"{sum(self.not_taken.values())} not taken by the server; "
            f"{sum(map(len, self.unforetold.values()))} unforetold, {sum(map(len, self.wolves.values()))} wolves"
        )

    def causes(self, examples: int = 1) -> Iterator[str]:
        for name, found in (("unforetold", self.unforetold), ("wolf", self.wolves)):
            for cause, shown in sorted(_simplest(found).items(), key=lambda item: -len(item[1])):
                yield f"{name}, {len(shown)}: {cause}"
                yield from (f"    {one}" for one in shown[:examples])


def _simplest(found: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """What several fields cause that changed together counts for the one of them that causes the same alone."""
    simple: dict[str, list[str]] = defaultdict(list)
    for cause, shown in sorted(found.items(), key=lambda item: item[0].count(",")):
        about, _, fields = cause.partition(": ")
        known = next((f"{about}: {field}" for field in fields.split(", ") if f"{about}: {field}" in simple), cause)
        simple[known] += shown
    return simple


def play(
    minor: str,
    number: int,
    seed: int = 1,
    at_a_time: int = AT_A_TIME,
    kinds: Sequence[str] = (),
    of_one_scene: int = OF_ONE_SCENE,
) -> Tally:
    """On a server of its own."""
    pool, drawn = Pool(), islice(cases(minor, seed, kinds, of_one_scene), number)
    try:
        return asyncio.run(_play(pool, minor, list(drawn), at_a_time))
    finally:
        pool.close()


async def _play(pool: Pool, minor: str, drawn: list[Case], at_a_time: int) -> Tally:
    tally = Tally()
    waiting = (list(same) for _, same in groupby((one for one in drawn if not one.restarts), lambda one: id(one.scene)))
    pairs = [twins(pool, minor) for _ in range(min(at_a_time, len(drawn)))]

    async def one_room(pair: tuple[Account, Account]) -> None:
        room = Room(pair)
        for case in chain.from_iterable(waiting):
            tally.add(await room.play(case))

    await asyncio.gather(*map(one_room, pairs))
    restarting = [case for case in drawn if case.restarts]
    for start in range(0, len(restarting), at_a_time):
        await _restarting(pairs, restarting[start : start + at_a_time], tally)
    return tally


async def _restarting(pairs: list[tuple[Account, Account]], wave: list[Case], tally: Tally) -> None:
    """As many cases as there are rooms, all of which wait for the same restart."""
    together = Together(pairs[0][0].server, len(wave))

    async def one_room(pair: tuple[Account, Account], case: Case) -> None:
        try:
            tally.add(await Room(pair, together).play(case))
        finally:
            together.leave()

    await asyncio.gather(*(one_room(pair, case) for pair, case in zip(pairs, wave, strict=False)))
