"""`drift restore`: plans to put back what drifted and nothing else, from the same look at the account."""

from __future__ import annotations

from dataclasses import replace

from reconciler.journeys.drift import way_back
from reconciler.journeys.drift.look import Looked
from reconciler.journeys.plan.plan import Planned, PlanPurpose, compare_with_snapshot, decide_plan
from reconciler.kinds import REGISTRY
from reconciler.server.wire.api import JetStream


async def restore(looked: Looked, js: JetStream) -> Planned:
    """Plan the restoration like any other plan: with rules, consent, lease and journal."""
    snapshot = looked.view.snapshot
    options = replace(
        looked.options, only=way_back.patterns_of_restorable(looked.drift, looked.view, REGISTRY), exclude=()
    )
    back = way_back.narrowed_view(compare_with_snapshot(looked.topology, snapshot, options), looked.drift, REGISTRY)
    plan = way_back.with_old_records(
        await decide_plan(back, js, options), looked.view, looked.drift, looked.options, REGISTRY
    )
    return Planned(plan=plan, snapshot=snapshot, topology=looked.topology, options=options, purpose=PlanPurpose.RESTORE)
