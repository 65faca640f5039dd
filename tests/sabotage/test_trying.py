"""What counts as noticed: a test that failed by what it asserts, and that passes where nothing was done."""

from __future__ import annotations

import pytest

from tests.sabotage.act import Act
from tests.sabotage.table import lines
from tests.sabotage.tree import PROJECT, Tree
from tests.sabotage.trying import Verdict, red_before, run, tried

FOUR = "tests/test_sums.py::test_two_and_two_are_four"
IN_A_COMMAND = f"{FOUR}_in_a_command"
NOTHING = "tests/test_sums.py::test_nothing_is_twice_nothing"


def act(*seen_by: str, after: str = "3 * number", before: str = "2 * number") -> Act:
    return Act(name="two and two are six", file="sums.py", before=before, after=after, seen_by=seen_by)


@pytest.mark.parametrize(
    ("done", "verdict"),
    [
        (act(FOUR), Verdict.CAUGHT),
        (act(NOTHING), Verdict.UNSEEN),
        (act(NOTHING, FOUR), Verdict.CAUGHT),
        (act(FOUR, after="2 *"), Verdict.SENSELESS),
        (act(FOUR, after="two * number"), Verdict.SENSELESS),
        (act(FOUR, after="3 * number\n\nimport nowhere"), Verdict.SENSELESS),
        (act("tests/test_sums.py::test_what_cannot_be_set_up"), Verdict.SENSELESS),
        (act("tests/test_sums.py::test_that_is_not_there"), Verdict.SENSELESS),
        (act(FOUR, before="4 * number"), Verdict.ROTTEN),
        (act(FOUR, before="number"), Verdict.ROTTEN),
    ],
    ids=["seen", "unseen", "seen by one", "no code", "no name", "no import", "no setup", "no test", "gone", "twice"],
)
def test_what_comes_of_an_act(small: Tree, done: Act, verdict: Verdict) -> None:
    text = (small.root / "sums.py").read_text()
    assert tried(done, small).verdict is verdict
    assert (small.root / "sums.py").read_text() == text


def test_what_a_command_compiled_under_one_act_does_not_stand_for_the_next(small: Tree) -> None:
    """Both are as long as what they replace. Two and two are four under the first."""
    verdicts = [tried(act(IN_A_COMMAND, after=after), small).verdict for after in ("2 + number", "3 * number")]
    assert verdicts == [Verdict.UNSEEN, Verdict.CAUGHT]


def test_what_does_not_end_is_ended(small: Tree) -> None:
    endless = act(FOUR, after="__import__('threading').Event().wait() or number")
    assert tried(endless, small, within=4).verdict is Verdict.HANGS


@pytest.mark.parametrize(
    ("name", "is_red"),
    [("test_two_and_two_are_four", False), ("test_what_is_skipped", True), ("test_what_cannot_be_set_up", True)],
)
def test_a_test_that_does_not_pass_by_itself_proves_nothing(small: Tree, name: str, is_red: bool) -> None:
    test = f"tests/test_sums.py::{name}"
    trial = red_before(act(test), run(small, [test]))
    assert (trial is not None and trial.verdict is Verdict.RED) == is_red


def test_the_table_says_by_what_nobody_noticed(small: Tree) -> None:
    head, row, sums = lines([tried(act(NOTHING), small)])
    assert head.split() == ["act", "tests", "outcome"]
    assert row.endswith(f"{NOTHING}  NOT CAUGHT (1 tests saw nothing)")
    assert sums == "0 of 1 acts caught"


def test_a_copy_holds_what_is_not_committed_yet(tree: Tree) -> None:
    assert (tree.root / "tests/sabotage/act.py").read_text() == (PROJECT / "tests/sabotage/act.py").read_text()
    assert not (tree.root / ".git").exists()
