"""Topology × server → drift. Looking changes nothing: every request here is a read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from reconciler.core.decide import Options, idle_patterns, selected
from reconciler.core.diagnostic import Diagnostic
from reconciler.core.drift import Drift, drift
from reconciler.core.kind import Registry
from reconciler.core.reconcile import World, reconcile
from reconciler.core.records import BUCKET
from reconciler.core.resource import Address
from reconciler.core.topology import Topology
from reconciler.core.wire import Snapshot
from reconciler.documents.revision import Origin
from reconciler.kinds import REGISTRY
from reconciler.server import ledger
from reconciler.workflow.plan import PlanOptions, came_from, check_place, counted


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
    check_place(topology, snapshot.target)
    owned = ledger.read(snapshot)
    known = snapshot.unknown_bucket(BUCKET) is None
    origin = options.came_from or came_from(topology)
    world = reconcile(topology, snapshot, owned.records, registry, ledger_known=known, today=options.today)
    found = drift(
        topology, world, snapshot, registry,
        ledger_known=known, source=origin.repository, today=options.today, selected=_chosen(world, options),
    )  # fmt: skip
    shown = replace(
        found, diagnostics=(*owned.problems, *found.diagnostics, *_idle(world, options)), read=counted(snapshot, world)
    )
    return Looked(drift=shown, world=world, snapshot=snapshot, topology=topology, origin=origin)


def _idle(world: World, options: PlanOptions) -> Iterable[Diagnostic]:
    """A misspelt selection must not pass for an account without drift."""
    return idle_patterns(world, Options(today=options.today, only=options.only, exclude=options.exclude))


def _chosen(world: World, options: PlanOptions) -> frozenset[Address] | None:
    if not (options.only or options.exclude):
        return None
    patterns = Options(today=options.today, only=options.only, exclude=options.exclude)
    return frozenset(address for address, change in world.changes.items() if selected(change, patterns))
