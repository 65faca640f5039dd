"""The promise on the pure fake, with a file that is edited after each cut: whatever an interrupted run gave is its own, and the last
run finishes what all of them began."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count

import pytest

from reconciler.changes.change import FieldClass
from reconciler.changes.plan import Plan
from reconciler.engine.compare import compare
from reconciler.engine.decide import decide
from reconciler.kinds import REGISTRY
from reconciler.memory import remembered
from reconciler.model.resource import Address
from reconciler.model.run_options import RunOptions
from reconciler.model.topology import Topology
from reconciler.model.wire.snapshot import Snapshot, Target
from reconciler.model.wire.steps import Call, Step
from reconciler.model.wire.version import SUPPORTED
from reconciler.testbed import imagined
from tests.convergence.drawing import topology
from tests.convergence.running import TODAY, apply_offline, remaining
from tests.primitives.bodies import Body

STREAM, CONSUMER = Address.of("stream", "S"), Address.of("consumer", "S", "c")
CONSENTED = RunOptions(today=TODAY, allow=(("CO106", "*"),))
"""To no other start: what asks for one is what these tests look for."""
BLAMED = (FieldClass.DRIFTED, FieldClass.BOTH)
EDITS = {
    "another each time": (8, 9, 10), "the same again": (8, 9, 9), "the first one again": (8, 9, 8), "as it was": (8, 9, 512),
}  # fmt: skip
"""What `max_waiting` is in the file of each run."""
births = count()


def wanted(retention: str, waiting: int) -> Topology:
    stream: Body = {"retention": retention, "subjects": ["S"]}
    return topology("drawn", {STREAM: stream, CONSUMER: {"ack_policy": "explicit", "max_waiting": waiting}})


def planned(file: Topology, snapshot: Snapshot) -> Plan:
    view = compare(file, snapshot, remembered.read_memory(snapshot, REGISTRY), REGISTRY)
    return decide(view, REGISTRY, CONSENTED)


def at(snapshot: Snapshot, floor: int) -> Snapshot:
    """Clients have acknowledged everything up to here."""
    held = imagined.HeldObjects(snapshot)
    if info := held.consumers["S"].get("c"):
        info |= {one: {"consumer_seq": floor, "stream_seq": floor} for one in ("delivered", "ack_floor")}
    state = {"messages": 100 - floor, "first_seq": floor + 1, "last_seq": 100, "consumer_count": 1, "last_ts": "then"}
    held.streams["S"]["state"] = state
    return held.snapshot()


def cut_anywhere(snapshot: Snapshot, steps: Iterable[Step]) -> Iterator[Snapshot]:
    """What is there before the first step, and after each that leaves something."""
    held = imagined.HeldObjects(snapshot)
    yield snapshot
    for step in steps:
        imagined.apply_step(step, held)
        if step.call is Call.CONSUMER_CREATE and step.undoes is None:
            held.consumers[step.on[0]][step.on[1]]["created"] = f"birth {next(births)}"
        if not step.call.waits and step.call is not Call.CONSUMER_READ and step.undoes is None:
            yield imagined.HeldObjects(held.snapshot()).snapshot()


def runs(snapshot: Snapshot, retention: str, edits: tuple[int, ...], floor: int) -> Iterator[Snapshot]:
    """After all of these runs, each cut anywhere, with ten messages acknowledged before each."""
    if not edits:
        yield at(snapshot, floor)
        return
    here = at(snapshot, floor)
    plan = planned(wanted(retention, edits[0]), here)
    is_kept(plan)
    for cut in cut_anywhere(here, plan.steps):
        assert nobody_misses(cut, retention, floor)
        assert nobody_is_given_again(here, cut, floor)
        yield from runs(cut, retention, edits[1:], floor + 10)


def is_kept(plan: Plan) -> None:
    """Nothing is blocked, and nobody else is blamed."""
    assert not plan.blocked, [(one.address, one.reason, one.verdicts) for one in plan.blocked]
    assert [field for one in plan.changes for field in one.fields if field.field_class in BLAMED] == []


def nobody_misses(snapshot: Snapshot, retention: str, floor: int) -> bool:
    """A consumer begins no later than what is not acknowledged, and while there is none, an interest stream has another one."""
    consumers = snapshot.consumers["S"]
    if "c" not in consumers:
        return retention != "interest" or bool(consumers)
    return bool(consumers["c"]["config"].get("opt_start_seq", 1) <= floor + 1)


ROUNDS = {
    **{f"interest, {name}": ("interest", edits) for name, edits in EDITS.items()},
    **{f"{retention}, another each time": (retention, (8, 9, 10)) for retention in ("limits", "workqueue")},
}


def nobody_is_given_again(before: Snapshot, after: Snapshot, floor: int) -> bool:
    """Whoever takes the place of a live consumer begins with what that has not acknowledged."""
    old, new = (one.consumers["S"].get("c") for one in (before, after))
    start = new["config"].get("opt_start_seq") if new else None
    return not old or not new or old["created"] == new["created"] or start in (None, floor + 1)


@pytest.mark.parametrize("retention", ["limits", "interest", "workqueue"])
def test_a_file_that_stays_as_it_is_takes_no_other_note(retention: str) -> None:
    account = imagined.empty_snapshot(Target(version=SUPPORTED[-1], peers=1))
    applied = apply_offline(planned(wanted(retention, 512), account), account)
    file = wanted(retention, 8)
    for left in cut_anywhere(at(applied, 60), planned(file, at(applied, 60)).steps):
        assert [step.id for step in planned(file, left).steps if step.id.endswith("anew")] == []


@pytest.mark.parametrize("name", ROUNDS)
def test_cut_again_and_again_the_rest_is_done_by_the_last(name: str) -> None:
    retention, edits = ROUNDS[name]
    version = SUPPORTED[-1] if edits == (8, 9, 10) else SUPPORTED[0]
    account = imagined.empty_snapshot(Target(version=version, peers=1))
    first = wanted(retention, 512)
    applied = list(cut_anywhere(account, (plan := planned(first, account)).steps))[-1]
    applied = imagined.snapshot_with_records(applied, plan.records)
    for left in runs(applied, retention, edits, 60):
        file = wanted(retention, edits[-1])
        last = planned(file, left)
        is_kept(last)
        after = apply_offline(last, left)
        assert nobody_misses(after, retention, 60 + 10 * len(edits))
        assert not remaining(planned(file, after), ())
        assert set(after.consumers["S"]) == {"c"}
