"""A rule judges a change: allowed, warns, needs consent, replaces, or refused; with the reason and the way out.

A rule is one small function or one declarative line. It says nothing of codes, spans or consent: the engine stamps those
on what it finds, so that they cannot drift from the rule's own name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from reconciler.core.diagnostic import Diagnostic, Severity, SourceSpan
from reconciler.core.diff import Action, Change
from reconciler.core.resource import Address, Json, Resource
from reconciler.core.wire import Facts, Snapshot, Target, Version


class Outcome(StrEnum):
    """How bad a finding is, best first."""

    ALLOWED = "allowed"
    WARNS = "warns"
    NEEDS_CONSENT = "needs_consent"
    REPLACES = "replaces"
    REFUSED = "refused"

    @property
    def rank(self) -> int:
        return list(Outcome).index(self)


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
    quantities: Mapping[str, int] = field(default_factory=dict)


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

    @property
    def blocks(self) -> bool:
        """Stands between the change and its application."""
        return self.outcome.rank >= Outcome.NEEDS_CONSENT.rank and self.consented is None

    @property
    def refuses(self) -> bool:
        return self.blocks and self.outcome is Outcome.REFUSED

    def diagnostic(self) -> Diagnostic:
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class View:
    """Everything a rule may look at beside the change itself."""

    target: Target
    topology: str = ""
    source: str | None = None
    """Repository the files come from, where known."""
    ledger_known: bool = True
    facts: Facts = field(default_factory=dict)
    snapshot: Snapshot | None = None
    desired: Mapping[Address, Resource] = field(default_factory=dict)
    """What will be there after apply, as far as it is declared."""
    live: Mapping[Address, Resource] = field(default_factory=dict)
    changes: Mapping[Address, Change] = field(default_factory=dict)

    def children(self, parent: str, kind: str) -> list[Change]:
        """Changes of `kind` under the resource whose names begin with `parent`."""
        return [c for a, c in self.changes.items() if a.kind == kind and a.stream == parent]


Need = Literal["spec", "live", "neighbours", "facts"]
Found = Finding | Iterable[Finding] | None
Judge = Callable[[Change, View], Found]

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
    err_code: int | None = None
    """What the server answers; None: the server accepts it, we are stricter for a shown harm."""

    def holds_for(self, version: Version) -> bool:
        return self.since <= version < self.until


def rule(
    code: str,
    name: str,
    *,
    on: Sequence[Action] = (Action.CREATE, Action.UPDATE),
    needs: Sequence[Need] = ("spec",),
    since: Version = EVER[0],
    until: Version = EVER[1],
    err_code: int | None = None,
) -> Callable[[Judge], Rule]:
    """Make a rule of a function; its docstring is the page people read."""

    def make(judge: Judge) -> Rule:
        return Rule(
            code=code,
            name=name,
            doc=inspect.cleandoc(judge.__doc__ or ""),
            judge=judge,
            on=frozenset(on),
            needs=frozenset(needs),
            since=since,
            until=until,
            err_code=err_code,
        )

    return make


def judged(rules: Iterable[Rule], change: Change, view: View) -> list[Verdict]:
    """Every verdict of these rules on one change, in the rules' order."""
    verdicts: list[Verdict] = []
    for one in rules:
        if change.action not in one.on or not one.holds_for(view.target.version):
            continue
        found = one.judge(change, view)
        findings = [found] if isinstance(found, Finding) else found or ()
        verdicts.extend(_stamped(one, finding, change) for finding in findings)
    return verdicts


def _stamped(one: Rule, finding: Finding, change: Change) -> Verdict:
    return Verdict(
        code=one.code,
        name=one.name,
        outcome=finding.outcome,
        message=finding.message,
        address=str(change.address),
        path=finding.path,
        span=change.where(finding.path),
        fix=finding.fix,
        to=finding.to,
        consentable=finding.consentable or finding.outcome in (Outcome.NEEDS_CONSENT, Outcome.REPLACES),
        quantities=finding.quantities,
    )


def fixed(code: str, name: str, path: str, message: str, fix: str, *, err_code: int, until: Version = EVER[1]) -> Rule:
    """A field the server fixes at creation. `message` may use {live} and {desired}."""

    def judge(change: Change, _view: View) -> Found:
        if (found := change.field(path)) is None:
            return None
        text = message.format(
            live=_shown(found.live, found.info.default), desired=_shown(found.desired, found.info.default)
        )
        return Finding(outcome=Outcome.REFUSED, path=found.path, message=text, fix=fix, to=found.desired)

    judge.__doc__ = f"{message}\n\nInstead: {fix}"
    return rule(code, name, on=(Action.UPDATE,), needs=("live",), until=until, err_code=err_code)(judge)


def one_way(code: str, name: str, path: str, message: str, fix: str, *, err_code: int) -> Rule:
    """A flag that can be turned on but never off again."""

    def judge(change: Change, _view: View) -> Found:
        if change.was(path) is True and not change.becomes(path):
            return Finding(outcome=Outcome.REFUSED, path=path, message=message, fix=fix, to=False)
        return None

    judge.__doc__ = f"{message}\n\nInstead: {fix}"
    return rule(code, name, on=(Action.UPDATE,), needs=("live",), err_code=err_code)(judge)


def _shown(value: Json, default: Json) -> str:
    shown = default if value is None else value
    return "the default" if shown is None else str(shown)
