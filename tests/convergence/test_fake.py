"""The same promise on the pure fake, in thousands of small cases that shrink: apply, then plan, and nothing is left."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reconciler.model.resource import Address
from reconciler.model.topology import Topology
from reconciler.model.wire.snapshot import Snapshot, Target
from reconciler.model.wire.steps import Call, Step
from reconciler.model.wire.version import SUPPORTED, Version
from reconciler.testbed import imagined
from tests.convergence.drawing import Case, cases, topology
from tests.convergence.running import (
    NEIGHBOURS,
    apply_offline,
    as_yaml,
    blocked,
    plan_offline,
    remaining,
)
from tests.primitives.bodies import Body
from tests.support.versions import EVERY

on_every_minor = pytest.mark.parametrize("version", SUPPORTED, ids=str)

quickly = settings(
    max_examples=400 // EVERY,
    derandomize=True,
    deadline=None,
    database=None,
    report_multiple_bugs=False,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


BUCKET = Address.of("kv_bucket", "B")
STREAM, CONSUMER = Address.of("stream", "S"), Address.of("consumer", "S", "c")
LIMITED = {"consumer_limits": {"inactive_threshold": "5m"}, "storage": "memory"}


def account(version: Version) -> Snapshot:
    """An account in which somebody else has streams already."""
    held = imagined.HeldObjects(imagined.empty_snapshot(Target(version=version, peers=1)))
    for name, config in NEIGHBOURS.items():
        held.put_stream(name, config)
    return held.snapshot()


def applied(wanted: Topology, snapshot: Snapshot, case: Case) -> Snapshot:
    """The account afterwards, once nothing is left to do but what was refused."""
    plan = plan_offline(wanted, snapshot)
    after = apply_offline(plan, snapshot)
    left = remaining(plan_offline(wanted, after), blocked(plan))
    assert not left, "\n".join([*left, as_yaml(case, snapshot.target.version)])
    return after


def first_and_then(case: Case) -> tuple[Topology, Topology]:
    return topology("drawn", case.first), topology("drawn", case.then, case.removed, case.forget)


@on_every_minor
def test_whatever_is_live_becomes_what_is_wanted(version: Version) -> None:
    changed: list[bool] = []

    @quickly
    @given(cases(0, version))
    def explore(case: Case) -> None:
        snapshot = account(version)
        for wanted in first_and_then(case):
            before, snapshot = snapshot, applied(wanted, snapshot, case)
            changed.append(before.streams != snapshot.streams or before.consumers != snapshot.consumers)

    explore()
    assert sum(changed) > len(changed) / 3, "next to nothing was done, or all of it was refused"


@on_every_minor
def test_what_others_own_is_never_touched(version: Version) -> None:
    @quickly
    @given(cases(0, version), cases(1, version))
    def explore(case: Case, theirs: Case) -> None:
        snapshot = account(version)
        others = topology("others", theirs.first)
        before = apply_offline(plan_offline(others, snapshot), snapshot)
        after = before
        for wanted in first_and_then(case):
            after = applied(wanted, after, case)
        ours = {a.stream for a in (*case.first, *case.then)}
        assert _foreign(after, ours) == _foreign(before, ours)

    explore()


def _foreign(snapshot: Snapshot, ours: set[str]) -> dict[str, object]:
    return {
        name: (info, snapshot.consumers.get(name))
        for name, info in snapshot.streams.items()
        if name.removeprefix("KV_").removeprefix("OBJ_").removesuffix("-g") not in ours
        and "consumer-groups" not in name
    }


@on_every_minor
def test_what_is_live_but_unknown_to_us_is_adopted_as_far_as_it_may_become_what_is_wanted(version: Version) -> None:
    @quickly
    @given(cases(0, version))
    def explore(case: Case) -> None:
        made = apply_offline(plan_offline(topology("drawn", case.first), account(version)), account(version))
        strangers = Snapshot(
            target=made.target,
            streams=made.streams,
            consumers=made.consumers,
            entries={name: held for name, held in made.entries.items() if name != "reconciler"},
        )
        applied(topology("drawn", case.then), strangers, case)

    explore()


def test_a_second_apply_of_the_same_files_has_no_steps() -> None:
    @quickly
    @given(cases(0, SUPPORTED[-1]), st.just(SUPPORTED[-1]))
    def explore(case: Case, version: Version) -> None:
        wanted = topology("drawn", case.first)
        after = apply_offline(plan_offline(wanted, account(version)), account(version))
        assert plan_offline(wanted, after).steps == ()

    explore()


def test_a_new_bucket_without_direct_reads_is_made_without_them() -> None:
    (step,) = plan_offline(topology("t", {BUCKET: {"allow_direct": False}}), account(SUPPORTED[-1])).steps
    assert not step.body.get("allow_direct")


def test_a_new_bucket_that_says_nothing_allows_direct_reads() -> None:
    (step,) = plan_offline(topology("t", {BUCKET: {}}), account(SUPPORTED[-1])).steps
    assert step.body["allow_direct"]


def test_a_mirror_bucket_takes_direct_reads_over_from_its_origin() -> None:
    wanted = topology("t", {BUCKET: {"mirror": {"name": "KV_origin"}}})
    snapshot = account(SUPPORTED[-1])
    assert plan_offline(wanted, apply_offline(plan_offline(wanted, snapshot), snapshot)).is_empty


def test_a_promoted_mirror_bucket_is_a_whole_bucket() -> None:
    snapshot = account(SUPPORTED[-1])
    mirror = topology("t", {BUCKET: {"mirror": {"name": "KV_origin"}}})
    snapshot = apply_offline(plan_offline(mirror, snapshot), snapshot)
    snapshot = apply_offline(plan_offline(topology("t", {BUCKET: {}}), snapshot), snapshot)
    assert snapshot.streams["KV_B"]["config"]["subjects"] == ["$KV.B.>"]


def test_a_consumer_waits_when_the_limits_it_inherits_cannot_change() -> None:
    snapshot = account(SUPPORTED[-1])
    snapshot = apply_offline(plan_offline(topology("t", {STREAM: LIMITED, CONSUMER: {}}), snapshot), snapshot)
    plan = plan_offline(topology("t", {STREAM: {"storage": "file"}, CONSUMER: {}}), snapshot)
    assert {change.address: change.blocked_by for change in plan.changes} == {
        "stream/S": None,
        "consumer/S/c": "stream/S",
    }
    assert not [step for step in plan.steps if step.call is Call.CONSUMER_UPDATE]


@pytest.mark.parametrize("stream", [{"external": True}, {"storage": "memory", "unmanaged": ["consumer_limits"]}])
def test_a_consumer_inherits_limits_that_the_file_leaves_to_others(stream: Body) -> None:
    snapshot = account(SUPPORTED[-1])
    snapshot = apply_offline(plan_offline(topology("theirs", {STREAM: LIMITED}), snapshot), snapshot)
    snapshot = imagined.snapshot_with_records(snapshot, {STREAM: None})
    wanted = topology("ours", {STREAM: stream, CONSUMER: {}})
    snapshot = apply_offline(plan_offline(wanted, snapshot), snapshot)
    assert not remaining(plan_offline(wanted, snapshot), ())


def test_a_stream_keeps_its_messages_until_it_is_recreated() -> None:
    def held(body: Body, snapshot: Snapshot) -> tuple[Snapshot, int]:
        after = apply_offline(plan_offline(topology("t", {STREAM: body}), snapshot), snapshot)
        return after, after.state_of("S")["messages"]

    snapshot, at_first = held({"subjects": ["s"]}, account(SUPPORTED[-1]))
    info = snapshot.streams["S"]
    filled = {**info, "state": {**info["state"], "messages": 7}}
    changed, then = held({"subjects": ["s"], "max_msgs": 9}, replace(snapshot, streams={"S": filled}))
    gone = imagined.snapshot_after_steps(
        changed, [Step(id="1", call=Call.STREAM_DELETE, on=("S",), address="stream/S")]
    )
    assert (at_first, then, held({"subjects": ["s"]}, gone)[1]) == (0, 7, 0)


def test_a_stream_knows_how_many_consumers_it_has() -> None:
    snapshot = account(SUPPORTED[-1])

    def counted(consumers: int) -> int:
        wanted = topology(
            "t", {STREAM: {}, **{Address.of("consumer", "S", f"c{number}"): {} for number in range(consumers)}}
        )
        nonlocal snapshot
        snapshot = apply_offline(plan_offline(wanted, snapshot), snapshot)
        return int(snapshot.state_of("S")["consumer_count"])

    assert (counted(0), counted(2), counted(2)) == (0, 2, 2)
    gone = [Step(id="1", call=Call.CONSUMER_DELETE, on=("S", "c1"), address="consumer/S/c1")] * 2
    assert imagined.snapshot_after_steps(snapshot, gone).state_of("S")["consumer_count"] == 1


def test_a_field_that_is_left_as_found_is_not_sent_either() -> None:
    body = {"storage": "memory", "max_age": "100ms", "unmanaged": ["max_age"]}
    (step,) = plan_offline(topology("t", {STREAM: body}), account(SUPPORTED[-1])).steps
    assert "max_age" not in step.body
