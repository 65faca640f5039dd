"""Many things drawn at random, always the same ones, where nothing is to shrink."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import TypeVar

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

T = TypeVar("T")

PER_SEED = 20
"""Of a longer run, hypothesis makes half by varying what it drew before, which takes longer than drawing anew."""


def drawn(one: Callable[[int], st.SearchStrategy[T]], number: int, *, every: int = 1, offset: int = 0) -> list[T]:
    """So many, or a share of them; each may be of another strategy than the one before."""
    found: list[T] = []
    for run in range(offset * PER_SEED, number, every * PER_SEED):

        @seed(run)
        @settings(
            max_examples=PER_SEED, database=None, deadline=None, phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        @given(st.data())
        def draw(data: st.DataObject) -> None:
            found.append(data.draw(one(len(found))))

        draw()
    return found


def batches(found: list[T], size: int) -> Iterator[list[T]]:
    rest = iter(found)
    while batch := list(islice(rest, size)):
        yield batch
