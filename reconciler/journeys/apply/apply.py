"""Runs a plan's steps and records the outcome: each step is verified first, then written to the ledger.

Looks at an object just before it is changed or deleted: is it the object that was judged, and if it goes, does it hold
no more than the plan said?

The plan may be old by then: somebody had to agree to it, and other steps had to wait for their gates.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping
from contextlib import aclosing
from dataclasses import field, replace

from reconciler.changes.change import Action
from reconciler.changes.events import Done, Event, Finished
from reconciler.changes.plan import Plan, PlannedChange, is_at_stake
from reconciler.changes.recount import allowed_loss, losses
from reconciler.engine.bindings import server_filled
from reconciler.engine.pairing import identity
from reconciler.engine.pairing.identity import Seen, identities_touched, identity_in_info, recreated_object
from reconciler.journeys.apply.backup import streams_to_back_up
from reconciler.journeys.apply.exclusive import ExclusiveAccess, ShowProgress, exclusive_access
from reconciler.journeys.plan.plan import Planned, predicted_forms
from reconciler.journeys.plan.preflight import check
from reconciler.journeys.saved.saving import SavedReview, look_again
from reconciler.kinds import REGISTRY
from reconciler.kinds.elastic_group.queue_rules import group_resuming
from reconciler.kinds.elastic_group.queue_stream import start_sequence
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import CannotContinue, Diagnostic, Severity
from reconciler.model.ledger.records import Owned
from reconciler.model.resource import Address, Json
from reconciler.model.wire.snapshot import Snapshot, Target
from reconciler.model.wire.steps import Call, Step
from reconciler.server.remember import ledger
from reconciler.server.remember.lease import LeaseTerms
from reconciler.server.run.execute import execute
from reconciler.server.wire.answers import PLAN_AGAIN
from reconciler.server.wire.api import JetStream

Backup = Callable[[Planned, JetStream], Awaitable[None]]


async def apply(
    given: Planned | SavedReview,
    js: JetStream,
    *,
    stop: asyncio.Event | None = None,
    tell: ShowProgress = lambda _: None,
    terms: LeaseTerms | None = None,
    backup: Backup | None = None,
) -> AsyncIterator[Event]:
    """Apply a plan, and yield the events of the run; the last one is `Finished`. Blocked changes have no steps, so
    every step may run. `what` is a plan just made, or what is left of a saved one. `tell` hears whom the run waits for
    before it begins. `backup` saves what is at stake, once no other run of this tool can change it. Raises
    CannotContinue where the user lacks a permission, or where `backup` does."""
    planned = _plan_in(given)
    kept = streams_to_back_up(planned.plan, planned.snapshot) if backup else ()
    check(planned.plan, planned.snapshot, js, kept=kept)
    stop = stop or asyncio.Event()
    js = js.persistent(hurried=stop.is_set)
    async with (
        exclusive_access(planned, js, stop=stop, tell=tell, terms=terms) as ours,
        aclosing(_run_steps(given, ours, stop, backup)) as events,
    ):
        async for event in events:
            yield await ours.record_end(event) if isinstance(event, Finished) else event


def _plan_in(given: Planned | SavedReview) -> Planned:
    return given.planned if isinstance(given, SavedReview) else given


async def _run_steps(
    given: Planned | SavedReview, ours: ExclusiveAccess, stop: asyncio.Event, backup: Backup | None
) -> AsyncGenerator[Event, None]:
    now = await _refresh_plan_if_needed(given, ours, stop)
    if backup:
        await _back_up(backup, now, ours, stop)
        now = await _refresh_plan_if_needed(given, ours, stop)  # a backup may take long
    planned = _plan_in(now)
    plan, stopped = planned.plan, now.outlook.stopped if isinstance(now, SavedReview) else ()
    await ours.began(planned)
    book = _RecordsToWrite.of(plan, planned.snapshot)
    lost = ours.may_write()  # this also sets `stop`
    cut = (
        (lost or "interrupted") if stop.is_set() and book.at_once else None
    )  # set even where there are no steps to stop
    unwritten: list[Diagnostic] = []
    if ours.remembers and (lost or not stop.is_set()):  # without the lease no record is written, and the report says so
        unwritten = await ledger.write(ours.js, book.at_once, book.known)
        ours.warnings += unwritten
    unrecorded = tuple(map(str, book.at_once)) if unwritten or lost or cut else ()
    running = execute(
        ours.js, plan.steps, forms=predicted_forms(planned.snapshot), stop=stop, may_write=ours.may_write, known=stopped,
        last_look=LastLook.of(plan, planned.snapshot).at, streams=planned.snapshot.streams.values(),
    )  # fmt: skip
    async with aclosing(running) as events:
        async for event in events:
            if isinstance(event, Done):
                book.record_done(event)
                ours.warnings += resuming_warnings(event)
            if ours.remembers and (len(book.ready) >= BATCH or isinstance(event, Finished)):
                ours.warnings += await ledger.write(ours.js, book.take(), book.known)
            if isinstance(event, Finished):
                is_written = ours.remembers and not (lost or cut or ours.warnings)
                finished = replace(_with_left_alone(event, now, cut), unrecorded=unrecorded)
                yield _with_record_counts(finished, plan) if is_written else finished
            else:
                yield event


def _with_record_counts(finished: Finished, plan: Plan) -> Finished:
    """Add to the event how many records were written for changes without steps."""
    adopted = [change.adopts for change in plan.changes if change.action is Action.ADOPT]
    let_go = sum(change.action is Action.FORGET for change in plan.changes)
    return replace(finished, adopted=sum(adopted), recorded=len(adopted) - sum(adopted), let_go=let_go)


def _with_left_alone(finished: Finished, now: Planned | SavedReview, cut: str | None) -> Finished:
    left_alone = now.without_steps if isinstance(now, SavedReview) else ()
    return replace(finished, left_alone=left_alone, stopped=finished.stopped or cut)


async def _refresh_plan_if_needed(
    given: Planned | SavedReview, ours: ExclusiveAccess, stop: asyncio.Event
) -> Planned | SavedReview:
    """Look at the account again where somebody had to agree or somebody else was at work. Changes that are done by now
    are left out, and changes whose object differs from the plan are left alone. Where nothing can be lost, the look
    that each step takes is enough."""
    planned = _plan_in(given)
    if stop.is_set() or planned.topology is None or not (ours.waited or is_at_stake(planned.plan)):
        return given
    return await look_again(given, ours.js)


async def _back_up(backup: Backup, given: Planned | SavedReview, ours: ExclusiveAccess, stop: asyncio.Event) -> None:
    """Back up under the lease, so that no other run changes anything in between. Give the backup up when the run is to
    stop; then nothing is applied."""
    planned = _without_stopped(given)
    keeping, stopping = asyncio.ensure_future(backup(planned, ours.js)), asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait({keeping, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if keeping.done():
            keeping.result()
    except CannotContinue:
        await ours.began(planned)
        await ours.record_end(Finished(stopped="the backup of what is at stake failed"))
        raise
    finally:
        keeping.cancel()
        stopping.cancel()
        await asyncio.gather(keeping, stopping, return_exceptions=True)


def _without_stopped(given: Planned | SavedReview) -> Planned:
    """Leave out the steps of changes that are already stopped."""
    planned = _plan_in(given)
    stopped = {settled.step.id for settled in given.outlook.stopped} if isinstance(given, SavedReview) else set()
    steps = tuple(step for step in planned.plan.steps if step.id not in stopped)
    return replace(planned, plan=replace(planned.plan, steps=steps))


def resuming_warnings(done: Done) -> Iterator[Diagnostic]:
    """Warn of a recreated queue that has stored nothing yet: its last step waits for a message and a later run."""
    point = start_sequence(done.echo.get("config", {})) if done.step.call is Call.QUEUE_SETTLE else None
    if point:
        yield Diagnostic(
            severity=Severity.WARNING, code=group_resuming.code, name=group_resuming.name, address=done.step.address,
            message=f"stream {done.step.on[0]} is resuming at message {point} of {done.step.body['from']}, and has "
                    "stored nothing yet",
            fix="apply once more when a message was published: that removes its start sequence",
        )  # fmt: skip


BATCH = 512
"""Records written at once: this costs few round trips, and leaves little to adopt again after a crash."""


@dataclass(slots=True)
class _RecordsToWrite:
    """Decides which records may be written: a change is recorded when the last step that writes any part of it is
    done."""

    waiting: dict[Address, set[str]]
    records: dict[Address, ledger.Record]
    at_once: dict[Address, ledger.Record]
    """Adoptions and objects to forget: they have no steps."""
    known: Mapping[Address, int]
    """The revisions at which the records were read."""
    target: Target
    ready: dict[Address, ledger.Record] = field(default_factory=dict)
    owners: dict[str, list[Address]] = field(default_factory=dict)

    @classmethod
    def of(cls, plan: Plan, snapshot: Snapshot) -> _RecordsToWrite:
        records = {address: _as_seen(record, address, snapshot) for address, record in plan.records.items()}
        revisions = ledger.revisions(snapshot)
        book = cls(waiting={}, records=records, at_once={}, known=revisions, target=snapshot.target)
        for address, steps in _steps_by_address(plan, records).items():
            for step in [candidate for candidate in steps if not candidate.call.waits] or steps:
                book.waiting.setdefault(address, set()).add(step.id)
                book.owners.setdefault(step.id, []).append(address)
        for address in (
            records.keys() - book.waiting.keys()
        ):  # an object that goes with its stream is owned until the stream has gone
            if records[address] is None and (deletion := _deletion_step_id(address, plan)):
                book.waiting[address] = {deletion}
                book.owners.setdefault(deletion, []).append(address)
        book.at_once = {address: record for address, record in records.items() if address not in book.waiting}
        return book

    def record_done(self, done: Done) -> None:
        self._record_identity(done)
        for address in self.owners.get(done.step.id, ()):
            self.waiting[address].discard(done.step.id)
            if not self.waiting[address]:
                self.ready[address] = self.records[address]

    def _record_identity(self, done: Done) -> None:
        """Record the identity of the object that was created or written, with the values that the server filled in."""
        address = Address.parse(done.step.address)
        record, kind = self.records.get(address), REGISTRY.of(address)
        written = identity.raw_written_by(done.step, address, kind)
        if record is None or written is None:
            return
        if (
            identity_now := identity.identity_of_entry(done.revision)
            if done.revision
            else identity.identity_in_answer(done.echo, self.target)
        ):
            seen = identity.identity_after_request(record.seen, written, identity_now, address, kind)
            filled = _with_filled(record, done) if written == kind.primary(address) else record
            self.records[address] = replace(filled, seen=seen)

    def take(self) -> dict[Address, ledger.Record]:
        taken, self.ready = self.ready, {}
        return taken


def _with_filled(record: Owned, done: Done) -> Owned:
    """Add the values that the server filled in for left-out fields: a server's own limits show nowhere else."""
    if "config" not in done.echo:
        return record
    filled = {name: value for name, value in server_filled(done.echo).items() if name not in record.fields}
    return replace(record, filled=filled)


