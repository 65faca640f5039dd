"""A saved plan whose replacement was cut off, on the pure fake: what it finds then is looked at before it goes on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reconciler.journeys.saved.comparison import Outlook
from reconciler.model.resource import Address
from reconciler.model.wire.snapshot import Snapshot, Target
from reconciler.model.wire.steps import Call, Step
from reconciler.model.wire.version import Version
from reconciler.testbed import imagined
from tests.convergence.drawing import topology
from tests.convergence.running import apply_offline, plan_offline
from tests.saved.test_round_trip import again, read_back

STREAM, CONSUMER = Address.of("stream", "S"), Address.of("consumer", "S", "c")
RETENTIONS = ("limits", "interest", "workqueue")


class Cut:
    """A consumer whose replacement was planned and saved, and cut off after some of its steps."""

    def __init__(self, retention: str) -> None:
        stream = {"retention": retention, "subjects": ["S"]}
        old, new = ({"ack_policy": "explicit", "replay_policy": policy} for policy in ("instant", "original"))
        before, wanted = (topology("t", {STREAM: stream, CONSUMER: body}) for body in (old, new))
        empty = imagined.empty_snapshot(Target(version=Version(2, 15), peers=1))
        self.live = apply_offline(plan_offline(before, empty), empty)
        self.plan = plan_offline(wanted, self.live)
        self.saved = read_back(self.plan, wanted, self.live)

    def after(self, *steps: Step) -> Snapshot:
        return imagined.snapshot_after_steps(self.live, [replace(step, undoes=None) for step in steps])

    def upto(self, call: Call) -> tuple[Step, ...]:
        calls = [step.call for step in self.plan.steps]
        return self.plan.steps[: calls.index(call) + 1]

    def again(self, live: Snapshot) -> Outlook:
        return again(self.saved, live)


@pytest.mark.parametrize("retention", RETENTIONS)
def test_what_was_made_again_when_the_new_one_was_refused_is_replaced_after_all(retention: str) -> None:
    cut = Cut(retention)
    back = [step for step in cut.plan.steps if step.undoes]
    assert back, "what is made again"
    live = cut.after(*cut.upto(Call.CONSUMER_DELETE), *back)
    to_do = cut.again(live)
    assert to_do.stopped_changes == ()
    assert cut.again(apply_offline(to_do.plan, live)).is_done


def test_what_somebody_made_anew_before_its_position_was_kept_is_left_alone() -> None:
    cut = Cut("limits")
    live = cut.after(*cut.upto(Call.ENTRY_PUT))
    anew = {**live.consumers["S"]["c"], "created": "2030-01-01T00:00:00Z"}
    (stopped,) = cut.again(replace(live, consumers={"S": {"c": anew}})).stopped_changes
    assert stopped.why is not None
    assert (stopped.why.code, "recreated after the plan was made" in stopped.why.message) == ("AP201", True)
