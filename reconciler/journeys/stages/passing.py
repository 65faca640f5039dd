"""Decides whether a stage has passed: each member was applied, plans empty, and stays without drift. Pure but for
`stays`, which waits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence

from reconciler.changes.plan import Plan
from reconciler.journeys.drift.drift import Drift
from reconciler.journeys.stages.divide import few
from reconciler.model.dataclass import dataclass
from reconciler.model.waits import waiting
from reconciler.report.words.visible import visible

LOOKS = 20
"""How often a stage is looked at while it stays, unless that would be too often or too seldom."""
OFTEN, SELDOM = 1.0, 15.0
"""Seconds between two looks: the fewest and the most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What one look found of a member, after it was applied."""

    member: str
    pending: tuple[str, ...] = ()
    """What an apply would still change."""
    drifted: tuple[str, ...] = ()
    """What somebody changed."""
    problem: str = ""
    """Why the look could not tell."""


def seen(member: str, plan: Plan, drift: Drift) -> Seen:
    """Return what one look at a member means. A plan that is refused, or knows too little, is not empty."""
    pending = tuple(change.address for change in plan.changes if change.action.writes or change.is_blocked)
    drifted = tuple(item.address for item in drift.drifted)
    errors = [one.message for one in plan.diagnostics if one.is_error]
    problem = errors[0] if errors else "not everything there could be read" if drift.is_partial else ""
    return Seen(member=member, pending=pending, drifted=drifted, problem=problem)


def objections(found: Iterable[Seen]) -> Iterator[str]:
    """Say why a stage does not pass; nothing where it does."""
    for one in found:
        name = visible(one.member)
        if one.problem:
            yield f"{name} could not be looked at: {one.problem.rstrip('.')}"
        elif one.drifted:
            yield f"{name} drifted: {few(one.drifted)}"
        elif one.pending:
            yield f"{name} does not plan empty: {few(one.pending)}"


def pause(stay: float, so_far: float) -> float | None:
    """Return the seconds until the next look. None: the stage has stayed long enough, and this look was the last."""
    left = stay - so_far
    return None if left <= 0 else min(left, max(OFTEN, min(SELDOM, stay / LOOKS)))


async def stays(
    stay: float,
    look: Callable[[], Awaitable[Sequence[Seen]]],
    whom: str,
    clock: Callable[[], float] = time.monotonic,
    rest: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> list[str]:
    """Look until the time of the stage is over, and return the first objections. The last look is after that time."""
    began = clock()
    with waiting(f"for {whom} to stay as applied", stay):
        while True:
            so_far = clock() - began
            if found := [*objections(await look())]:
                return found
            left = pause(stay, so_far)
            if left is None:
                return []
            await rest(left)
