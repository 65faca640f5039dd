"""The action's own first step, for real: it takes longer than all its other steps, so `make action` runs it, and CI that."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.ci.runner import ACTION, loaded


def test_the_action_installs_itself_from_its_own_checkout(tmp_path: Path) -> None:
    """Into an environment of its own, from the repository it is part of."""
    install = loaded(ACTION / "action.yml")["runs"]["steps"][0]["run"]
    environ = {"RUNNER_TEMP": str(tmp_path), "GITHUB_ACTION_PATH": str(ACTION), "PIP_NO_COMPILE": "1"}
    script = install + '\n"$RUNNER_TEMP/reconciler-venv/bin/reconciler" --version\n'
    shell = ["bash", "-eo", "pipefail", "-c", script]
    inherited = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    ran = subprocess.run(shell, env={**inherited, **environ}, capture_output=True, text=True, check=False)
    assert ran.stdout.startswith("reconciler "), ran.stderr
