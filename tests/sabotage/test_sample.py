"""A few acts that are noticed within seconds; `make sabotage` tries them all."""

from __future__ import annotations

import pytest

from tests.sabotage.act import Act
from tests.sabotage.acts import SAMPLE
from tests.sabotage.tree import Tree
from tests.sabotage.trying import Verdict, tried


def test_there_is_a_sample() -> None:
    assert len(SAMPLE) >= 5


@pytest.mark.parametrize("act", SAMPLE, ids=lambda act: act.name)
def test_it_is_noticed(act: Act, tree: Tree) -> None:
    trial = tried(act, tree)
    assert trial.verdict is Verdict.CAUGHT, trial.by
