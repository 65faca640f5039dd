"""Holds the leases of a run: taken by compare-and-set, dropped by the server's clock, renewed while the run works.

The server drops a lease one term after the last renewal reached it. Our own deadline counts from before that renewal
was sent and ends a little earlier, so a process that was suspended finds it over before it writes anything. Others see
who holds a lease, and can end one that was abandoned."""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace

from reconciler.memory.lease import (
    PREFIX,
    Free,
    Held,
    Holder,
    LeaseState,
    Ours,
    encode_holder,
    lease_key,
    read_lease,
    topology_of,
)
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import CannotContinue, Diagnostic, Severity
from reconciler.model.ledger.records import BUCKET
from reconciler.model.waits import waiting
from reconciler.server.read.read_kv import entry, names
from reconciler.server.remember.capacity import STORES_NOTHING, VANISHES, way_out_advice
from reconciler.server.wire.answers import NO_STREAM, Conflict, Put, Refusal, Stored, is_passing
from reconciler.server.wire.api import JetStream
from reconciler.server.wire.pipeline import MomentaryReason, NoAnswer, Silence

UNCONNECTED = (Silence.OFFLINE, Silence.CLOSED)
TRIES = 5
"""A live holder renews its lease now and then, perhaps at this moment."""


async def leases(js: JetStream) -> list[Held] | Refusal | NoAnswer:
    """Return every lease that is held in this account."""
    keys = await names(js, BUCKET, f"$KV.{BUCKET}.{PREFIX}.>")
    if isinstance(keys, Refusal) and keys.err_code == NO_STREAM:
        return []
    if not isinstance(keys, list):
        return keys
    topologies = sorted(topology for key in keys if (topology := topology_of(key)) is not None)
    answers = await asyncio.gather(*(lease_state(js, topology) for topology in topologies))
    held: list[Held] = []
    for answer in answers:
        if isinstance(answer, Refusal | NoAnswer):
            return answer
        if isinstance(answer, Held):
            held.append(answer)
    return held


async def lease_state(js: JetStream, topology: str) -> Free | Held | Refusal | NoAnswer:
    """Return the state of a topology's lease: who holds it, or that it is free."""
    lease = await entry(js, BUCKET, lease_key(topology))
    if isinstance(lease, Refusal | NoAnswer):
        return lease
    state = read_lease(lease, topology)
    return state if isinstance(state, Held) else Free(state.revision)


async def end_if_still_held(js: JetStream, shown: Held) -> Free | Held | Refusal | NoAnswer:
    """Let a lease end soon: its holder cannot renew it any more, and nobody else gets it before the holder has noticed.
    Free: it ends, or is gone. Held: somebody else has it by now, and keeps it."""
    topology = shown.holder.topology
    nobodys, term = encode_holder(replace(shown.holder, run="")), {"Nats-TTL": f"{LeaseTerms.usual().notice}s"}
    for _ in range(TRIES):
        now = await lease_state(js, topology)
        if not isinstance(now, Held) or now.holder != shown.holder:
            return now
        answer = await js.put_entry(BUCKET, lease_key(topology), nobodys, expected_revision=now.revision, headers=term)
        if isinstance(answer, Stored):
            return Free(answer.revision)
        if not isinstance(answer, Conflict):
            return answer
    return now


GIVEN_BACK = VANISHES
"""Marks a lease that was given back. An apply that takes the lease before it vanishes expects the marker's revision."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseTerms:
    ttl: int = 20
    """Seconds after which a lease that nobody renews is free. Whole ones: servers know no others."""
    every: float = 5
    """Seconds between renewals."""
    grace: float = 5
    """Seconds to wait beyond another apply's term."""

    @classmethod
    def usual(cls) -> LeaseTerms:
        """Return the usual terms, unless the environment asks for a longer or shorter term (tests do)."""
        seconds = os.environ.get("RECONCILER_LEASE_TTL", "")
        return cls(ttl=int(seconds), every=int(seconds) / 4) if seconds.isdecimal() and int(seconds) > 0 else cls()

    @property
    def trusted_seconds(self) -> float:
        """Return how long this side trusts the lease; the rest is for requests that are under way when that ends."""
        return self.ttl * 0.9

    @property
    def notice(self) -> int:
        """Return the seconds after which a holder that is awake knows that its lease was taken away."""
        return math.ceil(self.every)

    @property
    def patience(self) -> float:
        """Return how long to wait for somebody else: by then a holder that does not renew has lost the lease."""
        return self.ttl + self.grace


