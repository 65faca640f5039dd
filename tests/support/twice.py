"""`.ci/run`: every test, and those that were red once more, alone. Red again is a failure; green then is flaky, and is named.

A busy machine makes a right test late now and then, and that must not keep what else was done from landing. It hides
nothing: both runs stand in the log, and a flaky test is a bug to be understood. `make test` itself looks once.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

MOST = 5
"""Tests that may be red beside others. More than these is no chance."""
LAST_FAILED = Path(".pytest_cache/v/cache/lastfailed")


def main(arguments: Sequence[str]) -> int:
    LAST_FAILED.unlink(missing_ok=True)
    code = _pytest(*arguments)
    if code != pytest.ExitCode.TESTS_FAILED:
        return code
    red = list(json.loads(LAST_FAILED.read_text()))
    if len(red) > MOST:
        print(f"\n{len(red)} tests are red: too many for chance.", flush=True)
        return code
    print(f"\n{len(red)} red: once more, alone.", flush=True)
    if again := _pytest("-q", *red):
        return again
    print("\n".join(["", *(f"FLAKY: {test} was red beside others and is green alone. Find out why." for test in red)]))
    return 0


def _pytest(*arguments: str) -> int:
    return subprocess.run([sys.executable, "-m", "pytest", *arguments], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
