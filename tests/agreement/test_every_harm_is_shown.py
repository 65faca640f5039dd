"""A rule that is stricter than the servers names a harm, and that harm is shown on a real one."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from reconciler.changes.verdict import Reaction
from reconciler.kinds import REGISTRY
from tests.agreement.harm import SHOWN

ELSEWHERE = {
    **dict.fromkeys(("CO548", "CO572"), "kinds/test_consumer_doom.py::test_an_upgrade_loses_what_we_say_is_doomed"),
    "CO582": "kinds/test_consumer_doom.py::test_a_restart_loses_what_we_say_is_doomed",
    "ST555": "kinds/test_stream_consumers.py::test_a_consumer_whose_deliver_subject_is_taken_in_is_gone_after_the_next_start",
    **dict.fromkeys(
        ("ST545", "ST547"),
        "kinds/test_stream_validity.py::test_what_the_rules_call_doomed_is_gone_after_the_next_start",
    ),
    "ST307": "quantities/test_pushed_out.py::test_copies_push_out_as_many_messages_as_the_plan_said",
    "KV307": "quantities/test_pushed_out.py::test_copies_fill_a_stream_that_refuses_and_publishers_are_told",
    "EG302": "replacement/test_emptied_source.py::test_what_the_source_dropped_is_lost_with_the_queue_as_said",
    **dict.fromkeys(
        ("ST320", "KV320", "OB320", "CO320"),
        "upgrades/test_upgrade_check.py::test_what_is_said_of_a_store_happens_to_it",
    ),
}
"""Shown by tests that say nothing of it in a sentence."""

TESTS = Path(__file__).parents[1]
FILES = (
    *sorted((TESTS / "agreement").glob("test_harms_of_*.py")),
    TESTS / "convergence/test_exchanges_traffic.py",
    TESTS / "kinds/test_stream_validity.py",
    TESTS / "quantities/test_consumers.py",
)
"""Where tests show harms."""

HARMFUL = sorted(
    rule.code for rule in REGISTRY.rules() if rule.reaction not in (Reaction.REFUSES, Reaction.DOES)
)  # fmt: skip


def shown() -> dict[str, set[str]]:
    """Rule code → the tests that show its harm, and say so."""
    for file in FILES:
        importlib.import_module(f"tests.{file.parent.name}.{file.stem}")
    return SHOWN


def every_harm() -> set[str]:
    """Codes of rules whose harm is shown."""
    return {*shown(), *ELSEWHERE}


@pytest.mark.parametrize("code", HARMFUL)
def test_its_harm_is_shown_on_a_real_server(code: str) -> None:
    assert code in every_harm(), (
        f"{code} says that the server {_reaction(code)}: show it in tests/agreement/test_harms_of_*.py"
    )


def test_tests_of_other_folders_are_there() -> None:
    for file, name in (place.split("::") for place in ELSEWHERE.values()):
        assert f"def {name}(" in (TESTS / file).read_text(encoding="utf-8"), f"{file} has no {name}"


def _reaction(code: str) -> str:
    return next(str(rule.reaction) for rule in REGISTRY.rules() if rule.code == code)
