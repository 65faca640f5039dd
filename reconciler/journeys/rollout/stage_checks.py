"""Decides whether a stage has passed: each member was applied, plans empty, and stays without drift; and whether a plan that
is made when its turn comes is what was shown before the first stage.

Pure but for `stays`, which waits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence

from reconciler.changes.change import Action
from reconciler.changes.consent import DeclaredConsents
from reconciler.changes.plan import Plan, PlannedChange
from reconciler.changes.recount import losses_beyond_consent_sentences
from reconciler.journeys.drift.drift import Drift
from reconciler.journeys.rollout.divide import few_names
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import CannotContinue
from reconciler.model.waits import waiting
from reconciler.report.words.visible import visible

_RECORDED = (Action.ADOPT, Action.FORGET)
"""These change who owns an object, and not the object."""


def addresses_beyond(shown: Plan | None, now: Plan) -> list[str]:
    """Return the addresses at which the plan does anything that was not shown. Less than was shown is fine: by then
    somebody has done the rest."""
    by_address = {change.address: change for change in shown.changes} if shown else {}
    return [
        planned.address
        for planned in now.changes
        if not planned.is_blocked and not _is_shown(planned, by_address.get(planned.address))
    ]


def check_as_shown(shown: Plan | None, now: Plan, consents: DeclaredConsents) -> None:
    """Raise CannotContinue where the plan goes beyond what was shown, and agreed to: it does anything else, or a loss has
    grown beyond the consent of the files, or else beyond twice what was shown."""
    if more := addresses_beyond(shown, now):
        raise _not_as_shown(f"the plan is no longer the one that was shown before the first stage: {few_names(more)}")
    if grown := next(_grown_losses(shown, now, consents), ""):
        raise _not_as_shown(f"more would be lost than was shown before the first stage: {grown}")


def _not_as_shown(why: str) -> CannotContinue:
    fix = "look at it with `plan`, then run the same apply again"
    return CannotContinue.because("XX929", "not-as-shown", f"{why}. Nothing was changed here.", fix=fix)


def _grown_losses(shown: Plan | None, now: Plan, consents: DeclaredConsents) -> Iterator[str]:
    by_address = {change.address: change for change in shown.changes} if shown else {}
    for planned in now.changes:
        if planned.address in by_address and not planned.is_blocked:
            given = consents.to(planned.address)
            for sentence in losses_beyond_consent_sentences(by_address[planned.address], planned, given):
                yield f"{planned.address}, {sentence}"


def _is_shown(now: PlannedChange, shown: PlannedChange | None) -> bool:
    if not (now.action.writes or now.action in _RECORDED):
        return True
    if shown is None or shown.is_blocked or now.action is not shown.action:
        return False
    is_new = {verdict.code for verdict in now.verdicts} - {verdict.code for verdict in shown.verdicts}
    return now.action in _RECORDED or (not is_new and _field_values(now) == _field_values(shown))


def _field_values(change: PlannedChange) -> list[tuple[str, str, str]]:
    return [(field.path, repr(field.live), repr(field.desired)) for field in change.fields]


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


def judge_look(member: str, plan: Plan, drift: Drift) -> Seen:
    """Return what one look at a member means. A plan that is refused, or knows too little, is not empty."""
    pending = tuple(change.address for change in plan.changes if change.action.writes or change.is_blocked)
    drifted = tuple(item.address for item in drift.drifted)
    errors = [diagnostic.message for diagnostic in plan.diagnostics if diagnostic.is_error]
    problem = errors[0] if errors else "not everything there could be read" if drift.is_partial else ""
    return Seen(member=member, pending=pending, drifted=drifted, problem=problem)


def objections(members: Iterable[Seen]) -> Iterator[str]:
    """Say why a stage does not pass; nothing where it does."""
    for member_seen in members:
        name = visible(member_seen.member)
        if member_seen.problem:
            yield f"{name} could not be looked at: {member_seen.problem.rstrip('.')}"
        elif member_seen.drifted:
            yield f"{name} drifted: {few_names(member_seen.drifted)}"
        elif member_seen.pending:
            yield f"{name} does not plan empty: {few_names(member_seen.pending)}"


def next_pause(stay: float, so_far: float) -> float | None:
    """Return the seconds until the next look. None: the stage has stayed long enough, and this look was the last."""
    left = stay - so_far
    return None if left <= 0 else min(left, max(OFTEN, min(SELDOM, stay / LOOKS)))


async def objections_while_staying(
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
            if reasons := [*objections(await look())]:
                return reasons
            left = next_pause(stay, so_far)
            if left is None:
                return []
            await rest(left)
