"""Whatever changes hands between streams or consumers, in whatever pattern: every step is one a server accepts, nothing
is left to do afterwards, and a run cut off after any step is finished by the next one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import combinations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reconciler.kinds.subjects.filters import filters_of
from reconciler.kinds.subjects.subjects import collide, is_subset
from reconciler.model.topology import Topology
from reconciler.model.wire.snapshot import Snapshot, Target
from reconciler.model.wire.version import SUPPORTED, Version
from reconciler.testbed import imagined
from tests.convergence.drawing import Wishes, topology
from tests.convergence.exchanges import PUBLISHED, filter_exchanges, interest_exchanges, subject_exchanges
from tests.convergence.running import apply_offline, plan_offline, remaining
from tests.support.imagining import after_each

Exchange = tuple[Wishes, Wishes]

quickly = settings(
    max_examples=60,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
any_of_them = pytest.mark.parametrize("exchanges", [subject_exchanges, filter_exchanges, interest_exchanges])


def exchanged(exchange: Exchange) -> tuple[Topology, Topology]:
    first, then = exchange
    return topology("drawn", first), topology("drawn", then, tuple(a for a in first if a not in then))


def wrongs(snapshot: Snapshot, subjects: Collection[str]) -> list[str]:
    """What a server would have refused: two streams, or two consumers of a work queue, with one subject. Or dropped: what
    nobody wants of these subjects on an interest stream."""
    hands = [[(name, s) for s in info["config"].get("subjects") or ()] for name, info in snapshot.streams.items()]
    found = _met(hands)
    for stream, own in snapshot.consumers.items():
        retention = snapshot.streams[stream]["config"].get("retention")
        if retention == "interest":
            wanted = [one for info in own.values() for one in filters_of(info["config"])]
            found += [f"nobody wants {one}" for one in subjects if not reaches(wanted, one)]
        elif retention == "workqueue":
            found += _met([[(name, f) for f in filters_of(info["config"])] for name, info in own.items()])
    return found


def reaches(filters: Iterable[str], subject: str) -> bool:
    return any(is_subset(subject, one) for one in filters)


def lasting(exchange: Exchange) -> list[str]:
    """Subjects that somebody wants, or the stream keeps anyway, before and after."""
    hands = [_kept(wishes) for wishes in exchange]
    published = [subject.replace("x", "x0", 1) for subject in PUBLISHED]
    return [one for one in published if all(reaches(each, one) for each in hands)]


def _kept(wishes: Wishes) -> list[str]:
    keeps = any(body.get("retention") == "limits" for body in wishes.values())
    return [">"] if keeps else [f for body in wishes.values() if "ack_policy" in body for f in filters_of(body)]


def _met(hands: list[list[tuple[str, str]]]) -> list[str]:
    return [
        f"{one} and {other}"
        for some, others in combinations(hands, 2)
        for one in some
        for other in others
        if collide(one[1], other[1])
    ]


def distinct(snapshots: Iterable[Snapshot]) -> Iterator[Snapshot]:
    """Each once: a plan is made of what is there alone, gates leave no trace, and most runs end alike."""
    seen: list[Snapshot] = []
    for one in snapshots:
        if one not in seen:
            seen.append(one)
            yield one


def empty(version: Version) -> Snapshot:
    return imagined.empty_snapshot(Target(version=version, peers=1))


@any_of_them
@pytest.mark.parametrize("version", [SUPPORTED[0], SUPPORTED[-1]], ids=str)
def test_no_step_on_the_way_is_one_a_server_refuses(
    exchanges: Callable[[int], st.SearchStrategy[Exchange]], version: Version
) -> None:
    @quickly
    @given(exchanges(0))
    def explore(exchange: Exchange) -> None:
        first, then = exchanged(exchange)
        snapshot = apply_offline(plan_offline(first, empty(version)), empty(version))
        plan, wanted = plan_offline(then, snapshot), lasting(exchange)
        on_the_way = after_each(snapshot, plan.steps)
        assert [found for after in on_the_way for found in wrongs(after, wanted)] == []
        assert not plan.blocked
        assert remaining(plan_offline(then, apply_offline(plan, snapshot)), ()) == []

    explore()


@any_of_them
@pytest.mark.parametrize("version", [SUPPORTED[0], SUPPORTED[-1]], ids=str)
def test_a_run_cut_off_after_any_step_is_finished_by_the_next(
    exchanges: Callable[[int], st.SearchStrategy[Exchange]], version: Version
) -> None:
    @quickly
    @given(exchanges(0))
    def explore(exchange: Exchange) -> None:
        first, then = exchanged(exchange)
        snapshot = apply_offline(plan_offline(first, empty(version)), empty(version))
        wanted = lasting(exchange)
        ends: list[Snapshot] = []
        for cut in distinct(after_each(snapshot, plan_offline(then, snapshot).steps)):
            plan = plan_offline(then, cut)
            on_the_way = after_each(cut, plan.steps)
            assert [found for after in on_the_way for found in wrongs(after, wanted)] == []
            ends.append(apply_offline(plan, cut))
        assert [left for end in distinct(ends) for left in remaining(plan_offline(then, end), ())] == []

    explore()
