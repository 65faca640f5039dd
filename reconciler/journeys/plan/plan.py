"""Topology × server → plan. Looking changes nothing: every request here is a read."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from pathlib import Path

from reconciler.changes.kind import Registry
from reconciler.changes.plan import Plan
from reconciler.changes.rule import View
from reconciler.documents.find.revision import Origin, origin
from reconciler.engine.decide import Options, decide, questions
from reconciler.engine.reconcile import World, reconcile
from reconciler.engine.target_check import check_place
from reconciler.kinds import REGISTRY
from reconciler.kinds.consumer.ahead import ahead
from reconciler.kinds.consumer.replacement import left_behind
from reconciler.memory import remembered
from reconciler.model.diagnostic import CannotContinue, Severity
from reconciler.model.records import BUCKET
from reconciler.model.resource import Json
from reconciler.model.topology import Topology
from reconciler.model.wire import Facts, Question, Snapshot, Target, Unanswered
from reconciler.server.read.observe import ask, observe
from reconciler.server.wire.api import JetStream


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOptions:
    """What a run adds to the files."""

    only: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    allow: tuple[tuple[str, str], ...] = ()
    take_over: tuple[str, ...] = ()
    """Owners whose resources become this topology's."""
    today: date | None = None
    """None: as the server's clock has it; ours may be wrong by years, and `until` ends what was agreed to."""
    came_from: Origin | None = None
    """Where the files come from; None: as git says where they are."""

    def day(self, target: Target) -> date:
        return self.today or target.day or datetime.now(UTC).date()


Again = Callable[[Snapshot, JetStream], Awaitable["Planned"]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A plan with the snapshot it was made from."""

    plan: Plan
    snapshot: Snapshot
    origin: Origin = field(default_factory=Origin)
    """Where its files come from."""
    topology: Topology | None = None
    """What was declared; None: the plan was read from a file, which has that too."""
    options: PlanOptions = field(default_factory=PlanOptions)
    again: Again | None = None
    """How the same is planned from another look, where that is more than planning the topology."""


async def plan(topology: Topology, js: JetStream, options: PlanOptions | None = None) -> Planned:
    """Read what is live, compare, ask what the changes need to know, and decide."""
    return await planned(topology, await observe(js), js, options or PlanOptions())


async def planned(
    topology: Topology,
    snapshot: Snapshot,
    js: JetStream | None,
    options: PlanOptions,
    registry: Registry = REGISTRY,
    narrow: Callable[[World], World] = lambda world: world,
) -> Planned:
    """The same from a snapshot already taken. Without a connection, what depends on the changes stays unanswered.
    `narrow` leaves only part of what is wanted."""
    check_place(topology, snapshot.target)
    owned = remembered.read(snapshot, registry)
    unread = remembered.unread(snapshot) if js else None
    if unread and unread.severity is Severity.ERROR:
        raise CannotContinue(unread)
    known = snapshot.unknown_bucket(BUCKET) is None
    origin_, today = options.came_from or came_from(topology), options.day(snapshot.target)
    world = narrow(
        reconcile(
            topology,
            snapshot,
            owned.records,
            registry,
            ledger_known=known,
            today=today,
            take_over=options.take_over,
        )
    )
    view = world.view(topology.name, snapshot, source=origin_.repository, ledger_known=known)
    view = replace(view, facts=await _facts(js, world, view, registry))
    made = decide(
        world,
        view,
        registry,
        Options(
            today=today,
            allow=options.allow,
            only=options.only,
            exclude=options.exclude,
            take_over=options.take_over,
            source=origin_.repository,
            git_revision=origin_.revision,
        ),
    )
    shown = replace(
        made,
        read=counted(snapshot, world),
        diagnostics=(
            *([unread] if unread else ()),
            *owned.problems,
            *left_behind(snapshot),
            *ahead(snapshot),
            *made.diagnostics,
        ),
    )
    return Planned(plan=shown, snapshot=snapshot, origin=origin_, topology=topology, options=options)


def counted(snapshot: Snapshot, world: World) -> dict[str, int]:
    """What was read."""
    return {
        "streams": len(snapshot.streams),
        "consumers": sum(len(consumers) for consumers in snapshot.consumers.values()),
        "groups": sum(address.kind.endswith("_group") for address in world.live),
    }


async def _facts(js: JetStream | None, world: World, view: View, registry: Registry) -> Facts:
    """Until no answer leads to another question."""
    facts: dict[Question, Json | Unanswered] = {}
    while asked := questions(world, replace(view, facts=facts), registry):
        facts |= await ask(js, asked) if js else dict.fromkeys(asked, Unanswered("no server was asked"))
    return facts


def came_from(topology: Topology) -> Origin:
    return origin(Path(topology.files[0])) if topology.files else Origin()
