"""What is drawn covers everything people may write: no field of any kind is left out of the proof."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest

from reconciler.core.kind import Kind
from reconciler.core.resource import Terms
from reconciler.core.wire import SUPPORTED, Call, Snapshot, Step, Target
from reconciler.kinds import REGISTRY
from reconciler.workflow import imagined
from tests.convergence.drawing import NEVER_DRAWN, Case, drawn, fields_said, topology
from tests.convergence.running import apply_offline, plan_offline
from tests.convergence.test_real import CASES

NEWEST = SUPPORTED[-1]


@cache
def the_cases() -> list[Case]:
    return drawn(CASES, NEWEST)


def configurable(kind: Kind) -> set[str]:
    return kind.spec.model_fields.keys() - Terms.model_fields.keys() - NEVER_DRAWN.get(kind.name, frozenset())


@pytest.mark.parametrize("kind", REGISTRY.kinds, ids=lambda kind: kind.name)
def test_every_field_of_a_kind_is_drawn(kind: Kind) -> None:
    said = {pair for case in the_cases() for half in (case.first, case.then) for pair in fields_said(half)}
    assert not {name for name in configurable(kind) if (kind.name, name) not in said}


@pytest.mark.parametrize("kind", [k for k in REGISTRY.kinds if not k.name.endswith("_group")], ids=lambda k: k.name)
def test_every_field_of_a_kind_is_sent_by_some_step(kind: Kind) -> None:
    assert not {name for name in configurable(kind) - SENT_AS.keys() if name not in sent()[kind.name]}


SENT_AS = {"history": "max_msgs_per_subject", "ttl": "max_age", "max_value_size": "max_msg_size"} | {
    "limit_marker_ttl": "subject_delete_marker_ttl",
    "num_replicas": "never: 1 is the default",
}
"""Fields of buckets that go by another name on their stream."""


@cache
def sent() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {kind.name: set() for kind in REGISTRY.kinds}
    for case in the_cases():
        for step in _steps(case):
            found[step.address.partition("/")[0]] |= step.body.keys() | step.set.keys()
    return found


def _steps(case: Case) -> Iterator[Step]:
    snapshot: Snapshot = imagined.empty(Target(version=NEWEST, peers=1))
    for wanted in (topology("drawn", case.first), topology("drawn", case.then, case.removed, case.forget)):
        plan = plan_offline(wanted, snapshot)
        yield from plan.steps
        snapshot = apply_offline(plan, snapshot)


EXCHANGES, MOVES, DRILL = "tests/convergence/test_exchanges.py", "tests/convergence/test_moves.py", "tests/drill"
GATES = "tests/server/test_gates.py"
DRAWN_ELSEWHERE = {
    Call.CONSUMER_RESET: EXCHANGES,
    Call.GATE_IN_FLIGHT_DONE: EXCHANGES,
    Call.GATE_REPLICAS_CURRENT: MOVES,
    Call.GATE_MIRROR_CAUGHT_UP: GATES,
    Call.GATE_MEMBERS_BACK: GATES,
    Call.QUEUE_READ: DRILL,
    Call.QUEUE_SETTLE: DRILL,
}
"""Calls of changes that come about only in patterns, which are drawn by proofs of their own."""


def test_every_call_a_server_understands_is_made() -> None:
    calls = {step.call for case in the_cases() for step in _steps(case)}
    assert set(Call) - calls == DRAWN_ELSEWHERE.keys()