def now() -> float:
    """Return a clock that nobody sets, and that runs while the machine is asleep."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


WENT_BACK = (
    f"bucket {BUCKET} went back during this run: its server has lost the last writes, as after a power cut. The "
    "records of this run may be lost; the next plan shows what is left to do"
)


@dataclass(slots=True)
class _Lease:
    revision: int
    until: float
    unanswered: float | None = None
    """When the first renewal was sent of those without an answer since."""
    refused: str = ""
    """The answer to the last renewal, and what to do about it."""


@dataclass(slots=True)
class _UnrenewedLease:
    """Another apply's lease while nobody renews it."""

    revision: int = 0
    since: float = 0.0

    def see(self, revision: int) -> None:
        if revision != self.revision:
            self.revision, self.since = revision, now()

    @property
    def seconds(self) -> float:
        return now() - self.since if self.revision else 0.0


MEND = (
    f"allow publishing to $KV.{BUCKET}.> and $JS.API.STREAM.MSG.GET.KV_{BUCKET}; if the bucket was made or edited "
    f"by hand, its stream needs subjects [$KV.{BUCKET}.>] and allow_msg_ttl, and room"
)


@dataclass(frozen=True, slots=True)
class Unavailable:
    """Leases cannot be had here at all."""

    why: str
    fix: str = MEND


