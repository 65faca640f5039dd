"""What carrying out a plan on throw-away servers showed, and what clients experienced there before and after it, as
data."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

from reconciler.changes.change import Action, FieldChange
from reconciler.changes.effect import Side
from reconciler.changes.events import Finished
from reconciler.changes.plan import Plan, PlannedChange
from reconciler.model.dataclass import dataclass
from reconciler.model.resource import Json
from reconciler.model.shape import ALWAYS, UNWRITTEN, AddressText, As, Count, VersionText, computed

TIERS = "limits by replicas"
"""Only an operator's signature gives an account such limits; without them, a stage has more room than the account."""


@dataclass(frozen=True, slots=True)
class Missing:
    """What could not be recreated."""

    what: str
    """What could not be recreated or tried, in the form of addresses where it has one: `stream/ORDERS`."""
    why: str
    """Why."""


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

    address: AddressText
    """The object of the operation: `consumer/ORDERS/dispatch`."""
    operation: str
    """What clients did."""
    side: Side
    """Which clients experience it."""
    before: str
    """Their result without the changes."""
    after: str
    """Their result with the changes."""
    foresight: Foresight
    """Whether the plan foretells it."""
    codes: Annotated[tuple[str, ...], ALWAYS] = ()
    """Rules that foretold it."""
    reason: Annotated[str, ALWAYS] = ""
    """Why it is harmless, where it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unshown:
    """What a plan foretells and a short play does not show, because it takes more messages or more time."""

    address: AddressText
    """The object."""
    code: str
    """The rule."""
    message: str
    """What it foretells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    operations: Annotated[Count, ALWAYS] = 0
    """How many operations were tried, without and with the changes each."""
    objects: Annotated[tuple[AddressText, ...], ALWAYS] = ()
    """The objects that they were tried on: what changes, and what its change may touch."""
    messages: Annotated[Count, ALWAYS] = 0
    """How many messages were invented for each stream; some of them are in flight when the change happens."""
    consented: Annotated[tuple[AddressText, ...], ALWAYS] = ()
    """Changes that were carried out as if somebody had consented: the question is what they do, before anybody
    consents."""
    felt: Annotated[tuple[Experience, ...], ALWAYS] = ()
    """Every operation that differs, also those that only follow from others."""
    unshown: Annotated[tuple[Unshown, ...], ALWAYS] = ()
    """What the plan foretells but so short a run does not show."""
    unplayed: Annotated[tuple[Missing, ...], ALWAYS] = ()
    """What was not tried."""
    seconds: Annotated[float, UNWRITTEN] = 0.0

    @property
    @computed("foretold")
    def is_foretold(self) -> bool:
        """True: the plan foretells everything that takes something from clients."""
        return not self.unforetold_differences

    @property
    def differences(self) -> Sequence[Experience]:
        """The differences, without those that only follow from others."""
        return [experience for experience in self.felt if experience.foresight is not Foresight.FOLLOWS]

    @property
    def unforetold_differences(self) -> Sequence[Experience]:
        """Differences that cost clients something, although the plan does not mention them."""
        return [experience for experience in self.felt if experience.foresight is Foresight.UNFORETOLD]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewritten:
    """A field that another version changed."""

    address: AddressText
    """The object."""
    path: str
    """The field."""
    before: Json = None
    """The value before, raw: durations in nanoseconds, sizes in bytes."""
    after: Json = None
    """The value after, raw."""

    @classmethod
    def each(cls, fields: Sequence[tuple[str, FieldChange]]) -> list[Rewritten]:
        """Live is what it was before; wanted is what the other version has instead."""
        return [
            cls(address=address, path=field_change.path, before=field_change.live, after=field_change.desired)
            for address, field_change in fields
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Restarted:
    """What another version does with the same stores."""

    version: VersionText
    """The nats-server that was started on the stores."""
    gone: Annotated[tuple[AddressText, ...], ALWAYS] = ()
    """Objects that were lost."""
    rewritten: Annotated[tuple[tuple[str, FieldChange], ...], ALWAYS, As(tuple[Rewritten, ...], Rewritten.each)] = ()
    """Fields that this version changed."""
    left: Annotated[tuple[PlannedChange, ...], ALWAYS] = ()
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
        return not (self.probe and self.probe.unforetold_differences)

    @property
    def is_fine(self) -> bool:
        """Everything that was tried had the expected result."""
        after = self.restarted
        return self.finished.is_success and not self.left and not (after and (after.gone or after.left))

    @property
    def refused_addresses(self) -> list[str]:
        """Changes that were not even tried."""
        return [planned.address for planned in self.plan.changes if planned.is_blocked]

    @property
    def unrehearsed_addresses(self) -> list[str]:
        """Changes whose rehearsal says nothing, since their objects could not be recreated."""
        names = {missing.what.split("/")[1] for missing in self.missing if "/" in missing.what}
        unlimited = any(missing.what == TIERS for missing in self.missing)
        return [
            planned.address
            for planned in self.plan.changes
            if planned.address.split("/")[1] in names or (unlimited and planned.action is Action.CREATE)
        ]
