"""Acts stay acts while the code goes on: each place is there once, what it leaves is code, and its tests exist."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

from tests.sabotage.acts import ACTS
from tests.sabotage.tree import PROJECT

LEAST = 60


@cache
def text_of(file: str) -> str:
    return (PROJECT / file).read_text(encoding="utf-8")


def test_there_are_as_many_as_were_promised_and_no_two_of_a_name() -> None:
    assert len(ACTS) >= LEAST
    assert [name for name, many in Counter(act.name for act in ACTS).items() if many > 1] == []


def test_every_act_has_its_place_exactly_once() -> None:
    lost = {act.name: many for act in ACTS if (many := text_of(act.file).count(act.before)) != 1}
    assert lost == {}, "say in these acts what the code says now"


def test_every_act_changes_something() -> None:
    assert [act.name for act in ACTS if act.done_to(text_of(act.file)) == text_of(act.file)] == []


def test_what_an_act_leaves_behind_is_code_that_runs(tmp_path: Path) -> None:
    """One that broke every import, or named what is not there, would turn everything red and prove nothing."""
    for number, act in enumerate(ACTS):
        if act.file.endswith(".py"):
            (tmp_path / f"act_{number}.py").write_text(act.done_to(text_of(act.file)), encoding="utf-8")
    ruff = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "E9,F82", "--target-version", "py311"]
    said = subprocess.run([*ruff, str(tmp_path)], capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stdout


def test_every_test_that_an_act_names_is_there() -> None:
    missing = {act.name: test for act in ACTS for test in act.seen_by if not is_there(test)}
    assert missing == {}


def is_there(test: str) -> bool:
    file, _, name = test.partition("::")
    path = PROJECT / file
    return path.is_file() and (not name or name.partition("[")[0] in functions(path))


@cache
def functions(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(one.name for one in tree.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef))
