"""A node that comes back with an older store in the middle of an apply is given what it lost, and the apply goes on."""

from __future__ import annotations

from tests.power.cluster import POINTS, played


def test_one_node_of_three_that_comes_back_older_is_healed() -> None:
    (found,) = played("2.15", POINTS[:1])
    assert (found.wrong, found.was_reached) == ([], True)
