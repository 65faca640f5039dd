"""What `make test` leaves to `make test-versions` is all that it leaves out."""

from __future__ import annotations

import subprocess
import sys

from tests.support.binaries import MINORS, NEWEST, OLDEST, PROJECT

FOLDER = "tests/power"


def chosen(versions: str) -> set[str]:
    pytest = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "--versions", versions]
    said = subprocess.run([*pytest, FOLDER], cwd=PROJECT, capture_output=True, text=True, check=True)
    return {line for line in said.stdout.splitlines() if "::" in line}


def test_a_test_is_for_the_ends_or_for_the_versions_between() -> None:
    ends, between = chosen("ends"), chosen("between")
    assert ends | between == chosen("all")
    assert ends & between == set()
    assert {minor for minor in MINORS if any(minor in test for test in ends)} == {OLDEST, NEWEST}
    assert {minor for minor in MINORS if any(minor in test for test in between)} == {*MINORS} - {OLDEST, NEWEST}
