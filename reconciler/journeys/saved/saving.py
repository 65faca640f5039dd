"""Saves plans for later, and applies them only as far as the account still matches what they were made from.

Before an apply, the same declarations are planned again. Only the saved steps ever run; the new plan tells which of
them still fit the live state, and measures their losses again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import reconciler
from reconciler.changes.plan import Plan
from reconciler.documents.write.atomic import write_whole
from reconciler.engine.pairing.identity import identities_touched
from reconciler.journeys.adopt import adoption
from reconciler.journeys.drift.look import look
from reconciler.journeys.drift.restore import restore
from reconciler.journeys.plan.plan import Planned, PlanPurpose, plan_from_snapshot
from reconciler.journeys.saved.codec import saved_from_json, saved_json
from reconciler.journeys.saved.comparison import Outlook, outlook
from reconciler.journeys.saved.saved_plan import AccountPlace, Saved, state_digest, why_elsewhere, why_set_back
from reconciler.kinds import REGISTRY
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import CannotContinue, Diagnostic
from reconciler.model.ledger.intents import intents
from reconciler.model.ledger.records import BUCKET
from reconciler.model.wire.snapshot import Snapshot
from reconciler.server.read.observe import observe
from reconciler.server.wire.api import JetStream


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedReview:
    """A saved plan, compared with the live state."""

    saved: Saved
    outlook: Outlook
    snapshot: Snapshot

    @property
    def without_steps(self) -> tuple[Diagnostic, ...]:
        """Why each stopped change without steps, such as an adoption, is not made."""
        acting = {step.address for step in self.outlook.plan.steps}
        stopped = (judgement for judgement in self.outlook.stopped_changes if judgement.change.address not in acting)
        return tuple(judgement.why for judgement in stopped if judgement.why)

    @property
    def planned(self) -> Planned:
        """What is left of the plan, with the snapshot that its records are written from."""
        saved = self.saved
        return Planned(plan=self.outlook.plan, snapshot=self.snapshot, topology=saved.topology, options=saved.options)


def to_saved(plan_made: Planned, paths: Sequence[str] = ()) -> Saved:
    """Return the plan with all it takes to apply exactly this plan later. `paths` are the files as the next command
    should name them."""
    if plan_made.topology is None:
        raise ValueError("this plan came from a file; copy that file")
    return Saved(
        plan=plan_made.plan,
        place=AccountPlace.of(plan_made.snapshot),
        topology=plan_made.topology,
        seen=identities_touched(plan_made.plan.steps, plan_made.snapshot),
        state=state_digest(plan_made.snapshot),
        options=replace(plan_made.options, today=None),
        paths=tuple(paths),
        made_by=reconciler.__version__,
    )


def save(saved: Saved, path: Path) -> None:
    """Write the plan to a file. Raises OSError where it cannot be written."""
    write_whole({path: saved_json(saved).encode()})


def read_plan(path: Path) -> Saved:
    """Read the plan in this file. Raises CannotContinue where the file holds none, or somebody altered it."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text"
        fix = "name a file that `reconciler plan --out plan.json` wrote"
        raise CannotContinue.because("XX901", "not-a-plan", f"Cannot read {path}: {why}.", fix=fix) from None
    try:
        return saved_from_json(text, REGISTRY)
    except CannotContinue as problem:
        named = (replace(reason, message=f"{path}: {reason.message}") for reason in problem.diagnostics)
        raise CannotContinue(*named) from None


async def review(saved: Saved, js: JetStream) -> SavedReview:
    """Plan the same declarations again, and see which changes still fit. Looking changes nothing."""
    snapshot = await observe(js)
    if why := why_elsewhere(saved.place, AccountPlace.of(snapshot)):
        raise _another_target_error(why)
    if why := why_set_back(saved.place, AccountPlace.of(snapshot)):
        raise _set_back_error(why)
    return _saved_review(saved, await _plan_again(saved, snapshot, js), snapshot)


async def check_same_place(plan_made: Planned, js: JetStream) -> None:
    """Raise CannotContinue where this connection leads to another account than the one that was planned."""
    before, now = (
        AccountPlace.of(plan_made.snapshot),
        AccountPlace.of(await observe(js, buckets=[BUCKET], consumers_of=())),
    )
    if (
        before.account is now.account is None
    ):  # without a name, go by what the account held a moment ago; a plan file may be older
        before, now = replace(before, account=""), replace(now, account="")
    if why := why_elsewhere(before, now):
        raise _another_target_error(why)


async def look_again(given: Planned | SavedReview, js: JetStream) -> SavedReview:
    """Review the plan again under the lease, because others may have worked since. This includes a plan that this very
    command made."""
    if isinstance(given, SavedReview):
        return await review(given.saved, js)
    saved, snapshot = to_saved(given), await observe(js)
    if why := why_set_back(saved.place, AccountPlace.of(snapshot)):
        raise _set_back_error(why)
    return _saved_review(saved, await _plan_again(saved, snapshot, js, given.purpose), snapshot)


def _saved_review(saved: Saved, now: Plan, snapshot: Snapshot) -> SavedReview:
    steps = (*saved.plan.steps, *now.steps)
    return SavedReview(
        saved=saved,
        outlook=outlook(saved, now, identities_touched(steps, snapshot), intents(snapshot)),
        snapshot=snapshot,
    )


async def _plan_again(
    saved: Saved, snapshot: Snapshot, js: JetStream, purpose: PlanPurpose = PlanPurpose.APPLY
) -> Plan:
    """Plan the same declarations from the live state."""
    if saved.made_by == reconciler.__version__ and saved.can_reuse_plan(snapshot):
        return saved.plan
    if purpose is PlanPurpose.RESTORE:
        return (await restore(look(saved.topology, snapshot, saved.options), js)).plan
    plan_now = await plan_from_snapshot(saved.topology, snapshot, js, saved.options)
    return (
        plan_now.plan
        if purpose is PlanPurpose.APPLY
        else adoption(plan_now, as_is=purpose is PlanPurpose.ADOPT_AS_IS).planned.plan
    )


def _set_back_error(why: str) -> CannotContinue:
    message = f"The records that this plan was made from are partly lost: {why}. Nothing was changed."
    fix = (
        "plan again, and check the plan before you apply it: it may show objects that were applied since as "
        "adoptions, or as changes to repeat"
    )
    return CannotContinue.because("LE108", "bucket-went-back", message, fix=fix)


def _another_target_error(why: str) -> CannotContinue:
    message = f"This plan belongs to another account: {why}. Nothing was changed."
    return CannotContinue.because(
        "XX912", "another-target", message, fix="connect to the account it was made for, or plan again here"
    )
