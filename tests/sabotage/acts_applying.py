"""What is carried out, in which order, looked at before and after, remembered, and by whom."""

from __future__ import annotations

from tests.sabotage.act import Act

STEPS = (
    Act(
        name="what a write made is not compared with what was asked for",
        file="reconciler/server/run/steps.py",
        before="        return problems.unlike(self.step, wrong) if wrong else Succeeded(echo)",
        after="        return Succeeded(echo)",
        seen_by=("tests/server/test_execute.py::test_a_field_dropped_without_a_word_is_noticed[2.11]",),
    ),
    Act(
        name="an update overwrites what somebody changed since the plan",
        file="reconciler/server/run/steps.py",
        before="    if changed := changes_since(run, step, before):",
        after="    if changed := changes_since(run, step, before)[:0]:",
        seen_by=("tests/server/test_execute.py::test_an_update_does_not_touch_what_changed_since_the_plan[2.11]",),
    ),
    Act(
        name="a deletion takes what somebody changed since the plan",
        file="reconciler/server/run/steps.py",
        before="    if step.before is not None and isinstance(found := await look(), Unsuccessful):",
        after="    if step.before is None and isinstance(found := await look(), Unsuccessful):",
        seen_by=("tests/server/test_execute.py::test_a_delete_spares_what_changed_since_the_plan",),
    ),
    Act(
        name="a deletion takes what was made anew since the plan",
        file="reconciler/server/run/handling.py",
        before="    if why := run.last_look(step, info):",
        after="    if (why := run.last_look(step, info)) and not info:",
        seen_by=(
            "tests/lease/test_looked_again.py::test_a_deletion_that_had_to_wait_for_other_steps_looks_once_more[remade-AP201]",
        ),
    ),
    Act(
        name="a record of a group is written over what somebody wrote",
        file="reconciler/server/run/entry_steps.py",
        before="settled.put(run.js, bucket, key, value, expected_revision=expected))",
        after="settled.put(run.js, bucket, key, value, expected_revision=None))",
        seen_by=("tests/server/test_execute.py::test_a_concurrent_write_of_an_entry_is_a_conflict",),
    ),
    Act(
        name="nobody looks afterwards whether it is there",
        file="reconciler/server/run/final_look.py",
        before="    if not last:\n        return []",
        after="    if last or not last:\n        return []",
        seen_by=("tests/server/test_afterwards.py",),
    ),
    Act(
        name="what comes after a failed step is done all the same",
        file="reconciler/server/run/execute.py",
        before="            if before != step.undoes and not isinstance(self._settled.get(before), Done):",
        after="            if before != step.undoes and self._settled.get(before) is None:",
        seen_by=("tests/server/test_execute.py::test_independent_steps_go_on_when_one_fails",),
    ),
    Act(
        name="a run that is to stop begins new steps",
        file="reconciler/server/run/execute.py",
        before='self._stopped or self._may_write() or ("interrupted" if self._stop.is_set() else None)',
        after="self._stopped or self._may_write()",
        seen_by=("tests/server/test_execute.py::test_stopping_starts_nothing_new_and_says_so",),
    ),
    Act(
        name="a lost answer is taken for a write that did not happen",
        file="reconciler/server/read/lost_answers.py",
        before="        if not is_unknown(said) or ((found := await look()) is None and not await pauses.rest()):",
        after="        if said is not None or ((found := await look()) is None and not await pauses.rest()):",
        seen_by=("tests/server/test_execute.py::test_a_create_whose_answer_is_lost_is_found_to_be_done[2.11]",),
    ),
    Act(
        name="a group's queue is deleted while its members work",
        file="reconciler/server/run/gates.py",
        before="        return _Shut(f\"for {', '.join(names)} to leave\", problems.still_there(step, names)) if names else Succeeded()",
        after="        return Succeeded(revision=len(names) or None)",
        seen_by=("tests/server/test_execute.py::test_a_gate_opens_when_the_members_have_left[2.11]",),
    ),
    Act(
        name="a mirror is promoted before it has everything",
        file="reconciler/server/run/gates.py",
        before='        if isinstance(seen, Mapping) and "mirror" not in seen["config"]:',
        after="        if isinstance(seen, Mapping):",
        seen_by=("tests/server/test_gates.py::test_a_mirror_that_lacks_something_is_waited_for",),
    ),
)

