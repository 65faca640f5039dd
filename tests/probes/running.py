"""Twins on real servers: the same scene twice in two accounts, of which only one is changed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace

from reconciler.changes.events import Finished
from reconciler.changes.plan import Plan
from reconciler.journeys.apply.apply import apply
from reconciler.journeys.plan.plan import plan
from reconciler.kinds import REGISTRY
from reconciler.model.code_pages import PLANNING
from reconciler.model.resource import Address
from reconciler.model.run_options import RunOptions
from reconciler.server.wire.api import JetStream
from reconciler.testbed.probes.battery import SETTLED, STANDARD, Battery, experience, record
from reconciler.testbed.probes.client import Client
from reconciler.testbed.probes.reading import Waits, waiting_pulls
from reconciler.testbed.probes.record import Difference, Record, differences
from reconciler.testbed.probes.scene import (
    Body,
    Change,
    Scene,
    SceneRefused,
    bring_clients,
    create_objects,
    raise_if_refused,
)
from tests.convergence.drawing import topology
from tests.probes.drawing import Case
from tests.probes.judging import Judged
from tests.probes.members import AtWork, at_work
from tests.probes.saying import said
from tests.support.accounts import Account, Pool
from tests.support.servers import NatsServer

AGAIN = (1.0, 4.0)
"""A case is played anew before it counts as untrue, the last time with so much more patience: a busy machine delivers late."""

CONSENTS = tuple((code, "*") for code in (*(rule.code for rule in REGISTRY.rules()), *PLANNING))
OLDER = 0.7
"""Seconds after which what is stored is older than a short age."""


async def recorded(
    account: Account, scene: Scene, changes: Iterable[Change] = (), battery: Battery = STANDARD
) -> Record:
    nc = await account.connect()
    try:
        return await experience(Client(nc, times=3.0), scene, changes, battery)  # nothing here is played anew
    finally:
        await nc.close()


async def felt(
    pair: tuple[Account, Account], scene: Scene, changes: Iterable[Change], battery: Battery = STANDARD
) -> tuple[Difference, ...]:
    """What clients experience otherwise where a scene was changed, side by side with one that was not."""
    control, changed = pair
    return differences(
        *await asyncio.gather(recorded(control, scene, (), battery), recorded(changed, scene, changes, battery))
    )


def twins(pool: Pool, minor: str) -> tuple[Account, Account]:
    return pool.account(minor), pool.account(minor)


@dataclass(frozen=True, slots=True)
class NotTaken:
    """The server refuses the scene or its change."""

    case: Case
    why: str


class Together:
    """Restarts the server of many rooms when none of them can go on without that."""

    def __init__(self, server: NatsServer, rooms: int) -> None:
        self._server, self._rooms = server, rooms
        self._waiting: list[asyncio.Future[None]] = []
        self._restarting: asyncio.Task[None] | None = None

    async def restarted(self) -> None:
        self._waiting.append(asyncio.get_running_loop().create_future())
        self._look()
        await self._waiting[-1]

    def leave(self) -> None:
        self._rooms -= 1
        self._look()

    def _look(self) -> None:
        if self._waiting and len(self._waiting) == self._rooms:
            self._restarting = asyncio.create_task(self._restart())

    async def _restart(self) -> None:
        await asyncio.to_thread(self._server.restart)
        waiting_pulls, self._waiting = self._waiting, []
        for one in waiting_pulls:
            one.set_result(None)


class Room:
    """Two accounts in which one case after the other is played."""

    def __init__(self, pair: tuple[Account, Account], together: Together | None = None) -> None:
        self._pair, self._together = pair, together
        self._unchanged: tuple[Scene, bool, Record] | None = None
        """The last scene that was played without any change, whether it had to age, and what it showed."""

    async def play(self, case: Case) -> Judged | NotTaken:
        """What does not fit is played anew, on both twins at once: what no longer differs then was no effect of the change."""
        found = await (self._twice(case) if self._together else self._alone(case))
        for times in (*(() if self._together else (1.0,)), *AGAIN):
            if isinstance(found, NotTaken) or not (found.unforetold or found.wolves or found.needs_another_twin):
                return found
            found = await self._twice(case, times)
        return found

    async def _alone(self, case: Case) -> Judged | NotTaken:
        """Beside what its scene showed without a change, which is played once for all changes of it."""
        try:
            before = await self._without_change(case)
            async with _emptied(self._pair[1]) as changed, _playing(changed, case) as moved:
                told = said(await _plan(changed, case.wishes), case.address)
                if told.is_refused:
                    return Judged(case=case, said=told, felt=())
                await _carry_out(case, changed)
                await asyncio.sleep(SETTLED)
                after = await moved.record(case)
        except SceneRefused as refusal:
            return NotTaken(case, str(refusal))
        return Judged(case=case, said=told, felt=differences(before, after))

    async def _without_change(self, case: Case) -> Record:
        if self._unchanged is None or self._unchanged[0] is not case.scene or self._unchanged[1] is not case.ages:
            async with _emptied(self._pair[0]) as control, _playing(control, case) as calm:
                await asyncio.sleep(SETTLED)
                self._unchanged = case.scene, case.ages, await calm.record(case)
        return self._unchanged[2]

    async def _twice(self, case: Case, times: float = 1.0) -> Judged | NotTaken:
        """Again beside a twin with the harmless part of the change, where that could be all that shows."""
        found = await self._once(case, times=times)
        if isinstance(found, NotTaken) or not found.needs_another_twin:
            return found
        beside = await self._once(case, case.partly(found.said.gains), times)
        return found if isinstance(beside, NotTaken) else replace(found, beside=beside.felt)

    async def _once(self, case: Case, harmless: Case | None = None, times: float = 1.0) -> Judged | NotTaken:
        async with _emptied(self._pair[0], times) as control, _emptied(self._pair[1], times) as changed:
            try:
                async with _playing(control, case) as calm, _playing(changed, case) as moved:
                    told = said(await _plan(changed, case.wishes), case.address)
                    if told.is_refused:
                        return Judged(case=case, said=told, felt=())
                    if harmless:
                        await _carry_out(harmless, control)
                    await _carry_out(case, changed)
                    await asyncio.sleep(SETTLED)
                    if self._together is None:
                        records: Sequence[Record] = await asyncio.gather(calm.record(case), moved.record(case))
                if self._together is not None:
                    await self._together.restarted()
                    records = await self._after_a_restart(case, times, control, changed)
            except SceneRefused as refusal:
                return NotTaken(case, str(refusal))
        return Judged(case=case, said=told, felt=differences(*records))

    async def _after_a_restart(self, case: Case, times: float, *earlier: Client) -> Sequence[Record]:
        """Clients are connected anew, and hold what they held."""
        control, changed = (_emptied(account, times) for account in self._pair)
        async with control as one, changed as other:
            one.held, other.held = (client.held for client in earlier)
            return await asyncio.gather(record(one, case.scene), record(other, case.scene))


@dataclass(frozen=True, slots=True)
class _Play:
    """A case on one of the twins, with clients at work."""

    client: Client
    waits: Waits
    crews: Sequence[AtWork]

    async def record(self, case: Case) -> Record:
        for crew in self.crews:
            await crew.rest()
            await crew.start_again()
        calm = not case.hurries
        # What a queue has not taken in would go with its source.
        battery = replace(STANDARD, deletes=not self.crews, reads=calm, contends=calm and not case.replaces)
        found = await record(self.client, case.scene, battery, self.waits)
        for crew in self.crews:
            await crew.rest()
            found = {**found, **await crew.told()}
        return found


@asynccontextmanager
async def _playing(client: Client, case: Case) -> AsyncIterator[_Play]:
    """Raises SceneRefused."""
    async with AsyncExitStack() as stack:
        await create_objects(client, case.scene)
        for wishes in case.made:
            await _apply(client, wishes)
        crews = [await stack.enter_async_context(at_work(client, one)) for one in case.groups]
        await bring_clients(client, case.scene)
        for crew in crews:
            await crew.rest()
        await asyncio.sleep(OLDER if case.ages else 0)
        yield _Play(client, await stack.enter_async_context(waiting_pulls(client, case.scene)), crews)


async def _carry_out(case: Case, client: Client) -> None:
    """By the requests of an apply, or by an apply: whoever asks what a change does to clients has consented to it."""
    for endpoint, body in case.change:
        raise_if_refused(await client.ask(endpoint, body))
    for wishes in (case.wishes,) if case.request is None else ():
        await _apply(client, wishes)


async def _apply(client: Client, wishes: Mapping[Address, Body]) -> None:
    js = await JetStream.open(client.nc)
    try:
        found = await plan(topology("probes", wishes), js, RunOptions(allow=CONSENTS))
        refused = (verdict.code for one in found.plan.changes for verdict in one.verdicts if verdict.blocks)
        if code := next(refused, ""):
            raise SceneRefused(f"the plan refuses it ({code})")
        (finished,) = [event async for event in apply(found, js) if isinstance(event, Finished)]
        if not finished.is_success:
            raise SceneRefused(f"not applied: {finished}")
    finally:
        await js.close()


async def _plan(client: Client, wishes: Mapping[Address, Body]) -> Plan:
    js = await JetStream.open(client.nc)
    try:
        return (await plan(topology("probes", wishes), js)).plan
    finally:
        await js.close()


@asynccontextmanager
async def _emptied(account: Account, times: float = 1.0) -> AsyncIterator[Client]:
    """A connection to an account in which nothing is left afterwards."""
    nc = await account.connect()
    client = Client(nc, times)
    try:
        yield client
    finally:
        if nc.is_connected:
            names = await client.ask("STREAM.NAMES")
            for name in (names.get("streams") or ()) if not isinstance(names, str) else ():
                await client.ask(f"STREAM.DELETE.{name}")
        await nc.close()
