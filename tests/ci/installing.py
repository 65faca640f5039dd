"""The action's own first step, for real: it takes longer than all its other steps, so `make action` runs it, and CI that.

Before a release is on the index, pip finds it in a folder: `PIP_FIND_LINKS` names the wheel that was built here.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.ci.container import stage
from tests.ci.runner import ROOT, loaded
from tests.package.building import VERSION, Built, build, copied, unpacked
from tests.support.repository import Repository


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """At its release."""
    repository = copied(tmp_path_factory.mktemp("action") / "project")
    repository.git("tag", f"v{VERSION}")
    return repository


@pytest.fixture(scope="module")
def released(project: Repository, tmp_path_factory: pytest.TempPathFactory) -> Built:
    return build(project.folder, tmp_path_factory.mktemp("index"))


def installed(checkout: Path, temp: Path, *, index: Path | None = None, version: str = "") -> list[str]:
    """What is there after the step: which reconciler, as pip lists it and as it calls itself."""
    action = checkout / ".github" / "actions" / "reconciler"
    described = loaded(action / "action.yml")
    install, extras = described["runs"]["steps"][0]["run"], described["inputs"]["extras"]["default"]
    asked = '"$RUNNER_TEMP/reconciler-venv/bin/python" -m pip list --format freeze --no-index | grep nats-reconciler'
    script = f'{install}\n{asked}\n"$RUNNER_TEMP/reconciler-venv/bin/reconciler" --version\n'
    environ = {"RUNNER_TEMP": str(temp), "GITHUB_ACTION_PATH": str(action), "VERSION": version, "EXTRAS": extras,
               "PIP_NO_COMPILE": "1", "PIP_FIND_LINKS": str(index or ""), "PATH": os.environ["PATH"], "HOME": str(temp)}  # fmt: skip
    shell = ["bash", "-eo", "pipefail", "-c", script]
    ran = subprocess.run(shell, env=environ, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()


def test_an_action_used_at_a_release_installs_that_release(
    project: Repository, released: Built, tmp_path: Path
) -> None:
    checkout = unpacked(project, tmp_path)
    (checkout / "pyproject.toml").unlink()  # so that nothing can be built from it
    found = installed(checkout, tmp_path, index=released.wheel.parent)
    assert found == [f"nats-reconciler=={VERSION}", f"reconciler {VERSION}"]
    policy_test = ["test", str(ROOT / "examples" / "policies")]
    ran = subprocess.run([tmp_path / "reconciler-venv" / "bin" / "reconciler", "policy", *policy_test], check=False)
    assert ran.returncode == 0


def test_an_action_used_at_another_commit_installs_the_code_that_is_there(project: Repository, tmp_path: Path) -> None:
    project.commit({"reconciler/later.py": '"""Came after the release."""\n'})
    checkout = unpacked(project, tmp_path)
    listed, said = installed(checkout, tmp_path)
    assert said.startswith("reconciler 7.8.10.dev1+g")
    assert listed.startswith("nats-reconciler==7.8.10.dev1+g")
    assert list((tmp_path / "reconciler-venv").glob("lib/python*/site-packages/reconciler/later.py"))


def test_a_release_can_be_asked_for_by_name(project: Repository, released: Built, tmp_path: Path) -> None:
    found = installed(project.folder, tmp_path, index=released.wheel.parent, version=VERSION)
    assert found == [f"nats-reconciler=={VERSION}", f"reconciler {VERSION}"]


def test_the_image_gets_an_environment_that_works_and_can_install_nothing(released: Built, tmp_path: Path) -> None:
    """The image's own instruction, on this machine's Python and in other folders."""
    (script,) = (value for name, value in stage(0) if name == "RUN")
    script = script.replace("/opt/", f"{tmp_path}/").replace("/dist/", f"{released.wheel.parent}/")
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "EXTRAS": "policies,dev"}
    subprocess.run(["sh", "-c", script], env=environ, check=True)
    programs = {path.name for path in (tmp_path / "reconciler" / "bin").iterdir()}
    assert {"reconciler", "nats-server"} <= programs
    assert not [name for name in programs if name.startswith("pip")]
    ran = subprocess.run(
        [tmp_path / "reconciler" / "bin" / "reconciler", "--version"], capture_output=True, text=True, check=True
    )
    assert ran.stdout == f"reconciler {VERSION}\n"
