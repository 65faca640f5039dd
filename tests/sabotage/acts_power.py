"""What is remembered may be older than what is there, or the reverse: as after a power cut."""

from __future__ import annotations

from tests.sabotage.act import Act, says

OLDER = "tests/power/test_older_bucket.py::"

ACTS = (
    Act(
        name="on a server before 2.15 a consumer made anew is the old one",
        file="reconciler/engine/pairing/identity.py",
        before='return bool(was.get("process")) and was["process"] == now.get("process")',
        after="return False",
        seen_by=("tests/core/test_identity.py", "tests/drift/test_recreated.py"),
        is_quick=True,
    ),
    Act(
        name="a restart of the server counts as its objects being made anew",
        file="reconciler/engine/pairing/identity.py",
        before='return bool(was.get("process")) and was["process"] == now.get("process")',
        after='return bool(was.get("process"))',
        seen_by=("tests/core/test_identity.py", "tests/drift/test_recreated.py"),
    ),
    Act(
        name="consumers outlive their stream",
        file="reconciler/engine/pairing/identity.py",
        before='if raw.type == "consumer" else None',
        after="if False else None",
        seen_by=("tests/core/test_identity.py", "tests/drift/test_recreated.py"),
    ),
    Act(
        name="a saved plan goes on where the bucket knows less than it did",
        file="reconciler/journeys/saved/saved_plan.py",
        before="    if now.reached >= planned.reached:",
        after="    if now.reached >= 0:",
        seen_by=(OLDER + "test_a_saved_plan_stops_where_the_bucket_knows_less_than_it_did",),
    ),
    Act(
        name="a placeholder that nobody remembers is not named",
        file="reconciler/kinds/consumer/replacement.py",
        before="            if consumer and name == placeholder_name(consumer) and (stream, name) not in expected:",
        after="            if consumer and name == placeholder_name(consumer) and (stream, name) in expected:",
        seen_by=(OLDER + "test_a_placeholder_that_nobody_remembers_is_named_with_what_to_do",),
    ),
    Act(
        name="a consumer behind the end of its stream is not named",
        file="reconciler/kinds/across/went_back.py",
        before="                and FAR > reached > last\n",
        after="                and reached > FAR\n",
        seen_by=(OLDER + "test_a_consumer_behind_the_end_of_its_stream_is_named[2.11]",),
    ),
    Act(
        name="a consumer that is to start later is said to stand in a stream that lost its last messages",
        file="reconciler/kinds/across/went_back.py",
        before="    return reached < (",
        after="    return reached < 0 * (",
        seen_by=("tests/kinds/test_went_back.py",),
    ),
    Act(
        name="a copy of a stream that lost its messages is not said to skip what comes",
        file="reconciler/kinds/across/went_back.py",
        before="            if stream and last is not None and FAR > reached > last and",
        after="            if stream and last is not None and reached > FAR and",
        seen_by=("tests/kinds/test_went_back.py",),
    ),
    Act(
        name="a copy that took in a message while its origin was read is said to be ahead",
        file="reconciler/kinds/across/went_back.py",
        before="    if not stored or not read_at or moment(stored) + QUIET >= moment(read_at):",
        after="    if not stored or not read_at:",
        seen_by=("tests/kinds/test_went_back.py",),
    ),
    Act(
        name="a stream that ends before its record is not named",
        file="reconciler/kinds/across/went_back.py",
        before="        if FAR > at > now:",
        after="        if at > FAR > now:",
        seen_by=("tests/kinds/test_went_back.py",),
    ),
    Act(
        name="no plan says why a stream in memory is gone after a restart",
        file="reconciler/kinds/losses/made_again.py",
        before='if applied.get("storage") == "memory" or',
        after='if applied.get("storage") == "disk" or',
        seen_by=(says("ST312"), "tests/drift/test_upgrades.py"),
    ),
    Act(
        name="a consumer in memory that starts over is not named",
        file="reconciler/kinds/across/went_back.py",
        before="    return info if is_in_memory else None\n",
        after="    return None if is_in_memory else None\n",
        seen_by=("tests/kinds/test_went_back.py",),
    ),
    Act(
        name="a cluster is said to keep what one of its servers has in memory",
        file="reconciler/kinds/stream_config/restarts.py",
        before="    return not target.is_clustered or replicas == 1\n",
        after="    return not target.is_clustered\n",
        seen_by=(
            "tests/upgrades/test_upgrade_check.py::test_what_only_one_server_of_a_cluster_keeps_in_memory_is_named_before_and_after[2.14-2.15]",
        ),
    ),
    Act(
        name="nobody is told to wait until copies in memory are current",
        file="reconciler/journeys/upgrade/check.py",
        before="if copied else [])",
        after="if not copied else [])",
        seen_by=(
            "tests/upgrades/test_upgrade_check.py::test_what_only_one_server_of_a_cluster_keeps_in_memory_is_named_before_and_after[2.14-2.15]",
        ),
    ),
    Act(
        name="what was removed and is there again is called somebody else's",
        file="reconciler/kinds/across/ownership.py",
        before="    if again := _recreated_object_refusal(change, view):",
        after="    if (again := _recreated_object_refusal(change, view)) and not change.owned and False:",
        seen_by=(OLDER + "test_what_was_removed_and_is_there_again_is_said_to_be[2.11]",),
    ),
    Act(
        name="what somebody made anew is deleted for what was removed before",
        file="reconciler/engine/pairing/identity.py",
        before="    return (_has_stable_time(was) and _has_stable_time(now)) or _keeps_running(was, now) or bool(went_back and keeps)",
        after="    return False",
        seen_by=(OLDER + "test_what_somebody_made_anew_is_not_deleted_for_what_was_removed_before[2.15]",),
    ),
    Act(
        name="a replaced consumer begins where it stood, though its stream lost its end",
        file="reconciler/kinds/losses/lost_tail.py",
        before="    return min(point, _first_since(stream, intent, view) or point, point if last is None else last + 1)",
        after="    return point if last is None else min(point, last + 1)",
        seen_by=("tests/power/test_lost_ends.py",),
    ),
    Act(
        name="a run writes on in a bucket that went back",
        file="reconciler/server/remember/lease.py",
        before="        if self._lost is None and BUCKET in self._js.went_back:",
        after="        if self._lost is None and BUCKET in ():",
        seen_by=("tests/power/test_surviving.py",),
    ),
    Act(
        name="a run writes over a new connection before it has renewed its lease",
        file="reconciler/server/remember/lease.py",
        before="        if self._confirmed_at is self._js.pipeline.connection:",
        after="        if self._confirmed_at:",
        seen_by=("tests/power/test_surviving.py",),
    ),
    Act(
        name="how far a bucket had come is remembered from run to run",
        file="reconciler/server/wire/api.py",
        before="        other.reached, other.went_back = {}, set()",
        after="        other.reached, other.went_back = self.reached, self.went_back",
        seen_by=(OLDER + "test_a_bucket_that_was_made_anew_between_two_runs_did_not_go_back",),
    ),
    Act(
        name="a copy is believed while there is no leader",
        file="reconciler/server/wire/api.py",
        before='        return NO_LEADER if ".INFO." in endpoint and _is_of_a_copy(answer) else answer',
        after="        return answer",
        seen_by=("tests/server/test_leaderless.py",),
    ),
)
