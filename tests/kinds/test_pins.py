"""Apply releases a pin where a client can hold one, and nowhere else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reconciler.model.wire.steps import Call
from tests.support.topologies import scene

PINNED = "priority_policy: pinned_client, priority_timeout: 1m, priority_groups: [a]"
RENAMED = PINNED.replace("[a]", "[b]")
OVERFLOW = "priority_policy: overflow, priority_groups: [a]"
OVERFLOW_OF_B = OVERFLOW.replace("[a]", "[b]")


def unpins(folder: Path, before: str, after: str, *, is_pinned: bool) -> list[str]:
    """The groups whose client the steps of this change unpin."""
    live, desired = (
        f"streams: {{S: {{subjects: [s], consumers: {{c: {{ack_policy: explicit, {policy}}}}}}}}}"
        for policy in (before, after)
    )
    group: dict[str, Any] = {"group": "a", **({"pinned_client_id": "x"} if is_pinned else {})}
    raw = {"consumers": {"S": {"c": {"priority_groups": [group]}}}}
    made = scene(folder, desired, live, raw=raw).plan(allow=(("CO121", "*"), ("CO122", "*")))
    return [step.body["group"] for step in made.steps if step.call is Call.CONSUMER_UNPIN]


@pytest.mark.parametrize(("before", "after"), [(OVERFLOW, OVERFLOW_OF_B), (OVERFLOW, PINNED)], ids=["renamed", "pins"])
def test_no_pin_is_released_where_none_was_held(tmp_path: Path, before: str, after: str) -> None:
    assert unpins(tmp_path, before, after, is_pinned=False) == []


@pytest.mark.parametrize(("after", "groups"), [(RENAMED, ["a", "b"]), (OVERFLOW, ["a", "a"])], ids=["renamed", "left"])
def test_a_pin_is_released_before_and_after_even_if_nobody_shows(tmp_path: Path, after: str, groups: list[str]) -> None:
    """A waiting client may be pinned after the plan has looked."""
    assert unpins(tmp_path, PINNED, after, is_pinned=False) == groups


def test_a_pin_that_has_outlived_its_policy_is_released(tmp_path: Path) -> None:
    assert unpins(tmp_path, OVERFLOW, OVERFLOW_OF_B, is_pinned=True) == ["a", "b"]
