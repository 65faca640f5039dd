"""What was applied to an account, and who holds its leases: read from the bucket, said as data or as one clear reason."""

from __future__ import annotations

from reconciler.core.diagnostic import CannotContinue, Diagnostic, Severity
from reconciler.core.journal import Run
from reconciler.core.lease import Held
from reconciler.core.records import BUCKET
from reconciler.server import journal, unlocking
from reconciler.server.api import JetStream, NoAnswer, Refusal


async def history(js: JetStream, topology: str | None = None) -> list[Run]:
    """Newest first; of one topology, or of all."""
    runs = await journal.runs(js)
    if isinstance(runs, Refusal) and runs.err_code == unlocking.NO_STREAM:
        return []  # nothing was ever applied here
    if isinstance(runs, Refusal | NoAnswer):
        raise _unreadable(runs)
    return [run for run in runs if topology in (None, run.topology)]


async def run(js: JetStream, number: int) -> Run:
    found = await journal.run(js, number)
    if isinstance(found, Refusal) and found.err_code == unlocking.NO_STREAM:
        found = None
    if isinstance(found, Refusal | NoAnswer):
        raise _unreadable(found)
    if found is None:
        raise _problem(f"There is no run {number} in the journal of this account.", "See `reconciler history`.")
    return found


async def leases(js: JetStream, topology: str | None) -> list[Held]:
    """Those that are held: of one topology, or all."""
    held = await unlocking.leases(js)
    if isinstance(held, Refusal | NoAnswer):
        raise _unreadable(held)
    return [one for one in held if topology in (None, one.holder.topology)]


async def unlock(js: JetStream, shown: Held) -> None:
    """Returns when nobody holds it any more."""
    now = await unlocking.remove(js, shown)
    if isinstance(now, Refusal | NoAnswer):
        raise _problem(f"The lease could not be removed: {now}.", f"Allow publishing to $KV.{BUCKET}.>.")
    if isinstance(now, Held):
        message = f"It was left alone: topology {now.holder.topology} is being applied by {now.holder} now."
        raise CannotContinue(
            Diagnostic(
                severity=Severity.ERROR, code="LE205", name="lease-changed-hands", message=message,
                fix="Look again with `reconciler unlock`.",
            )
        )  # fmt: skip


def _unreadable(why: Refusal | NoAnswer) -> CannotContinue:
    fix = f"Allow publishing to $JS.API.STREAM.INFO.KV_{BUCKET} and $JS.API.STREAM.MSG.GET.KV_{BUCKET}."
    return _problem(f"Bucket {BUCKET} could not be read: {why}.", fix)


def _problem(message: str, fix: str) -> CannotContinue:
    return CannotContinue(
        Diagnostic(severity=Severity.ERROR, code="LE204", name="journal-unreadable", message=message, fix=fix)
    )
