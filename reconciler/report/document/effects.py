"""The effects of a plan on messages and clients, in quantities: consequences, and what rules counted without stopping
it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from reconciler.changes.change import Consequence
from reconciler.changes.plan import PlannedChange
from reconciler.changes.verdict import Verdict
from reconciler.report.document.entries import ChangeEntry
from reconciler.report.document.judgements import sentence, total, worst_first
from reconciler.report.words.names import kind_noun

MOST = 20
"""How many of equal changes are named."""

Said = tuple[str, str, Verdict | Consequence]
"""An address, a sentence, and what holds the quantities in it."""


def effects(entry: ChangeEntry) -> Iterator[tuple[str, str]]:
    """Yield objects with what happens to them. Equal effects become one; of many different effects, the first few and
    the sum."""
    columns = [[of(change) for change in entry.changes] for of in _sayings(entry)]
    for same in columns:
        if len(same) > 1 and len({text for _, text, _ in same}) == 1:
            yield many(entry), sentence(same[0][1])
            continue
        yield from ((address, sentence(text)) for address, text, _ in same[:MOST])
        if len(same) > MOST:
            sums = total(one for _, _, one in same)
            yield f"and {len(same) - MOST:_} more", sums or "similar effects."


def many(entry: ChangeEntry) -> str:
    """Return `12 streams`."""
    return f"{len(entry.changes):_} {kind_noun(entry.first.address.partition('/')[0], len(entry.changes))}"


def _sayings(entry: ChangeEntry) -> Sequence[Callable[[PlannedChange], Said]]:
    """The changes of an entry have equally many effects, in the same order."""
    return [
        *(_consequence(number) for number in range(len(entry.first.consequences))),
        *(_verdict(number) for number, one in enumerate(worst_first(entry.first.verdicts)) if _counts(one)),
    ]


def _counts(verdict: Verdict) -> bool:
    """Does the verdict have quantities to show here? A verdict that stops a change shows them where it stops it."""
    return bool(verdict.quantities) and not verdict.blocks


def _consequence(number: int) -> Callable[[PlannedChange], Said]:
    def said(change: PlannedChange) -> Said:
        one = change.consequences[number]
        return change.address, one.message, one

    return said


def _verdict(number: int) -> Callable[[PlannedChange], Said]:
    def said(change: PlannedChange) -> Said:
        one = worst_first(change.verdicts)[number]
        return change.address, one.message, one

    return said
