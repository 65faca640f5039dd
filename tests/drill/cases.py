"""The situations: what the queue holds, what changes, where the run is cut off, and whether the server restarts then."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

STEPS = 12
"""How many steps making a group anew has."""

KEYS = ("k1", "k2", "k3", "k4", "k5")


class State(NamedTuple):
    """What members have done so far."""

    name: str
    fetched: int
    acknowledged: Sequence[int]
    """Which of the messages fetched."""
    buffer: int = 0


class Wish(NamedTuple):
    """What the group becomes."""

    name: str
    partitions: int
    wildcard: int


STATES = (
    State("backlog not yet sourced", 5, (0, 1, 2), buffer=10),
    State("queue empty", 40, range(40)),
    State("partly acked out of order", 12, (0, 1, 4, 6, 9)),
)
WISHES = (Wish("N up", 6, 1), Wish("N down", 2, 1), Wish("filter changed", 4, 2))
PUBLISHED = 40


class Case(NamedTuple):
    state: State
    wish: Wish
    cut: int
    """After so many steps the run ends; none or all of them are cuts as well."""
    restarts: bool
    killed: bool = False
    """The run is a process of its own, and `cut` counts its requests: so many are done, then it is killed."""

    def __str__(self) -> str:
        how = f"killed after request {self.cut}" if self.killed else f"cut after {self.cut} steps"
        return f"{self.state.name}, {self.wish.name}, {how}{', server restarted' if self.restarts else ''}"


def every() -> list[Case]:
    """The whole matrix of cuts after steps; requests are counted as they come."""
    return [Case(*one) for one in product(STATES, WISHES, range(STEPS + 1), (False, True))]


def sample() -> list[Case]:
    """Every cut once, each state and wish in turn; the server restarts at some."""
    return [Case(STATES[n % 3], WISHES[(n // 3) % 3], n, restarts=n % 4 == 1) for n in range(STEPS + 1)]


def killed_sample() -> list[Case]:
    """Two for each version, among the requests that change something or follow one that did."""
    return [Case(STATES[n % 3], WISHES[(n // 3) % 3], 15 + 4 * n, restarts=n % 4 == 3, killed=True) for n in range(8)]
