"""What pipelines install: the release they name, by the name that is ours, and a branch or commit where one is wanted."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.ci.runner import ACTION, ROOT, loaded

DESCRIBED = {
    "at a release": ("v0.1.0", "", "nats-reconciler==0.1.0"),
    "at a release to come": ("v0.2.0rc1", "", "nats-reconciler==0.2.0rc1"),
    "after a release": ("v0.1.0-3-g3903018", "", "the checkout"),
    "before any release": ("", "", "the checkout"),
    "in a clone": ("$Format:%(describe:tags=true,match=v[0-9]*)$", "", "the checkout"),
    "another one is asked for": ("v0.1.0", "0.0.9", "nats-reconciler==0.0.9"),
}


@pytest.mark.parametrize(("described", "asked", "wanted"), DESCRIBED.values(), ids=DESCRIBED.keys())
def test_the_action_installs_its_own_release_or_else_its_own_code(
    described: str, asked: str, wanted: str, tmp_path: Path
) -> None:
    action = tmp_path / ".github" / "actions" / "reconciler"
    action.mkdir(parents=True)
    (tmp_path / ".git_archival.txt").write_text(f"node: 3903018\ndescribe-name: {described}\n")
    done = subprocess.run(
        [ACTION / "requirement.sh"], capture_output=True, text=True, check=True,
        env={"PATH": os.environ["PATH"], "GITHUB_ACTION_PATH": str(action), "VERSION": asked},
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
        for version in re.findall(r"(?:reconciler[@=]=?v?|ref: v)(\d+\.\d+\.\d+)", path.read_text(encoding="utf-8"))
    }
    assert {version for _, version in named} == {heading[1]}
    assert {".gitlab-ci.yml", "pre-commit-config.yaml", "plan.yml", "comment.yml"} <= {name for name, _ in named}


def test_a_pipeline_of_gitlab_can_be_given_another_one() -> None:
    common = loaded(ROOT / "examples" / "ci" / "gitlab" / ".gitlab-ci.yml")[".reconciler"]
    assert common["variables"]["RECONCILER"].startswith("nats-reconciler==")
    assert 'pip install --quiet "$RECONCILER"' in common["before_script"]
