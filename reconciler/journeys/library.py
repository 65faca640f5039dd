"""The journeys as plain calls, for programs that are not asynchronous. Each call opens its own connection and closes
it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from reconciler.changes.events import Finished
from reconciler.journeys.apply import apply as applying
from reconciler.journeys.drift.attribute import attribute_drift
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

T = TypeVar("T")


def plan(topology: Topology, server: str | ConnectOptions, options: RunOptions) -> Planned:
    """Plan a topology on this server. Raises CannotContinue where it cannot connect."""
    return _ask(server, lambda js: planning.plan(topology, js, options))


def drift(topology: Topology, server: str | ConnectOptions, options: RunOptions) -> Drift:
    """Return what drifted since the last apply, and who changed it as far as an audit trail shows."""

    async def work(js: JetStream) -> Drift:
        return (await attribute_drift(look(topology, await observe(js), options), js)).drift

    return _ask(server, work)


def apply(planned: Planned | Saved, server: str | ConnectOptions, *, partial: bool) -> Finished:
    """Apply a plan, and return what became of its steps. Raises CannotContinue where the plan is blocked, unless
    `partial`."""
    if planned.plan.blocked and not partial:
        blocking = (
            verdict.diagnostic() for change in planned.plan.blocked for verdict in change.verdicts if verdict.blocks
        )
        raise CannotContinue(*blocking)
    return _ask(server, lambda js: _apply_saved(planned, js) if isinstance(planned, Saved) else _apply_new(planned, js))


async def _apply_to_end(planned: Planned | SavedReview, js: JetStream) -> Finished:
    """Apply to the end, without anybody who follows the steps."""
    return [event async for event in applying.apply(planned, js) if isinstance(event, Finished)][-1]


async def _apply_new(planned: Planned, js: JetStream) -> Finished:
    """Apply a plan on the connection it was made on."""
    await saving.check_same_place(planned, js)
    return await _apply_to_end(planned, js)


async def _apply_saved(saved: Saved, js: JetStream) -> Finished:
    """Apply a saved plan as far as it still fits."""
    reviewed = await saving.review(saved, js)
    return Finished() if reviewed.outlook.is_done else await _apply_to_end(reviewed, js)


def export(server: str | ConnectOptions, topology: str) -> str:
    """Export the account as one topology file. Raises CannotContinue where a part of it could not be read."""
    file = _ask(server, lambda js: exporting.exported_file(js, topology=topology))
    if any(problem.is_error for problem in file.left_out):
        raise CannotContinue(*file.left_out)
    return file.text


def _ask(server: str | ConnectOptions, work: Callable[[JetStream], Awaitable[T]]) -> T:
    """Connect, and return the result of `work`. The main task has none: asyncio writes out the whole of it when it restores
    the signal handlers."""
    results = list[T]()

    async def run() -> None:
        async with session(ConnectOptions.to(server) if isinstance(server, str) else server) as js:
            results.append(await work(js))

    asyncio.run(run())
    return results[0]
