"""Every workflow we ship passes the linters people run over theirs, and lets nothing that others wrote become a script."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.ci.runner import ACTION, ROOT, loaded

WORKFLOWS = sorted((ROOT / "examples" / "ci" / "github").glob("*.yml"))
SCHEMAS = {
    "vendor.github-workflows": [*WORKFLOWS, *(ROOT / ".github" / "workflows").glob("*.yml")],
    "vendor.github-actions": [ACTION / "action.yml"],
    "vendor.gitlab-ci": [ROOT / "examples" / "ci" / "gitlab" / ".gitlab-ci.yml"],
    "vendor.dependabot": [ROOT / ".github" / "dependabot.yml"],
}


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)


@pytest.mark.parametrize("schema", SCHEMAS)
def test_every_file_is_as_its_host_wants_it(schema: str) -> None:
    done = run(sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, *map(str, SCHEMAS[schema]))
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_workflow_can_be_tricked() -> None:
    """Injected expressions, credentials left on disk, wide permissions, dangerous triggers."""
    zizmor = Path(sys.executable).parent / "zizmor"
    config = str(ROOT / ".github" / "zizmor.yml")
    done = run(str(zizmor), "--offline", "--no-progress", "--config", config, ".github", *map(str, WORKFLOWS))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_every_workflow_says_what_it_may_and_when_it_is_too_long(workflow: Path) -> None:
    said = loaded(workflow)
    assert said["permissions"] in ({}, {"contents": "read"})
    assert all("timeout-minutes" in job for job in said["jobs"].values())


def test_nobody_is_told_to_install_the_package_that_has_our_name_on_the_index() -> None:
    """It is somebody else's: ours is called nats-reconciler there."""
    by_name = re.compile(r"(?<![\w-])reconciler(\[\w| ?[=~<>!]=| @ )|pip install[^\n]*[\"' ]reconciler")
    told = ("docs", "examples", "reconciler", "schemas", ".github")
    paths = (ROOT / "README.md", *(path for folder in told for path in (ROOT / folder).rglob("*.*")))
    texts = [path for path in paths if path.suffix in (".md", ".py", ".yml", ".yaml", ".json")]
    assert [str(path) for path in texts if by_name.search(path.read_text(encoding="utf-8"))] == []


def test_review_of_forks_has_no_secret_in_reach() -> None:
    text = (ROOT / "examples" / "ci" / "github" / "review.yml").read_text()
    assert "secrets." not in text
    assert "environment:" not in text


HOOKS = loaded(ROOT / "examples" / "ci" / "pre-commit-config.yaml")["repos"][0]["hooks"]
WRONG = {
    "reconciler validate": ("subjectz", "reconciler: 1\ntopology: t\nstreams: {S: {subjectz: [s]}}\n"),
    "reconciler fmt": ("-topology: t", "topology: t\nreconciler: 1\nstreams: {}\n"),
}


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook["name"])
def test_the_pre_commit_hooks_run_what_they_say(hook: dict[str, str], tmp_path: Path) -> None:
    said, text = WRONG[hook["name"]]
    (tmp_path / "streams").mkdir()
    (tmp_path / "streams" / "o.yaml").write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", *hook["entry"].split()], cwd=tmp_path, env={"PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert said in done.stdout + done.stderr
