"""What pipelines install: the release they name, by the name that is ours, and a branch or commit where one is wanted."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.ci.container import INSTRUCTIONS
from tests.ci.runner import ACTION, ROOT, loaded

PRE_COMMIT_HOOKS = loaded(ROOT / "examples" / "ci" / "pre-commit-config.yaml")["repos"][0]["hooks"]
DESCRIBED = {
    "at a release": ("v0.1.0", "", "policies", "nats-reconciler[policies]==0.1.0"),
    "at a release to come": ("v0.2.0rc1", "", "policies", "nats-reconciler[policies]==0.2.0rc1"),
    "after a release": ("v0.1.0-3-g3903018", "", "policies", "the checkout[policies]"),
    "before any release": ("", "", "policies", "the checkout[policies]"),
    "in a clone": ("$Format:%(describe:tags=true,match=v[0-9]*)$", "", "policies", "the checkout[policies]"),
    "another one is asked for": ("v0.1.0", "0.0.9", "policies", "nats-reconciler[policies]==0.0.9"),
    "another extra is asked for": ("v0.1.0", "", "policies,dev", "nats-reconciler[policies,dev]==0.1.0"),
    "the command alone": ("v0.1.0", "", "", "nats-reconciler==0.1.0"),
    "the code alone": ("", "", "", "the checkout"),
}


@pytest.mark.parametrize(("described", "asked", "extras", "wanted"), DESCRIBED.values(), ids=DESCRIBED.keys())
def test_the_action_installs_its_own_release_or_else_its_own_code(
    described: str, asked: str, extras: str, wanted: str, tmp_path: Path
) -> None:
    action = tmp_path / ".github" / "actions" / "reconciler"
    action.mkdir(parents=True)
    (tmp_path / ".git_archival.txt").write_text(f"node: 3903018\ndescribe-name: {described}\n")
    done = subprocess.run(
        [ACTION / "requirement.sh"], capture_output=True, text=True, check=True,
        env={"PATH": os.environ["PATH"], "GITHUB_ACTION_PATH": str(action), "VERSION": asked, "EXTRAS": extras},
    )  # fmt: skip
    assert done.stdout.strip() == wanted.replace("the checkout", str(tmp_path))


def test_hosts_are_told_to_write_the_tag_into_what_they_pack() -> None:
    """Else no action that is downloaded would know of which release it is."""
    assert ".git_archival.txt export-subst" in (ROOT / ".gitattributes").read_text().splitlines()
    assert "describe-name: $Format:%(describe:" in (ROOT / ".git_archival.txt").read_text()


def test_every_example_names_the_newest_release_of_the_changelog() -> None:
    heading = re.search(r"^## (?:Unreleased \()?(\d+\.\d+\.\d+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert heading
    examples = [path for path in (ROOT / "examples" / "ci").rglob("*") if path.is_file()]
    named = {
        (path.name, version)
        for path in (*examples, *(ROOT / "docs" / "start").glob("*.md"))
        for version in re.findall(
            r"(?:reconciler(?:\[\w+\])?[@=]=?v?|ref: v)(\d+\.\d+\.\d+)", path.read_text(encoding="utf-8")
        )
    }
    assert {version for _, version in named} == {heading[1]}
    assert {".gitlab-ci.yml", "pre-commit-config.yaml", "plan.yml", "comment.yml"} <= {name for name, _ in named}


def test_a_pipeline_of_gitlab_can_be_given_another_one() -> None:
    common = loaded(ROOT / "examples" / "ci" / "gitlab" / ".gitlab-ci.yml")[".reconciler"]
    assert common["variables"]["RECONCILER"].startswith("nats-reconciler[policies]==")
    assert 'pip install --quiet "$RECONCILER"' in common["before_script"]


def test_pipelines_judge_policies_without_being_told() -> None:
    """A topology with policies needs one package more, and a pipeline is where policies matter."""
    inputs = loaded(ACTION / "action.yml")["inputs"]
    assert inputs["extras"]["default"] == "policies"
    assert ("ARG", "EXTRAS=policies") in INSTRUCTIONS
    (validate,) = (hook for hook in PRE_COMMIT_HOOKS if hook["entry"].startswith("reconciler validate"))
    assert validate["additional_dependencies"][0].startswith("nats-reconciler[policies]==")
