"""How much more than the plan said may be lost by the time it is applied."""

from __future__ import annotations

import pytest

from reconciler.core.growth import most


@pytest.mark.parametrize(
    ("name", "planned", "at_most"),
    [
        ("messages", 0, 0),
        ("messages", 5, 10),
        ("consumers", 2, 2),
        ("redelivered", 0, 1_000),
        ("queued", 0, 1_000),
        ("skipped", 3, 1_000),
        ("redelivered", 4_000, 8_000),
    ],
)
def test_what_is_lost_may_double_and_what_passes_through_may_come_and_go(name: str, planned: int, at_most: int) -> None:
    assert most(name, planned) == at_most
