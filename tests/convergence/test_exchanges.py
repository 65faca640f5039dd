"""Whatever changes hands between streams or consumers, in whatever pattern: every step is one a server accepts, nothing
is left to do afterwards, and a run cut off after any step is finished by the next one."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reconciler.core.topology import Topology
from reconciler.core.wire import SUPPORTED, Snapshot, Step, Target, Version
from reconciler.kinds.primitives.filters import filters_of
from reconciler.kinds.primitives.subjects import collide
from reconciler.workflow import imagined
from tests.convergence.drawing import Wishes, topology
from tests.convergence.exchanges import filter_exchanges, subject_exchanges
from tests.convergence.running import apply_offline, plan_offline, remaining

Exchange = tuple[Wishes, Wishes]

quickly = settings(
    max_examples=60,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
either = pytest.mark.parametrize("exchanges", [subject_exchanges, filter_exchanges])


def exchanged(exchange: Exchange) -> tuple[Topology, Topology]:
    first, then = exchange
    return topology("drawn", first), topology("drawn", then, tuple(a for a in first if a not in then))


def collisions(snapshot: Snapshot) -> list[str]:
    """What a server would have refused: two streams, or two consumers of a work queue, with one subject."""
    hands = [[(name, s) for s in info["config"].get("subjects") or ()] for name, info in snapshot.streams.items()]
    found = _met(hands)
    for own in snapshot.consumers.values():
        found += _met([[(name, f) for f in filters_of(info["config"])] for name, info in own.items()])
    return found


def _met(hands: list[list[tuple[str, str]]]) -> list[str]:
    return [
        f"{one} and {other}"
        for some, others in combinations(hands, 2)
        for one in some
        for other in others
        if collide(one[1], other[1])
    ]


def stepwise(snapshot: Snapshot, steps: tuple[Step, ...]) -> list[Snapshot]:
    """The account after each step."""
    seen = []
    for step in steps:
        snapshot = imagined.carry_out(snapshot, [step])
        seen.append(snapshot)
    return seen


def empty(version: Version) -> Snapshot:
    return imagined.empty(Target(version=version, peers=1))


@either
@pytest.mark.parametrize("version", [SUPPORTED[0], SUPPORTED[-1]], ids=str)
def test_no_step_on_the_way_is_one_a_server_refuses(
    exchanges: Callable[[int], st.SearchStrategy[Exchange]], version: Version
) -> None:
    @quickly
    @given(exchanges(0))
    def explore(exchange: Exchange) -> None:
        first, then = exchanged(exchange)
        snapshot = apply_offline(plan_offline(first, empty(version)), empty(version))
        plan = plan_offline(then, snapshot)
        assert [found for after in stepwise(snapshot, plan.steps) for found in collisions(after)] == []
        assert not plan.blocked
        assert remaining(plan_offline(then, apply_offline(plan, snapshot)), ()) == []

    explore()


@either
@pytest.mark.parametrize("version", [SUPPORTED[0], SUPPORTED[-1]], ids=str)
def test_a_run_cut_off_after_any_step_is_finished_by_the_next(
    exchanges: Callable[[int], st.SearchStrategy[Exchange]], version: Version
) -> None:
    @quickly
    @given(exchanges(0))
    def explore(exchange: Exchange) -> None:
        first, then = exchanged(exchange)
        snapshot = apply_offline(plan_offline(first, empty(version)), empty(version))
        for cut in stepwise(snapshot, plan_offline(then, snapshot).steps):
            plan = plan_offline(then, cut)
            after = apply_offline(plan, cut)
            assert [found for on_the_way in stepwise(cut, plan.steps) for found in collisions(on_the_way)] == []
            assert remaining(plan_offline(then, after), ()) == []

    explore()
