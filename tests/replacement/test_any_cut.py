"""The promise on the pure fake, in many small cases: cut after any step, planned and carried out again, nothing is left."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from reconciler.changes.change import Action
from reconciler.model.resource import Address
from reconciler.model.wire.snapshot import Target
from reconciler.model.wire.version import SUPPORTED, Version
from reconciler.testbed import imagined
from tests.convergence.drawing import topology
from tests.convergence.running import apply_offline, blocked, plan_offline, remaining
from tests.primitives.bodies import Body
from tests.support.versions import EVERY

STREAM, CONSUMER = Address.of("stream", "S"), Address.of("consumer", "S", "c")
DELIVER: list[Body] = [
    {}, {"deliver_policy": "new"}, {"deliver_policy": "last"}, {"deliver_policy": "by_start_sequence", "opt_start_seq": 7},
    {"deliver_policy": "by_start_time", "opt_start_time": "2026-01-01T00:00:00Z"},
]  # fmt: skip


@st.composite
def consumers(draw: st.DrawFn) -> Body:
    plain = st.fixed_dictionaries(
        {"ack_policy": st.sampled_from(["explicit", "all"])},
        optional={
            "replay_policy": st.sampled_from(["instant", "original"]),
            "max_waiting": st.sampled_from([1, 512, 600]),
            "mem_storage": st.booleans(),
            "description": st.sampled_from(["a", "b"]),
            "filter_subject": st.sampled_from(["S", "S.a"]),
        },
    )
    return {**draw(plain), **draw(st.sampled_from(DELIVER))}


@pytest.mark.parametrize("version", SUPPORTED, ids=str)
@given(first=consumers(), then=consumers(), retention=st.sampled_from(["limits", "interest"]), cut=st.integers(0, 12))
@settings(
    max_examples=150 // EVERY, derandomize=True, deadline=None, database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)  # fmt: skip
def test_cut_anywhere_the_rest_is_done_by_the_next(
    version: Version, first: Body, then: Body, retention: str, cut: int
) -> None:
    stream: Body = {"retention": retention, "subjects": ["S", "S.*"]}
    before, wanted = (topology("drawn", {STREAM: stream, CONSUMER: body}) for body in (first, then))
    account = imagined.empty_snapshot(Target(version=version, peers=1))
    live = apply_offline(plan_offline(before, account), account)
    plan = plan_offline(wanted, live)
    assume([change.action for change in plan.changes] == [Action.REPLACE] and not blocked(plan))
    halfway = imagined.snapshot_after_steps(live, [step for step in plan.steps if step.undoes is None][:cut])
    after = apply_offline(plan_offline(wanted, halfway), halfway)
    assert not remaining(plan_offline(wanted, after), ())
    assert set(after.consumers["S"]) == {"c"}
