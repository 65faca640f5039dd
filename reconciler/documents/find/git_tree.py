"""Files of a git revision, and of its submodules, under the names they have in the working tree. Nothing is checked out."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from pathlib import Path, PurePosixPath

from reconciler.documents.find.git import ask_git
from reconciler.documents.parse.files import ENDINGS, no_files_error
from reconciler.documents.parse.tree import decode
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import CannotContinue, Diagnostic
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
    repository: Path
    """The top of the working tree to which it belongs; a submodule has its own."""


@dataclass(slots=True)
class GitTree:
    """The tree of one commit. Paths are those of the working tree, relative to the current folder or absolute."""

    revision: str
    """The revision as the user wrote it."""
    root: Path
    """The top of the working tree."""
    commit: str
    files: dict[str, RevisionFile] = field(default_factory=dict)
    """Files by their path from the root, with slashes: also those of submodules, at the commit that this one names. A
    submodule that lacks its commit here stands for its files."""
    submodules: dict[str, str] = field(default_factory=dict)
    """The commits of submodules by their path from the root."""
    texts: dict[str, bytes] = field(default_factory=dict, repr=False)
    """Texts by id. They are read at once, because a question for each of thousands of files takes long."""

    @classmethod
    def at(cls, revision: str, near: Path) -> GitTree:
        """Open a revision. Raises CannotContinue where there is no git, no repository around this path, or no such
        revision."""
        folder = next(ancestor for ancestor in (near, *near.absolute().parents) if ancestor.is_dir())
        root = _root_around(folder)
        tree = cls(revision, root, _resolve_commit(root, revision))
        tree._list_files("", tree.commit)
        return tree

    def _list_files(self, above: str, commit: str) -> None:
        """List the files of the repository whose top is this folder, and of its submodules."""
        repository = self.root / above
        for line in _git(repository, "ls-tree", "-r", "-z", "--full-tree", commit).split(b"\0")[:-1]:
            properties, _, below = line.partition(b"\t")
            mode, kind, id_ = properties.decode().split()
            name = f"{above}{os.fsdecode(below)}"
            if kind == MODULE:
                self.submodules[name] = id_
            if kind == MODULE and _has_commit(self.root / name, id_):
                self._list_files(f"{name}/", id_)
            else:
                self.files[name] = RevisionFile(mode, kind, id_, repository)

    def tree_at_merge_base(self, other: str) -> GitTree:
        """Return the tree of the last common commit, as a pull request is compared; where there is none, return this
        one."""
        shared = self._ask_git_or_empty("merge-base", self.commit, _resolve_commit(self.root, other))
        return GitTree.at(shared, self.root) if shared and shared != self.commit else self

    def name_in_outer_repository(self) -> str:
        """Return the path of this submodule in the repository around it; empty where there is none."""
        around = self._ask_git_or_empty("rev-parse", "--show-superproject-working-tree")
        return os.path.relpath(self.root, around) if around else ""

    def _ask_git_or_empty(self, *question: str) -> str:
        try:
            return _git(self.root, *question).decode().strip()
        except CannotContinue:
            return ""

    def find(self, paths: Sequence[Path]) -> tuple[list[Path], list[Diagnostic]]:
        """Find files as `find_files` does on disk: a folder means every YAML file below it except hidden ones."""
        by_name: dict[str, Path] = {}
        problems = []
        for path in paths:
            self._refuse_outside(path)
            files_below = list(self._files_below(path))
            for name, shown in files_below:
                by_name.setdefault(name, shown)
            if not files_below:
                problems.append(no_files_error(path, f"{self._why_lacking(path)} in revision {self.revision}"))
        self._read_texts(by_name)
        return [*by_name.values()], problems

    def holds(self, path: Path) -> bool:
        """Return whether a path of the working tree belongs to this repository, and to no submodule without its
        commit."""
        return ".." not in self.name_of(path).parts and not self._unread_submodule_of(path)

    def _refuse_outside(self, path: Path) -> None:
        """Refuse paths outside the repository, which would all look new."""
        if ".." in self.name_of(path).parts:
            raise _git_error(
                f"`{path}` lies outside the repository {self.root}", "compare each repository in a run of its own"
            )
        if module := self._unread_submodule_of(path):
            raise _git_error(f"`{path}` lies in {self.lacking(module)}", self.how_to_fetch(module))

    def lacking(self, module: str) -> str:
        """Name a submodule with the commit that its folder lacks."""
        return f"the submodule {module}, which lacks commit {self.submodules[module]} here"

    def how_to_fetch(self, module: str) -> str:
        """Say how such a submodule gets its commit."""
        name = shlex.quote(os.path.relpath(self.root / module))
        return (
            f"{self.command_to_update(module, '--init')} && git -C {name} fetch origin {self.submodules[module]}; "
            "in CI, fetch submodules with their history (actions/checkout: submodules: true, fetch-depth: 0)"
        )

    def command_to_update(self, module: str, *options: str) -> str:
        """Return the command that checks a submodule out where its pointer leads."""
        above, name = os.path.split(os.path.relpath(self.root / module))
        return shlex.join(("git", *(("-C", above) if above else ()), "submodule", "update", *options, name))

    def unread_submodules(self) -> dict[str, str]:
        """Return the submodules that lack their commit here, with that commit."""
        return {name: id_ for name, id_ in self.submodules.items() if name in self.files}

    def _unread_submodule_of(self, path: Path) -> str | None:
        unread = self.unread_submodules()
        return next((name for name in unread if self.name_of(path).is_relative_to(name)), None)

    def repository_of(self, path: Path) -> tuple[Path, str]:
        """Return the top of the repository that holds a path of the working tree, and its commit: those of a submodule,
        or of the tree."""
        holding = [name for name in self.submodules.keys() - self.files if self.name_of(path).is_relative_to(name)]
        innermost = max(holding, key=len, default=None)
        return (self.root / innermost, self.submodules[innermost]) if innermost else (self.root, self.commit)

    def _read_texts(self, names: Iterable[str]) -> None:
        wanted = defaultdict[Path, set[str]](set)
        for stored in (self.files[name] for name in names):
            if stored.id not in self.texts:
                wanted[stored.repository].add(stored.id)
        for repository, ids in wanted.items():
            self._keep_texts(_git(repository, "cat-file", "--batch", given="".join(f"{id_}\n" for id_ in ids)))

    def _keep_texts(self, output: bytes) -> None:
        position = 0
        while position < len(output):
            header, position = output[position : (end := output.index(b"\n", position))].split(), end + 1
            if header[-1].isdigit():  # otherwise it is missing, and reading it reports that
                self.texts[header[0].decode()] = output[position : position + int(header[-1])]
                position += int(header[-1]) + 1

    def _text_of_blob(self, stored: RevisionFile) -> bytes:
        return (
            self.texts[stored.id] if stored.id in self.texts else _git(stored.repository, "cat-file", "blob", stored.id)
        )

    def read(self, path: Path) -> tuple[str, list[Diagnostic]]:
        """Return the text in this revision, and its problems; the text is empty where the revision has no such file."""
        name = str(self.name_of(path))
        if (stored := self.files.get(name)) is None:
            return "", [no_files_error(path, f"does not exist in revision {self.revision}")]
        if stored.mode == LINK:
            return self._read_linked(path, name)
        return decode(str(path), self._text_of_blob(stored))

    def _read_linked(self, path: Path, name: str) -> tuple[str, list[Diagnostic]]:
        """Follow a link as it was in that revision."""
        target = os.fsdecode(self._text_of_blob(self.files[name]))
        leads_to = os.path.normpath(PurePosixPath(name).parent / target)
        stored = self.files.get(leads_to)
        if stored is None or stored.mode == LINK:
            return "", [no_files_error(path, f"is a link that leads to no file of revision {self.revision}")]
        return decode(str(path), self._text_of_blob(stored))

    def _files_below(self, path: Path) -> Iterator[tuple[str, Path]]:
        name = str(self.name_of(path))
        if name in self.files:
            yield name, path
            return
        above = "" if name == "." else f"{name}/"
        for stored_name in sorted(self.files):
            below = stored_name.removeprefix(above) if stored_name.startswith(above) else ""
            hidden = any(part.startswith(".") for part in PurePosixPath(below).parts)
            if below.endswith(ENDINGS) and not hidden and self.files[stored_name].kind == "blob":
                yield stored_name, path / below

    def _why_lacking(self, path: Path) -> str:
        if self._has_folder(path):
            return "holds no *.yaml or *.yml file"
        return "exists now, but does not exist" if path.exists() else "does not exist"

    def _has_folder(self, path: Path) -> bool:
        above = f"{self.name_of(path)}/"
        return above == "./" or any(stored_name.startswith(above) for stored_name in self.files)

    def name_of(self, path: Path) -> PurePosixPath:
        """Return the path from the root; links on the way are those of the working tree's folders above the file."""
        absolute = Path(os.path.realpath(path.parent)) / path.name if path.name not in ("", "..") else path.resolve()
        return PurePosixPath(os.path.relpath(absolute, os.path.realpath(self.root)))


