"""Whether a plan that is made when its turn comes is what was shown before the first stage. Pure."""

from __future__ import annotations

from reconciler.changes.change import Action
from reconciler.changes.plan import Plan, PlannedChange
from reconciler.journeys.stages.divide import few
from reconciler.model.diagnostic import CannotContinue

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
