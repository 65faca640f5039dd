"""A rule judges a change: allowed, warns, needs consent, replaces, or refused; with the reason and the way out.

A rule is one small function or one declarative line. It says nothing of codes, spans or consent: the engine stamps those
on what it finds, so that they cannot drift from the rule's own name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Literal, NamedTuple, Protocol

from reconciler.changes.amount import Amount, Amounts, inexact, mosts
from reconciler.changes.diff import Action, Change
from reconciler.changes.renaming import Recipe
from reconciler.model.diagnostic import Diagnostic, Severity, SourceSpan
from reconciler.model.records import Owned
from reconciler.model.resource import Address, Config, Json, Resource
from reconciler.model.topology import Allowed, Guarded
from reconciler.model.wire import Facts, Snapshot, Target, Version


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


class AboutKind(Protocol):
    """What rules about several resources ask of a kind."""

    @property
    def backing(self) -> str | None: ...
    @property
    def own_name(self) -> Callable[[str], str]: ...
    @property
    def reserves(self) -> str: ...
    @property
    def as_stream(self) -> Callable[[Resource], Config]: ...
    @property
    def recipe(self) -> Recipe: ...
    def stream(self, address: Address) -> str | None: ...
    def records(self, address: Address) -> str | None: ...


def backed_by(stream: str, kinds: Mapping[str, AboutKind]) -> Iterator[Address]:
    """Whatever a stream of this name may be."""
    for name, kind in kinds.items():
        if kind.backing is not None and stream.startswith(kind.backing):
            yield Address.of(name, stream.removeprefix(kind.backing))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class View:
    """What is wanted, what is live, who owns what, and the changes between; rules may look at all of it."""

    snapshot: Snapshot
    topology: str = ""
    source: str | None = None
    """Repository the files come from, where known."""
    ledger_known: bool = True
    facts: Facts = field(default_factory=dict)
    """What was asked since, and answered."""
    desired: Mapping[Address, Resource] = field(default_factory=dict)
    """What will be there after apply, as far as it is declared."""
    live: Mapping[Address, Resource] = field(default_factory=dict)
    changes: Mapping[Address, Change] = field(default_factory=dict)
    ledger: Mapping[Address, Owned] = field(default_factory=dict)
    """Who owns what, whatever topology."""
    unmanaged: tuple[Address, ...] = ()
    """Live, neither declared nor owned by this topology: never touched."""
    guards: tuple[Guarded, ...] = ()
    """How much of a kind the files let go at once."""
    allow: tuple[Allowed, ...] = ()
    """Consent that the files give to many at once."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """What came up on the way: records that cannot be understood, and entries that name nothing and look like a slip."""
    kinds: Mapping[str, AboutKind] = field(default_factory=dict)

    @property
    def target(self) -> Target:
        """The server and account that the snapshot was taken of."""
        return self.snapshot.target

    def stream_of(self, address: Address) -> str | None:
        """The stream behind a resource; None where there is none of its own."""
        kind = self.kinds.get(address.kind)
        return kind.stream(address) if kind else None

    def is_stream(self, address: Address) -> bool:
        """Is it a stream, by whatever name?"""
        kind = self.kinds.get(address.kind)
        return kind is not None and kind.backing is not None

    def backed_by(self, stream: str) -> Iterator[Address]:
        """Every resource that a stream of this name may be: both `stream/KV_x` and `kv_bucket/x` for `KV_x`."""
        return backed_by(stream, self.kinds)

    def children(self, parent: str, kind: str) -> list[Change]:
        """Changes of `kind` under the resource whose names begin with `parent`."""
        return [c for a, c in self.changes.items() if a.kind == kind and a.stream == parent]

    def owner_of(self, *address: str) -> str | None:
        """The other topology that owns this; None: nobody does, or this one."""
        owned = self.ledger.get(Address.of(*address))
        return owned.topology if owned and owned.topology != self.topology else None

    def others(self, addresses: Iterable[Address]) -> tuple[Other, ...]:
        """Those that are not of this topology: it neither owns nor declares them."""
        owners = {address: self.ledger.get(address) for address in addresses}
        return tuple(
            Other(str(address), owned.topology if owned else None)
            for address, owned in owners.items()
            if (owned.topology != self.topology if owned else address not in self.desired)
        )

    def protects(self, *address: str) -> bool:
        """Was this last applied with `protect: true`, by whichever topology?"""
        owned = self.ledger.get(Address.of(*address))
        return owned is not None and owned.protected


Need = Literal["spec", "live", "neighbours", "facts"]
Found = Finding | Iterable[Finding] | None
Judge = Callable[[Change, View], Found]
FallsOn = Callable[[Change, View], Sequence[Address]]

EVER = (Version(0, 0), Version(999, 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A judgement with a code (`ST101`), a name for the pattern flagged, and the versions it holds for."""

    code: str
    name: str
    doc: str
    """What, why the server cares, what to do instead; `reconciler explain` prints it."""
    judge: Judge
    on: frozenset[Action] = frozenset({Action.CREATE, Action.UPDATE})
    needs: frozenset[Need] = frozenset({"spec"})
    since: Version = EVER[0]
    until: Version = EVER[1]
    """First version it no longer holds for."""
    reaction: Reaction = Reaction.DOES
    """What the server does with it. Beyond REFUSES we are stricter than it, for a harm shown in a test."""
    err_codes: tuple[int, ...] = ()
    """What the server answers where it refuses; several when versions or ways of asking differ."""
    can_stand: bool | None = None
    """It is judged when something is made, and what is there may have come to it by other ways: an update, a neighbour
    that changed, a client. None: as the reaction says."""

    falls_on: FallsOn | None = None
    """Who feels whatever of it hurts, beside those that a finding names itself."""
    of: frozenset[str] = frozenset()
    """Kinds it has anything to say about; empty: its own, or any for a rule across kinds."""

    def concerns(self, kind: str, action: Action, version: Version) -> bool:
        """Does the rule judge such a change of such a kind, on servers of this version?"""
        return action in self.on and self.since <= version < self.until and (not self.of or kind in self.of)


