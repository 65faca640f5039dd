"""Whatever is planned, saved and read back is the same plan, and after it is applied nothing of it is left to do."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.changes.plan import Plan
from reconciler.engine.pairing.identity import identities_touched
from reconciler.journeys.saved.codec import saved_from_json, saved_json
from reconciler.journeys.saved.comparison import Outlook, outlook
from reconciler.journeys.saved.saved_plan import AccountPlace, Saved
from reconciler.kinds import REGISTRY
from reconciler.model.ledger.intents import intents
from reconciler.model.run_options import Origin, RunOptions
from reconciler.model.topology import Topology
from reconciler.model.wire.snapshot import Snapshot
from reconciler.model.wire.version import Version
from reconciler.report.codec.json import plan_json
from reconciler.testbed import imagined
from tests.convergence.drawing import Case, cases, merged
from tests.convergence.running import CONSENTED, apply_offline, plan_offline
from tests.convergence.test_fake import account, first_and_then, on_every_minor, quickly
from tests.support.versions import EVERY


def read_back(plan: Plan, wanted: Topology, snapshot: Snapshot) -> Saved:
    """Through the text of a file."""
    saved = Saved(
        plan=plan,
        place=AccountPlace.of(snapshot),
        topology=wanted,
        seen=identities_touched(plan.steps, snapshot),
        options=RunOptions(allow=CONSENTED, origin=Origin()),
        made_by="0",
    )
    return saved_from_json(saved_json(saved), REGISTRY)


def fits(wanted: Topology, before: Snapshot) -> Snapshot:
    """The account after a plan that was saved and read back, which is as good as the plan itself."""
    plan = plan_offline(wanted, before)
    saved = read_back(plan, wanted, before)
    again = plan_offline(saved.topology, before)
    assert plan_json(saved.plan) == plan_json(plan) == plan_json(again)
    to_do = outlook(saved, again, identities_touched(plan.steps, before))
    assert (to_do.plan.steps, to_do.plan.records, to_do.stopped_changes) == (plan.steps, plan.records, ())
    after = apply_offline(to_do.plan, before)
    then = outlook(saved, plan_offline(saved.topology, after), identities_touched(plan.steps, after))
    assert then.is_done, (then.stopped_changes, then.plan.changes)
    return after


def again(saved: Saved, live: Snapshot) -> Outlook:
    now = plan_offline(saved.topology, live)
    return outlook(saved, now, identities_touched((*saved.plan.steps, *now.steps), live), intents(live))


def goes_on(wanted: Topology, before: Snapshot, cut: float) -> bool:
    """An apply of a saved plan is cut off after this share of its steps, nothing of it remembered; then it is applied again.
    False: there was nothing to cut."""
    plan = plan_offline(wanted, before)
    saved = read_back(plan, wanted, before)
    steps = [step for step in plan.steps if step.undoes is None]
    done = steps[: round(cut * len(steps))]
    halfway = imagined.snapshot_after_steps(before, done)
    to_do = again(saved, halfway)
    assert to_do.stopped_changes == (), [(one.why, one.changed_since) for one in to_do.stopped_changes]
    assert again(saved, apply_offline(to_do.plan, halfway)).is_done
    return 0 < len(done) < len(steps)


def together(several: list[Case]) -> Case:
    return Case(
        first=merged([one.first for one in several]), then=merged([one.then for one in several]),
        removed=tuple(a for one in several for a in one.removed), forget=tuple(a for one in several for a in one.forget),
    )  # fmt: skip


@on_every_minor
def test_a_plan_whose_apply_was_cut_off_anywhere_goes_on(version: Version) -> None:
    were_cut: list[bool] = []

    @settings(quickly, max_examples=100 // EVERY)
    @given(st.tuples(*(cases(number, version) for number in range(3))), st.floats(0.2, 0.8))
    def explore(drawn: tuple[Case, ...], cut: float) -> None:
        first, then = first_and_then(together([*drawn]))
        were_cut.append(goes_on(then, apply_offline(plan_offline(first, account(version)), account(version)), cut))

    explore()
    assert sum(were_cut) > len(were_cut) / 3


@on_every_minor
@settings(quickly, max_examples=100 // EVERY)
@given(st.data())
def test_a_plan_read_back_does_what_the_plan_does(version: Version, data: st.DataObject) -> None:
    case: Case = data.draw(cases(0, version))
    first, then = first_and_then(case)
    fits(then, fits(first, account(version)))