ORDER = (
    Act(
        name="a stream is deleted before its consumers",
        file="reconciler/engine/order.py",
        before="ends = (address, parent) if change.action is Action.DELETE else (parent, address)",
        after="ends = (parent, address)",
        seen_by=("tests/core/test_order.py",),
    ),
    Act(
        name="what depends on something refused is done all the same",
        file="reconciler/engine/order.py",
        before="            if tie.then in blocked or tie.then in found or _goes_on(tie, changes, registry):",
        after="            if tie.then not in blocked or tie.then in found or _goes_on(tie, changes, registry):",
        seen_by=("tests/core/test_decide.py",),
        is_quick=True,
    ),
    Act(
        name="the copy handover is out",
        file="reconciler/kinds/order/copy_handovers.py",
        before="    if not (giving and taking):",
        after="    if giving or taking:",
        seen_by=("tests/core/test_order.py",),
    ),
    Act(
        name="a consumer that was let go is deleted",
        file="reconciler/engine/compare.py",
        before="        action = Action.FORGET if address in ours else Action.ABSENT",
        after="        action = Action.DELETE if address in ours else Action.ABSENT",
        seen_by=("tests/core/test_reconcile.py",),
    ),
    Act(
        name="what is declared no more is deleted",
        file="reconciler/engine/compare.py",
        before="        action=Action.ORPHAN,",
        after="        action=Action.DELETE,",
        seen_by=("tests/core/test_reconcile.py",),
    ),
    Act(
        name="what could not be read is taken for absent and made",
        file="reconciler/engine/compare.py",
        before="    why = kind.unknown(desired.address, snapshot) if live is None else None\n    if why or isinstance(intent, str):",
        after="    why = None\n    if why or isinstance(intent, str):",
        seen_by=("tests/core/test_reconcile.py",),
        is_quick=True,
    ),
    Act(
        name="`until` of a removal is ignored",
        file="reconciler/engine/compare.py",
        before="ended = {one.address: one for one in topology.removed if one.until and today > one.until}",
        after="ended = {one.address: one for one in topology.removed if one.until and today > date.max}",
        seen_by=("tests/core/test_reconcile.py",),
    ),
)

REPLACING = (
    Act(
        name="an intent is not written",
        file="reconciler/engine/replacement.py",
        before='middle = (_note(change, intent, view, {}, "begun"), *how.before, *noted, *how.swap)',
        after="middle = (*how.before, *noted, *how.swap)",
        seen_by=("tests/replacement/test_judging.py",),
    ),
    Act(
        name="an intent stays when the replacement is done",
        file="reconciler/engine/replacement.py",
        before="remembered, *_forgotten(change, view), _done(change, view)))",
        after="remembered, *_forgotten(change, view)))",
        seen_by=("tests/replacement/test_judging.py",),
    ),
    Act(
        name="a replacement goes on one message late",
        file="reconciler/engine/bindings.py",
        before='        return floor["stream_seq"] + 1',
        after='        return floor["stream_seq"] + 2',
        seen_by=("tests/core/test_binds.py",),
        is_quick=True,
    ),
    Act(
        name="a pause is timed by the client's clock",
        file="reconciler/engine/bindings.py",
        before="datetime.fromisoformat(info['ts'][:19]) + PAUSE",
        after="datetime.now() + PAUSE",
        seen_by=("tests/core/test_binds.py",),
    ),
    Act(
        name="a new queue begins one message late",
        file="reconciler/engine/bindings.py",
        before='        point = told["seq"] + 1',
        after='        point = told["seq"] + 2',
        seen_by=("tests/core/test_resume_point.py",),
    ),
    Act(
        name="a consumer is replaced where nothing would survive a cut",
        file="reconciler/kinds/consumer/position.py",
        before="    if not view.ledger_known:\n",
        after="    if view.ledger_known and not view.ledger_known:\n",
        seen_by=("tests/replacement/test_judging.py",),
    ),
    Act(
        name="an interest stream drops what a replaced consumer has yet to get",
        file="reconciler/kinds/consumer/replacement.py",
        before="held = [*_held(change, view)] if position.is_interest(change, view) else []",
        after="held = [*_held(change, view)] if position.is_queue(change, view) else []",
        seen_by=("tests/replacement/test_judging.py",),
    ),
    Act(
        name="no backup is taken",
        file="reconciler/journeys/apply/backup.py",
        before="return [stream for stream in streams_at_stake(plan) if stream in snapshot.streams]",
        after="return [stream for stream in streams_at_stake(plan) if stream not in snapshot.streams]",
        seen_by=("tests/guards/test_backup.py::test_a_backup_brings_every_message_and_position_back[2.11]",),
    ),
)

