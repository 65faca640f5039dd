"""A sample of the faults: some of every kind on some version, at points that differ. `make faults` runs them all."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.kinds import Fault
from tests.faults.playing import SINGLE, Chosen, played
from tests.faults.report import idle, wrongs
from tests.support.binaries import MINORS

SAMPLES = {
    "2.11": (("removal",), (Fault.KILLED, Fault.TRANSIENT, Fault.EDITED), 12),
    "2.12": (
        ("replaced on interest", "subjects handed over on interest"),
        (Fault.DISCONNECTED, Fault.DELAYED, Fault.DOUBLED),
        24,
    ),
    "2.14": (("group made anew",), (Fault.KILLED, Fault.SUSPENDED, Fault.PERMANENT), 16),
    "2.15": (("everything",), SINGLE, 100),
}
"""Scenes, kinds of faults, and every how many-th point of each."""


@pytest.mark.parametrize("minor", MINORS)
def test_an_apply_ends_well_whatever_goes_wrong_where(minor: str, tmp_path: Path) -> None:
    scenes, faults, every = SAMPLES[minor]
    chosen = Chosen(scenes=scenes, faults=faults, every=every)
    outcomes = played(minor, chosen, tmp_path)
    assert {one.case.fault for one in outcomes} == {Fault.NONE, *faults}
    assert wrongs(outcomes) == []
    assert idle(outcomes) == []
