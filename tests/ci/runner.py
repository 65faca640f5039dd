"""Runs workflows as GitHub's runner does, as far as ours go: expressions, composite actions, artifacts, outputs, and no more.

`gh` and the API are the only things that stand in for GitHub; every shell step is the real one, in a real repository.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]
ACTION = ROOT / ".github" / "actions" / "reconciler"
_EXPRESSION = re.compile(r"\$\{\{\s*(.+?)\s*\}\}")


def loaded(path: Path) -> dict[str, Any]:
    return dict(YAML(typ="safe", pure=True).load(path))


@dataclass
class Runner:
    """One machine on which jobs run."""

    workspace: Path
    temp: Path
    known: dict[str, str] = field(default_factory=dict)
    """Values of expressions: `github.event.pull_request.number`, `secrets.NATS_CREDENTIALS` …"""
    environ: dict[str, str] = field(default_factory=dict)
    artifacts: Path = field(init=False)
    said: str = ""

    def __post_init__(self) -> None:
        self.artifacts = self.temp / "artifacts"
        (self.temp / "bin").mkdir(parents=True, exist_ok=True)
        venv = self.temp / "reconciler-venv" / "bin"
        venv.mkdir(parents=True, exist_ok=True)
        # What the step Install makes, which `make action` runs.
        self.script(venv / "reconciler", f'exec "{sys.executable}" -m reconciler "$@"')

    def script(self, path: Path, body: str) -> None:
        path.write_text(f"#!/usr/bin/env bash\n{body}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    @property
    def summary(self) -> str:
        path = self.temp / "summary"
        return path.read_text() if path.exists() else ""

    def job(self, workflow: Path, **known: str) -> int:
        """The exit code of the first step that fails, or 0. A workflow of ours has one job."""
        (job,) = loaded(workflow)["jobs"].values()
        return self.steps(job["steps"], {**self.known, **known}, {}, install=False)

    def steps(
        self, steps: list[dict[str, Any]], known: Mapping[str, str], beside: Mapping[str, str], *, install: bool
    ) -> int:
        values = dict(known)
        for step in steps:
            if not self._wanted(step, values) or (step.get("name") == "Install" and not install):
                continue
            environ = {
                **beside,
                **{name: self._filled(str(value), values) for name, value in step.get("env", {}).items()},
            }
            code, outputs = self._step(step, values, environ)
            values |= {f"steps.{step.get('id')}.outputs.{name}": value for name, value in outputs.items()}
            if code:
                return code
        self.known |= {name: value for name, value in values.items() if name.startswith("steps.")}
        return 0

    def _wanted(self, step: Mapping[str, Any], values: Mapping[str, str]) -> bool:
        said: str | None = step.get("if")
        if said is None:
            return True
        name, equals, wanted = said.partition(" == ")
        assert equals, f"`{said}` is more than this runner knows"
        return values.get(name, "") == wanted.strip("'")

    def _filled(self, text: str, values: Mapping[str, str]) -> str:
        return _EXPRESSION.sub(lambda found: values[found[1]], text)

    def _step(
        self, step: dict[str, Any], values: Mapping[str, str], environ: Mapping[str, str]
    ) -> tuple[int, dict[str, str]]:
        given = {name: self._filled(str(value), values) for name, value in step.get("with", {}).items()}
        uses = step.get("uses", "")
        if "run" in step:
            assert "${{" not in step["run"], "what others wrote must never become a script"
            return self.run(step["run"], environ)
        if "/.github/actions/reconciler@" in uses:
            return self._ours(given, environ)
        if uses.startswith("actions/upload-artifact@"):
            self._copy(self.workspace / given["path"], self.artifacts / given["name"])
        elif uses.startswith("actions/download-artifact@"):
            shutil.copytree(self.artifacts / given["name"], self.workspace / given["path"], dirs_exist_ok=True)
        else:
            assert uses.startswith(("actions/checkout@", "actions/setup-python@")), uses
            if "repository" in given:  # this project, instead of the one the workflow belongs to
                shutil.copytree(ROOT / ".github", self.workspace / ".github", dirs_exist_ok=True)
        return 0, {}

    def _copy(self, source: Path, target: Path) -> None:
        target.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True)
        else:
            shutil.copy(source, target)

    def _ours(self, given: Mapping[str, str], environ: Mapping[str, str]) -> tuple[int, dict[str, str]]:
        action = loaded(ACTION / "action.yml")
        inputs = {
            f"inputs.{name}": str(given.get(name, about.get("default", ""))) for name, about in action["inputs"].items()
        }
        inputs = {name: self._filled(value, self.known) for name, value in inputs.items()}
        inside = Runner(self.workspace, self.temp, {**self.known, **inputs}, self.environ)
        code = inside.steps(action["runs"]["steps"], inside.known, environ, install=False)
        self.said += inside.said
        outputs = {name: inside.known.get(one["value"][4:-3], "") for name, one in action["outputs"].items()}
        return code, outputs

    def run(self, script: str, environ: Mapping[str, str]) -> tuple[int, dict[str, str]]:
        output = self.temp / "output"
        output.write_text("")
        path = f"{self.temp / 'bin'}:{os.environ['PATH']}"
        inherited = {"PATH": path, "HOME": str(self.temp), "PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8"}
        runner = {
            "RUNNER_TEMP": str(self.temp), "GITHUB_ACTION_PATH": str(ACTION), "GITHUB_OUTPUT": str(output),
            "GITHUB_STEP_SUMMARY": str(self.temp / "summary"), "GITHUB_REPOSITORY": "somebody/topologies",
            "GITHUB_SHA": "0123456789abcdef", "GITHUB_WORKSPACE": str(self.workspace),
        }  # fmt: skip
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script], cwd=self.workspace,
            env={**inherited, **runner, **self.environ, **environ}, capture_output=True, text=True, timeout=600, check=False,
        )  # fmt: skip
        self.said += done.stdout + done.stderr
        pairs = (line.partition("=") for line in output.read_text().splitlines())
        return done.returncode, {name: value for name, _, value in pairs}
