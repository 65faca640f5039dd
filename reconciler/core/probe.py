"""What clients of a topology experience before a plan is carried out and after it, as throw-away servers showed it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from reconciler.core.effect import Side
from reconciler.core.rehearsal import Missing


class Foresight(StrEnum):
    """What a plan said of a difference."""

    UNFORETOLD = "not foretold"
    FORETOLD = "foretold"
    HARMLESS = "harmless"
    """It takes nothing from anybody, so a plan need not speak of it."""
    FOLLOWS = "follows"
    """From another difference: a message that was refused is not delivered either."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Felt:
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
    felt: tuple[Felt, ...] = ()
    unshown: tuple[Unshown, ...] = ()
    unplayed: tuple[Missing, ...] = ()
    consented: tuple[str, ...] = ()
    """Changes that were carried out as if they were consented to, for whoever asks what they do has not consented yet."""
    seconds: float = 0.0

    @property
    def differences(self) -> Sequence[Felt]:
        """Without those that only follow from others."""
        return [one for one in self.felt if one.foresight is not Foresight.FOLLOWS]

    @property
    def unforetold(self) -> Sequence[Felt]:
        return [one for one in self.felt if one.foresight is Foresight.UNFORETOLD]
