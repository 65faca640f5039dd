"""A sample of `make truth`: on each version other cases, and those made by hand."""

from __future__ import annotations

import pytest

from tests.support.accounts import Pool
from tests.support.binaries import MINORS
from tests.truth.by_hand import BY_HAND
from tests.truth.drawing import cases
from tests.truth.running import run
from tests.truth.table import Tally, lines

DRAWN = 240


@pytest.mark.parametrize("minor", MINORS)
def test_what_a_plan_says_in_numbers_is_so(pool: Pool, minor: str) -> None:
    tally = Tally.of(minor, run(pool, minor, cases(DRAWN, every=len(MINORS), offset=MINORS.index(minor))))
    assert tally.is_true, "\n".join(lines(tally))


@pytest.mark.parametrize("minor", MINORS)
def test_what_was_untrue_once_is_so_now(pool: Pool, minor: str) -> None:
    tally = Tally.of(minor, run(pool, minor, BY_HAND))
    assert not tally.wrong, "\n".join(tally.wrong)
    assert tally.uncounted <= sum(bool(one.later) for one in BY_HAND), "only what ages may be too old to be counted"
