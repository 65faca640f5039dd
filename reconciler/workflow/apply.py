"""Runs a plan's steps and remembers what came of them: verified first, then written to the ledger."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field, replace

from reconciler.core.events import Done, Event, Finished, Settled
from reconciler.core.plan import Plan
from reconciler.core.resource import Address
from reconciler.server import ledger
from reconciler.server.api import JetStream
from reconciler.server.execute import execute
from reconciler.workflow.plan import Planned
from reconciler.workflow.predict import forms


async def apply(
    planned: Planned, js: JetStream, *, stop: asyncio.Event | None = None, known: Iterable[Settled] = ()
) -> AsyncIterator[Event]:
    """Events of the run; the last is `Finished`. Blocked changes have no steps, so what runs is what may run. `known`:
    outcomes settled before it began."""
    plan = planned.plan
    book = _Book.of(plan, ledger.revisions(planned.snapshot))
    writes_ledger, warnings = plan.ledger_known and bool(book.waiting or book.at_once), []
    if writes_ledger and (unwritable := await ledger.ensure(js, planned.snapshot)):
        writes_ledger, warnings = False, [unwritable]
    if writes_ledger:
        warnings += await ledger.write(js, book.at_once, book.known)
    async for event in execute(js, plan.steps, forms=forms(planned.snapshot), stop=stop, known=known):
        if isinstance(event, Done):
            book.done(event.step.id)
        if writes_ledger and (len(book.ready) >= BATCH or isinstance(event, Finished)):
            warnings += await ledger.write(js, book.take(), book.known)
        yield replace(event, warnings=tuple(warnings)) if isinstance(event, Finished) else event


BATCH = 512
"""Records written at once: few round trips, and little to adopt again after a crash."""


@dataclass(slots=True)
class _Book:
    """Which records may be written: a change is remembered when its last step is done."""

    waiting: dict[Address, set[str]]
    records: dict[Address, ledger.Record]
    at_once: dict[Address, ledger.Record]
    """Adoptions and forgettings: they have no steps."""
    known: Mapping[Address, int]
    """Revisions the records were read at."""
    ready: dict[Address, ledger.Record] = field(default_factory=dict)
    owners: dict[str, list[Address]] = field(default_factory=dict)

    @classmethod
    def of(cls, plan: Plan, known: Mapping[Address, int]) -> _Book:
        records = plan.records
        book = cls(waiting={}, records=records, at_once={}, known=known)
        for step in plan.steps:
            if step.undoes is None and (address := Address.parse(step.address)) in records:
                book.waiting.setdefault(address, set()).add(step.id)
                book.owners.setdefault(step.id, []).append(address)
        book.at_once = {address: record for address, record in records.items() if address not in book.waiting}
        return book

    def done(self, step_id: str) -> None:
        for address in self.owners.get(step_id, ()):
            self.waiting[address].discard(step_id)
            if not self.waiting[address]:
                self.ready[address] = self.records[address]

    def take(self) -> dict[Address, ledger.Record]:
        taken, self.ready = self.ready, {}
        return taken
