"""Decides whether a stage has passed: each member was applied, plans empty, and stays without drift; and whether a plan that
is made when its turn comes is what was shown before the first stage.

Pure but for `stays`, which waits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence

from reconciler.changes.change import Action
from reconciler.changes.plan import Plan, PlannedChange
from reconciler.journeys.drift.drift import Drift
from reconciler.journeys.stages.divide import few
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import CannotContinue
from reconciler.model.waits import waiting
from reconciler.report.words.visible import visible

_RECORDED = (Action.ADOPT, Action.FORGET)
"""These change who owns an object, and not the object."""


def beyond(shown: Plan | None, now: Plan) -> list[str]:
    """Return the addresses at which the plan does anything that was not shown. Less than was shown is fine: by then
    somebody has done the rest."""
    known = {change.address: change for change in shown.changes} if shown else {}
    return [one.address for one in now.changes if not one.is_blocked and not _is_shown(one, known.get(one.address))]


def as_shown(shown: Plan | None, now: Plan) -> None:
    """Raise CannotContinue where the plan goes beyond what was shown, and agreed to."""
    if found := beyond(shown, now):
        raise CannotContinue.because(
            "XX929", "not-as-shown",
            f"the plan is no longer the one that was shown before the first stage: {few(found)}. Nothing was changed here.",
            fix="look at it with `plan`, then run the same apply again",
        )  # fmt: skip


def _is_shown(now: PlannedChange, shown: PlannedChange | None) -> bool:
    if not (now.action.writes or now.action in _RECORDED):
        return True
    if shown is None or shown.is_blocked or now.action is not shown.action:
        return False
    is_new = {one.code for one in now.verdicts} - {one.code for one in shown.verdicts}
    return now.action in _RECORDED or (not is_new and _written(now) == _written(shown))


def _written(change: PlannedChange) -> list[tuple[str, str, str]]:
    return [(one.path, repr(one.live), repr(one.desired)) for one in change.fields]


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