class Leases:
    """The leases of one run; `lost` says why nothing may be written any more."""

    def __init__(self, js: JetStream, holders: Mapping[str, Holder], terms: LeaseTerms, stop: asyncio.Event) -> None:
        self._js, self._holders, self._terms, self._stop = js, holders, terms, stop
        self._held: dict[str, _Lease] = {}
        self._lost: str | None = None
        self._confirmed_at = js.pipeline.connection
        """The connection over which the leases were last renewed."""
        self._hurry = asyncio.Event()
        self.waited = False
        """Somebody else held one of them."""
        self.number = 0
        """A revision of the bucket, so it differs from that of every other run in this account, and is higher than
        earlier ones."""

    def why_lost(self) -> str | None:
        """Return why nothing may be written any more, in words; None while writing is allowed. A lost lease stays
        lost."""
        if self._lost is None and BUCKET in self._js.went_back:
            self._lost = WENT_BACK
        for topology, lease in self._held.items():
            if self._lost is None and now() >= lease.until:
                self._lost = f"the lease of topology {topology} was not renewed in time{lease.refused}"
        return self._lost

    def why_not_now(self) -> str | None:
        """Return why no write may be sent; for the moment also where no renewal went over this connection yet: a server
        that was away may come back with a bucket that lacks the lease and our last writes."""
        if (lost := self.why_lost()) is not None:
            return lost
        if self._confirmed_at is self._js.pipeline.connection:
            return None
        self._hurry.set()
        return MomentaryReason("the lease has to be renewed first, over this connection")

    async def take(self, tell: Callable[[str], None]) -> Unavailable | None:
        """Take all leases, in an order that every run keeps to, so that two never wait for each other."""
        deadline = now() + self._terms.patience
        for topology in sorted(self._holders):
            if no_lease_warning := await self._take(topology, deadline, tell):
                return no_lease_warning
        self.number = min(lease.revision for lease in self._held.values())
        return None

    async def _take(self, topology: str, deadline: float, tell: Callable[[str], None]) -> Unavailable | None:
        with waiting(f"for the lease of topology {topology}", deadline - now()) as wait:
            reported, unmoved = "", _UnrenewedLease()
            while True:
                before = now()
                state: LeaseState | Put = await self._current_state(topology)
                if isinstance(state, Free | Ours):  # ours: the answer to an earlier attempt was lost
                    answer = await self._put(topology, state.revision)
                    if isinstance(answer, Stored):
                        self._held[topology] = _Lease(answer.revision, before + self._terms.trusted_seconds)
                        return None
                    self.waited = self.waited or isinstance(
                        answer, Conflict
                    )  # the other holder may be gone by the next look
                    if why := _why_not_to_retry(answer):
                        return Unavailable(why, way_out_advice(answer, MEND, permission=MEND))
                    state = answer
                elif isinstance(state, Held):
                    unmoved.see(state.revision)
                    if str(state.holder) != reported:
                        reported, self.waited = str(state.holder), True
                        wait.what, wait.quiet = f"for topology {topology}, which is being applied by {reported}", 0
                        tell(
                            f"topology {topology} is being applied by {reported}; waiting up to {deadline - now():.0f} s"
                        )
                elif isinstance(state, Refusal | NoAnswer) and (why := _why_not_to_retry(state)):
                    return Unavailable(why)
                if self._stop.is_set():
                    return Unavailable("the run was stopped before it had the lease")
                if now() >= deadline:
                    outlasts = unmoved.seconds > self._terms.ttl
                    raise _still_held(topology, state, self._terms, outlasts=outlasts)
                await asyncio.sleep(0.2)

    async def renew_until_lost(self) -> None:
        """Renew until cancelled or lost, and sooner again when a renewal failed."""
        while self.why_lost() is None:
            self._hurry.clear()
            over = await self._js.pipeline.connected_client()
            renewed = await asyncio.gather(*map(self._renew, tuple(self._held)))
            if all(renewed) and over is self._js.pipeline.connection:
                self._confirmed_at = over
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._terms.every if all(renewed) else self._terms.every / 10):
                    await self._hurry.wait()
        self._stop.set()

    async def _renew(self, topology: str) -> bool:
        lease, before = self._held[topology], now()
        answer = await self._put(topology, lease.revision)
        if isinstance(answer, Stored):
            self._held[topology] = _Lease(answer.revision, before + self._terms.trusted_seconds)
            return True
        lease.refused = _why_not_renewed(answer)
        if isinstance(answer, NoAnswer) and answer.outcome_unknown and lease.unanswered is None:
            lease.unanswered = before
        if isinstance(answer, Conflict) or (isinstance(answer, NoAnswer) and answer.outcome_unknown):
            self._take_note(topology, lease, await self._current_state(topology))
        return False

    def _take_note(self, topology: str, lease: _Lease, state: LeaseState | Refusal | NoAnswer) -> None:
        """Look at the lease after a renewal that failed, or whose answer did not come."""
        if isinstance(state, Ours) and state.revision != lease.revision:
            if lease.unanswered is not None:  # one of those arrived, and none before the first of them was sent
                lease.until = max(lease.until, lease.unanswered + self._terms.trusted_seconds)
            lease.revision, lease.unanswered = state.revision, None
        elif isinstance(state, Held) and state.holder.run:
            self._lost = f"the lease of topology {topology} was taken over by {state.holder}"
        elif isinstance(state, Free | Held):
            self._lost = f"the lease of topology {topology} ran out, or was removed by `reconciler unlock`"

    async def give_back(self) -> None:
        """Free every lease, so that others need not wait for its term to end. Lost leases are left alone."""
        if self.why_lost() is None:
            await asyncio.gather(*map(self._give_back, self._held))

    async def _give_back(self, topology: str) -> None:
        answer = await self._put(topology, self._held[topology].revision, b"", GIVEN_BACK)
        if isinstance(answer, Conflict) and isinstance(state := await self._current_state(topology), Ours):
            await self._put(topology, state.revision, b"", GIVEN_BACK)  # a renewal was under way when the block ended

    async def _current_state(self, topology: str) -> LeaseState | Refusal | NoAnswer:
        lease = await entry(self._js, BUCKET, lease_key(topology))
        if isinstance(lease, Refusal | NoAnswer):
            return lease
        return read_lease(lease, topology, self._holders[topology].run)

    async def _put(
        self, topology: str, revision: int, value: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Put:
        content = encode_holder(self._holders[topology]) if value is None else value
        term = {"Nats-TTL": f"{self._terms.ttl}s"}
        return await self._js.put_entry(
            BUCKET, lease_key(topology), content, expected_revision=revision, headers=headers or term
        )


@asynccontextmanager
async def leased(
    js: JetStream,
    holders: Iterable[Holder],
    *,
    terms: LeaseTerms | None = None,
    tell: Callable[[str], None] = lambda _: None,
    stop: asyncio.Event | None = None,
) -> AsyncIterator[Leases | Unavailable]:
    """Hold the leases inside the block, and give them back after it. Waiting ends once `stop` is set, which also
    happens when a lease is lost. Raises CannotContinue while somebody else has one."""
    terms = terms or LeaseTerms.usual()
    renewing = js.beside(within=terms.every)
    leases = Leases(renewing, {holder.topology: holder for holder in holders}, terms, stop or asyncio.Event())
    keeping = asyncio.create_task(leases.renew_until_lost())
    try:
        no_lease_warning = await leases.take(tell)
        yield no_lease_warning or leases
    finally:
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)
        await leases.give_back()
        await renewing.close()


