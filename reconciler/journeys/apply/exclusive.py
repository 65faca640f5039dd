"""One apply's exclusive use of its topologies in an account, with its lease and its entry in the journal."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import field, replace

from reconciler import __version__
from reconciler.changes.events import Finished
from reconciler.changes.plan import Plan
from reconciler.journeys.apply.reached_streams import met
from reconciler.journeys.plan.plan import Planned
from reconciler.journeys.plan.preflight import forgetful, needs_memory
from reconciler.kinds import REGISTRY
from reconciler.memory.lease import Free, Holder, found, lease_key
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import CannotContinue, Diagnostic
from reconciler.model.records import BUCKET, Owned, decode_owned, encode_key
from reconciler.model.resource import Address
from reconciler.model.wire.snapshot import Snapshot
from reconciler.model.wire.steps import Call, Step
from reconciler.server.connect.whoami import holder
from reconciler.server.remember import journal, ledger
from reconciler.server.remember.capacity import make_room
from reconciler.server.remember.lease import LeaseTerms, Unavailable, indispensable, leased, unavailable
from reconciler.server.wire.api import JetStream
from reconciler.server.wire.pipeline import Unless, always

Tell = Callable[[str], None]


@dataclass(slots=True, kw_only=True)
class Turn:
    """What a run may use while it lasts."""

    js: JetStream
    """Sends no write once the lease is lost."""
    may_write: Unless = always
    waited: bool = False
    """Somebody else worked here while this run planned or waited, so its plan may be out of date."""
    remembers: bool = False
    """The account has a bucket for records."""
    number: int = 0
    """The number of this run in the journal; 0: the journal does not have it."""
    us: Holder | None = None
    warnings: list[Diagnostic] = field(default_factory=list)

    async def began(self, plan: Plan) -> None:
        """Write the run to the journal with what it is going to do, which is known once nobody else is at work."""
        if self.number and self.us and (unwritten := await journal.begin(self.js, self.number, self.us, plan)):
            self.warnings.append(
                unwritten
            )  # the end is written all the same: without it the run would count as cut off

    async def ended(self, finished: Finished) -> Finished:
        """Add why the run ended early and the other warnings, and write the end to the journal, unless nothing may be
        written any more."""
        if not finished.is_success:
            finished = replace(finished, stopped=finished.stopped or self.may_write())
        finished = replace(finished, warnings=tuple(self.warnings))
        told = replace(finished, warnings=(*finished.left_alone, *finished.warnings))
        if self.number and self.may_write() is None and (unwritten := await journal.end(self.js, self.number, told)):
            once = dict.fromkeys((*finished.warnings, unwritten))  # the beginning may have failed for the same reason
            return replace(finished, warnings=tuple(once))
        return finished


@asynccontextmanager
async def turn(
    planned: Planned, js: JetStream, *, stop: asyncio.Event, tell: Tell, terms: LeaseTerms | None = None
) -> AsyncIterator[Turn]:
    """Wait for other runs of the same topologies, then take their leases. Losing a lease sets `stop`. Where the
    account's bucket cannot be used, the run has no lease and no journal."""
    plan, js = planned.plan, js.for_a_run()
    if not (plan.steps or plan.records):
        yield Turn(js=js)
        return
    if unusable := forgetful(plan, planned.snapshot, js) or await ledger.ensure(js, planned.snapshot):
        if needs_memory(plan):
            raise CannotContinue(indispensable(Unavailable(unusable.message)))
        yield Turn(js=js, warnings=[unusable])
        return
    await make_room(js, planned.snapshot)
    came_from = planned.options.came_from
    us = holder(plan.topology, plan.target, came_from.repository, came_from.revision, __version__)
    holders = [us, *(replace(us, topology=other) for other in others(plan, planned.snapshot))]
    async with leased(js, holders, terms=terms, tell=tell, stop=stop) as leases:
        if isinstance(leases, Unavailable):
            if needs_memory(plan) and not stop.is_set():
                raise CannotContinue(indispensable(leases))
            yield Turn(js=js, remembers=True, warnings=[] if stop.is_set() else [unavailable(leases)])
            return
        guarded = js.writing_unless(leases.hinders)
        undisturbed = is_undisturbed(planned.snapshot, [one.topology for one in holders], leases.number)
        yield Turn(
            js=guarded,
            may_write=leases.lost,
            waited=leases.waited or not undisturbed,
            remembers=True,
            number=leases.number,
            us=us,
        )


def is_undisturbed(snapshot: Snapshot, topologies: Iterable[str], number: int) -> bool:
    """Was nobody at work on these topologies when the account was read, nor since? Every run takes a lease, which is an
    entry of the bucket; so the run is undisturbed if its number is the very next revision."""
    entries = snapshot.entries.get(BUCKET, {})
    leases = (found(entries.get(lease_key(topology)), topology) for topology in topologies)
    return all(isinstance(one, Free) for one in leases) and number == ledger.next_revision(snapshot)


def others(plan: Plan, snapshot: Snapshot) -> list[str]:
    """Other topologies whose objects or subjects these steps touch: one owns the stream of a consumer or group, or a
    stream that these steps copy from or republish into."""
    entries = snapshot.entries.get(BUCKET, {})
    touched = {encode_key(address) for step in plan.steps for address in _touched(step)}
    touched |= {encode_key(address) for name in met(plan.steps, snapshot) for address in REGISTRY.backed_by(name)}
    touched |= {encode_key(address) for address in plan.records}  # a record that is taken over has no step
    records = (decode_owned(entries[key]) for key in touched if key in entries and not entries[key].deleted)
    return sorted({one.topology for one in records if isinstance(one, Owned)} - {plan.topology})


def _touched(step: Step) -> Iterator[Address]:
    yield Address.parse(step.address)
    if step.call not in (Call.ENTRY_PUT, Call.ENTRY_DELETE):
        yield from REGISTRY.backed_by(step.on[0])
