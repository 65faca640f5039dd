"""A rule judges a change: allowed, warns, needs consent, replaces, or refused; with the reason and what to do instead.

A rule is one small function or one declarative line. It knows nothing of codes, spans or consent: the engine stamps
those on what it finds, so that they cannot drift from the rule's own name.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Literal

from reconciler.changes.amount import maxima, uncounted_amounts
from reconciler.changes.change import Action, Change
from reconciler.changes.verdict import ACCEPTED_REACTIONS, HARMFUL_REACTIONS, Finding, Other, Outcome, Reaction, Verdict
from reconciler.changes.view import View
from reconciler.model.dataclass import dataclass
from reconciler.model.resource import Address
from reconciler.model.wire.version import Version

Need = Literal["spec", "live", "neighbours", "facts"]
Found = Finding | Iterable[Finding] | None
Judge = Callable[[Change, View], Found]
Affected = Callable[[Change, View], Sequence[Address]]

EVER = (Version(0, 0), Version(999, 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A judgement with a code (`ST101`), a name for the pattern it flags, and the versions it applies to."""

    code: str
    name: str
    doc: str
    """What, why the server cares, what to do instead; `reconciler explain` prints it."""
    judge: Judge
    on: frozenset[Action] = frozenset({Action.CREATE, Action.UPDATE})
    needs: frozenset[Need] = frozenset({"spec"})
    since: Version = EVER[0]
    until: Version = EVER[1]
    """First version that it no longer applies to."""
    reaction: Reaction = Reaction.DOES
    """What the server does with it. In all cases but REFUSES, reconciler is stricter than the server, because of a harm
    that a test shows."""
    err_codes: tuple[int, ...] = ()
    """What the server answers if it refuses; several if versions or requests differ."""
    can_stand: bool | None = None
    """Live objects can be like this: the rule judges a creation, and an update, a changed neighbour or a client can
    have led to it. None: the reaction decides."""

    affected: Affected | None = None
    """Who is affected if it hurts, beside those that a finding names itself."""
    of: frozenset[str] = frozenset()
    """Kinds that it judges; empty: its own, or any for a rule across kinds."""

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
    """Make a rule from a function; the function's docstring is the page that people read. A rule with an `err_code` is
    the server's own."""
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


def with_affected(who: Affected, rules: Iterable[Rule]) -> tuple[Rule, ...]:
    """The same rules, with who is affected. Rules about deletions are left out, since others judge whom those
    affect."""
    return tuple(
        replace(each_rule, affected=who) if Action.DELETE not in each_rule.on else each_rule for each_rule in rules
    )


def _as_findings(findings: Finding | Iterable[Finding]) -> Iterable[Finding]:
    return [findings] if isinstance(findings, Finding) else findings


def verdicts_of(rules: Iterable[Rule], change: Change, view: View) -> list[Verdict]:
    """Every verdict of these rules, which all concern this change, in the rules' order."""
    verdicts: list[Verdict] = []
    for each_rule in rules:
        if findings := each_rule.judge(change, view):  # most rules find nothing of most objects
            verdicts += [_verdict_of_finding(each_rule, finding, change, view) for finding in _as_findings(findings)]
    return verdicts


def _verdict_of_finding(by_rule: Rule, finding: Finding, change: Change, view: View) -> Verdict:
    reaction = finding.reaction or by_rule.reaction
    hurts = change.action.writes and (reaction in HARMFUL_REACTIONS or finding.outcome is Outcome.REPLACES)
    of = (view.stream_of(change.address), change.address.stream)
    others = view.others(
        (*finding.affects, *(by_rule.affected(change, view) if by_rule.affected and hurts else ())), of
    )
    informed = view.others((address for address in finding.tells if address not in finding.affects), of)
    outcome = max(finding.outcome, Outcome.NEEDS_CONSENT, key=lambda each: each.rank) if others else finding.outcome
    return Verdict(
        code=by_rule.code,
        name=by_rule.name,
        outcome=outcome,
        message="; ".join([finding.message, *others_in_words((*others, *informed), view)]),
        address=str(change.address),
        path=finding.path,
        span=change.where(finding.path),
        fix=finding.fix,
        to=finding.to,
        consentable=finding.consentable or outcome in (Outcome.NEEDS_CONSENT, Outcome.REPLACES),
        quantities=maxima({**({"dependants": len(others)} if others else {}), **finding.quantities}),
        bounds=uncounted_amounts(finding.quantities),
        reaction=reaction,
        can_stand=finding.can_stand
        or (reaction in ACCEPTED_REACTIONS if by_rule.can_stand is None else by_rule.can_stand),
        others=(*others, *informed),
    )


NAMED = 5
SUBJECTS = 3
_PLAIN = re.compile(r"[\w.-]+")


def others_in_words(others: Sequence[Other], view: View) -> list[str]:
    """Readers of other topologies with what they read, and then everything else that may be affected; only the first ones
    if there are many."""
    known_first = sorted(others, key=lambda other: (other.owner is None, not other.reads, other))[:NAMED]
    reading = [_reader_in_words(other, other.owner) for other in known_first if other.owner and other.reads]
    unowned = "owned by no topology" if view.ledger_known else "owner unknown"
    rest = [
        f"{other.address} ({f'owned by `{other.owner}`' if other.owner else unowned})"
        for other in known_first
        if not (other.owner and other.reads)
    ]
    clauses = [", ".join(reading)] if reading else []
    clauses += [f"this may affect {', '.join(rest)}"] if rest else []
    if more := len(others) - len(known_first):
        clauses[-1] += f" and {more:_} more"
    return clauses


def _reader_in_words(reader: Other, owner: str) -> str:
    """`payments reads orders.*.eu by consumer/ORDERS/ledger`."""
    subjects = ", ".join(reader.reads[:SUBJECTS])
    if more := len(reader.reads) - SUBJECTS if len(reader.reads) > SUBJECTS else 0:
        subjects += f" and {more:_} more subjects"
    called = owner if _PLAIN.fullmatch(owner) else f"`{owner}`"
    return f"{called} reads {'everything' if reader.reads == ('>',) else subjects} by {reader.address}"
