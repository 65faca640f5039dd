"""A record: what each operation of a battery experienced, in words that are equal wherever the experience was equal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field

from reconciler.changes.effect import Side
from reconciler.model.dataclass import dataclass

NOT_TRIED = "not tried"
FAILS = ("refused", "no answer", "nothing listens", "0 messages", "400", "404", "408", "409", "503")
"""Beginnings of the experience of an operation that had no result."""


@dataclass(frozen=True, slots=True)
class RecordLine:
    """One operation's experience."""

    side: Side
    experience: str
    given: tuple[str, ...] = ()
    """Beginnings of the names of operations that decide this one: where one of them differs, a difference here only
    follows."""


Record = Mapping[str, RecordLine]
"""By the name of the operation."""


@dataclass(frozen=True, slots=True)
class Difference:
    """An operation that clients experience differently after a change."""

    operation: str
    side: Side
    before: str
    after: str
    follows: bool = False
    """From another difference: a message that was refused is not delivered either."""

    def __str__(self) -> str:
        return f"{self.operation}: {self.before} → {self.after}"


@dataclass(slots=True)
class Notes:
    """A record in the making."""

    lines: dict[str, RecordLine] = field(default_factory=dict)

    def add(self, operation: str, side: Side, experience: str, *given: str) -> None:
        """Note one experience. `given`: beginnings of the names of operations that decide this one."""
        self.lines[operation] = RecordLine(side, experience, given)


def differences(before: Record, after: Record) -> tuple[Difference, ...]:
    """Return the differences, in the order of the battery."""
    names = list(dict.fromkeys([*before, *after]))
    differing = [name for name in names if _experience_text(before, name) != _experience_text(after, name)]
    return tuple(_difference(before, after, name, differing) for name in differing)


def sides(differences_felt: Iterable[Difference]) -> frozenset[Side]:
    """Return the sides on which any of these differences is felt."""
    return frozenset(difference.side for difference in differences_felt)


def is_relief(difference: Difference) -> bool:
    """Did something that failed before fail differently now, or not at all; or do withheld payloads come?"""
    return difference.before.startswith(FAILS) or difference.before == f"{difference.after}, headers only"


def _experience_text(record: Record, name: str) -> str:
    return record[name].experience if name in record else NOT_TRIED


def _difference(before: Record, after: Record, name: str, differing: Iterable[str]) -> Difference:
    line = after.get(name) or before[name]
    follows = any(other != name and other.startswith(line.given) for other in differing) if line.given else False
    return Difference(name, line.side, _experience_text(before, name), _experience_text(after, name), follows)
