"""What CI does with a red test: it looks once more, alone, and says what it saw."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

FLAKY = """
from pathlib import Path
def test_red_once():
    seen = Path("seen")
    was_there = seen.exists()
    seen.touch()
    assert was_there
def test_green(): pass
"""
RED = "def test_red(): assert False\n"
MANY = "import pytest\n@pytest.mark.parametrize('one', range(6))\ndef test_red(one): assert False\n"
BROKEN = "def test_red(): assert False\nimport sys; sys.exit('not today')\n"


def test_a_test_that_is_green_alone_is_named_and_keeps_nothing_out(tmp_path: Path) -> None:
    ran = _twice(tmp_path, FLAKY)
    assert ran.returncode == 0, ran.stdout
    assert "FLAKY: test_it.py::test_red_once was red" in ran.stdout
    assert "1 failed, 1 passed" in ran.stdout, "the first run is told"


def test_a_test_that_is_red_again_is_a_failure(tmp_path: Path) -> None:
    ran = _twice(tmp_path, FLAKY + RED)
    assert ran.returncode == 1
    assert "FLAKY" not in ran.stdout


def test_many_red_tests_are_no_chance(tmp_path: Path) -> None:
    ran = _twice(tmp_path, MANY)
    assert ran.returncode == 1
    assert "6 tests are red: too many for chance" in ran.stdout


def test_a_run_that_broke_off_is_not_excused_by_what_was_red_before_it(tmp_path: Path) -> None:
    assert _twice(tmp_path, FLAKY).returncode == 0
    assert _twice(tmp_path, BROKEN).returncode not in (0, 1)


def _twice(folder: Path, tests: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_it.py").write_text(tests)
    (folder / "pytest.ini").write_text("[pytest]\n")
    return subprocess.run(
        [sys.executable, str(ROOT / "tests/support/twice.py"), "-q", "test_it.py"],
        cwd=folder, capture_output=True, text=True, check=False, env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )  # fmt: skip
