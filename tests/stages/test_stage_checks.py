"""A stage passes when each of its members plans empty and stays without drift for its time."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from reconciler.journeys.rollout.stage_checks import (
    OFTEN,
    SELDOM,
    Seen,
    next_pause,
    objections,
    objections_while_staying,
)

WELL = (Seen(member="eu"), Seen(member="us"))
STRAYED = (Seen(member="eu"), Seen(member="us", drifted=("stream/ORDERS",)))


@dataclass
class Clock:
    """Goes on only while somebody rests, and remembers what was seen when."""

    finds: list[Sequence[Seen]]
    now: float = 0.0
    looked: list[float] = field(default_factory=list)

    async def look(self) -> Sequence[Seen]:
        self.looked.append(self.now)
        return self.finds.pop(0) if len(self.finds) > 1 else self.finds[0]

    async def rest(self, seconds: float) -> None:
        self.now += seconds

    def stayed(self, stay: float) -> list[str]:
        return asyncio.run(objections_while_staying(stay, self.look, "2 targets", lambda: self.now, self.rest))


@given(st.floats(0, 100_000))
def test_a_stage_that_stays_as_it_is_is_looked_at_until_its_time_is_over(stay: float) -> None:
    clock = Clock([WELL])
    assert clock.stayed(stay) == []
    assert clock.looked[0] == 0
    assert clock.looked[-1] >= stay, "the last look is after the time"
    between = [later - earlier for earlier, later in zip(clock.looked, clock.looked[1:], strict=False)]
    assert all(one <= SELDOM + 1e-6 for one in between)
    assert all(one >= OFTEN - 1e-6 for one in between[:-1])


@given(st.integers(1, 10))
def test_drift_within_the_time_ends_it_at_once(looks: int) -> None:
    clock = Clock([*([WELL] * looks), STRAYED, WELL])
    assert clock.stayed(3600) == ["us drifted: `stream/ORDERS`"]
    assert len(clock.looked) == looks + 1


def test_without_a_time_one_look_is_enough() -> None:
    clock = Clock([WELL])
    assert (clock.stayed(0), clock.looked) == ([], [0])
    assert Clock([STRAYED]).stayed(0) == ["us drifted: `stream/ORDERS`"]


def test_every_member_that_does_not_pass_is_named_with_the_reason() -> None:
    found = [
        Seen(member="eu"), Seen(member="us", pending=("stream/A", "consumer/A/c")), Seen(member="ap", problem="Cannot reach it."),
    ]  # fmt: skip
    assert [*objections(found)] == [
        "us does not plan empty: `stream/A`, `consumer/A/c`", "ap could not be looked at: Cannot reach it",
    ]  # fmt: skip


@given(st.floats(0.001, 1e6), st.floats(0, 1e6))
def test_a_pause_is_never_longer_than_the_time_that_is_left(stay: float, so_far: float) -> None:
    found = next_pause(stay, so_far)
    assert found is None if so_far >= stay else found is not None and 0 < found <= stay - so_far
