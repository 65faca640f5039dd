"""Finds out what clients will feel of a plan. It recreates the account on two throw-away servers, with messages, and
carries the plan out on one of them. Clients then do the same on both.

Nothing here can reach the account itself.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

from reconciler.changes.events import Finished
from reconciler.changes.plan import Plan, PlannedChange
from reconciler.changes.rehearsal import Experience, Foresight, Missing, Probe, Rehearsal, Unshown
from reconciler.journeys.apply.apply import apply
from reconciler.journeys.plan.plan import planned
from reconciler.journeys.rehearse.probe_scenes import GOES, MESSAGES, address_of, casting, narrowed, streams_of
from reconciler.journeys.rehearse.rehearse import Program, cast_for, seen
from reconciler.kinds import REGISTRY
from reconciler.kinds.predicted_effects import excuse, foretold, telling
from reconciler.kinds.predicted_effects import narrowed as narrowed_codes
from reconciler.model.code_pages import PLANNING
from reconciler.model.dataclass import dataclass
from reconciler.model.run_options import RunOptions
from reconciler.model.topology import Topology
from reconciler.model.waits import waiting
from reconciler.model.wire.snapshot import Snapshot
from reconciler.report.words.values import counted
from reconciler.server.connect.connection import connection, session
from reconciler.server.wire.api import JetStream
from reconciler.testbed.probes.battery import SETTLED, record
from reconciler.testbed.probes.client import Client
from reconciler.testbed.probes.record import Difference, Record, differences, is_relief
from reconciler.testbed.probes.scene import Scene, begin
from reconciler.testbed.recreate import few_at_a_time, recreate
from reconciler.testbed.stage import Cast, Stage, stage

BOUND = 180.0
"""Seconds after which no other scene begins."""
AT_ONCE = 8
"""How many scenes run at a time; each mostly waits."""
AGAIN = (1.0, 4.0)
"""A difference must show again, the last time with this much more patience, before it counts as not foretold: a busy
machine delivers late."""
PATIENCE = 20.0
"""Seconds after which steps that wait for clients are given up: here no client acknowledges anything in the
meantime."""
LATE = "there was no time left for it"
WAITS = "it waits until clients acknowledge the messages in flight, and here none do"
BETTER = "before, it failed or came without payload"


def probe(
    topology: Topology,
    live: Snapshot,
    options: RunOptions,
    program: Program,
    rehearsal: Rehearsal,
    within: float = BOUND,
) -> Probe:
    """Probe after a rehearsal, which knows what changes and what could not be recreated."""
    began = time.monotonic()
    chosen = casting(live, rehearsal.plan, rehearsal.missing)
    if not chosen.scenes:
        return Probe(unplayed=chosen.unplayed)
    blocked = [one.address for one in rehearsal.plan.changes if one.action.writes and one.is_blocked]
    theatre = _Theatre(topology, live, options, program, cast_for(topology, live), began + within)
    played = theatre.play(chosen.scenes)
    for times in AGAIN:
        doubtful = [one.scene for one in played.scenes if one.is_doubtful]
        if not doubtful or time.monotonic() - began > within:
            break
        played = played.beside(theatre.play(doubtful, times))
    told = _told(played, chosen.unplayed, time.monotonic() - began)
    return replace(told, consented=tuple(one for one in blocked if one in played.done))


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """One scene, played on both servers."""

    scene: Scene
    felt: tuple[Experience, ...]
    operations: int
    unshown: tuple[Unshown, ...]

    @property
    def is_doubtful(self) -> bool:
        """Did clients experience a difference that nothing foretold? It may be chance, so the scene is worth playing
        again."""
        return any(one.foresight is Foresight.UNFORETOLD for one in self.felt)

    def beside(self, other: Played) -> Played:
        """Of the differences that were not foretold, keep those that show both times."""
        again = {(one.address, one.operation) for one in other.felt}
        kept = [
            one
            for one in self.felt
            if one.foresight is not Foresight.UNFORETOLD or (one.address, one.operation) in again
        ]
        return replace(self, felt=tuple(kept))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Playbill:
    scenes: tuple[Played, ...]
    unplayed: tuple[Missing, ...] = ()
    done: frozenset[str] = frozenset()
    """Addresses of changes that were carried out."""

    def beside(self, other: _Playbill) -> _Playbill:
        """Keep the differences that show again in a second play."""
        anew = {tuple(one.scene.streams): one for one in other.scenes}
        kept = [
            one.beside(anew[tuple(one.scene.streams)]) if tuple(one.scene.streams) in anew else one
            for one in self.scenes
        ]
        return replace(self, scenes=tuple(kept))


def _told(played: _Playbill, unplayed: Iterable[Missing], seconds: float) -> Probe:
    objects = [name for one in played.scenes for name in _objects(one.scene)]
    return Probe(
        operations=sum(one.operations for one in played.scenes),
        objects=tuple(objects),
        messages=MESSAGES,
        felt=tuple(felt for one in played.scenes for felt in one.felt),
        unshown=tuple(dict.fromkeys(unshown for one in played.scenes for unshown in one.unshown)),
        unplayed=tuple({one.what: one for one in reversed([*unplayed, *played.unplayed])}.values())[::-1],
        seconds=seconds,
    )


def _objects(scene: Scene) -> list[str]:
    return [*map(address_of, scene.streams), *(address_of(*key) for key in scene.consumers)]


@dataclass(frozen=True, slots=True)
class _Theatre:
    """Two stages with the same setup."""

    topology: Topology
    live: Snapshot
    options: RunOptions
    program: Program
    cast: Cast
    until: float

    def play(self, scenes: Sequence[Scene], times: float = 1.0) -> _Playbill:
        """Play the scenes. Clients wait `times` as long as usual."""
        server = self.program(str(self.live.target.version))
        with (
            waiting(f"for {counted(len(scenes), 'scene')} to be played", quiet=0),
            stage(self.cast, server) as calm,
            stage(self.cast, server) as changed,
        ):
            return asyncio.run(self._play(calm, changed, scenes, times))

    async def _play(self, calm: Stage, changed: Stage, scenes: Sequence[Scene], times: float) -> _Playbill:
        async with _set_up(calm, self.live, times) as before, _set_up(changed, self.live, times) as after:
            clients = (before.client, after.client)
            await asyncio.gather(*(_begin(client, scenes) for client in clients))
            change = await self._change(after.js)
            await asyncio.sleep(SETTLED)
            scenes = [one for one in scenes if change.of_scene(one)]
            gone = [key for one in scenes for key in one.consumers if key not in change.consumers]
            scenes = [narrowed(one, gone) for one in scenes]
            found = await few_at_a_time([self._scene(scene, clients, change) for scene in scenes], AT_ONCE)
        late = [
            Missing(name, LATE)
            for scene, one in zip(scenes, found, strict=True)
            if one is None
            for name in _objects(scene)
        ]
        left = [Missing(address_of(*key), GOES) for key in gone]
        return _Playbill(
            scenes=tuple(one for one in found if one), unplayed=(*left, *late, *change.undone), done=change.done
        )

    async def _change(self, js: JetStream) -> _Changed:
        """Return the plan with every consent given: people want to know what a change would do before they consent."""
        codes = (*(rule.code for rule in REGISTRY.rules()), *PLANNING)
        options = replace(self.options, allow=(*self.options.allow, *((code, "*") for code in codes)))
        made = await planned(self.topology, await seen(js), js, options)
        stop = asyncio.Event()
        given_up = asyncio.get_running_loop().call_later(PATIENCE, stop.set)
        (finished,) = [event async for event in apply(made, js, stop=stop) if isinstance(event, Finished)]
        given_up.cancel()
        return _Changed.of(made.plan, finished, await seen(js))

    async def _scene(self, scene: Scene, clients: Sequence[Client], change: _Changed) -> Played | None:
        if time.monotonic() > self.until:
            return None
        before, after = await asyncio.gather(*(record(client, scene) for client in clients))
        return _judged(scene, before, after, change.of_scene(scene))


@dataclass(frozen=True, slots=True)
class _Setting:
    js: JetStream
    client: Client


@asynccontextmanager
async def _set_up(built: Stage, live: Snapshot, times: float) -> AsyncIterator[_Setting]:
    """Recreate the account, and connect a client."""
    options = built.options()
    async with session(options) as js, connection(options) as nc:
        await recreate(js, live)
        await seen(js)
        yield _Setting(js, Client(nc, times))


async def _begin(client: Client, scenes: Iterable[Scene]) -> None:
    await few_at_a_time([begin(client, scene) for scene in scenes], AT_ONCE)


@dataclass(frozen=True, slots=True)
class _Changed:
    """What the plan did on its stage."""

    changes: tuple[PlannedChange, ...]
    consumers: frozenset[tuple[str, str]]
    """The consumers that exist afterwards, by stream and name."""
    undone: tuple[Missing, ...]

    @classmethod
    def of(cls, plan: Plan, finished: Finished, now: Snapshot) -> _Changed:
        failed = {one.step.address: one.reason.message for one in finished.went_wrong}
        waiting = [one.step.address for one in finished.skipped] + [one.step.address for one in finished.not_started]
        failed = dict.fromkeys(waiting, WAITS) | failed
        undone = [
            Missing(one.address, why) for one in plan.changes if one.action.writes and (why := _undone(one, failed))
        ]
        names = {one.what for one in undone}
        done = tuple(one for one in plan.changes if one.action.writes and one.address not in names)
        there = frozenset((stream, name) for stream, own in now.consumers.items() for name in own)
        return cls(done, there, tuple(undone))

    @property
    def done(self) -> frozenset[str]:
        return frozenset(one.address for one in self.changes)

    def of_scene(self, scene: Scene) -> list[PlannedChange]:
        return [one for one in self.changes if not streams_of(one).isdisjoint(scene.streams)]


def _undone(change: PlannedChange, failed: Mapping[str, str]) -> str:
    if change.address in failed:
        return f"it was not done: {failed[change.address]}"
    codes = ", ".join(one.code for one in change.verdicts if one.blocks)
    return (
        (f"the plan refuses it ({codes})" if codes else "it depends on a change that was not made")
        if change.is_blocked
        else ""
    )


def _judged(scene: Scene, before: Record, after: Record, changes: Sequence[PlannedChange]) -> Played:
    felt = tuple(_felt(one, scene, changes) for one in differences(before, after))
    shown = {code for one in felt for code in one.codes if one.foresight is not Foresight.FOLLOWS}
    unshown = [one for change in changes for one in _foretold(change) if one.code not in shown]
    return Played(scene=scene, felt=felt, operations=len(before.keys() | after.keys()), unshown=tuple(unshown))


def _foretold(change: PlannedChange) -> Iterator[Unshown]:
    """The effects on clients that the plan foretells."""
    spoken = foretold(change)
    for one in change.verdicts:
        if one.code in spoken:
            yield Unshown(address=change.address, code=one.code, message=one.message)
    for note in change.consequences:
        if note.code in spoken:
            yield Unshown(address=change.address, code=note.code, message=note.message.removesuffix(f" ({note.code})"))


def _felt(one: Difference, scene: Scene, changes: Sequence[PlannedChange]) -> Experience:
    address, operation = _of(one.operation, scene)
    near = sorted(changes, key=lambda change: change.address != address)
    told = {change.address: [*telling(change, one.side)] for change in near}
    speaking = told.get(address) or [code for each in told.values() for code in each]
    codes = narrowed_codes(list(dict.fromkeys(speaking)), one.after)
    reason = BETTER if is_relief(one) else next((said for change in near if (said := excuse(change, one.side))), "")
    return Experience(
        address=address, operation=operation, side=one.side, before=one.before, after=one.after, codes=codes,
        foresight=_foresight(one, codes, reason), reason=reason,
    )  # fmt: skip


def _foresight(one: Difference, codes: Sequence[str], reason: str) -> Foresight:
    if one.follows:
        return Foresight.FOLLOWS
    if codes:
        return Foresight.FORETOLD
    return Foresight.HARMLESS if reason else Foresight.UNFORETOLD


def _of(operation: str, scene: Scene) -> tuple[str, str]:
    """Split an operation of a record into the operation and the object it names at its end."""
    names = {f"{stream}/{name}": address_of(stream, name) for stream, name in scene.consumers}
    names |= {name: address_of(name) for name in scene.streams}
    for name, address in names.items():
        if operation.endswith(f" {name}"):
            return address, operation.removesuffix(f" {name}").rsplit(" ", 1)[0]
    return address_of(next(iter(scene.subjects), next(iter(scene.streams)))), operation