def rule(
    code: str,
    name: str,
    *,
    on: Sequence[Action] = (Action.CREATE, Action.UPDATE),
    of: Sequence[str] = (),
    needs: Sequence[Need] = ("spec",),
    since: Version = EVER[0],
    until: Version = EVER[1],
    reaction: Reaction | None = None,
    err_code: int | tuple[int, ...] = (),
    can_stand: bool | None = None,
) -> Callable[[Judge], Rule]:
    """Make a rule of a function; its docstring is the page people read. One with an `err_code` is the server's own."""
    err_codes = (err_code,) if isinstance(err_code, int) else err_code

    def make(judge: Judge) -> Rule:
        return Rule(
            code=code,
            name=name,
            doc=inspect.cleandoc(judge.__doc__ or ""),
            judge=judge,
            on=frozenset(on),
            of=frozenset(of),
            needs=frozenset(needs),
            since=since,
            until=until,
            reaction=reaction or (Reaction.REFUSES if err_codes else Reaction.DOES),
            err_codes=err_codes,
            can_stand=can_stand,
        )

    return make


def falling_on(who: FallsOn, rules: Iterable[Rule]) -> tuple[Rule, ...]:
    """The same rules. What is deleted has rules of its own for those it falls on."""
    return tuple(replace(one, falls_on=who) if Action.DELETE not in one.on else one for one in rules)


def _each(found: Finding | Iterable[Finding]) -> Iterable[Finding]:
    return [found] if isinstance(found, Finding) else found


def judged(rules: Iterable[Rule], change: Change, view: View) -> list[Verdict]:
    """Every verdict of these rules, which all concern this change, in the rules' order."""
    verdicts: list[Verdict] = []
    for one in rules:
        if found := one.judge(change, view):  # most rules find nothing of most objects
            verdicts += [_stamped(one, finding, change, view) for finding in _each(found)]
    return verdicts


def _stamped(one: Rule, finding: Finding, change: Change, view: View) -> Verdict:
    reaction = finding.reaction or one.reaction
    hurts = change.action.writes and (reaction in HURTS or finding.outcome is Outcome.REPLACES)
    others = view.others((*finding.affects, *(one.falls_on(change, view) if one.falls_on and hurts else ())))
    outcome = max(finding.outcome, Outcome.NEEDS_CONSENT, key=lambda one: one.rank) if others else finding.outcome
    return Verdict(
        code=one.code,
        name=one.name,
        outcome=outcome,
        message=finding.message + (f"; it falls on {_named(others, view)}" if others else ""),
        address=str(change.address),
        path=finding.path,
        span=change.where(finding.path),
        fix=finding.fix,
        to=finding.to,
        consentable=finding.consentable or outcome in (Outcome.NEEDS_CONSENT, Outcome.REPLACES),
        quantities=mosts({**({"dependants": len(others)} if others else {}), **finding.quantities}),
        bounds=inexact(finding.quantities),
        reaction=reaction,
        can_stand=finding.can_stand or (reaction in TAKEN if one.can_stand is None else one.can_stand),
        others=others,
    )


NAMED = 5


def _named(others: Sequence[Other], view: View) -> str:
    """Each with its owner, those of other topologies first; of many the first ones."""
    unowned = "of no topology" if view.ledger_known else "nobody could read of whom"
    known_first = sorted(others, key=lambda one: (one.owner is None, one))
    said = [f"{one.address} ({f'of `{one.owner}`' if one.owner else unowned})" for one in known_first[:NAMED]]
    return ", ".join(said) + (f" and {len(others) - NAMED:_} more" if len(others) > NAMED else "")
