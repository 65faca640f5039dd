"""Reads from the bucket what was applied to an account and who holds its leases, or the one reason why it cannot."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from reconciler.memory.journal import Run
from reconciler.memory.lease import Held
from reconciler.memory.run_changes import ChangesBetween
from reconciler.memory.run_changes import difference as compared
from reconciler.model.diagnostic import CannotContinue
from reconciler.model.ledger.records import BUCKET
from reconciler.server.remember import journal, lease
from reconciler.server.remember.capacity import way_out_advice
from reconciler.server.wire.answers import NO_STREAM, Refusal
from reconciler.server.wire.api import JetStream
from reconciler.server.wire.pipeline import NoAnswer


async def history(js: JetStream, topology: str | None = None) -> list[Run]:
    """Return the runs, newest first, of one topology or of all."""
    runs = await journal.runs(js)
    if isinstance(runs, Refusal) and runs.err_code == NO_STREAM:
        return []  # nothing was ever applied here
    if isinstance(runs, Refusal | NoAnswer):
        raise _unreadable_error(runs)
    return [run for run in runs if topology in (None, run.topology)]


async def stored_run(js: JetStream, number: int) -> Run:
    """Return one run of the journal. Raises CannotContinue where it has no run of this number, or cannot be read."""
    answer = await journal.run(js, number)
    if isinstance(answer, Refusal) and answer.err_code == NO_STREAM:
        answer = None
    if isinstance(answer, Refusal | NoAnswer):
        raise _unreadable_error(answer)
    if answer is None:
        raise _problem(f"There is no run {number} in the journal of this account.", "See `reconciler history`.")
    return answer


async def difference(js: JetStream, numbers: Sequence[int], topology: str | None) -> ChangesBetween:
    """Return what changed from one run to a later one of the same topology. With one number, compare with the newest
    run; with none, show what the newest run changed."""
    runs = await history(js, topology)
    if not runs and not numbers:
        raise _problem(
            no_runs_sentence(topology), "See `reconciler history`." if topology else "Apply something first."
        )
    last = _run_with_number(runs, numbers[-1]) if len(numbers) == 2 else _newest_run(runs, numbers)
    own = sorted((run for run in runs if run.topology == last.topology), key=lambda run: run.number)
    first = _run_with_number(runs, numbers[0]) if numbers else _run_before(own, last)
    if first.topology != last.topology:
        raise _problem(
            f"Run {first.number} applied topology {first.topology}, but run {last.number} applied {last.topology}.",
            "Name two runs of one topology; see `reconciler history --topology NAME`.",
        )
    if first.number > last.number:
        raise _problem(f"Run {first.number} came after run {last.number}.", "Name the earlier one first.")
    between = [run for run in own if first.number < run.number <= last.number]
    return compared(first, last, await asyncio.gather(*(journal.in_full(js, run) for run in between)))


def no_runs_sentence(topology: str | None) -> str:
    """Say that no run is remembered, of this topology or of any."""
    of_topology = f" of topology {topology}" if topology else ""
    return f"No run{of_topology} is remembered in this account."


def _run_with_number(runs: Sequence[Run], number: int) -> Run:
    if (run := next((stored for stored in runs if stored.number == number), None)) is None:
        raise _problem(f"There is no run {number} in the journal of this account.", "See `reconciler history`.")
    return run


def _newest_run(runs: Sequence[Run], since: Sequence[int]) -> Run:
    """Return the newest run of all, or of the topology whose run has this number."""
    topology = _run_with_number(runs, since[0]).topology if since else runs[0].topology
    return next(run for run in runs if run.topology == topology)


def _run_before(own: Sequence[Run], last: Run) -> Run:
    """Return the run before this one of the same topology. Raises CannotContinue where this is the first."""
    earlier = [run for run in own if run.number < last.number]
    if not earlier:
        raise _problem(f"Run {last.number} is the first remembered run of topology {last.topology}.",
                       f"See what it did with `reconciler history {last.number}`.")  # fmt: skip
    return earlier[-1]


async def leases(js: JetStream, topology: str | None) -> list[Held]:
    """Return the leases that are held, of one topology or of all."""
    held = await lease.leases(js)
    if isinstance(held, Refusal | NoAnswer):
        raise _unreadable_error(held)
    return [held_lease for held_lease in held if topology in (None, held_lease.holder.topology)]


async def unlock(js: JetStream, shown: Held) -> None:
    """Let a lease end, as soon as an apply that still holds it has noticed."""
    now = await lease.end_if_still_held(js, shown)
    if isinstance(now, Refusal | NoAnswer):
        fix = way_out_advice(now, "run `reconciler unlock` again when the server answers")
        raise _problem(f"The lease could not be removed: {now}.", fix)
    if isinstance(now, Held):
        message = f"It was left alone: topology {now.holder.topology} is now being applied by {now.holder}."
        fix = "Look again with `reconciler unlock`."
        raise CannotContinue.because("LE205", "lease-changed-hands", message, fix=fix)


def _unreadable_error(why: Refusal | NoAnswer) -> CannotContinue:
    fix = f"Allow publishing to $JS.API.STREAM.INFO.KV_{BUCKET} and $JS.API.STREAM.MSG.GET.KV_{BUCKET}."
    return _problem(f"Bucket {BUCKET} could not be read: {why}.", fix)


def _problem(message: str, fix: str) -> CannotContinue:
    return CannotContinue.because("LE204", "journal-unreadable", message, fix=fix)
