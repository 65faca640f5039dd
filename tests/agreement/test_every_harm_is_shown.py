"""A rule that is stricter than the servers names a harm, and that harm is shown on a real one."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from reconciler.changes.verdict import Reaction
from reconciler.kinds import REGISTRY
from tests.agreement.harm import SHOWN

ELSEWHERE = {
    "ST110": "kinds/test_stream_validity.py::test_a_source_that_is_there_already_goes_on_where_it_is",
    **dict.fromkeys(("CO548", "CO572"), "kinds/test_consumer_doom.py::test_an_upgrade_loses_what_we_say_is_doomed"),
    "CO582": "kinds/test_consumer_doom.py::test_a_restart_loses_what_we_say_is_doomed",
    "ST555": "kinds/test_stream_consumers.py::test_a_consumer_whose_deliver_subject_is_taken_in_is_gone_after_the_next_start",
    **dict.fromkeys(
        ("ST545", "ST547"),
        "kinds/test_stream_validity.py::test_what_the_rules_call_doomed_is_gone_after_the_next_start",
    ),
    "CO301": "quantities/test_consumers.py::test_what_a_filter_turns_to_and_has_passed_is_never_delivered",
    "EG302": "replacement/test_outlived.py::test_what_the_source_dropped_is_lost_with_the_queue_as_said",
    "XX311": "convergence/test_exchanges_traffic.py::test_an_update_alone_would_leave_messages_that_nobody_is_ever_given",
    **dict.fromkeys(
        ("ST320", "KV320", "OB320", "CO320"),
        "upgrades/test_upgrade_check.py::test_what_is_said_of_a_store_happens_to_it",
    ),
}
"""Shown by tests of other folders."""

HARMFUL = sorted(
    rule.code for rule in REGISTRY.rules() if rule.reaction not in (Reaction.REFUSES, Reaction.DOES)
)  # fmt: skip


def every_harm() -> dict[str, str]:
    """Rule code → the test that shows its harm."""
    for file in Path(__file__).parent.glob("test_harms_of_*.py"):
        importlib.import_module(f"tests.agreement.{file.stem}")
    return {**SHOWN, **ELSEWHERE}


@pytest.mark.parametrize("code", HARMFUL)
def test_its_harm_is_shown_on_a_real_server(code: str) -> None:
    assert code in every_harm(), (
        f"{code} says that the server {_reaction(code)}: show it in tests/agreement/test_harms_of_*.py"
    )


def test_tests_of_other_folders_are_there() -> None:
    tests = Path(__file__).parents[1]
    for file, name in (place.split("::") for place in ELSEWHERE.values()):
        assert f"def {name}(" in (tests / file).read_text(encoding="utf-8"), f"{file} has no {name}"


def _reaction(code: str) -> str:
    return next(str(rule.reaction) for rule in REGISTRY.rules() if rule.code == code)
