"""What is drawn covers everything people may write: no field of any kind is left out of the proof."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from reconciler.changes.kind import Kind
from reconciler.kinds import REGISTRY
from reconciler.model.resource import Terms
from reconciler.model.wire.snapshot import Snapshot, Target
from reconciler.model.wire.steps import Call, Step
from reconciler.model.wire.version import SUPPORTED
from reconciler.testbed import imagined
from tests.convergence.drawing import NEVER_DRAWN, Case, cases, fields_said, topology
from tests.convergence.running import apply_offline, plan_offline
from tests.convergence.test_real import CASES
from tests.support.drawing import PER_SEED, drawn

T = TypeVar("T")
NEWEST = SUPPORTED[-1]


def the_cases() -> Iterator[Case]:
    """Of all versions together, as the newest would have them, drawn as they are asked for."""
    for run in range(CASES // PER_SEED):
        yield from drawn(lambda index: cases(index, NEWEST), (run + 1) * PER_SEED, offset=run)


def never(wanted: set[T], seen: Iterable[T]) -> set[T]:
    """Those of them that are not seen; when all have been, nobody looks on."""
    missing = {*wanted}
    rest = iter(seen)
    while missing and (one := next(rest, None)) is not None:
        missing.discard(one)
    return missing


def configurable(kind: Kind) -> set[str]:
    return kind.spec.model_fields.keys() - Terms.model_fields.keys() - NEVER_DRAWN.get(kind.name, frozenset())


def test_every_field_is_drawn() -> None:
    wanted = {(kind.name, name) for kind in REGISTRY.kinds for name in configurable(kind)}
    said = (pair for case in the_cases() for half in (case.first, case.then) for pair in fields_said(half))
    assert never(wanted, said) == set()


def test_every_field_is_sent_by_some_step() -> None:
    kinds = [kind for kind in REGISTRY.kinds if not kind.name.endswith("_group")]
    wanted = {(kind.name, name) for kind in kinds for name in configurable(kind) - SENT_AS.keys()}
    sent = ((step.address.partition("/")[0], name) for step in the_steps() for name in (*step.body, *step.set))
    assert never(wanted, sent) == set()


SENT_AS = {"history": "max_msgs_per_subject", "ttl": "max_age", "max_value_size": "max_msg_size"} | {
    "limit_marker_ttl": "subject_delete_marker_ttl",
    "num_replicas": "never: 1 is the default",
}
"""Fields of buckets that go by another name on their stream."""


def the_steps() -> Iterator[Step]:
    return (step for case in the_cases() for step in _steps(case))


def _steps(case: Case) -> Iterator[Step]:
    snapshot: Snapshot = imagined.empty_snapshot(Target(version=NEWEST, peers=1))
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
    Call.GATE_CONSUMER_EVERYWHERE: "tests/replacement/test_servers_away.py",
    Call.GATE_MIRROR_CAUGHT_UP: GATES,
    Call.GATE_COPY_LISTENS: "tests/e2e/test_recipes.py",
    Call.GATE_MEMBERS_BACK: GATES,
    Call.GATE_QUEUE_CAUGHT_UP: "tests/replacement/test_sources_cut.py",
    Call.QUEUE_READ: DRILL,
    Call.QUEUE_SETTLE: DRILL,
}
"""Calls of changes that come about only in patterns, which are drawn by proofs of their own."""


def test_every_call_a_server_understands_is_made() -> None:
    assert never(set(Call) - DRAWN_ELSEWHERE.keys(), (step.call for step in the_steps())) == set()