def _steps_by_address(plan: Plan, records: Collection[Address]) -> dict[Address, list[Step]]:
    """The steps that each of these changes waits for."""
    by_address: dict[Address, list[Step]] = {}
    for step in plan.steps:
        if step.undoes is None and (address := Address.parse(step.address)) in records:
            by_address.setdefault(address, []).append(step)
    return by_address


def _as_seen(record: ledger.Record, address: Address, snapshot: Snapshot) -> ledger.Record:
    seen = identity.identity_of_resource(snapshot, address, REGISTRY.of(address))
    return replace(record, seen=seen) if record and seen else record


def _deletion_step_id(address: Address, plan: Plan) -> str | None:
    """The step that deletes the stream of a resource."""
    on = (address.stream,) if len(address.names) > 1 else None
    return next((step.id for step in plan.steps if step.call is Call.STREAM_DELETE and step.on == on), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class LastLook:
    """The objects of a plan's steps as they were judged."""

    seen: Seen
    target: Target
    messages: Mapping[str, int]
    """The number of messages that go with a stream or bucket, by the address of its removal, as the plan says. Groups
    are left out: the number in a queue changes while its members leave."""

    @classmethod
    def of(cls, plan: Plan, snapshot: Snapshot) -> LastLook:
        """Take down what the plan's steps touch. Removals of groups are not held to a number of messages."""
        going = {
            change.address: _messages_deleted(change)
            for change in plan.changes
            if change.action is Action.DELETE and not change.address.partition("/")[0].endswith("_group")
        }
        return cls(seen=identities_touched(plan.steps, snapshot), target=snapshot.target, messages=going)

    def at(self, step: Step, info: Mapping[str, Json], server: str | None) -> Diagnostic | None:
        """Return why this object must be left alone after all. `info` is what the server says of it now, and `server`
        the id of this server."""
        now = {"/".join(step.on): identity_in_info(info, replace(self.target, server=server))}
        if name := recreated_object(step, self.seen, now):
            why = f"{name} was deleted and recreated after the plan was made; it was left alone"
            return _refusal(step, "AP201", "recreated", why)
        planned, holds = self.messages.get(step.address), (info.get("state") or {}).get("messages", 0)
        if step.call is Call.STREAM_DELETE and planned is not None and holds > allowed_loss("messages", planned):
            why = f"the plan said that {planned:_} messages go with it, but now it holds {holds:_}; it was left alone"
            return _refusal(step, "AP202", "more-than-consented", why)
        return None


def _messages_deleted(change: PlannedChange) -> int:
    return sum(number for (_, _, name), number in losses(change.verdicts).items() if name == "messages")


def _refusal(step: Step, code: str, name: str, message: str) -> Diagnostic:
    return Diagnostic(
        severity=Severity.ERROR, code=code, name=name, message=f"{message[0].upper()}{message[1:]}.",
        address=step.address, fix=PLAN_AGAIN,
    )  # fmt: skip
