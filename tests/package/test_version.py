"""Which version it says it is: that of the tag, also without git, and never a release that it is not."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.package.building import VERSION, copied, unpacked, version_of
from tests.support.repository import Repository


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    return copied(tmp_path_factory.mktemp("version") / "project")


@pytest.fixture
def tagged(repository: Repository) -> Iterator[Repository]:
    repository.git("tag", f"v{VERSION}")
    yield repository
    repository.git("tag", "--delete", f"v{VERSION}")


def test_a_commit_after_the_tag_is_on_the_way_to_the_next_release(tagged: Repository) -> None:
    assert version_of(tagged.folder) == VERSION
    tagged.git("commit", "--quiet", "--allow-empty", "--message", "later")
    assert re.fullmatch(r"7\.8\.10\.dev1\+g[0-9a-f]+", version_of(tagged.folder))


def test_a_clone_that_knows_no_tags_is_built_as_no_release(repository: Repository, tmp_path: Path) -> None:
    """As checkouts of CI are: one commit deep."""
    repository.git("clone", "--quiet", "--depth=1", repository.folder.as_uri(), str(tmp_path / "clone"))
    head = repository.git("rev-parse", "--short=7", "HEAD")
    assert re.fullmatch(rf"0\.0\.0\.dev\d+\+g{head}\w*", version_of(tmp_path / "clone"))


def test_an_archive_of_a_release_knows_its_tag(tagged: Repository, tmp_path: Path) -> None:
    tagged.git("tag", "--force", f"v{VERSION}")
    assert version_of(unpacked(tagged, tmp_path)) == VERSION


def test_files_that_came_without_git_are_no_release(repository: Repository, tmp_path: Path) -> None:
    folder = unpacked(repository, tmp_path)
    (folder / ".git_archival.txt").unlink()
    assert version_of(folder) == "0.0.0.dev0"


def test_a_working_copy_says_that_it_is_one_whatever_was_built_from_it(tagged: Repository) -> None:
    """A version written down there would be wrong after the next commit."""
    (tagged.folder / ".version.py").write_text(f'__version__ = "{VERSION}"')
    done = subprocess.run(
        [sys.executable, "-m", "reconciler", "--version"], cwd=tagged.folder, env={}, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    assert done.stdout == "reconciler 0.0.0+source\n"
