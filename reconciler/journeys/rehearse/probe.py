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
from reconciler.journeys.plan.plan import plan_from_snapshot
from reconciler.journeys.rehearse.probe_scenes import (
    GOES,
    MESSAGES,
    address_of,
    choose_scenes,
    streams_of,
    without_consumers,
)
from reconciler.journeys.rehearse.rehearse import Program, cast_for, read_throwaway_servers
from reconciler.kinds import REGISTRY
from reconciler.kinds.predicted_effects import codes_about_side, sides_by_code, why_harmless
from reconciler.kinds.predicted_effects import most_exact_codes as narrowed_codes
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
from reconciler.testbed.probes.scene import Scene, bring_clients
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
    chosen = choose_scenes(live, rehearsal.plan, rehearsal.missing)
    if not chosen.scenes:
        return Probe(unplayed=chosen.unplayed)
    blocked = [change.address for change in rehearsal.plan.changes if change.action.writes and change.is_blocked]
    theatre = _TwoStages(topology, live, options, program, cast_for(topology, live), began + within)
    played = theatre.play(chosen.scenes)
    for times in AGAIN:
        doubtful = [play.scene for play in played.scenes if play.is_doubtful]
        if not doubtful or time.monotonic() - began > within:
            break
        played = played.beside(theatre.play(doubtful, times))
    result = _probe_result(played, chosen.unplayed, time.monotonic() - began)
    return replace(result, consented=tuple(address for address in blocked if address in played.done))


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
        return any(experience.foresight is Foresight.UNFORETOLD for experience in self.felt)

    def beside(self, other: Played) -> Played:
        """Keep, of the differences that were not foretold, those that show both times."""
        again = {(experience.address, experience.operation) for experience in other.felt}
        confirmed = [
            experience
            for experience in self.felt
            if experience.foresight is not Foresight.UNFORETOLD or (experience.address, experience.operation) in again
        ]
        return replace(self, felt=tuple(confirmed))


@dataclass(frozen=True, slots=True, kw_only=True)
class _PlayedScenes:
    scenes: tuple[Played, ...]
    unplayed: tuple[Missing, ...] = ()
    done: frozenset[str] = frozenset()
    """Addresses of changes that were carried out."""

    def beside(self, other: _PlayedScenes) -> _PlayedScenes:
        """Keep the differences that show again in a second play."""
        anew = {tuple(play.scene.streams): play for play in other.scenes}
        confirmed = [
            play.beside(anew[tuple(play.scene.streams)]) if tuple(play.scene.streams) in anew else play
            for play in self.scenes
        ]
        return replace(self, scenes=tuple(confirmed))


def _probe_result(played: _PlayedScenes, unplayed: Iterable[Missing], seconds: float) -> Probe:
    objects = [name for play in played.scenes for name in _object_addresses(play.scene)]
    return Probe(
        operations=sum(play.operations for play in played.scenes),
        objects=tuple(objects),
        messages=MESSAGES,
        felt=tuple(felt for play in played.scenes for felt in play.felt),
        unshown=tuple(dict.fromkeys(unshown for play in played.scenes for unshown in play.unshown)),
        unplayed=tuple({missing.what: missing for missing in reversed([*unplayed, *played.unplayed])}.values())[::-1],
        seconds=seconds,
    )


def _object_addresses(scene: Scene) -> list[str]:
    return [*map(address_of, scene.streams), *(address_of(*key) for key in scene.consumers)]


@dataclass(frozen=True, slots=True)
class _TwoStages:
    """Two stages with the same setup."""

    topology: Topology
    live: Snapshot
    options: RunOptions
    program: Program
    cast: Cast
    until: float

    def play(self, scenes: Sequence[Scene], times: float = 1.0) -> _PlayedScenes:
        """Play the scenes. Clients wait `times` as long as usual."""
        server = self.program(str(self.live.target.version))
        with (
            waiting(f"for {counted(len(scenes), 'scene')} to be played", quiet=0),
            stage(self.cast, server) as calm,
            stage(self.cast, server) as changed,
        ):
            return asyncio.run(self._play(calm, changed, scenes, times))

    async def _play(self, calm: Stage, changed: Stage, scenes: Sequence[Scene], times: float) -> _PlayedScenes:
        async with _set_up(calm, self.live, times) as before, _set_up(changed, self.live, times) as after:
            clients = (before.client, after.client)
            await asyncio.gather(*(_begin_scenes(client, scenes) for client in clients))
            change = await self._carry_out(after.js)
            await asyncio.sleep(SETTLED)
            scenes = [scene for scene in scenes if change.of_scene(scene)]
            gone = [key for scene in scenes for key in scene.consumers if key not in change.consumers]
            scenes = [without_consumers(scene, gone) for scene in scenes]
            plays = await few_at_a_time([self._play_scene(scene, clients, change) for scene in scenes], AT_ONCE)
        late = [
            Missing(name, LATE)
            for scene, play in zip(scenes, plays, strict=True)
            if play is None
            for name in _object_addresses(scene)
        ]
        left = [Missing(address_of(*key), GOES) for key in gone]
        return _PlayedScenes(
            scenes=tuple(play for play in plays if play),
            unplayed=(*left, *late, *change.undone),
            done=change.done_addresses,
        )

    async def _carry_out(self, js: JetStream) -> _ChangesMade:
        """Plan with every consent given, and apply: people want to know what a change would do before they consent."""
        codes = (*(rule.code for rule in REGISTRY.rules()), *PLANNING)
        options = replace(self.options, allow=(*self.options.allow, *((code, "*") for code in codes)))
        plan_made = await plan_from_snapshot(self.topology, await read_throwaway_servers(js), js, options)
        stop = asyncio.Event()
        given_up = asyncio.get_running_loop().call_later(PATIENCE, stop.set)
        (finished,) = [event async for event in apply(plan_made, js, stop=stop) if isinstance(event, Finished)]
        given_up.cancel()
        return _ChangesMade.of(plan_made.plan, finished, await read_throwaway_servers(js))

    async def _play_scene(self, scene: Scene, clients: Sequence[Client], change: _ChangesMade) -> Played | None:
        if time.monotonic() > self.until:
            return None
        before, after = await asyncio.gather(*(record(client, scene) for client in clients))
        return _compare_records(scene, before, after, change.of_scene(scene))


