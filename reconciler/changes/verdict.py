"""What a rule saw, and the verdict that the engine makes of it: allowed, warned of, in need of consent, a replacement, refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from reconciler.changes.amount import Amount, Amounts
from reconciler.model.diagnostic import Diagnostic, Severity, SourceSpan
from reconciler.model.resource import Address, Json


class Outcome(StrEnum):
    """How bad a finding is, best first."""

    ALLOWED = "allowed"
    WARNS = "warns"
    NEEDS_CONSENT = "needs_consent"
    REPLACES = "replaces"
    REFUSED = "refused"

    @property
    def rank(self) -> int:
        """From 0, allowed, to 4, refused; to be compared instead of the outcomes themselves, which are texts."""
        return list(Outcome).index(self)


class Reaction(StrEnum):
    """What the server itself does with what a rule flags: "ok" has many meanings, and only the first is a promise."""

    DOES = "does it; the objection is ours"
    REFUSES = "refuses it"
    ONE_WAY = "does it, and never takes it back"
    INERT = "says ok and does nothing"
    DROPS = "says ok and drops it"
    HARMS = "does it, at the cost of messages, positions or clients"
    DOOMS = "says ok, and loses the object at its next restart or upgrade"


HURTS = frozenset({Reaction.HARMS, Reaction.DOOMS, Reaction.ONE_WAY})
"""What somebody feels."""


TAKEN = frozenset({Reaction.ONE_WAY, Reaction.INERT, Reaction.HARMS, Reaction.DOOMS})
"""What leaves the object as it was asked for, so that it may long be like this."""


class Other(NamedTuple):
    """What is not of this topology, and feels what is done here."""

    address: str
    owner: str | None
    """The topology that applied it; None: none that is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a rule saw; the engine adds who said it and where."""

    outcome: Outcome
    message: str
    path: str = ""
    """The field it is about; its place becomes the span."""
    fix: str | None = None
    to: Json = None
    """The value a consent must name."""
    consentable: bool = False
    """A refusal that consent can turn into an in-place change."""
    quantities: Mapping[str, int | Amount] = field(default_factory=dict)
    """What of messages, bytes and others it is about; an amount where that was not counted."""
    reaction: Reaction | None = None
    """What the server does about this very finding, where it is not what the rule says in general."""
    can_stand: bool = False
    """The server refuses it of what is new, or we do; another way led to it all the same."""
    affects: Sequence[Address] = ()
    """What it falls on, whosever that is. What is not of this topology is named with its owner, and takes consent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A finding with its rule's code and name, its place and the consent given to it."""

    code: str
    name: str
    outcome: Outcome
    message: str
    address: str
    path: str = ""
    span: SourceSpan | None = None
    fix: str | None = None
    to: Json = None
    consentable: bool = False
    consented: str | None = None
    """The reason somebody gave for allowing this."""
    quantities: Mapping[str, int] = field(default_factory=dict)
    """Counted, or how much it is at most."""
    bounds: Amounts = field(default_factory=dict)
    """Of the quantities, those that were not counted."""
    reaction: Reaction = Reaction.DOES
    can_stand: bool = False
    """Something live can be like this: where no account is looked at, nobody knows that it is an offence."""
    others: tuple[Other, ...] = ()
    """What it falls on that is not of this topology."""

    @property
    def blocks(self) -> bool:
        """Stands between the change and its application."""
        return self.outcome.rank >= Outcome.NEEDS_CONSENT.rank and self.consented is None

    @property
    def refuses(self) -> bool:
        """A refusal that no consent has lifted."""
        return self.blocks and self.outcome is Outcome.REFUSED

    @property
    def is_loss(self) -> bool:
        """Costs messages or a position, whether or not that takes a consent of its own."""
        return self.code[2:3] == "3" and self.reaction is Reaction.HARMS

    @property
    def loses(self) -> bool:
        """Of the family that costs messages or a position, and bad enough to ask for consent."""
        return self.code[2:3] == "3" and self.outcome.rank >= Outcome.NEEDS_CONSENT.rank

    def diagnostic(self) -> Diagnostic:
        """The same for those who see no plan: an error where it blocks, else a warning."""
        severity = Severity.ERROR if self.blocks else Severity.WARNING
        return Diagnostic(
            severity=severity,
            code=self.code,
            name=self.name,
            message=self.message,
            address=self.address,
            span=self.span,
            fix=self.fix,
        )
