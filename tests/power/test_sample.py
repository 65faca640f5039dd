"""A sample of the power cuts: some points of one scene on each version. `make power` plays them all."""

from __future__ import annotations

import pytest

from tests.faults.scenes import HANDED_OVER, REMOVED, replaced
from tests.power.playing import Chosen, run
from tests.power.recording import Part
from tests.power.report import wrongs
from tests.support.binaries import MINORS

SAMPLES = {
    "2.11": (replaced("limits"), 60),
    "2.12": (REMOVED, 80),
    "2.14": (HANDED_OVER, 40),
    "2.15": (replaced("interest"), 40),
}
"""The scene, and every how many-th of its points."""


@pytest.mark.parametrize("minor", MINORS)
def test_after_a_power_cut_nothing_goes_wrong_or_it_is_said(minor: str) -> None:
    scene, every = SAMPLES[minor]
    outcomes = run(scene, minor, Chosen(every=every))
    assert {one.case.sort for one in outcomes} == {"bucket older", *(f"stream older: {part}" for part in Part)}
    assert wrongs(outcomes) == []
