"""The way a field moves, from its two values."""

from __future__ import annotations

from typing import Any

import pytest

from reconciler.changes.effect import Way, way


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (-1, 100, Way.SET),
        (0, 100, Way.SET),
        (None, {"src": ">"}, Way.SET),
        ([], ["a"], Way.SET),
        (False, True, Way.SET),
        (100, -1, Way.UNSET),
        (True, False, Way.UNSET),
        (100, 200, Way.RAISED),
        (200, 100, Way.LOWERED),
        ("old", "new", Way.SWITCHED),
        (["a"], ["b"], Way.SWITCHED),
        (5, "5m", Way.SWITCHED),
    ],
)
def test_the_way_from_one_value_to_another(before: Any, after: Any, expected: Way) -> None:
    assert way(before, after) is expected


def test_a_field_whose_zero_is_a_value_is_raised_from_it() -> None:
    assert way(0, 5, nothing=(None,)) is Way.RAISED
