"""A sample of drawn changes on every version: clients feel what plans foretell, and nothing else."""

from __future__ import annotations

import pytest

from tests.probes.tally import play
from tests.support.binaries import MINORS

SAMPLE = 48
"""Two changes of as many scenes as are played at a time."""


@pytest.mark.parametrize("minor", MINORS)
def test_what_clients_feel_was_foretold(minor: str) -> None:
    tally = play(minor, SAMPLE, seed=3, of_one_scene=2)
    assert tally.is_true, "\n".join(tally.causes())
    assert tally.felt > SAMPLE / 3
    assert len(tally.needed) > 1, "effects that nobody would miss"
