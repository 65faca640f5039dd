"""A rule that is stricter than the servers names a harm, and that harm is shown on a real one."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from reconciler.core.rule import Reaction
from reconciler.kinds import REGISTRY
from tests.agreement.harm import SHOWN

HARMFUL = sorted(
    rule.code for rule in REGISTRY.rules() if rule.reaction not in (Reaction.REFUSES, Reaction.DOES)
)  # fmt: skip


@pytest.fixture(scope="module")
def shown() -> dict[str, str]:
    for file in Path(__file__).parent.glob("test_harms_of_*.py"):
        importlib.import_module(f"tests.agreement.{file.stem}")
    return SHOWN


@pytest.mark.parametrize("code", HARMFUL)
def test_its_harm_is_shown_on_a_real_server(code: str, shown: dict[str, str]) -> None:
    assert code in shown, (
        f"{code} says that the server {_reaction(code)}: show it in tests/agreement/test_harms_of_*.py"
    )


def _reaction(code: str) -> str:
    return next(str(rule.reaction) for rule in REGISTRY.rules() if rule.code == code)
