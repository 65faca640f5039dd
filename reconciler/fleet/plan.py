"""Plans many targets, several at a time: a failure of one never stops the others. Needs no Spark."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from reconciler.documents.fill.values import Filled
from reconciler.engine.idle_patterns import refuse_patterns_idle_everywhere
from reconciler.fleet.accounts.reading import REQUESTS, SharedWindow
from reconciler.fleet.accounts.targets import FleetTarget
from reconciler.fleet.report.plans import TargetPlan
from reconciler.journeys.files_and_account import both
from reconciler.journeys.plan.plan import plan_from_snapshot
from reconciler.journeys.rollout.one_account import Claimant, contradictions
from reconciler.model.diagnostic import CannotContinue, Diagnostic, Severity
from reconciler.model.run_options import RunOptions

AT_ONCE = 8
ORIGIN = "the fleet file"
"""Where the values of targets are from, in words."""


async def plans(
    targets: Sequence[FleetTarget],
    options: RunOptions,
    at_once: int = AT_ONCE,
    done: Callable[[int], None] = lambda _: None,
) -> list[TargetPlan]:
    """Plan in the order of the targets. Targets without a topology have nothing to plan."""
    gate, requests, finished = asyncio.Semaphore(at_once), asyncio.Semaphore(REQUESTS), 0
    claimants = dict[str, Claimant]()

    async def plan_one(target: FleetTarget) -> TargetPlan:
        nonlocal finished
        async with gate:
            plan = await _plan(target, options, requests, claimants)
        finished += 1
        done(finished)
        return plan

    results = await asyncio.gather(*(plan_one(target) for target in targets if target.topology))
    refuse_patterns_idle_everywhere([result.plan.diagnostics for result in results if result.plan])
    in_order = [claimants[target.name] for target in targets if target.name in claimants]
    wrong = {claimant.name: finding for claimant, finding in contradictions(in_order, "target")}
    return [
        replace(result, plan=None, problems=(wrong[result.target],)) if result.target in wrong else result
        for result in results
    ]


async def _plan(
    target: FleetTarget, options: RunOptions, requests: asyncio.Semaphore, claimants: dict[str, Claimant]
) -> TargetPlan:
    began = time.monotonic()
    result = TargetPlan(target=target.name, labels=target.labels)
    try:
        async with asyncio.timeout(target.deadline):
            result, claimants[target.name] = await _plan_within_deadline(target, result, options, requests)
    except CannotContinue as problem:
        result = replace(result, problems=problem.diagnostics)
    except TimeoutError:
        result = replace(result, problems=(deadline_diagnostic(target),))
    except Exception as error:  # noqa: BLE001 - what one account holds must not end the plans of all others
        result = replace(result, problems=(_failed_diagnostic(target, error),))
    return replace(result, seconds=time.monotonic() - began)


async def _plan_within_deadline(
    target: FleetTarget, unplanned: TargetPlan, options: RunOptions, requests: asyncio.Semaphore
) -> tuple[TargetPlan, Claimant]:
    files = Filled(
        values=target.values,
        needed=target.own,
        origin=ORIGIN,
        places=target.value_places,
        environment=target.environment,
    )
    window = SharedWindow(requests)
    async with both(target.topology, target.options(), files, window) as opened:
        plan = (await plan_from_snapshot(opened.topology, opened.snapshot, opened.js, options)).plan
        plan = replace(plan, diagnostics=(*opened.loaded.diagnostics, *plan.diagnostics))
        claimant = Claimant.at(target.name, opened.topology, opened.snapshot, target.options())
        return replace(unplanned, plan=plan), claimant


def deadline_diagnostic(target: FleetTarget) -> Diagnostic:
    """Return why a target has no plan that was not read in time."""
    message = f"{target.name} was not read within {target.deadline:g} s. Nothing was changed."
    fix = "Raise its `deadline`, or find out with `reconciler plan` why it is slow."
    return Diagnostic(severity=Severity.ERROR, code="FL110", name="deadline", message=message, fix=fix)


def _failed_diagnostic(target: FleetTarget, error: Exception) -> Diagnostic:
    message = f"{target.name} could not be planned ({type(error).__name__}: {error}). Nothing was changed."
    fix = "Run `reconciler plan` for this target alone; if it fails as well, please report this as a bug in reconciler."
    return Diagnostic(severity=Severity.ERROR, code="FL114", name="plan-failed", message=message, fix=fix)
