"""What carrying out a plan on throw-away servers showed, and what clients experienced there before and after it, as
data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from reconciler.changes.diff import Action, FieldChange
from reconciler.changes.effect import Side
from reconciler.changes.events import Finished
from reconciler.changes.plan import Plan, PlannedChange

TIERS = "limits by replicas"
"""Only an operator's signature gives an account such limits; without them, a stage has more room than the account."""


@dataclass(frozen=True, slots=True)
class Missing:
    """What could not be recreated."""

    what: str
    """In the form of addresses: `stream/ORDERS`."""
    why: str


class Foresight(StrEnum):
    """What a plan said about a difference."""

    UNFORETOLD = "not foretold"
    FORETOLD = "foretold"
    HARMLESS = "harmless"
    """It costs nobody anything, so a plan need not mention it."""
    FOLLOWS = "follows"
    """It follows from another difference: a refused message is not delivered either."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Experience:
    """An operation that works differently for clients after a change."""

    address: str
    """The object of the operation: `consumer/ORDERS/dispatch`."""
    operation: str
    side: Side
    before: str
    after: str
    foresight: Foresight
    codes: tuple[str, ...] = ()
    """The codes that foretold it."""
    reason: str = ""
    """Why it is harmless."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unshown:
    """What a plan foretells and a short play does not show, because it takes more messages or more time."""

    address: str
    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    operations: int = 0
    """How many operations were tried, before and after each change."""
    objects: tuple[str, ...] = ()
    """The objects they were tried on: what changes, and what its change may touch."""
    messages: int = 0
    """How many messages were made up for each stream; some of them are in flight when the change happens."""
    felt: tuple[Experience, ...] = ()
    unshown: tuple[Unshown, ...] = ()
    unplayed: tuple[Missing, ...] = ()
    consented: tuple[str, ...] = ()
    """Changes that were carried out as if somebody had consented: the question is what they do, before anybody
    consents."""
    seconds: float = 0.0

    @property
    def differences(self) -> Sequence[Experience]:
        """The differences, without those that only follow from others."""
        return [one for one in self.felt if one.foresight is not Foresight.FOLLOWS]

    @property
    def unforetold(self) -> Sequence[Experience]:
        """Differences that cost clients something, although the plan does not mention them."""
        return [one for one in self.felt if one.foresight is Foresight.UNFORETOLD]


@dataclass(frozen=True, slots=True, kw_only=True)
class Restarted:
    """What another version does with the same stores."""

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
    """The plan made on the stage: nothing is stored there, so nothing is lost."""
    finished: Finished
    missing: tuple[Missing, ...] = ()
    left: tuple[PlannedChange, ...] = ()
    """What a second plan would still change."""
    restarted: Restarted | None = None
    probe: Probe | None = None
    """What clients will notice, if that was asked for."""

    @property
    def is_foretold(self) -> bool:
        """As far as clients were played, the plan mentions everything that costs them something."""
        return not (self.probe and self.probe.unforetold)

    @property
    def is_fine(self) -> bool:
        """Everything that was tried had the expected result."""
        after = self.restarted
        return self.finished.is_success and not self.left and not (after and (after.gone or after.left))

    @property
    def refused(self) -> list[str]:
        """Changes that were not even tried."""
        return [one.address for one in self.plan.changes if one.is_blocked]

    @property
    def lacking(self) -> list[str]:
        """Changes whose rehearsal says nothing, since their objects could not be recreated."""
        names = {one.what.split("/")[1] for one in self.missing if "/" in one.what}
        unlimited = any(one.what == TIERS for one in self.missing)
        return [
            one.address
            for one in self.plan.changes
            if one.address.split("/")[1] in names or (unlimited and one.action is Action.CREATE)
        ]
