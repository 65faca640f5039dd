"""`drift --restore`: a plan that puts back what strayed and nothing else, from the same look at the account."""

from __future__ import annotations

from dataclasses import replace

from reconciler.journeys.drift import restored as restoring
from reconciler.journeys.drift.look import Looked, looked
from reconciler.journeys.plan.plan import Planned, PlanOptions, planned
from reconciler.kinds import REGISTRY
from reconciler.model.wire import Snapshot
from reconciler.server.wire.api import JetStream


async def restore(found: Looked, js: JetStream, options: PlanOptions) -> Planned:
    """What an apply would carry out: with rules, consent, lease and journal, as any other plan."""
    only = replace(options, only=restoring.patterns(found.drift), exclude=())
    made = await planned(
        found.topology, found.snapshot, js, only, narrow=lambda world: restoring.narrowed(world, found.drift, REGISTRY)
    )

    async def again(snapshot: Snapshot, js: JetStream) -> Planned:
        return await restore(looked(found.topology, snapshot, options), js, options)

    return replace(made, plan=restoring.as_before(made.plan, found.world, found.drift), again=again)
