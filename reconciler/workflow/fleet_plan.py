"""Plans of many targets, several at a time: what one of them lacks never keeps the others from theirs. Needs no Spark."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from reconciler.core.diagnostic import CannotContinue, Diagnostic, Severity
from reconciler.documents.values import Filled
from reconciler.fleet.targets import Target
from reconciler.report.fleet.plans import TargetPlan
from reconciler.workflow.both import both
from reconciler.workflow.plan import PlanOptions, planned

AT_ONCE = 8


async def plans(
    targets: Sequence[Target],
    options: PlanOptions,
    at_once: int = AT_ONCE,
    done: Callable[[int], None] = lambda _: None,
) -> list[TargetPlan]:
    """In the order of the targets. Those without a topology have nothing to be planned."""
    gate, finished = asyncio.Semaphore(at_once), 0

    async def one(target: Target) -> TargetPlan:
        nonlocal finished
        async with gate:
            made = await _plan(target, options)
        finished += 1
        done(finished)
        return made

    return [*await asyncio.gather(*(one(target) for target in targets if target.topology))]


async def _plan(target: Target, options: PlanOptions) -> TargetPlan:
    began = time.monotonic()
    made = TargetPlan(target=target.name, labels=target.labels)
    try:
        async with asyncio.timeout(target.deadline):
            made = await _within(target, made, options)
    except CannotContinue as problem:
        made = replace(made, problems=problem.diagnostics)
    except TimeoutError:
        made = replace(made, problems=(_late(target),))
    return replace(made, seconds=time.monotonic() - began)


async def _within(target: Target, made: TargetPlan, options: PlanOptions) -> TargetPlan:
    async with both(target.topology, target.options(), Filled(values=target.values)) as here:
        found = (await planned(here.topology, here.snapshot, here.js, options)).plan
        return replace(made, plan=replace(found, diagnostics=(*here.loaded.diagnostics, *found.diagnostics)))


def _late(target: Target) -> Diagnostic:
    message = f"{target.name} was not read within {target.deadline:g} s. Nothing was changed."
    fix = "Raise its `deadline`, or see why it is slow with `reconciler plan`."
    return Diagnostic(severity=Severity.ERROR, code="FL110", name="deadline", message=message, fix=fix)
