"""Checks before any change whether the user may do all that the plan needs, and names each missing permission by
subject."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reconciler.changes.plan import Plan, streams_at_stake
from reconciler.journeys.permissions.text import quoted
from reconciler.memory import journal
from reconciler.memory.lease import lease_key
from reconciler.model.diagnostic import CannotContinue, Diagnostic, Severity
from reconciler.model.ledger.records import BUCKET, encode_key
from reconciler.model.wire.permissions import Need, minimal_needs, missing_needs
from reconciler.model.wire.snapshot import Snapshot
from reconciler.server.read.permission_subjects import Api
from reconciler.server.wire.api import JetStream

SHOWN = 20
"""How many subjects a message names; `reconciler permissions` prints them all."""


def check(plan: Plan, snapshot: Snapshot, js: JetStream, *, kept: Iterable[str] = ()) -> None:
    """Raise CannotContinue where the server shows that it would deny a step, or the backup of a stream in `kept`. Where
    the server does not show this, a denial stops its branch later."""
    if snapshot.may is None:
        return
    api = Api(start=js.prefix)
    needed = [*api.needs_to_carry_out(plan.steps), *api.needs_to_back_up(kept)]
    if needs_memory(plan):
        needed += _needs_of_memory(plan, snapshot, js)
    if missing := minimal_needs(missing_needs(needed, snapshot.may)):
        raise CannotContinue(_not_permitted(missing))


def memory_warning(plan: Plan, snapshot: Snapshot, js: JetStream) -> Diagnostic | None:
    """Return the warning that this user cannot record what is applied, if that is so. Everything else continues."""
    if not plan.ledger_known:
        return _memory_diagnostic(
            snapshot.why_bucket_unknown(BUCKET) or "it could not be read", [*Api(start=js.prefix).needs_to_remember()]
        )
    missing = minimal_needs(missing_needs(_needs_of_memory(plan, snapshot, js), snapshot.may)) if snapshot.may else ()
    return _memory_diagnostic("this user may not use it", missing) if missing else None


def _memory_diagnostic(why: str, missing: Iterable[Need]) -> Diagnostic:
    return Diagnostic(
        severity=Severity.WARNING, code="LE102", name="ledger-not-writable",
        message=f"bucket {BUCKET} cannot be used ({why}), so there is no lease, no journal and no record: creates, updates "
                "and membership changes work; replacement, deletion and three-way drift do not",
        fix=_permission_lines(_subjects_to_allow(missing)),
    )  # fmt: skip


def needs_memory(plan: Plan) -> bool:
    """Changes that nobody can undo need a lease, and a record from which the next run can see how far they came."""
    return bool(streams_at_stake(plan)) or any(step.on[0] == BUCKET for step in plan.steps)


def _needs_of_memory(plan: Plan, snapshot: Snapshot, js: JetStream) -> list[Need]:
    keys = (lease_key(plan.topology), journal.begun_key(1), *map(encode_key, plan.records))
    return [*Api(start=js.prefix).needs_to_remember(*keys, made=f"KV_{BUCKET}" in snapshot.streams)]


def _subjects_to_allow(missing: Iterable[Need]) -> list[str]:
    """Subjects that the user may not publish to, with one wildcard for all keys: these differ from run to run."""
    head = f"$KV.{BUCKET}."
    subjects = (need.subject for need in missing)
    return [*dict.fromkeys(s[: s.index(head)] + head + ">" if head in s else s for s in subjects)]


def _not_permitted(missing: Sequence[Need]) -> Diagnostic:
    subjects = _subjects_to_allow(missing)
    named = ", ".join(subjects[:SHOWN]) + (f" and {len(subjects) - SHOWN} more" if len(subjects) > SHOWN else "")
    return Diagnostic(
        severity=Severity.ERROR, code="AP301", name="not-permitted",
        message=f"This user may not publish to {named}, which this plan needs. Nothing was changed.",
        fix=_permission_lines(subjects),
    )  # fmt: skip


def _permission_lines(subjects: Sequence[str]) -> str:
    """One subject a line, so that the lines can be copied whole."""
    return "\n".join(
        (
            "Add these lines to permissions { publish { allow: […] } } of this user in the server's configuration:",
            *(f"  {quoted(subject)}" for subject in subjects[:SHOWN]),
            (
                "To print every permission that a topology needs, also for nsc: reconciler permissions apply PATHS, "
                "with the same --allow, and with --backup if apply has it. See: reconciler explain AP301"
            ),
        )
    )
