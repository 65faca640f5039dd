"""Whatever a plan says in numbers is executed and counted here, or a list says why it is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from reconciler.changes.plan import Plan
from tests.rules.test_rules import FILES, cases, found, prepared
from tests.truth.by_hand import BY_HAND
from tests.truth.case import CONSEQUENCES
from tests.truth.drawing import KINDS
from tests.truth.drawing import cases as drawn

ELSEWHERE = {
    "EG302": "replacement/test_emptied_source.py::test_what_the_source_dropped_is_lost_with_the_queue_as_said",
    "SG312": "quantities/test_static_groups.py::test_a_group_that_comes_back_starts_with_what_its_members_take",
    "EG312": "agreement/test_harms_of_copies.py::test_members_process_again_what_a_recreated_queue_starts_with",
    **dict.fromkeys(
        ("ST306", "KV306", "OB306"),
        "agreement/test_harms_of_replicas.py::test_a_consumer_with_its_only_copy_elsewhere_loses_what_is_in_flight",
    ),
    "ST copies": "quantities/test_sources.py::test_a_source_beside_many_newer_messages_is_counted_where_these_cannot_be_its_copies",
    "ST307": "quantities/test_pushed_out.py::test_copies_push_out_as_many_messages_as_the_plan_said",
    "XX209": "quantities/test_sources.py::test_what_is_copied_from_a_work_queue_leaves_it_as_said",
    "XX311": "convergence/test_exchanges_traffic.py::test_an_update_alone_would_leave_messages_that_nobody_is_ever_given",
    **dict.fromkeys(
        ("ST601", "KV601", "OB601"),
        "agreement/test_harms_of_effects.py::test_publishes_are_refused_until_as_many_messages_are_gone_as_said",
    ),
    "CO603": "agreement/test_harms_of_effects.py::test_what_was_delivered_so_often_is_never_delivered_again_and_stays",
    "CO605": "agreement/test_harms_of_effects.py::test_everything_in_flight_is_delivered_again",
    "CO606": "agreement/test_harms_of_effects.py::test_nothing_is_delivered_until_as_many_are_acknowledged_as_said",
    "ST603": "agreement/test_harms_of_effects.py::test_what_nobody_has_processed_is_removed_by_what_comes",
    **dict.fromkeys(
        ("ST320", "KV320", "CO320", "OB320"),
        "upgrades/test_upgrade_check.py::test_what_is_said_of_a_store_happens_to_it",
    ),
}
"""Counted on real servers by tests of other folders, since it takes a restart, a cut or clients of its own."""
TWINS = {
    **dict.fromkeys(("CO101", "CO102", "CO104", "CO106", "CO109"), "CO105"), "KV304": "ST304", "KV305": "ST305", "OB301": "KV301",
    **dict.fromkeys(("KV312", "OB312"), "ST312"), **dict.fromkeys(("KV303", "OB303"), "ST303"),
}  # fmt: skip
"""Another code that is judged by the same function of the same numbers."""
NOT_MESSAGES = {
    **dict.fromkeys(("CO121", "CO122"), "clients that wait, as the server counts them at the moment of the plan"),
    "ST206": "what an origin that does not answer holds and a mirror lacks, which no later look can tell",
    "ST557": "consumers that the message counts by their names",
    "XX225": "bytes that configurations reserve",
    "XX227": "servers that answer",
    "XX231": "resources that the message names",
    "XX233": "resources that the message names",
    "CO park": "what is in flight at the moment of the plan, which the step itself waits for",
}
"""Nothing that goes, comes or stays in numbers which could be counted afterwards."""
NAMED = {"dependants"}


def counted_here() -> set[str]:
    return {code for one in (*BY_HAND, *drawn(20 * len(KINDS))) for code in one.codes}


def saying() -> set[str]:
    """Rules that give a quantity in any of their cases, beside how many resources of others the message names."""
    return {code for code in FILES for _, verdicts in found(code) for one in verdicts if one.quantities.keys() - NAMED}


def test_every_rule_with_a_quantity_is_counted_or_listed() -> None:
    known = counted_here() | ELSEWHERE.keys() | TWINS.keys() | NOT_MESSAGES.keys()
    assert saying() - known == set(), "draw cases in tests/truth/drawing.py, and count there what comes of them"


def test_nothing_is_listed_that_is_counted_here_or_says_no_number() -> None:
    listed = ELSEWHERE.keys() | TWINS.keys() | NOT_MESSAGES.keys()
    assert listed & counted_here() == set()
    assert listed - saying() == CONSEQUENCES.keys() & (NOT_MESSAGES.keys() | ELSEWHERE.keys())


def test_what_a_twin_says_is_counted() -> None:
    assert set(TWINS.values()) - counted_here() == set()


def test_every_consequence_with_a_quantity_is_counted_or_listed(tmp_path: Path) -> None:
    assert CONSEQUENCES.keys() - NOT_MESSAGES.keys() - ELSEWHERE.keys() - counted_here() == set()
    named = set().union(*CONSEQUENCES.values())
    said = {
        name
        for number, code in enumerate(FILES)
        for place, case in enumerate(cases(code))
        for name in consequences(prepared(case, tmp_path / f"{number}-{place}").plan())
    }
    assert said - named == set(), "say in tests/truth/case.py what the table calls it, and draw cases of it"


def consequences(plan: Plan) -> set[str]:
    return {name for change in plan.changes for one in change.consequences for name in one.quantities}


@pytest.mark.parametrize("place", sorted(set(ELSEWHERE.values())))
def test_tests_of_other_folders_are_there(place: str) -> None:
    file, name = place.split("::")
    assert f"def {name}(" in (Path(__file__).parents[1] / file).read_text(encoding="utf-8")