def _why_not_renewed(answer: Put) -> str:
    """Return the words after "not renewed in time"; the bucket shows what a conflict means."""
    if why := _why_not_to_retry(answer):
        return f": {why}; {way_out_advice(answer, MEND, permission=MEND)}"
    if isinstance(answer, NoAnswer) and answer.why is Silence.TIMEOUT:
        return f": {answer}. If it answers anything else, {STORES_NOTHING}"
    return f": {answer}" if isinstance(answer, NoAnswer | Refusal) else ""


def _why_not_to_retry(answer: Put | Refusal | NoAnswer) -> str | None:
    """Return why trying again is useless. A server that has just come to lead the cluster may say that there is no
    bucket, because it has not heard of it yet; leases are only taken where there is one."""
    if isinstance(answer, Refusal) and answer.err_code == NO_STREAM:
        return None
    return str(answer) if isinstance(answer, Refusal | NoAnswer) and not is_passing(answer) else None


def _still_held(topology: str, state: LeaseState | Put, terms: LeaseTerms, *, outlasts: bool) -> CannotContinue:
    """Return the error for a lease that somebody else kept. `outlasts`: nobody renewed it for longer than a lease lasts,
    and the server did not remove it."""
    fix = f"Apply again; others may be applying one after the other, or bucket {BUCKET} may have no leader."
    if isinstance(state, Held):
        message = f"Topology {topology} was still being applied by {state.holder} after {terms.patience:g} s."
        fix = "Wait for it and apply again. If that process is gone and the lease stays: reconciler unlock PATHS"
        if outlasts:
            message += " Nobody renewed its lease meanwhile, but the server has not removed it."
            fix = f"Most likely {STORES_NOTHING}. Then apply again. Otherwise: reconciler unlock PATHS"
    else:
        why = f": {state}" if isinstance(state, Refusal | NoAnswer) else ""
        message = f"The lease of topology {topology} could not be taken within {terms.patience:g} s{why}."
        if isinstance(state, NoAnswer) and state.why is Silence.TIMEOUT:
            fix = f"Most likely {STORES_NOTHING}. Then apply again."
        elif isinstance(state, NoAnswer) and state.why in UNCONNECTED:
            message = f"The server cannot be reached, so {message[0].lower()}{message[1:]}"
            fix = "Apply again when the server can be reached."
    message += " Nothing was changed."
    return CannotContinue.because("LE202", "lease-held", message, fix=fix)


def no_lease_warning(why: Unavailable) -> Diagnostic:
    """Return the warning LE201 for an apply that continues without a lease, and how to get one next time."""
    return Diagnostic(
        severity=Severity.WARNING, code="LE201", name="no-lease", fix=why.fix,
        message="applied without a lease, so others may have applied at the same time, and without a journal: "
        f"{why.why}",
    )  # fmt: skip


def lease_needed_error(why: Unavailable) -> Diagnostic:
    """Return the error for a plan that needs a lease, because nobody can undo what it does."""
    return Diagnostic(
        severity=Severity.ERROR, code="LE206", name="lease-needed", fix=why.fix,
        message="This plan deletes, replaces or gives up messages, which needs a lease, but none can be had: "
                f"{why.why}. Nothing was changed.",
    )  # fmt: skip
