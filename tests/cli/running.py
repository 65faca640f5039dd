"""Runs `reconciler …` as a process of its own, in an environment that says nothing about this machine."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
TOPOLOGIES = sorted(path.name for path in EXAMPLES.iterdir() if path.name != "ci")
"""Everything there but the pipelines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    code: int
    out: str
    err: str


def environment(home: Path, **more: str) -> dict[str, str]:
    """No contexts, no NATS_ variables, no colours of this terminal; and who comes after a killed apply waits less."""
    kept = {name: os.environ[name] for name in ("PATH", "NATS_SERVER_BIN") if name in os.environ}
    return {**kept, "HOME": str(home), "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error",
            "RECONCILER_LEASE_TTL": "8", **more}  # fmt: skip


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "reconciler", *arguments]


@dataclass(frozen=True, slots=True)
class Shell:
    """A folder in which commands run."""

    folder: Path

    def __call__(self, *arguments: str, stdin: str | None = None, **env: str) -> Ran:
        done = subprocess.run(
            command(*arguments), cwd=self.folder, env=environment(self.folder, **env), input=stdin or "",
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        return Ran(code=done.returncode, out=done.stdout, err=done.stderr)

    def write(self, text: str, name: str = "topology.yaml") -> str:
        (self.folder / name).write_text(text)
        return name
