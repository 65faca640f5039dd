"""What carrying a plan out on throw-away servers showed, and what clients experienced there before and after it, as data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from reconciler.changes.diff import Action, FieldChange
from reconciler.changes.effect import Side
from reconciler.changes.events import Finished
from reconciler.changes.plan import Plan, PlannedChange

TIERS = "limits by replicas"
"""Only an operator's signature gives an account those; without them, more fits on a stage than into the account."""


@dataclass(frozen=True, slots=True)
class Missing:
    """What could not be made again."""

    what: str
    """As addresses are written: `stream/ORDERS`."""
    why: str


class Foresight(StrEnum):
    """What a plan said of a difference."""

    UNFORETOLD = "not foretold"
    FORETOLD = "foretold"
    HARMLESS = "harmless"
    """It takes nothing from anybody, so a plan need not speak of it."""
    FOLLOWS = "follows"
    """From another difference: a message that was refused is not delivered either."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Experience:
    """An operation that clients experience otherwise after a change than before it."""

    address: str
    """What it is done to: `consumer/ORDERS/dispatch`."""
    operation: str
    side: Side
    before: str
    after: str
    foresight: Foresight
    codes: tuple[str, ...] = ()
    """Of what foretold it."""
    reason: str = ""
    """Why it is harmless."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unshown:
    """What a plan foretells and so short a play does not show: it takes more messages, or more time."""

    address: str
    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    operations: int = 0
    """So many were tried, before and after each."""
    objects: tuple[str, ...] = ()
    """On which: what changes, and what a change of it may touch."""
    messages: int = 0
    """Made up for each stream, of which some are in flight when the change comes."""
    felt: tuple[Experience, ...] = ()
    unshown: tuple[Unshown, ...] = ()
    unplayed: tuple[Missing, ...] = ()
    consented: tuple[str, ...] = ()
    """Changes that were carried out as if they were consented to, for whoever asks what they do has not consented yet."""
    seconds: float = 0.0

    @property
    def differences(self) -> Sequence[Experience]:
        """Without those that only follow from others."""
        return [one for one in self.felt if one.foresight is not Foresight.FOLLOWS]

    @property
    def unforetold(self) -> Sequence[Experience]:
        """What takes something from clients, though the plan says nothing of it."""
        return [one for one in self.felt if one.foresight is Foresight.UNFORETOLD]


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
