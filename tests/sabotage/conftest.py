"""One copy of the project for all tests of a worker."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sabotage.tree import PROJECT, Tree


@pytest.fixture(scope="session")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    return Tree.of(PROJECT, tmp_path_factory.mktemp("sabotage"))


@pytest.fixture
def small(tmp_path: Path) -> Tree:
    """Of a project that keeps one promise: two and two are four."""
    project = tmp_path / "project"
    (project / "tests" / "sabotage").mkdir(parents=True)
    for name in ("tests/__init__.py", "tests/sabotage/__init__.py", "tests/sabotage/witness.py"):
        (project / name).write_text((PROJECT / name).read_text(encoding="utf-8"), encoding="utf-8")
    (project / "sums.py").write_text("def doubled(number):\n    return 2 * number\n", encoding="utf-8")
    (project / "tests" / "test_sums.py").write_text(SUMS, encoding="utf-8")
    return Tree(project)


SUMS = """
import subprocess
import sys

import pytest

from sums import doubled


def test_two_and_two_are_four():
    assert doubled(2) == 4


def test_nothing_is_twice_nothing():
    assert doubled(0) == 0


def test_two_and_two_are_four_in_a_command():
    code = "import sys; from sums import doubled; sys.exit(doubled(2) != 4)"
    assert subprocess.run([sys.executable, "-c", code], env={}).returncode == 0


@pytest.mark.skip
def test_what_is_skipped():
    assert doubled(0) == 1


@pytest.fixture
def broken():
    raise ValueError(doubled(1))


def test_what_cannot_be_set_up(broken):
    assert doubled(2) == 4
"""