@dataclass(frozen=True, slots=True)
class _StageConnections:
    js: JetStream
    client: Client


@asynccontextmanager
async def _set_up(built: Stage, live: Snapshot, times: float) -> AsyncIterator[_StageConnections]:
    """Recreate the account, and connect a client."""
    options = built.options()
    async with session(options) as js, connection(options) as nc:
        await recreate(js, live)
        await read_throwaway_servers(js)
        yield _StageConnections(js, Client(nc, times))


async def _begin_scenes(client: Client, scenes: Iterable[Scene]) -> None:
    await few_at_a_time([bring_clients(client, scene) for scene in scenes], AT_ONCE)


@dataclass(frozen=True, slots=True)
class _ChangesMade:
    """What the plan did on its stage."""

    changes: tuple[PlannedChange, ...]
    consumers: frozenset[tuple[str, str]]
    """The consumers that exist afterwards, by stream and name."""
    undone: tuple[Missing, ...]

    @classmethod
    def of(cls, plan: Plan, finished: Finished, now: Snapshot) -> _ChangesMade:
        wrong = {outcome.step.address: outcome.reason.message for outcome in finished.went_wrong}
        waiting = [outcome.step.address for outcome in finished.skipped]
        waiting += [outcome.step.address for outcome in finished.not_started]
        reasons = dict.fromkeys(waiting, WAITS) | wrong
        writing = [change for change in plan.changes if change.action.writes]
        undone = [Missing(change.address, why) for change in writing if (why := _why_not_done(change, reasons))]
        names = {missing.what for missing in undone}
        done = tuple(change for change in writing if change.address not in names)
        consumers = frozenset((stream, name) for stream, own in now.consumers.items() for name in own)
        return cls(done, consumers, tuple(undone))

    @property
    def done_addresses(self) -> frozenset[str]:
        return frozenset(change.address for change in self.changes)

    def of_scene(self, scene: Scene) -> list[PlannedChange]:
        return [change for change in self.changes if not streams_of(change).isdisjoint(scene.streams)]


def _why_not_done(change: PlannedChange, failed: Mapping[str, str]) -> str:
    if change.address in failed:
        return f"it was not done: {failed[change.address]}"
    codes = ", ".join(verdict.code for verdict in change.verdicts if verdict.blocks)
    return (
        (f"the plan refuses it ({codes})" if codes else "it depends on a change that was not made")
        if change.is_blocked
        else ""
    )


def _compare_records(scene: Scene, before: Record, after: Record, changes: Sequence[PlannedChange]) -> Played:
    felt = tuple(_experience_of(difference, scene, changes) for difference in differences(before, after))
    shown = {code for experience in felt for code in experience.codes if experience.foresight is not Foresight.FOLLOWS}
    unshown = [effect for change in changes for effect in _foretold_effects(change) if effect.code not in shown]
    return Played(scene=scene, felt=felt, operations=len(before.keys() | after.keys()), unshown=tuple(unshown))


def _foretold_effects(change: PlannedChange) -> Iterator[Unshown]:
    """Yield the effects on clients that the plan foretells."""
    spoken = sides_by_code(change)
    for verdict in change.verdicts:
        if verdict.code in spoken:
            yield Unshown(address=change.address, code=verdict.code, message=verdict.message)
    for note in change.consequences:
        if note.code in spoken:
            yield Unshown(address=change.address, code=note.code, message=note.message.removesuffix(f" ({note.code})"))


def _experience_of(difference: Difference, scene: Scene, changes: Sequence[PlannedChange]) -> Experience:
    address, operation = _object_and_operation(difference.operation, scene)
    near = sorted(changes, key=lambda change: change.address != address)
    codes_by_address = {change.address: [*codes_about_side(change, difference.side)] for change in near}
    speaking = codes_by_address.get(address) or [code for each in codes_by_address.values() for code in each]
    codes = narrowed_codes(list(dict.fromkeys(speaking)), difference.after)
    reason = (
        BETTER
        if is_relief(difference)
        else next((excuse_given for change in near if (excuse_given := why_harmless(change, difference.side))), "")
    )
    return Experience(
        address=address, operation=operation, side=difference.side, before=difference.before, after=difference.after, codes=codes,
        foresight=_foresight(difference, codes, reason), reason=reason,
    )  # fmt: skip


def _foresight(difference: Difference, codes: Sequence[str], reason: str) -> Foresight:
    if difference.follows:
        return Foresight.FOLLOWS
    if codes:
        return Foresight.FORETOLD
    return Foresight.HARMLESS if reason else Foresight.UNFORETOLD


def _object_and_operation(operation: str, scene: Scene) -> tuple[str, str]:
    """Split an operation of a record into the operation and the object it names at its end."""
    names = {f"{stream}/{name}": address_of(stream, name) for stream, name in scene.consumers}
    names |= {name: address_of(name) for name in scene.streams}
    for name, address in names.items():
        if operation.endswith(f" {name}"):
            return address, operation.removesuffix(f" {name}").rsplit(" ", 1)[0]
    return address_of(next(iter(scene.subjects), next(iter(scene.streams)))), operation
