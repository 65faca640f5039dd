"""What was said beside what was so, by code and quantity."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tests.truth.case import Case, Row


@dataclass
class Line:
    cases: int = 0
    exact: int = 0
    said: int = 0
    measured: int = 0
    furthest: int = 0
    holds: bool = True

    def __iadd__(self, other: Line) -> Line:
        self.cases, self.exact = self.cases + other.cases, self.exact + other.exact
        self.said, self.measured = self.said + other.said, self.measured + other.measured
        self.furthest, self.holds = max(self.furthest, other.furthest), self.holds and other.holds
        return self


@dataclass
class Tally:
    by: dict[str, Line] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    cases: int = 0
    uncounted: int = 0
    """Cases of which nothing could be counted, or nothing was said in numbers."""

    @classmethod
    def of(cls, minor: str, found: Iterable[tuple[Case, list[Row]]]) -> Tally:
        total = cls()
        for case, rows in found:
            total.cases, total.uncounted = total.cases + 1, total.uncounted + (not rows)
            for row in rows:
                total.by.setdefault(_name(row.of), Line()).__iadd__(_line(row))
            if bad := [row for row in rows if not row.holds]:
                total.wrong.append(f"{minor}: {[(row.of, tuple(row.said), row.measured) for row in bad]}: {case}")
        return total

    def __iadd__(self, other: Tally) -> Tally:
        for name, line in other.by.items():
            self.by.setdefault(name, Line()).__iadd__(line)
        self.wrong += other.wrong
        self.cases, self.uncounted = self.cases + other.cases, self.uncounted + other.uncounted
        return self

    @property
    def is_true(self) -> bool:
        """With many cases that nobody counted little would be proven."""
        return not self.wrong and self.uncounted < 0.1 * self.cases


def _name(of: str) -> str:
    """The readers of a stream together."""
    code, _, quantity = of.rpartition(" ")
    return f"{code} of each consumer" if len(quantity) == 1 else of[:32]


def _line(row: Row) -> Line:
    guess = row.said.about if row.said.about is not None else row.said.most
    return Line(1, int(row.said.is_exact), guess, row.measured, abs(guess - row.measured), row.holds)


def lines(total: Tally) -> Iterator[str]:
    """The table, and the first that are not so."""
    head = ("code and quantity", "cases", "exact", "said", "measured", "largest difference", "within bounds")
    yield "{:32} {:>7} {:>7} {:>9} {:>9} {:>19} {:>14}".format(*head)
    for name, one in sorted(total.by.items()):
        row = (
            name,
            one.cases,
            one.exact,
            one.said,
            one.measured,
            one.furthest,
            "always" if one.holds else "NOT ALWAYS",
        )
        yield "{:32} {:>7} {:>7} {:>9} {:>9} {:>19} {:>14}".format(*row)
    yield f"{total.cases} cases, {total.uncounted} of them not counted"
    yield from (f"  {one}" for one in total.wrong[:20])
