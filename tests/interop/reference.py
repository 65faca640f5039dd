"""The reference implementation's own command line, `cg`: installed once by `go install` at a pinned version.

`RECONCILER_CG` names one that is there already.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

MODULE, VERSION = "github.com/synadia-io/orbit.go/pcgroups", "v0.2.2"

PROJECT = Path(__file__).parents[2]
PLACE = PROJECT / ".cache" / "cg" / VERSION
TESTS = Path(__file__).parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Where the program is, or in one line why there is none."""

    program: Path | None = None
    why_not: str = ""


@cache
def find() -> Found:
    if chosen := os.environ.get("RECONCILER_CG"):
        return Found(program=Path(chosen))
    go = shutil.which("go")
    if go is None:
        return Found(why_not=f"there is no Go toolchain to install cg {VERSION} with")
    PLACE.mkdir(parents=True, exist_ok=True)
    with (PLACE / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several test processes begin at once
        return Found(program=PLACE / "cg") if (PLACE / "cg").exists() else _installed(go)


def _installed(go: str) -> Found:
    command = [go, "install", f"{MODULE}/cg@{VERSION}"]
    done = subprocess.run(command, env={**os.environ, "GOBIN": str(PLACE)}, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return Found(program=PLACE / "cg")
    why = (done.stderr.strip() or "it said nothing").splitlines()[-1].strip()
    return Found(why_not=f"`go {' '.join(command[1:])}` failed: {why}")


def not_run(paths: Iterable[str]) -> str | None:
    """What to say at the end of a run over these paths when its interop tests could not be collected."""
    wanted = any(TESTS.is_relative_to(path) or path.is_relative_to(TESTS) for path in map(_folder, paths))
    return f"interop: NOT RUN: {find().why_not}" if wanted and find().program is None else None


def _folder(argument: str) -> Path:
    return Path(argument.partition("::")[0]).resolve()


if __name__ == "__main__":
    sys.exit(0 if find().program else f"The reference is needed: {find().why_not}")
