"""What a rule found, and the verdict that the engine makes of it: allowed, a warning, consent needed, a replacement, or
refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from operator import attrgetter
from typing import Annotated, NamedTuple

from reconciler.changes.amount import Amount, Amounts
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import Diagnostic, Severity, SourceSpan
from reconciler.model.resource import Address, Json
from reconciler.model.shape import ALWAYS, UNWRITTEN, AddressText, As, Code, Like


class Outcome(StrEnum):
    """How bad a finding is, best first."""

    ALLOWED = "allowed"
    WARNS = "warns"
    NEEDS_CONSENT = "needs_consent"
    REPLACES = "replaces"
    REFUSED = "refused"

    @property
    def rank(self) -> int:
        """From 0, allowed, to 4, refused; compare this instead of the outcomes themselves, which are texts."""
        return list(Outcome).index(self)


class Reaction(StrEnum):
    """What the server itself does with what a rule flags: "ok" has many meanings, and only the first one is a
    promise."""

    DOES = "does it; only reconciler objects"
    REFUSES = "refuses it"
    ONE_WAY = "does it, and refuses to undo it"
    INERT = "answers ok and does nothing"
    DROPS = "answers ok and drops it"
    HARMS = "does it, at the cost of messages, positions or clients"
    DOOMS = "answers ok, and may lose the object or its state at its next restart or upgrade"

    @property
    def word(self) -> str:
        """Its name in JSON: `one_way`."""
        return self.name.lower()

    @classmethod
    def of(cls, word: str) -> Reaction:
        """Return the reaction of this name. Raises KeyError where there is none."""
        return cls[word.upper()]


ReactionWord = Annotated[str, Like(enum=[reaction.word for reaction in Reaction])]


HARMFUL_REACTIONS = frozenset({Reaction.HARMS, Reaction.DOOMS, Reaction.ONE_WAY})
"""Somebody notices these."""


ACCEPTED_REACTIONS = frozenset({Reaction.ONE_WAY, Reaction.INERT, Reaction.HARMS, Reaction.DOOMS})
"""These leave the object as it was asked for, so it may have been like this for long."""


class Other(NamedTuple):
    """Something that does not belong to this topology and that this change affects."""

    address: AddressText
    """The object that the change affects."""
    owner: str | None = None
    """The topology that applied it; absent: none is known."""
    reads: tuple[str, ...] = ()
    """The subjects that it reads, `>` for everything; absent: it reads nothing that is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a rule found; the engine adds which rule and where."""

    outcome: Outcome
    message: str
    path: str = ""
    """The field it is about; the field's place becomes the span."""
    fix: str | None = None
    to: Json = None
    """The value a consent must name."""
    consentable: bool = False
    """A refusal that consent can turn into an in-place change."""
    quantities: Mapping[str, int | Amount] = field(default_factory=dict)
    """How many messages, bytes and so on it is about; an amount if that was not counted."""
    reaction: Reaction | None = None
    """What the server does about this very finding, if it differs from the rule's reaction."""
    can_stand: bool = False
    """The server, or reconciler, refuses it in something new, but a live object can have come to it in another way."""
    affects: Sequence[Address] = ()
    """What it affects, whoever owns that. What does not belong to this topology is named with its owner, and needs
    consent."""
    tells: Sequence[Address] = ()
    """Who else has to know, without a harm that needs consent. What does not belong to this topology is named with its
    owner."""


def refusal(
    path: str,
    message: str,
    fix: str,
    *,
    to: Json = None,
    consentable: bool = False,
    reaction: Reaction | None = None,
    can_stand: bool = False,
    affects: Sequence[Address] = (),
    quantities: Mapping[str, int | Amount] | None = None,
) -> Finding:
    """Return a refusal; `path` is empty where no field is at fault."""
    return Finding(
        outcome=Outcome.REFUSED,
        path=path,
        message=message,
        fix=fix,
        to=to,
        consentable=consentable,
        reaction=reaction,
        can_stand=can_stand,
        affects=affects,
        quantities=quantities or {},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A finding with its rule's code and name, its place and the consent given to it."""

    code: Code
    """The rule, for `reconciler explain`."""
    name: str
    """The rule's name."""
    outcome: Outcome
    """What it means for the change, best first."""
    reaction: Annotated[Reaction, ALWAYS, As(ReactionWord, attrgetter("word"), Reaction.of)] = Reaction.DOES
    """What the server itself would do about it."""
    message: str
    """What the rule found, in a sentence."""
    address: AddressText
    """The resource."""
    span: SourceSpan | None = None
    """The place in the files."""
    fix: str | None = None
    """What to do instead."""
    to: Json = None
    """The value that a consent must name."""
    consented: str | None = None
    """The reason that somebody gave for allowing it."""
    path: str = ""
    """The field that it is about."""
    consentable: bool = False
    """True: a consent lifts it."""
    quantities: Mapping[str, int] = field(default_factory=dict)
    """Counts, or upper bounds of them."""
    bounds: Amounts = field(default_factory=dict)
    """Of the quantities, those that were not counted, between two bounds."""
    others: tuple[Other, ...] = ()
    """Objects that do not belong to this topology, and that this affects or whose owners have to know."""
    can_stand: Annotated[bool, UNWRITTEN] = False
    """Something live can be like this; without an account, nobody knows whether it is an offence."""

    @property
    def blocks(self) -> bool:
        """It prevents the change from being applied."""
        return self.outcome.rank >= Outcome.NEEDS_CONSENT.rank and self.consented is None

    @property
    def refuses(self) -> bool:
        """A refusal that no consent has lifted."""
        return self.blocks and self.outcome is Outcome.REFUSED

    @property
    def is_final(self) -> bool:
        """Does it stop the change whatever anybody consents to?"""
        return self.refuses and not self.consentable

    @property
    def is_about_the_gone(self) -> bool:
        """It tells what was lost with something that was applied and that somebody deleted: the 312 of every family."""
        return self.code[2:] == "312"

    @property
    def is_loss(self) -> bool:
        """It costs messages or a position, whether or not that needs a consent of its own."""
        return self.code[2:3] == "3" and self.reaction is Reaction.HARMS

    @property
    def needs_consent_for_loss(self) -> bool:
        """It belongs to the family that costs messages or a position, and is bad enough to need consent."""
        return self.code[2:3] == "3" and self.outcome.rank >= Outcome.NEEDS_CONSENT.rank

    def diagnostic(self) -> Diagnostic:
        """The same for those who see no plan: an error if it blocks, else a warning."""
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
