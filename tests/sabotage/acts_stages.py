"""Many applied at once, and in stages: everybody once, never more than was shown, and nothing after what went wrong."""

from __future__ import annotations

from tests.sabotage.act import Act

DIVIDE = "reconciler/journeys/rollout/divide.py"
PASSING = "reconciler/journeys/rollout/stage_checks.py"
STAGED = "reconciler/cli/account/staged_apply.py"
SEVERAL = "reconciler/cli/shared/each_topology.py"
STAGES = "tests/cli/test_stages.py"
AT_ONCE = "tests/cli/test_many_environments.py"

ACTS = (
    Act(
        name="an --exclude with a typing error lets everything be applied",
        file="reconciler/journeys/plan/plan.py",
        before="    refuse_idle_patterns(view, options)\n",
        after="",
        seen_by=("tests/cli/test_with_server.py",),
    ),
    Act(
        name="a pattern that matches at no target of a fleet lets everything be applied",
        file="reconciler/cli/account/staged_apply.py",
        before="        refuse_patterns_idle_everywhere([result.planned.plan.diagnostics for result in made])\n",
        after="",
        seen_by=("tests/fleet/test_fleet_apply.py",),
    ),
    Act(
        name="two targets that are one account take back from each other what they want",
        file="reconciler/cli/account/staged_apply.py",
        before="        refuse_shared_accounts(plans, self.word)\n",
        after="",
        seen_by=("tests/fleet/test_fleet_apply.py",),
    ),
    Act(
        name="an apply of two environments that are one place applies the first of them",
        file="reconciler/cli/account/apply.py",
        before="    refuse_shared_places(all_units)\n",
        after="",
        seen_by=(AT_ONCE,),
    ),
    Act(
        name="an environment takes back what another one of its account applied",
        file="reconciler/cli/account/shared_accounts.py",
        before="            self._claimants[unit.name, made.topology.name] = after\n",
        after="            del after\n",
        seen_by=(AT_ONCE,),
    ),
    Act(
        name="two users of one account are taken for two accounts",
        file="reconciler/journeys/rollout/one_account.py",
        before="accounts=(place,) if held is None else (place, held))",
        after="accounts=(place,))",
        seen_by=("tests/fleet/test_plan.py",),
    ),
    Act(
        name="an environment that no stage names is silently left out",
        file=DIVIDE,
        before="    if left:\n        names",
        after="    if left and not stages:\n        names",
        seen_by=("tests/stages/test_divide.py",),
        is_quick=True,
    ),
    Act(
        name="an environment is in two stages",
        file=DIVIDE,
        before="left = [member for member in left if member not in chosen]",
        after="left = [member for member in left if member not in chosen[1:]]",
        seen_by=("tests/stages/test_divide.py",),
    ),
    Act(
        name="a stage may be 0% of those that are left",
        file=DIVIDE,
        before="    if not 0 < percent <= 100:",
        after="    if not 0 <= percent <= 100:",
        seen_by=("tests/stages/test_divide.py",),
    ),
    Act(
        name="the next stage begins though somebody drifted",
        file=PASSING,
        before="        elif member_seen.drifted:",
        after="        elif member_seen.drifted and not member_seen.member:",
        seen_by=("tests/stages/test_stage_checks.py",),
    ),
    Act(
        name="the next stage begins though somebody does not plan empty",
        file=PASSING,
        before="        elif member_seen.pending:",
        after="        elif member_seen.pending and not member_seen.member:",
        seen_by=("tests/stages/test_stage_checks.py",),
    ),
    Act(
        name="a stage is not looked at for its time",
        file=PASSING,
        before="return None if left <= 0 else",
        after="return None if left <= stay else",
        seen_by=("tests/stages/test_stage_checks.py",),
    ),
    Act(
        name="nobody looks when the time of a stage is over",
        file=PASSING,
        before="        so_far = clock() - began\n            if",
        after="        so_far = clock() - began + SELDOM\n            if",
        seen_by=("tests/stages/test_stage_checks.py",),
    ),
    Act(
        name="drift that a look finds is not held against a stage",
        file=PASSING,
        before="drifted = tuple(item.address for item in drift.drifted)",
        after="drifted = tuple(item.address for item in drift.drifted[:0])",
        seen_by=(f"{STAGES}::test_what_drifts_is_said_as_drift",),
    ),
    Act(
        name="a stage begins though something is refused in a later one",
        file=STAGED,
        before="or (self.stages and self._is_stopped(plans))",
        after="or (self.stages == [] and self._is_stopped(plans))",
        seen_by=(f"{STAGES}::test_one_refusal_anywhere_keeps_the_first_stage_from_being_begun",),
    ),
    Act(
        name="a stage does what was not shown before the first one",
        file="reconciler/cli/account/apply_run.py",
        before="            check_as_shown(manner.agreed.get(plan.topology), plan, DeclaredConsents.of(made.topology))",
        after="            check_as_shown(plan, plan, DeclaredConsents.of(made.topology))",
        seen_by=(f"{STAGES}::test_a_stage_that_is_not_applied_stops_before_the_next",),
    ),
    Act(
        name="a change may harm more than was shown before the first stage",
        file="reconciler/journeys/rollout/stage_checks.py",
        before="(not is_new and _field_values(now)",
        after="(_field_values(now)",
        seen_by=("tests/stages/test_agreed.py",),
    ),
    Act(
        name="a stage may lose a hundred times what was shown before the first one",
        file="reconciler/journeys/rollout/stage_checks.py",
        before='    if grown := next(_grown_losses(shown, now, consents), ""):\n',
        after='    if grown := "":\n',
        seen_by=(f"{STAGES}::test_a_stage_that_would_lose_more_than_was_shown_is_not_applied",),
    ),
    Act(
        name="the next stage begins though the one before failed",
        file=STAGED,
        before="                if course.why:\n",
        after="                if course.why and self.stages is None:\n",
        seen_by=(f"{STAGES}::test_a_stage_that_is_not_applied_stops_before_the_next",),
    ),
    Act(
        name="stages that stop before the last end with 0",
        file=STAGED,
        before="*([exits.FAILED] if course.why",
        after="*([exits.FINE] if course.why",
        seen_by=(f"{STAGES}::test_drift_within_the_time_of_a_stage_stops_before_the_next",),
    ),
    Act(
        name="environments are read one after the other",
        file=SEVERAL,
        before="asyncio.Semaphore(self._at_once)",
        after="asyncio.Semaphore(1)",
        seen_by=(f"{AT_ONCE}::test_environments_are_read_at_the_same_time[plan]",),
    ),
    Act(
        name="more environments are read at a time than --parallel says",
        file=SEVERAL,
        before="asyncio.Semaphore(self._at_once)",
        after="asyncio.Semaphore(64)",
        seen_by=(f"{AT_ONCE}::test_no_more_are_read_at_a_time_than_asked_for",),
    ),
    Act(
        name="environments at one place are worked on at the same time",
        file=SEVERAL,
        before="groups.setdefault(numbered[1].unit.place if",
        after="groups.setdefault(numbered[0] if",
        seen_by=(f"{AT_ONCE}::test_environments_at_one_place_wait_for_one_another",),
    ),
    Act(
        name="environments are told in the order in which they were done",
        file="reconciler/cli/shared/screen.py",
        before="if part is None or part.may_print:",
        after="if part is None or not part.is_done:",
        seen_by=(f"{AT_ONCE}::test_what_is_done_earlier_is_told_in_the_order_of_the_environments",),
    ),
    Act(
        name="an environment is begun after another one failed",
        file=SEVERAL,
        before="        if self.is_over:\n            return\n        try:",
        after="        try:",
        seen_by=(f"{AT_ONCE}::test_once_one_has_failed_none_is_begun_that_was_not_begun",),
    ),
    Act(
        name="a target of a fleet is applied without the values that are its own",
        file="reconciler/cli/fleet/apply.py",
        before="given = tuple(target.values.items())",
        after='given = tuple((name, "9d") for name in target.values)',
        seen_by=("tests/fleet/test_fleet_apply.py::test_every_target_is_applied_with_its_own_values",),
    ),
)
