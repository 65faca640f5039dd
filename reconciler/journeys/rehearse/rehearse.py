"""Carries a plan out for real on throw-away servers that hold the account's configurations, and reports what they made
of it.

The account is only read, or comes from an earlier revision of the files; nothing is ever written to it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from reconciler.changes.change import FieldChange
from reconciler.changes.events import Finished
from reconciler.changes.plan import Plan, PlannedChange
from reconciler.changes.rehearsal import TIERS, Missing, Rehearsal, Restarted
from reconciler.journeys.apply.apply import apply
from reconciler.journeys.plan.plan import Planned, plan_from_snapshot
from reconciler.kinds import REGISTRY
from reconciler.model.fields import info_at
from reconciler.model.resource import Address, Json
from reconciler.model.run_options import RunOptions
from reconciler.model.topology import Topology
from reconciler.model.wire.snapshot import Snapshot, Target
from reconciler.report.words.values import counted
from reconciler.server.connect.connection import session
from reconciler.server.read.observe import observe
from reconciler.server.wire.api import JetStream, Pauses
from reconciler.testbed.recreate import recreate
from reconciler.testbed.stage import Cast, Stage, stage

Program = Callable[[str], Path]
"""Maps a version to the nats-server to run."""
ShowProgress = Callable[[str], None]
T = TypeVar("T")
CLUSTER = 3
HIDDEN = frozenset({"LE109", "XX302", "XX304"})
PATIENCE = 20.0
"""Seconds that nodes have after their start to agree on a leader for each stream."""


def rehearse(
    topology: Topology, live: Snapshot, options: RunOptions, program: Program, then: str | None,
    tell: ShowProgress = lambda _: None, there: Plan | None = None,
) -> Rehearsal:  # fmt: skip
    """Rehearse on the account's own version. `then` names a version that starts on the same stores afterwards, and
    `tell` hears what is being done. `there` is the plan against the account, where one was asked: what passes there is
    not stopped here for want of messages and clients."""
    version = str(live.target.version)
    cast = cast_for(topology, live)
    binary = program(version)
    tell(f"starting {counted(cast.size, 'throw-away nats-server')} {version} …")
    with stage(cast, binary) as built:
        carried_out, options, finished, missing, after = _run_on(
            built, lambda js: _carry_plan_out(js, topology, live, options, tell, there)
        )
        tell("planning again, which should find nothing …")
        left = _still_to_change(_run_on(built, lambda js: _plan_again(js, topology, options)).plan, carried_out)
        restarted = (
            _restart_and_plan(built, topology, options, after, carried_out, then, program, tell) if then else None
        )
    return Rehearsal(
        version=version,
        size=cast.size,
        plan=_without_losses_of_streams(carried_out),
        finished=finished,
        missing=(*_missing_limits(live.target), *missing),
        left=left,
        restarted=restarted,
    )


def _without_losses_of_streams(plan: Plan) -> Plan:
    """Leave out findings that are due to the streams here, which have no messages: that some came back without their last
    ones, and that consent to a loss is not needed."""
    return replace(plan, diagnostics=tuple(found for found in plan.diagnostics if found.code not in HIDDEN))


def _missing_limits(target: Target) -> Iterator[Missing]:
    if target.usage.get("tiers"):
        yield Missing(TIERS, "a rehearsal cannot set these on its servers; a plan against the account judges by them")


def cast_for(topology: Topology, live: Snapshot) -> Cast:
    """Choose as many nodes as anything has replicas, and at least three where the account lives in a cluster."""
    replicas = [info["config"].get("num_replicas") or 1 for info in live.streams.values()]
    replicas += [getattr(resource.spec, "num_replicas", None) or 1 for resource in topology.resources]
    least = CLUSTER if live.target.is_clustered or max(replicas, default=1) > 1 else 1
    return Cast(
        _target_as_expected(live.target, topology),
        max(least, *replicas, 1),
        tuple(sorted(set(_placement_tags(topology, live)))),
    )


def _target_as_expected(target: Target, topology: Topology) -> Target:
    """Name the target as the files expect it, so that `expect` is met where the account is unknown."""
    expect = topology.expect
    return replace(
        target, account=target.account or expect.account, domain=target.domain or expect.domain,
        cluster=target.cluster or expect.cluster,
    )  # fmt: skip


def _placement_tags(topology: Topology, live: Snapshot) -> Iterator[str]:
    for info in live.streams.values():
        yield from (info["config"].get("placement") or {}).get("tags") or ()
    for resource in topology.resources:
        placement = getattr(resource.spec, "placement", None)
        yield from (placement.tags or ()) if placement else ()


def _run_on(built: Stage, work: Callable[[JetStream], Awaitable[T]]) -> T:
    async def through() -> T:
        async with session(built.options()) as js:
            return await work(js)

    return asyncio.run(through())


async def _carry_plan_out(
    js: JetStream, topology: Topology, live: Snapshot, options: RunOptions, tell: ShowProgress, there: Plan | None
) -> tuple[Plan, RunOptions, Finished, list[Missing], Snapshot]:
    tell(f"recreating what the account holds ({counted(len(live.streams), 'stream')}), without its messages …")
    missing = await recreate(js, live)
    snapshot = await read_throwaway_servers(js)
    to_apply = await plan_from_snapshot(topology, snapshot, js, options)
    shown = to_apply.plan
    if passing := _stopped_only_here(shown, there):
        options = _letting_pass(options, shown, passing)
        to_apply = await plan_from_snapshot(topology, snapshot, js, options)
        shown = _plan_as_in_account(to_apply.plan, shown, passing)
    tell(f"carrying the plan out there ({counted(len(to_apply.plan.steps), 'step')}) …")
    events = [event async for event in apply(to_apply, js) if isinstance(event, Finished)]
    return shown, options, events[0], missing, await read_throwaway_servers(js)


def _stopped_only_here(plan: Plan, there: Plan | None) -> dict[str, PlannedChange]:
    """Changes as they pass in the account. Here they are stopped, because no client is there and nothing was delivered."""
    passing = {change.address: change for change in there.changes if not change.is_blocked} if there else {}
    return {change.address: passing[change.address] for change in plan.blocked if change.address in passing}


def _letting_pass(options: RunOptions, plan: Plan, passing: Mapping[str, PlannedChange]) -> RunOptions:
    """Consent here to what passes there, and leave out what changes nothing there."""
    return replace(
        options,
        exclude=(*options.exclude, *(address for address, change in passing.items() if not change.action.writes)),
        allow=(
            *options.allow,
            *(
                (verdict.code, change.address)
                for change in plan.blocked
                if change.address in passing
                for verdict in change.verdicts
                if verdict.blocks
            ),
        ),
    )


def _plan_as_in_account(plan: Plan, at_first: Plan, passing: Mapping[str, PlannedChange]) -> Plan:
    """The plan, with what passes there as it is judged there."""
    stopped = {change.address for change in plan.blocked}
    theirs = {address: change for address, change in passing.items() if address not in stopped}
    changes = {change.address: change for change in plan.changes} | theirs
    return replace(plan, changes=tuple(changes[address] for address in sorted(changes)), hidden=at_first.hidden)


async def read_throwaway_servers(js: JetStream) -> Snapshot:
    """Read what the stage holds, and wait for what does not answer yet."""
    with Pauses(PATIENCE, "for throw-away servers that have just started to answer for each stream") as pauses:
        while (snapshot := await observe(js)).unknown and await pauses.wait():
            pass
    return replace(snapshot, target=replace(snapshot.target, is_throwaway=True))


async def _plan_again(js: JetStream, topology: Topology, options: RunOptions) -> Planned:
    again = replace(options, may_match_nothing=True)  # what a pattern named may be removed by now
    return await plan_from_snapshot(topology, await read_throwaway_servers(js), js, again)


def _still_to_change(again: Plan, plan: Plan) -> tuple[PlannedChange, ...]:
    """Return what is still to be changed, except what was refused from the beginning."""
    blocked = {change.address for change in plan.changes if change.is_blocked}
    return tuple(change for change in again.changes if change.action.writes and change.address not in blocked)


def _restart_and_plan(
    built: Stage, topology: Topology, options: RunOptions, before: Snapshot, plan: Plan, then: str, program: Program,
    tell: ShowProgress,
) -> Restarted:  # fmt: skip
    binary = program(then)
    tell(f"starting nats-server {then} on the same stores …")
    built.restart(binary)
    again = _run_on(built, lambda js: _plan_again(js, topology, options))
    was, now = _raw_configs(before), _raw_configs(again.snapshot)
    return Restarted(
        version=then,
        gone=tuple(sorted(was.keys() - now.keys())),
        rewritten=tuple(_rewritten_fields(was, now)),
        left=_still_to_change(again.plan, plan),
    )


def _raw_configs(snapshot: Snapshot) -> dict[str, Mapping[str, Json]]:
    """Every stream and consumer with its raw configuration."""
    configs = {f"stream/{name}": info["config"] for name, info in snapshot.streams.items()}
    for stream, infos in snapshot.consumers.items():
        configs |= {f"consumer/{stream}/{name}": info["config"] for name, info in infos.items()}
    return configs


def _rewritten_fields(
    was: Mapping[str, Mapping[str, Json]], now: Mapping[str, Mapping[str, Json]]
) -> Iterator[tuple[str, FieldChange]]:
    for address in sorted(was.keys() & now.keys()):
        before, after, fields = was[address], now[address], REGISTRY.of(Address.parse(address)).fields
        for name in sorted((before.keys() | after.keys()) - {"metadata"}):
            if before.get(name) != after.get(name):
                info = info_at(fields, name)
                yield address, FieldChange(path=name, live=before.get(name), desired=after.get(name), info=info)
