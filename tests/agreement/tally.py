"""What a run over one version found: counts, coverage and disagreements; small enough to travel between processes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from reconciler.changes.verdict import Reaction
from reconciler.model.wire.version import Version
from tests.agreement.case import Case
from tests.agreement.drawing import SIDES
from tests.agreement.judging import Kind, judgement, needed
from tests.agreement.row import Row
from tests.agreement.rows import ROWS
from tests.agreement.running import Outcome


@dataclass(slots=True)
class Tally:
    """One version."""

    version: str
    rows: tuple[Row, ...] = ROWS
    kinds: Counter[Kind] = field(default_factory=Counter)
    stricter: Counter[str] = field(default_factory=Counter)
    harming: set[str] = field(default_factory=set)
    """Rules of those that see more than an objection of ours."""
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
        if found.kind is Kind.STRICTER and one.ours:
            self.harming |= {v.code for v in one.ours.blocking if v.reaction is not Reaction.DOES}
        self.needed |= needed(one)
        self.restarted += one.lost is not None
        if one.lost and one.ours:
            self.doomed.update({v.code for v in one.ours.blocking if v.reaction is Reaction.DOOMS})
        if one.refused:
            self.codes[one.err_code] += 1
        self._hit(one)

    def _hit(self, one: Outcome) -> None:
        row = next((row for row in self.rows if row.id == one.case.row), None)
        if one.answer is None or row is None:
            return
        if not one.refused or one.err_code in row.codes:
            self.hits[row.id, "refused" if one.refused else "allowed"] += 1

    @property
    def cases(self) -> int:
        return sum(number for kind, number in self.kinds.items() if kind is not Kind.UNBORN)

    @property
    def is_barren(self) -> bool:
        """What could not be made is judged by nobody."""
        return self.kinds[Kind.UNBORN] > 0.1 * self.cases

    def missing(self, times: int) -> list[tuple[str, str]]:
        """Sides of rows seen too seldom."""
        at = Version.parse(self.version)
        return [
            (r.id, side) for r in self.rows for side in SIDES if r.expects(side, at) and self.hits[r.id, side] < times
        ]

    @property
    def total_wrong(self) -> int:
        return sum(len(cases) for cases in self.wrong.values())
