"""`drift --restore`: plans to put back what drifted and nothing else, from the same look at the account."""

from __future__ import annotations

from dataclasses import replace

from reconciler.journeys.drift import way_back
from reconciler.journeys.drift.look import Looked
from reconciler.journeys.plan.plan import Planned, PlanPurpose, compared, decided
from reconciler.kinds import REGISTRY
from reconciler.server.wire.api import JetStream


async def restore(found: Looked, js: JetStream) -> Planned:
    """Plan the restoration like any other plan: with rules, consent, lease and journal."""
    snapshot = found.view.snapshot
    options = replace(found.options, only=way_back.patterns(found.drift, found.view, REGISTRY), exclude=())
    back = way_back.narrowed(compared(found.topology, snapshot, options), found.drift, REGISTRY)
    plan = way_back.as_before(await decided(back, js, options), found.view, found.drift, found.options, REGISTRY)
    return Planned(plan=plan, snapshot=snapshot, topology=found.topology, options=options, purpose=PlanPurpose.RESTORE)