REMEMBERING = (
    Act(
        name="the revision of a record is ignored",
        file="reconciler/server/remember/ledger.py",
        before="return await settled.put(js, BUCKET, key, value, expected_revision=revision, whoever=True)",
        after="return await settled.put(js, BUCKET, key, value, expected_revision=None, whoever=True)",
        seen_by=("tests/server/test_ledger.py::test_a_record_somebody_else_wrote_meanwhile_is_left_and_reported",),
    ),
    Act(
        name="two addresses share one record",
        file="reconciler/model/records.py",
        before="*(escaped(part) for part in (address.kind, *address.names))",
        after="*(escaped(part.lower()) for part in (address.kind, *address.names))",
        seen_by=("tests/core/test_records.py",),
    ),
    Act(
        name="a field is left out of what is remembered",
        file="reconciler/model/records.py",
        before='        "start": owned.start,\n        "seen": owned.seen,\n    }\n    return',
        after='        "start": owned.start,\n    }\n    return',
        seen_by=("tests/core/test_records.py",),
    ),
    Act(
        name="a field that somebody changed outside is taken for one of the file",
        file="reconciler/changes/diff.py",
        before="        return FieldClass.DRIFTED\n",
        after="        return FieldClass.CONFIG\n",
        seen_by=("tests/core/test_diff.py",),
    ),
    Act(
        name="what is left as found is changed",
        file="reconciler/changes/rebase.py",
        before="    for path in desired.terms.unmanaged:",
        after="    for path in desired.terms.unmanaged[:0]:",
        seen_by=("tests/core/test_diff.py",),
        is_quick=True,
    ),
    Act(
        name="metadata that others wrote is removed",
        file="reconciler/changes/rebase.py",
        before="foreign = {key: value for key, value in found.items() if key not in ours}",
        after="foreign = {key: value for key, value in found.items() if key in ours}",
        seen_by=("tests/core/test_diff.py",),
    ),
    Act(
        name="the lease is never checked",
        file="reconciler/server/remember/lease.py",
        before="            if self._lost is None and now() >= lease.until:",
        after="            if self._lost is None and now() >= float('inf'):",
        seen_by=("tests/lease/test_lease.py::test_an_applier_that_sleeps_through_its_lease_writes_nothing_more[2.11]",),
    ),
    Act(
        name="writes go out without a look at the lease",
        file="reconciler/journeys/apply/exclusive.py",
        before="        guarded = js.writing_unless(leases.hinders)",
        after="        guarded = js",
        seen_by=(
            "tests/lease/test_lease.py::test_whose_lease_was_removed_before_anything_is_written_down_says_that_and_not_that_somebody_stopped_it",
        ),
    ),
    Act(
        name="the clock of the lease is the client's",
        file="reconciler/memory/lease.py",
        before="    if entry is None or entry.deleted:",
        after="    if entry is None or entry.deleted or entry.stored < f\"{__import__('datetime').date.today()}\":",
        seen_by=("tests/core/test_lease.py",),
    ),
    Act(
        name="whoever holds a lease is passed over",
        file="reconciler/memory/lease.py",
        before="    return Ours(entry.revision) if run and holder.run == run else Held(holder, entry.revision)",
        after="    return Ours(entry.revision) if run else Held(holder, entry.revision)",
        seen_by=("tests/lease/test_lease.py::test_a_lease_is_kept_longer_than_its_term_and_given_back[2.11]",),
    ),
    Act(
        name="a lease has no term",
        file="reconciler/server/remember/lease.py",
        before='term = {"Nats-TTL": f"{self._terms.ttl}s"}',
        after='term = {"Nats-TTL": "never"}',
        seen_by=("tests/lease/test_lease.py::test_after_an_applier_is_killed_the_next_takes_over_and_finishes[2.11]",),
    ),
    Act(
        name="a run is not in the history until it ends",
        file="reconciler/journeys/apply/exclusive.py",
        before="        if self.number and self.us and (unwritten := await journal.begin(self.js, self.number, self.us, plan)):",
        after="        if not self.number and self.us and (unwritten := await journal.begin(self.js, self.number, self.us, plan)):",
        seen_by=("tests/lease/test_history.py::test_an_apply_is_in_the_history_with_who_and_how_much[2.11]",),
    ),
    Act(
        name="nobody looks again under the lease",
        file="reconciler/journeys/apply/apply.py",
        before="or not (ours.waited or is_at_stake(planned.plan)):",
        after="or not ours.waited or is_at_stake(planned.plan):",
        seen_by=("tests/lease/test_looked_again.py::test_what_another_topology_took_over_since_stays",),
    ),
)

