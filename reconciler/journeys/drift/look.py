"""Topology × server → drift. Looking changes nothing: every request here is a read."""

from __future__ import annotations

from dataclasses import dataclass, replace

from reconciler.changes.kind import Registry
from reconciler.documents.find.revision import Origin
from reconciler.engine.reconcile import World
from reconciler.journeys.drift.compare import LookOptions, look
from reconciler.journeys.drift.drift import Drift
from reconciler.journeys.plan.plan import PlanOptions, came_from, counted
from reconciler.kinds import REGISTRY
from reconciler.model.topology import Topology
from reconciler.model.wire import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """What strayed, and what it was found in."""

    drift: Drift
    world: World
    snapshot: Snapshot
    topology: Topology
    origin: Origin


def looked(
    topology: Topology, snapshot: Snapshot, options: PlanOptions | None = None, registry: Registry = REGISTRY
) -> Looked:
    """How everything declared or owned here stands, from a snapshot already taken."""
    options = options or PlanOptions()
    origin = options.came_from or came_from(topology)
    part = LookOptions(
        today=options.day(snapshot.target), source=origin.repository, only=options.only, exclude=options.exclude
    )
    found = look(topology, snapshot, registry, part)
    shown = replace(found.drift, read=counted(snapshot, found.world))
    return Looked(drift=shown, world=found.world, snapshot=snapshot, topology=topology, origin=origin)
