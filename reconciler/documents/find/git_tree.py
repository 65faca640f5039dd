"""Files of a git revision, under the names they have in the working tree. Nothing is checked out."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from pathlib import Path, PurePosixPath

from reconciler.documents.find.git import ask_git
from reconciler.documents.read.complain import complain
from reconciler.documents.read.files import ENDINGS
from reconciler.documents.read.syntax import decode
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import CannotContinue, Diagnostic, SourceSpan
from reconciler.model.waits import waiting

PATIENCE = 60.0
"""Seconds for one question; a partial clone may have to fetch the answer."""
LINK, FOLDER, MODULE = "120000", "tree", "commit"


@dataclass(frozen=True, slots=True)
class RevisionFile:
    """One file of a revision."""

    mode: str
    kind: str
    id: str


@dataclass(slots=True)
class GitTree:
    """The tree of one commit. Paths are those of the working tree, relative to the current folder or absolute."""

    revision: str
    """The revision as the user wrote it."""
    root: Path
    """The top of the working tree."""
    commit: str
    files: dict[str, RevisionFile] = field(default_factory=dict)
    """Files by their path from the root, with slashes."""
    texts: dict[str, bytes] = field(default_factory=dict, repr=False)
    """Texts by id. They are read at once, because a question for each of thousands of files takes long."""

    @classmethod
    def at(cls, revision: str, near: Path) -> GitTree:
        """Open a revision. Raises CannotContinue where there is no git, no repository around this path, or no such
        revision."""
        folder = next(one for one in (near, *near.absolute().parents) if one.is_dir())
        root = Path(_git(folder, "rev-parse", "--show-toplevel").decode().rstrip("\n"))
        commit = _commit(root, revision)
        tree = cls(revision, root, commit)
        for line in _git(root, "ls-tree", "-r", "-z", "--full-tree", commit).split(b"\0")[:-1]:
            about, _, name = line.partition(b"\t")
            mode, kind, id_ = about.decode().split()
            tree.files[os.fsdecode(name)] = RevisionFile(mode, kind, id_)
        return tree

    def where_it_left(self, other: str) -> GitTree:
        """Return the tree of the last common commit, as a pull request is compared; where there is none, return this
        one."""
        shared = self._ask("merge-base", self.commit, _commit(self.root, other))
        return GitTree.at(shared, self.root) if shared and shared != self.commit else self

    def _ask(self, *question: str) -> str:
        try:
            return _git(self.root, *question).decode().strip()
        except CannotContinue:
            return ""

    def find(self, paths: Sequence[Path]) -> tuple[list[Path], list[Diagnostic]]:
        """Find files as `find_files` does on disk: a folder means every YAML file below it except hidden ones."""
        found: dict[str, Path] = {}
        problems = []
        for path in paths:
            self._must_hold(path)
            inside = list(self._at(path))
            for name, shown in inside:
                found.setdefault(name, shown)
            if not inside:
                problems.append(self._about(path, f"{self._lacking(path)} in revision {self.revision}"))
        self._fetch(found)
        return [*found.values()], problems

    def _must_hold(self, path: Path) -> None:
        """Refuse paths outside the repository, which would all look new."""
        name = PurePosixPath(self._name(path))
        if ".." in name.parts:
            raise _git_fails(
                f"`{path}` lies outside the repository {self.root}", "compare each repository in a run of its own"
            )
        if module := self.module_of(path):
            raise _git_fails(
                f"`{path}` lies in the submodule {module}, which has its own revisions", f"run this inside {module}"
            )

    def module_of(self, path: Path) -> str | None:
        """Return the submodule that holds a file of the working tree."""
        name = PurePosixPath(self._name(path))
        above = (str(one) for one in (name, *name.parents))
        return next((one for one in above if one in self.files and self.files[one].kind == MODULE), None)

    def _fetch(self, names: Iterable[str]) -> None:
        wanted = {self.files[name].id for name in names} - self.texts.keys()
        said = _git(self.root, "cat-file", "--batch", given="".join(f"{id_}\n" for id_ in wanted)) if wanted else b""
        at = 0
        while at < len(said):
            about, at = said[at : (end := said.index(b"\n", at))].split(), end + 1
            if about[-1].isdigit():  # otherwise it is missing, and reading it reports that
                self.texts[about[0].decode()] = said[at : at + int(about[-1])]
                at += int(about[-1]) + 1

    def _text(self, id_: str) -> bytes:
        return self.texts[id_] if id_ in self.texts else _git(self.root, "cat-file", "blob", id_)

    def read(self, path: Path) -> tuple[str, list[Diagnostic]]:
        """Return the text in this revision, and its problems; the text is empty where the revision has no such file."""
        name = self._name(path)
        if (stored := self.files.get(name)) is None:
            return "", [self._about(path, f"does not exist in revision {self.revision}")]
        if stored.mode == LINK:
            return self._linked(path, name)
        return decode(str(path), self._text(stored.id))

    def _linked(self, path: Path, name: str) -> tuple[str, list[Diagnostic]]:
        """Follow a link as it was in that revision."""
        target = os.fsdecode(self._text(self.files[name].id))
        leads_to = os.path.normpath(PurePosixPath(name).parent / target)
        stored = self.files.get(leads_to)
        if stored is None or stored.mode == LINK:
            return "", [self._about(path, f"is a link that leads to no file of revision {self.revision}")]
        return decode(str(path), self._text(stored.id))

    def _at(self, path: Path) -> Iterator[tuple[str, Path]]:
        name = self._name(path)
        if name in self.files:
            yield name, path
            return
        above = "" if name == "." else f"{name}/"
        for one in sorted(self.files):
            below = one.removeprefix(above) if one.startswith(above) else ""
            hidden = any(part.startswith(".") for part in PurePosixPath(below).parts)
            if below.endswith(ENDINGS) and not hidden and self.files[one].kind == "blob":
                yield one, path / below

    def _lacking(self, path: Path) -> str:
        if self._has_folder(path):
            return "holds no *.yaml or *.yml file"
        return "exists now, but does not exist" if path.exists() else "does not exist"

    def _has_folder(self, path: Path) -> bool:
        above = f"{self._name(path)}/"
        return above == "./" or any(one.startswith(above) for one in self.files)

    def _name(self, path: Path) -> str:
        """The path from the root; links on the way are those of the working tree's folders above the file."""
        whole = Path(os.path.realpath(path.parent)) / path.name if path.name not in ("", "..") else path.resolve()
        return PurePosixPath(os.path.relpath(whole, os.path.realpath(self.root))).as_posix()

    def _about(self, path: Path, what: str) -> Diagnostic:
        return complain("XX520", "no-files", f"`{path}` {what}", SourceSpan(str(path), 1, 1, 1, 1))


def _commit(root: Path, revision: str) -> str:
    try:
        return (
            _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
            .decode()
            .strip()
        )
    except CannotContinue:
        raise _git_fails(
            f"git knows no revision `{revision}` in {root}",
            "check the name; in CI, fetch enough history (actions/checkout: fetch-depth: 0)",
        ) from None


def _git(folder: Path, *question: str, given: str = "") -> bytes:
    try:
        with waiting(f"for git {question[0]}", PATIENCE):
            return ask_git(folder, *question, patience=PATIENCE, given=given.encode())
    except FileNotFoundError:
        raise _git_fails("`git` reads revisions, but is not installed", "install git") from None
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode(errors="replace").strip().removeprefix("fatal: ").splitlines()[:1]
        raise _git_fails(f"git says: {''.join(said) or 'nothing'}", "run this inside the repository") from None
    except subprocess.TimeoutExpired:
        raise _git_fails(f"git did not answer within {PATIENCE:g} s", "try `git fetch` by hand") from None


def _git_fails(message: str, fix: str) -> CannotContinue:
    return CannotContinue.because("XX540", "git", message, fix=fix)
