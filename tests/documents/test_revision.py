"""Where files come from, as git tells; never an error, and never a secret."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from reconciler.documents.find.git import origin, repository_identity
from reconciler.model.run_options import Origin


def git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *who, "-C", str(folder), *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q")
    (tmp_path / "a.yaml").write_text("reconciler: 1\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "first")
    return tmp_path


@pytest.mark.parametrize(
    "url",
    [
        "https://user:token@GitHub.com/org/repo.git",
        "https://github.com:443/org/repo",
        "https://github.com/org/repo/?token=secret",
        "git@github.com:org/repo.git",
        "ssh://git@github.com:22/org/repo.git",
    ],
)
def test_a_repository_is_the_same_however_it_is_cloned(url: str) -> None:
    assert repository_identity(url) == "github.com/org/repo"


@pytest.mark.parametrize("url", ["/srv/git/repo.git", "file:///srv/git/repo.git"])
def test_a_repository_on_disk_is_its_path(url: str) -> None:
    assert repository_identity(url) == "/srv/git/repo.git"


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("https://ci:SECRET@[2001:db8::1]/org/repo.git", "[2001:db8::1]/org/repo"),
        ("https://ci:SECRET@[2001:db8::1]:8443/org/repo.git", "[2001:db8::1]/org/repo"),
        ("SECRET@[::1]:org/repo", "[::1]/org/repo"),
        ("https://u:p@SECRET@host/org/repo", "host/org/repo"),
        ("u:p@SECRET@host:org/repo", "host/org/repo"),
        ("u:SEC/RET@host:org/repo", "host/org/repo"),
        ("https://u:SEC/RET@host/org/repo", "host/org/repo"),
        ("https://u:12/SECRET@host/org/repo", "host/org/repo"),
        ("https://u:SEC?RET@host/org/repo", "host/org/repo"),
        ("https://u:SECRET@host:port/org/repo?token=SECRET", "host/port/org/repo"),
        ("https://u:SECRET@host", "host"),
        ("https:/u:SECRET@host/org/repo", "host/org/repo"),
        ("file://u:SECRET@host/srv/repo", "/srv/repo"),
        ("codecommit::us-east-1://SECRET@repo", "repo"),
        ("helper::https://u:SECRET@host/org/repo", "host/org/repo"),
    ],
)
def test_of_a_remote_nobody_is_told_what_stands_before_the_at_sign(url: str, told: str) -> None:
    assert repository_identity(url) == told


@pytest.mark.parametrize("url", ["https://host/@scope/repo", "git@host:@scope/repo"])
def test_an_at_sign_that_begins_a_name_is_part_of_it(url: str) -> None:
    assert repository_identity(url) == "host/@scope/repo"


def test_a_repository_with_a_remote_is_known_by_it(repository: Path) -> None:
    git(repository, "remote", "add", "origin", "https://ci:secret@example.org/team/topology.git")
    assert origin(repository) == Origin(
        repository="example.org/team/topology", revision=git(repository, "rev-parse", "HEAD")
    )


def test_a_repository_without_a_remote_is_known_by_its_first_commit(repository: Path) -> None:
    first = git(repository, "rev-parse", "HEAD")
    git(repository, "commit", "-q", "--allow-empty", "-m", "second")
    assert origin(repository / "a.yaml").repository == f"root:{first}"


def test_changed_files_make_the_revision_dirty(repository: Path) -> None:
    (repository / "a.yaml").write_text("reconciler: 1 # changed\n")
    revision = origin(repository).revision
    assert revision and revision.endswith("-dirty")


def test_a_folder_outside_a_repository_has_no_origin(tmp_path: Path) -> None:
    assert origin(tmp_path / "missing" / "a.yaml") == Origin()


def test_without_git_there_is_no_origin(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    assert origin(repository) == Origin()


def test_a_hook_does_not_lead_to_another_repository(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", "/nonexistent/.git")
    assert origin(repository).revision == git_without_hook(repository)


def git_without_hook(folder: Path) -> str:
    return (folder / ".git" / (folder / ".git/HEAD").read_text().split()[1]).read_text().strip()