SAVED = (
    Act(
        name="a saved plan is bound to nothing",
        file="reconciler/journeys/saved/plans.py",
        before="    if why := elsewhere(saved.place, AccountPlace.of(snapshot)):",
        after="    if why := elsewhere(saved.place, saved.place):",
        seen_by=("tests/saved/test_saved_plans.py",),
    ),
    Act(
        name="a saved plan of an account without a name fits every other one",
        file="reconciler/journeys/saved/saved.py",
        before="    return _another(planned, here) if planned.id is None else None",
        after="    return None",
        seen_by=("tests/saved/test_elsewhere.py",),
    ),
    Act(
        name="an edited plan is applied",
        file="reconciler/journeys/saved/codec.py",
        before="    if data[FINGERPRINT] != fingerprint(data):",
        after="    if not data[FINGERPRINT]:",
        seen_by=("tests/saved/test_saved_plans.py",),
    ),
    Act(
        name="a saved plan deletes what was made anew since",
        file="reconciler/engine/identity.py",
        before='        if is_["at"] < was["at"] or version >= STABLE_CREATED:',
        after="        if version >= STABLE_CREATED:",
        seen_by=("tests/core/test_standing.py",),
    ),
    Act(
        name="a saved plan deletes what was made anew since and got as far",
        file="reconciler/engine/identity.py",
        before='        if is_["at"] < was["at"] or version >= STABLE_CREATED:',
        after='        if is_["at"] < was["at"]:',
        seen_by=("tests/core/test_standing.py",),
    ),
    Act(
        name="a saved plan overwrites what somebody changed since",
        file="reconciler/journeys/saved/comparison.py",
        before="    if strayed or found.action is not change.action:",
        after="    if found.action is not change.action:",
        seen_by=("tests/core/test_standing.py",),
    ),
    Act(
        name="a saved plan does what has been refused since",
        file="reconciler/journeys/saved/comparison.py",
        before="    if blocking := next((verdict for verdict in found.verdicts if verdict.blocks), None):",
        after="    if blocking := next((verdict for verdict in () if verdict.blocks), None):",
        seen_by=("tests/core/test_standing.py",),
    ),
    Act(
        name="a saved plan loses more than it said",
        file="reconciler/journeys/saved/comparison.py",
        before="    if more := next(beyond(change, found, beside.consents(change)), None):",
        after='    if (more := next(beyond(change, found, beside.consents(change)), None)) == "":',
        seen_by=("tests/core/test_standing.py",),
    ),
)

ACTS = (*STEPS, *ORDER, *REPLACING, *REMEMBERING, *SAVED)
