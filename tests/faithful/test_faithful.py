"""A sample of `make faithful`: on each version other objects."""

from __future__ import annotations

import pytest

from reconciler.model.wire.version import Version
from tests.faithful.drawing import accounts
from tests.faithful.running import run
from tests.support.accounts import Pool
from tests.support.binaries import MINORS, VERSIONS

OBJECTS = 800


@pytest.mark.parametrize("minor", MINORS)
def test_a_copy_is_the_same_account_and_every_change_by_hand_is_named(pool: Pool, minor: str) -> None:
    drawn = accounts(OBJECTS, Version.parse(VERSIONS[minor]), every=len(MINORS), offset=MINORS.index(minor))
    tally = run(pool, minor, drawn)
    assert (tally.lost, tally.unseen, tally.offences) == ([], [], []), tally
    assert tally.objects > OBJECTS // len(MINORS) * 0.8, tally
    assert tally.changes > OBJECTS // len(MINORS) * 0.8, tally
    assert tally.is_faithful, (tally.unsayable, tally.refused, tally.left, tally.changes)
