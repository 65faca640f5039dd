"""What a tag sets off, as far as it goes without the index: built, named and told as it should be, or stopped before."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import uv

from tests.ci.runner import ROOT, Runner, loaded
from tests.package.building import VERSION, copied, run_uv

RELEASE = ROOT / ".github" / "workflows" / "release.yml"
JOBS: dict[str, dict[str, Any]] = loaded(RELEASE)["jobs"]
NOTES = "- It is as fast as before, and smaller."
TOLD = f"\n## {VERSION} (2026-12-01)\n\n{NOTES}\n\n## 7.8.8 (2026-11-30)\n\n- Earlier.\n"


def steps(job: str, runner: Runner, tag: str, upto: str = "") -> int:
    """The exit code of a job, or of what it does up to the step of that name."""
    all_ = JOBS[job]["steps"]
    names = [step.get("name") for step in all_]
    chosen = all_[: names.index(upto) + 1] if upto else all_
    return runner.steps(chosen, {**runner.known, "github.ref_name": tag}, {}, install=False)


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    """A checkout whose changelog tells of the release."""
    repository = copied(tmp_path / "project")
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").replace("\n## ", f"{TOLD}\n## ", 1)
    repository.commit({"CHANGELOG.md": changelog})
    way_out = {name: value for name, value in os.environ.items() if name.startswith(("UV_", "SSL_", "HTTPS_"))}
    environ = {**way_out, "UV_CACHE_DIR": run_uv("cache", "dir").strip()}
    made = Runner(repository.folder, tmp_path / "temp", {"github.token": "t"}, environ)
    (made.temp / "bin" / "uv").symlink_to(uv.find_uv_bin())
    return made


def tagged(runner: Runner, tag: str) -> str:
    subprocess.run(["git", "tag", tag], cwd=runner.workspace, check=True)
    return tag


def test_a_tag_builds_both_files_once_and_tells_what_the_changelog_says(runner: Runner) -> None:
    tag = tagged(runner, f"v{VERSION}")
    assert steps("build", runner, tag) == 0, runner.said
    built = {path.name for path in (runner.artifacts / "dist").iterdir() if not path.name.startswith(".")}
    assert built == {f"nats_reconciler-{VERSION}-py3-none-any.whl", f"nats_reconciler-{VERSION}.tar.gz"}
    assert (runner.artifacts / "notes" / "notes.md").read_text() == f"{NOTES}\n"

    log = runner.temp / "gh.log"
    runner.script(runner.temp / "bin" / "gh", f'printf "%s\\n" "$@" >"{log}"')
    assert steps("tell", runner, tag) == 0, runner.said
    asked = log.read_text().splitlines()
    assert asked[:3] == ["release", "create", tag]
    assert {"--verify-tag", "--latest", "notes/notes.md", *(f"dist/{name}" for name in built)} <= set(asked)


def test_a_release_that_the_changelog_does_not_tell_of_is_not_built(runner: Runner) -> None:
    assert steps("build", runner, tagged(runner, "v7.9.0"), upto="Notes") == 1
    assert "CHANGELOG.md says nothing under `## 7.9.0 (DAY)`" in runner.said


def test_a_tag_that_is_not_written_as_versions_are_is_no_release(runner: Runner) -> None:
    tag = tagged(runner, "v7.8.9-rc.1")
    (runner.workspace / "CHANGELOG.md").write_text("## 7.8.9-rc.1 (2026-12-01)\n\n- New.\n")
    assert steps("build", runner, tag, upto="Build") == 1
    assert "what was built is not v7.8.9-rc.1" in runner.said


def test_a_release_candidate_is_not_called_the_latest(runner: Runner) -> None:
    for name in ("dist", "notes"):
        (runner.artifacts / name).mkdir(parents=True)
    log = runner.temp / "gh.log"
    runner.script(runner.temp / "bin" / "gh", f'printf "%s\\n" "$@" >"{log}"')
    assert steps("tell", runner, "v7.8.9rc1") == 0
    assert "--prerelease" in log.read_text().splitlines()


def test_only_the_job_that_publishes_may_prove_who_it_is_and_it_runs_nothing_of_ours() -> None:
    assert loaded(RELEASE)["permissions"] == {}
    may = {name: job["permissions"] for name, job in JOBS.items()}
    assert [name for name, permissions in may.items() if "id-token" in permissions] == ["publish"]
    assert may["publish"] == {"id-token": "write"}
    publish = JOBS["publish"]
    assert publish["environment"] == "package-index"
    uses = [step["uses"].partition("@")[0] for step in publish["steps"]]
    assert uses == ["actions/download-artifact", "pypa/gh-action-pypi-publish"]


def test_what_was_tried_on_every_python_is_what_is_published() -> None:
    """Nothing is built again, and nothing goes out before all tries are over."""
    assert (JOBS["check"]["needs"], JOBS["publish"]["needs"]) == ("build", "check")
    assert {JOBS[name]["needs"] for name in ("image", "tell")} == {"publish"}
    building = [name for name, job in JOBS.items() if any("make dist" in step.get("run", "") for step in job["steps"])]
    assert building == ["build"]
    tried = JOBS["check"]["strategy"]["matrix"]["python"]
    assert tried == loaded(ROOT / ".github" / "workflows" / "ci.yml")["jobs"]["package"]["strategy"]["matrix"]["python"]
    assert tried[0] == "3.11"
