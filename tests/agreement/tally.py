"""What a run over one version found: counts, coverage and disagreements; small enough to travel between processes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from reconciler.core.rule import Reaction
from reconciler.core.wire import Version
from reconciler.kinds import REGISTRY
from tests.agreement.case import Case
from tests.agreement.codes import NAMED, UNREACHED
from tests.agreement.drawing import ROWS, SIDES
from tests.agreement.judging import Kind, judgement, needed
from tests.agreement.running import Outcome

_CODES = {row.id: row.codes for row in ROWS}


@dataclass(slots=True)
class Tally:
    """One version."""

    version: str
    kinds: Counter[Kind] = field(default_factory=Counter)
    stricter: Counter[str] = field(default_factory=Counter)
    agreed: Counter[str] = field(default_factory=Counter)
    """Refusals that both say, by our rule."""
    hits: Counter[tuple[str, str]] = field(default_factory=Counter)
    codes: Counter[int] = field(default_factory=Counter)
    needed: set[str] = field(default_factory=set)
    doomed: Counter[str] = field(default_factory=Counter)
    """Rules that foretold a loss which a restart showed."""
    restarted: int = 0
    wrong: dict[str, list[Case]] = field(default_factory=dict)
    """Disagreements: what, and the cases."""

    def add(self, one: Outcome) -> None:
        found = judgement(one)
        self.kinds[found.kind] += 1
        if found.kind is Kind.DISAGREED:
            self.wrong.setdefault(found.why, []).append(one.drawn)
        (self.stricter if found.kind is Kind.STRICTER else self.agreed).update(found.by)
        self.needed |= needed(one)
        self.restarted += one.lost is not None
        if one.lost and one.ours:
            self.doomed.update({v.code for v in one.ours.blocking if v.reaction is Reaction.DOOMS})
        if one.refused:
            self.codes[one.err_code] += 1
        self._hit(one)

    def _hit(self, one: Outcome) -> None:
        if one.answer is None or one.case.row not in _CODES:
            return
        if one.refused and one.err_code in _CODES[one.case.row]:
            self.hits[one.case.row, "refused"] += 1
        elif not one.refused:
            self.hits[one.case.row, "allowed"] += 1

    @property
    def cases(self) -> int:
        return sum(number for kind, number in self.kinds.items() if kind is not Kind.UNBORN)

    def missing(self, times: int) -> list[tuple[str, str]]:
        """Sides of rows seen too seldom."""
        at = Version.parse(self.version)
        return [(r.id, side) for r in ROWS for side in SIDES if r.expects(side, at) and self.hits[r.id, side] < times]

    @property
    def total_wrong(self) -> int:
        return sum(len(cases) for cases in self.wrong.values())


def unreached(tallies: Iterable[Tally]) -> set[int]:
    """err_codes that no version answered, though some should have."""
    return set(NAMED) - set().union(*(t.codes for t in tallies)) - UNREACHED.keys()


NOT_NEEDED: dict[str, str] = {
    "OB401": "nothing that an object store's file may say is younger than the oldest supported server",
    "XX202": "two streams exchange subjects: a case has one change; tests/rules and the tests of handovers have both",
    "XX226": "accounts with limits by number of replicas live in clusters with operators",
    "XX551": "two groups with one queue: a case has one change; tests/rules has both",
}
"""Rules that may be left out without any case of a single server noticing, with the reason."""


def unneeded(tallies: Iterable[Tally]) -> set[str]:
    """Rules whose absence no case would notice."""
    found = set().union(*(t.needed for t in tallies))
    foretelling = {rule.code for rule in REGISTRY.rules() if rule.reaction is Reaction.REFUSES}
    return foretelling - found - NOT_NEEDED.keys()
