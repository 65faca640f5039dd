"""One case: what is there, how far its consumers are, what becomes of it, and how that is counted afterwards."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from reconciler.changes.amount import Amount, exactly
from reconciler.changes.change import Consequence
from reconciler.changes.plan import Plan
from reconciler.changes.verdict import Verdict
from tests.truth.account import Live, Work

Topology = Mapping[str, Any]
Ready = Callable[[Live], Awaitable[None]]
Measured = Mapping[str, int]
"""By what the table calls it: `ST301 messages`."""


class Scene(NamedTuple):
    """What was there when the plan was made."""

    stored: Mapping[int, str]
    bytes: int
    plan: Plan


@dataclass(frozen=True, kw_only=True)
class Case:
    codes: tuple[str, ...]
    """Whose quantities are looked at."""
    before: Topology
    messages: tuple[tuple[str, int], ...]
    deleted: tuple[int, ...] = ()
    """Sequences, before any consumer works."""
    work: Mapping[str, Work] = field(default_factory=dict)
    pause: float = 0
    """Seconds before the later messages come."""
    young: float = 1e9
    """Seconds after which also what came later is too old."""
    later: tuple[tuple[str, int], ...] = ()
    gone: tuple[str, ...] = ()
    """Consumers that somebody deletes."""
    after: Topology
    replacing: tuple[str, ...] = ()
    """Codes that a replacement takes consent to."""
    ready: Ready | None = None
    """What to wait for, or to note, before the plan."""
    measure: Callable[[Live, Scene], Awaitable[Measured]]
    stream: str = "S"


class Row(NamedTuple):
    of: str
    said: Amount
    measured: int

    @property
    def holds(self) -> bool:
        return self.said.least <= self.measured <= self.said.most


def said(case: Case, plan: Plan) -> Iterator[tuple[str, Amount]]:
    """Each quantity of the codes in question, and of consequences as `code` says their names."""
    for change in plan.changes:
        found: tuple[Verdict | Consequence, ...] = (*change.verdicts, *change.consequences)
        for one in found:
            code = one.code if isinstance(one, Verdict) else consequence(one)
            for name, number in one.quantities.items() if code in case.codes else ():
                yield f"{code} {name}", one.bounds.get(name, exactly(number))
            if code == "ST301" and code in case.codes:
                yield from _of_readers(case, one.message)
                yield from _of_sizes(one.message)


def consequence(one: Consequence) -> str:
    """What the table calls it, by what it counts."""
    return next((name for name, counted in CONSEQUENCES.items() if one.quantities.keys() <= counted), "")


CONSEQUENCES = {
    "EG move": {"partitions_moved", "messages_moved", "messages_redelivered"},
    "CO start": {"stored", "skipped"},
    "CO park": {"unacknowledged"},
    "CO pause": {"pending"},
    "ST copies": {"copied"},
}


def _of_readers(case: Case, message: str) -> Iterator[tuple[str, Amount]]:
    """What the words say of each consumer that has not processed some of it."""
    for name in case.work:
        if found := re.search(SAID.format(name), message.partition(";")[2]):
            least, most, upto, exact = (int(one) if one else None for one in found.groups())
            number = exact if most is None and upto is None else None
            yield f"ST301 {name}", exactly(number) if number is not None else Amount(least or 0, most or upto or 0)


def _of_sizes(message: str) -> Iterator[tuple[str, Amount]]:
    """What the words say of bytes that no quantity bounds, in three digits."""
    if found := SIZED.search(message):
        about, *bounds = (float(number.replace("_", "")) * UNITS[unit] for number, unit in ONE.findall(found[0]))
        least, most = bounds or (about, about)
        yield "ST301 size", Amount(int(least * 0.995), int(most * 1.005) + 1, round(about))


UNITS = {"byte": 1, "bytes": 1, "KiB": 1024, "MiB": 1024**2}
ONE = re.compile(r"([\d_.]+) (bytes?|KiB|MiB)")
SIZED = re.compile(rf"messages? \((?:about )?{ONE.pattern}[^()]*\)")
SAID = r"\b{}(?: has not processed)? (?:at least (\d+) and at most (\d+)|up to (\d+)|(\d+))"
