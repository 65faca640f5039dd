"""The journeys as plain calls, for programs that are not asynchronous. Each call opens its own connection and closes
it."""

from __future__ import annotations

import asyncio

from reconciler.changes.events import Finished
from reconciler.journeys.apply import apply as applying
from reconciler.journeys.drift.attribute import attributed
from reconciler.journeys.drift.drift import Drift
from reconciler.journeys.drift.look import look
from reconciler.journeys.export import export as exporting
from reconciler.journeys.plan import plan as planning
from reconciler.journeys.plan.plan import Planned
from reconciler.journeys.saved import saving
from reconciler.journeys.saved.saved_plan import Saved
from reconciler.journeys.saved.saving import SavedReview
from reconciler.model.diagnostic import CannotContinue
from reconciler.model.run_options import RunOptions
from reconciler.model.topology import Topology
from reconciler.server.connect.connection import session
from reconciler.server.connect.options import ConnectOptions
from reconciler.server.read.observe import observe
from reconciler.server.wire.api import JetStream


def plan(topology: Topology, server: str | ConnectOptions, options: RunOptions) -> Planned:
    """Plan a topology on this server. Raises CannotContinue where it cannot connect."""

    async def work() -> Planned:
        async with session(_options(server)) as js:
            return await planning.plan(topology, js, options)

    return asyncio.run(work())


def drift(topology: Topology, server: str | ConnectOptions, options: RunOptions) -> Drift:
    """Return what drifted since the last apply, and who changed it as far as an audit trail shows."""

    async def work() -> Drift:
        async with session(_options(server)) as js:
            return (await attributed(look(topology, await observe(js), options), js)).drift

    return asyncio.run(work())


def apply(planned: Planned | Saved, server: str | ConnectOptions, *, partial: bool) -> Finished:
    """Apply a plan, and return what became of its steps. Raises CannotContinue where the plan is blocked, unless
    `partial`."""
    if planned.plan.blocked and not partial:
        found = (
            verdict.diagnostic() for change in planned.plan.blocked for verdict in change.verdicts if verdict.blocks
        )
        raise CannotContinue(*found)

    async def work() -> Finished:
        async with session(_options(server)) as js:
            return await (_apply_saved(planned, js) if isinstance(planned, Saved) else _apply_here(planned, js))

    return asyncio.run(work())


async def _apply(what: Planned | SavedReview, js: JetStream) -> Finished:
    return [event async for event in applying.apply(what, js) if isinstance(event, Finished)][-1]


async def _apply_here(planned: Planned, js: JetStream) -> Finished:
    """Apply a plan on the connection it was made on."""
    await saving.check_same_place(planned, js)
    return await _apply(planned, js)


async def _apply_saved(saved: Saved, js: JetStream) -> Finished:
    """Apply a saved plan as far as it still fits."""
    reviewed = await saving.review(saved, js)
    return Finished() if reviewed.outlook.is_done else await _apply(reviewed, js)


def export(server: str | ConnectOptions, topology: str) -> str:
    """Export the account as one topology file. Raises CannotContinue where a part of it could not be read."""

    async def work() -> str:
        async with session(_options(server)) as js:
            found = await exporting.exported(js, topology=topology)
            if any(one.is_error for one in found.left_out):
                raise CannotContinue(*found.left_out)
            return found.text

    return asyncio.run(work())


def _options(server: str | ConnectOptions) -> ConnectOptions:
    return ConnectOptions.to(server) if isinstance(server, str) else server
