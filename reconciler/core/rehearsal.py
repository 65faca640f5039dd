"""What carrying a plan out on throw-away servers showed, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from reconciler.core.diff import Action, FieldChange
from reconciler.core.events import Finished
from reconciler.core.plan import Plan, PlannedChange

if TYPE_CHECKING:
    from reconciler.core.probe import Probe

TIERS = "limits by replicas"
"""Only an operator's signature gives an account those; without them, more fits on a stage than into the account."""


@dataclass(frozen=True, slots=True)
class Missing:
    """What could not be made again."""

    what: str
    """As addresses are written: `stream/ORDERS`."""
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Restarted:
    """What another version makes of the same stores."""

    version: str
    gone: tuple[str, ...] = ()
    rewritten: tuple[tuple[str, FieldChange], ...] = ()
    """By address: what was live before, and what the other version wants instead."""
    left: tuple[PlannedChange, ...] = ()
    """What a plan wants to change there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal:
    version: str
    size: int
    plan: Plan
    """As made on the stage: nothing is stored there, so nothing is lost."""
    finished: Finished
    missing: tuple[Missing, ...] = ()
    left: tuple[PlannedChange, ...] = ()
    """What a second plan would still change."""
    restarted: Restarted | None = None
    probe: Probe | None = None
    """What clients will feel, where that was asked for."""

    @property
    def is_foretold(self) -> bool:
        """As far as clients were played, the plan says all that takes something from them."""
        return not (self.probe and self.probe.unforetold)

    @property
    def is_fine(self) -> bool:
        """Everything that was tried did what was to be expected."""
        after = self.restarted
        return self.finished.is_success and not self.left and not (after and (after.gone or after.left))

    @property
    def refused(self) -> list[str]:
        """Not even tried."""
        return [one.address for one in self.plan.changes if one.is_blocked]

    @property
    def lacking(self) -> list[str]:
        """Changes whose rehearsal says nothing, since what they are about could not be made again."""
        names = {one.what.split("/")[1] for one in self.missing if "/" in one.what}
        unlimited = any(one.what == TIERS for one in self.missing)
        return [
            one.address
            for one in self.plan.changes
            if one.address.split("/")[1] in names or (unlimited and one.action is Action.CREATE)
        ]
