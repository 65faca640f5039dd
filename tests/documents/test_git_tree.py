"""A revision reads as the working tree did when it was committed, whatever has become of the files since."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from reconciler.documents.find.git import path_from_root
from reconciler.documents.find.git_tree import GitTree
from reconciler.documents.read.load import load
from reconciler.journeys.plan.going_back import EarlierFiles
from reconciler.kinds import REGISTRY
from reconciler.model.diagnostic import CannotContinue
from reconciler.model.run_options import Origin
from tests.support.repository import Repository

TOPOLOGY = "reconciler: 1\ntopology: orders\nstreams: {ORDERS: {subjects: [orders.>]}}\n"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    made = Repository.at(tmp_path / "repository")
    monkeypatch.chdir(made.folder)
    return made


def test_a_folder_is_read_as_it_was(repository: Repository) -> None:
    repository.commit({"streams/a.yaml": TOPOLOGY, "streams/deep/b.yml": "kv_buckets: {CONFIG: {}}\n"})
    repository.commit({"streams/a.yaml": "no: longer", "streams/deep/b.yml": None})
    loaded = load([Path("streams")], REGISTRY, GitTree.at("HEAD~1", Path("streams")))
    assert loaded.topology is not None
    assert [str(one.address) for one in loaded.topology.resources] == ["stream/ORDERS", "kv_bucket/CONFIG"]
    assert str(loaded.topology.resources[0].where("subjects")) == "streams/a.yaml:3:30"


def test_hidden_files_and_other_endings_are_left_out(repository: Repository) -> None:
    repository.commit({"t/a.yaml": "", "t/.b.yaml": "", "t/.c/d.yaml": "", "t/e.txt": ""})
    found, problems = GitTree.at("HEAD", Path("t")).find([Path("t")])
    assert (found, problems) == ([Path("t/a.yaml")], [])


def test_a_path_works_from_below_and_from_outside(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    repository.commit({"streams/a.yaml": TOPOLOGY, "other/x.yaml": ""})
    monkeypatch.chdir(repository.folder / "other")
    for path in (Path("../streams"), repository.folder / "streams", Path("../streams/a.yaml")):
        assert load([path], REGISTRY, GitTree.at("main", path)).topology is not None


def test_a_folder_that_is_gone_from_the_working_tree_is_found(repository: Repository) -> None:
    repository.commit({"old/a.yaml": TOPOLOGY})
    repository.commit({"old/a.yaml": None, "new/a.yaml": TOPOLOGY})
    assert load([Path("old")], REGISTRY, GitTree.at("HEAD~1", Path("old"))).topology is not None


def test_what_that_revision_did_not_have_is_said(repository: Repository) -> None:
    repository.commit({"a.yaml": TOPOLOGY})
    found, problems = GitTree.at("HEAD", Path("b")).find([Path("b"), Path("b.yaml")])
    assert found == []
    assert [one.message for one in problems] == [
        "`b` does not exist in revision HEAD", "`b.yaml` does not exist in revision HEAD",
    ]  # fmt: skip


def test_links_lead_where_they_did(repository: Repository) -> None:
    (repository.folder / "linked.yaml").symlink_to("real/a.yaml")
    (repository.folder / "out.yaml").symlink_to("/etc/hostname")
    repository.commit({"real/a.yaml": TOPOLOGY})
    tree = GitTree.at("HEAD", Path())
    assert load([Path("linked.yaml")], REGISTRY, tree).topology is not None
    assert [one.message for one in load([Path("out.yaml")], REGISTRY, tree).diagnostics][:1] == [
        "`out.yaml` is a link that leads to no file of revision HEAD"
    ]


@pytest.mark.parametrize("revision", ["nowhere", "--output=x", "HEAD~9", "HEAD:a.yaml"])
def test_no_such_revision(repository: Repository, revision: str) -> None:
    repository.commit({"a.yaml": TOPOLOGY})
    with pytest.raises(CannotContinue, match="knows no revision") as raised:
        GitTree.at(revision, Path())
    assert "fetch-depth" in (raised.value.diagnostics[0].fix or "")


def test_outside_of_a_repository(tmp_path: Path) -> None:
    with pytest.raises(CannotContinue, match="not a git repository"):
        GitTree.at("HEAD", tmp_path)


def test_without_git(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(CannotContinue, match="but is not installed"):
        GitTree.at("HEAD", Path())


def test_names_are_taken_as_they_are(repository: Repository) -> None:
    """Spaces, quotes and newlines in names; git would quote them for people."""
    repository.commit({'t/a "b" ü\n.yaml': TOPOLOGY})
    assert load([Path("t")], REGISTRY, GitTree.at("HEAD", Path())).topology is not None
    assert subprocess.run(["git", "status", "--short"], capture_output=True, check=True).stdout == b""


def test_a_submodule_is_read_at_the_commit_that_its_pointer_names(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = Repository.at(repository.folder / "inner")
    pointer = inner.commit({"a.yaml": TOPOLOGY})
    commit = repository.commit({"b.yaml": ""})
    inner.commit({"a.yaml": "no: longer"})
    tree = GitTree.at("main", Path("inner"))
    assert load([Path("inner")], REGISTRY, tree).topology is not None
    assert (tree.repository_of(Path("inner/a.yaml")), tree.repository_of(Path("b.yaml"))) == (
        (inner.folder, pointer), (repository.folder, commit)
    )  # fmt: skip
    assert EarlierFiles.at("main", [Path("inner")]).came_from == Origin(repository=f"root:{pointer}", revision=pointer)
    monkeypatch.chdir(inner.folder)
    assert GitTree.at("main", Path()).root == inner.folder
    monkeypatch.chdir("/")
    assert GitTree.at("main", inner.folder).root == inner.folder


def test_findings_name_files_from_the_root_of_what_is_checked_out(repository: Repository) -> None:
    """As a CI runner shows them: in a submodule from the outermost repository, in a worktree from its own root."""
    origins = repository.folder.parent
    deep, inner = (Repository.at(origins / name) for name in ("deep", "inner"))
    deep.commit({"d.yaml": ""})
    inner.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(deep.folder), "libs/deep")
    inner.commit({"t/a.yaml": ""})
    repository.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner.folder), "streams")
    repository.commit({"b.yaml": ""})
    repository.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init", "--recursive")
    repository.git("worktree", "add", "--quiet", "modules/beside")
    Repository.at(repository.folder / "own")
    files = ("b.yaml", "streams/t/a.yaml", "streams/libs/deep/d.yaml", "modules/beside/b.yaml", "own/c.yaml")
    assert [path_from_root(file) for file in files] == [*files[:3], "b.yaml", "c.yaml"]
