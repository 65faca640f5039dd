"""Many accounts at once: each is read whole and once, and what is kept of it is what was seen."""

from __future__ import annotations

from tests.sabotage.act import Act

ACTS = (
    Act(
        name="a target of a fleet is planned without the values and overlay of its environment",
        file="reconciler/fleet/accounts/fleet_file.py",
        before='            environment=settings.get("environment"),\n',
        after="            environment=None,\n",
        seen_by=("tests/fleet/test_plan.py",),
    ),
    Act(
        name="a Spark partition is dropped: a task's targets",
        file="reconciler/fleet/accounts/reading.py",
        before="for number in range(tasks))",
        after="for number in range(max(tasks - 1, 1)))",
        seen_by=("tests/fleet/test_shares.py::test_parts_of_one_target_go_to_different_tasks",),
    ),
    Act(
        name="a Spark partition is dropped: the last piece of a stream",
        file="reconciler/fleet/accounts/message_ranges.py",
        before="        for after in range(first, last, PIECE):",
        after="        for after in range(first, last - PIECE, PIECE):",
        seen_by=("tests/fleet/test_message_ranges.py",),
    ),
    Act(
        name="a stream is read by no part of its account",
        file="reconciler/fleet/accounts/reading.py",
        before="zlib.crc32(str(stream).encode()) % self.of)",
        after="zlib.crc32(str(stream).encode()) % (self.of + 1))",
        seen_by=("tests/fleet/test_reading.py",),
    ),
    Act(
        name="a run is counted twice: a look at some targets leaves what the run had of them",
        file="reconciler/fleet/tables/store.py",
        before='(F.col("run") == F.lit(run)) & ~is_one)',
        after='F.col("run") == F.lit(run))',
        seen_by=(
            "tests/fleet/test_store.py::test_a_look_at_some_targets_takes_the_place_of_what_the_run_had_of_those[folder]",
        ),
    ),
    Act(
        name="what was ignored stands in the history of drift",
        file="reconciler/fleet/drift/history.py",
        before='return F.coalesce("drifted", F.lit(False)) & ~_is_ignored()',
        after='return F.coalesce("drifted", F.lit(False))',
        seen_by=("tests/fleet/test_history.py::test_what_a_few_nights_tell[to be ignored is not to be repaired]",),
    ),
    Act(
        name="subjects are hashed to other partitions than servers put them in",
        file="reconciler/fleet/skew/counting.py",
        before="        value[:count] ^= bytes_there[:count]\n        value[:count] *= np.uint32(FNV_PRIME)",
        after="        value[:count] *= np.uint32(FNV_PRIME)\n        value[:count] ^= bytes_there[:count]",
        seen_by=("tests/fleet/test_hashing.py",),
    ),
    Act(
        name="a stream made anew is followed from where the old one ended",
        file="reconciler/server/read/following.py",
        before="position.sequence if remembered is not None and remembered.time == position.time else message.sequence - 1",
        after="position.sequence if remembered is not None else message.sequence - 1",
        seen_by=("tests/server/test_following.py",),
    ),
    Act(
        name="a message between two pages is left out",
        file="reconciler/server/read/following.py",
        before="stream, first.sequence + most - 2, matching)",
        after="stream, first.sequence + most - 1, matching)",
        seen_by=("tests/server/test_following.py",),
    ),
    Act(
        name="what could not be read is told as in order",
        file="reconciler/fleet/accounts/reading.py",
        before='        await self.tell({"row": ["error"], "error":',
        after='        await self.tell({"row": ["target"], "error":',
        seen_by=("tests/fleet/test_reading.py",),
    ),
    Act(
        name="a target of which something is unknown lacks what it does not show",
        file="reconciler/fleet/drift/outliers.py",
        before='wanted = targets.where("sure").drop(',
        after="wanted = targets.drop(",
        seen_by=(
            "tests/fleet/test_outliers.py::test_one_value_of_many_stands_out_and_so_does_what_only_one_has_or_lacks",
        ),
    ),
    Act(
        name="a lock of the fleet's tables ages by the clock of whoever wants it",
        file="reconciler/fleet/tables/lock.py",
        before="            return timedelta(milliseconds=self._modified_at(fresh) - self._modified_at(self.place))",
        after="            return timedelta(seconds=datetime.now(UTC).timestamp() - self._modified_at(self.place) / 1000)",
        seen_by=("tests/fleet/test_store.py::test_a_clock_of_ours_that_is_ahead_ends_nobody_else",),
    ),
    Act(
        name="a stream that begins far along is read from nothing on",
        file="reconciler/server/read/following.py",
        before="    return Onward(after=first.sequence - 1, to=arrived, is_anew=resumed < position.sequence)",
        after="    return Onward(after=resumed, to=arrived, is_anew=resumed < position.sequence)",
        seen_by=("tests/fleet/test_lookout.py::test_a_stream_that_begins_far_along_is_read_from_its_first_message",),
    ),
    Act(
        name="sequences beyond what Spark counts to are handed to it",
        file="reconciler/fleet/accounts/lookout.py",
        before="        if step.to.sequence > LARGEST:",
        after="        if step.to.sequence > 1 << 64:",
        seen_by=("tests/fleet/test_lookout.py::test_sequences_that_spark_cannot_count_to_are_told_and_not_read",),
    ),
    Act(
        name="drift of a fleet hides targets that could not be read",
        file="reconciler/cli/fleet/running.py",
        before="((exits.FAILED, has_failed),",
        after="((exits.FAILED, has_failed and not has_drifted),",
        seen_by=("tests/fleet/test_run_overview.py", "tests/fleet/test_nightly.py"),
    ),
    Act(
        name="an error in a name fails a look at one account, and none at a fleet",
        file="reconciler/fleet/drift/comparing.py",
        before="standing = Standing.UNKNOWN.value if finding.is_error else UNREMEMBERED",
        after="standing = UNREMEMBERED",
        seen_by=("tests/fleet/test_comparing.py",),
    ),
    Act(
        name="a target of a fleet is applied that holds two topologies",
        file="reconciler/cli/shared/each_topology.py",
        before="            if unit.is_one_topology:\n",
        after="            if unit.is_one_topology and not unit.name:\n",
        seen_by=("tests/fleet/test_fleet_apply.py",),
    ),
    Act(
        name="drift of a fleet leaves out what the files of a target include",
        file="reconciler/fleet/drift/desired.py",
        before="        load(paths, REGISTRY, keeping)\n",
        after="        keeping.find(paths)\n",
        seen_by=("tests/fleet/test_drift.py",),
    ),
    Act(
        name="a whole error widens a column of the fleet's plans",
        file="reconciler/fleet/report/plans.py",
        before='Cell(text="no plan", tone="odd")',
        after='Cell(text=planned.error, tone="odd")',
        seen_by=("tests/fleet/test_plan.py::test_a_target_without_a_plan_keeps_the_table_narrow",),
    ),
)