def _root_around(folder: Path) -> Path:
    """Find the top of the repository from which revisions are named: where the current folder lies in it, the one around
    a submodule."""
    here = Path(os.path.realpath(Path.cwd()))
    innermost = around = Path(_rev_parse(folder, "--show-toplevel"))
    while not here.is_relative_to(os.path.realpath(around)):
        if not (outer := _rev_parse(around, "--show-superproject-working-tree")):
            return innermost
        around = Path(outer)
    return around


def _rev_parse(folder: Path, question: str) -> str:
    return _git(folder, "rev-parse", question).decode().rstrip("\n")


def head_commit(repository: Path) -> str:
    """Return the commit that a working tree has checked out."""
    return _resolve_commit(repository, "HEAD")


def _has_commit(submodule: Path, commit: str) -> bool:
    if not (submodule / ".git").exists():
        return False  # git would answer for the repository around it
    try:
        _git(submodule, "cat-file", "-e", f"{commit}^{{commit}}")
    except CannotContinue:
        return False
    return True


def _resolve_commit(root: Path, revision: str) -> str:
    try:
        return (
            _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
            .decode()
            .strip()
        )
    except CannotContinue:
        raise _git_error(
            f"git knows no revision `{revision}` in {root}",
            "check the name; in CI, fetch enough history (actions/checkout: fetch-depth: 0)",
        ) from None


def _git(folder: Path, *question: str, given: str = "") -> bytes:
    try:
        with waiting(f"for git {question[0]}", PATIENCE):
            return ask_git(folder, *question, patience=PATIENCE, given=given.encode())
    except FileNotFoundError:
        raise _git_error("`git` reads revisions, but is not installed", "install git") from None
    except subprocess.CalledProcessError as error:
        wrong = error.stderr.decode(errors="replace").strip().removeprefix("fatal: ").splitlines()[:1]
        raise _git_error(f"git says: {''.join(wrong) or 'nothing'}", "run this inside the repository") from None
    except subprocess.TimeoutExpired:
        raise _git_error(f"git did not answer within {PATIENCE:g} s", "try `git fetch` by hand") from None


def _git_error(message: str, fix: str) -> CannotContinue:
    return CannotContinue.because("XX540", "git", message, fix=fix)
