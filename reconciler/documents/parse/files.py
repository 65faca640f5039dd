"""Finds the files of a topology and reads them. A folder means every *.yaml and *.yml below it except hidden ones.

A file can include fragments below the folder of its topology, and nothing elsewhere.

The keys at the top of a topology's files that hold no resources.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from reconciler.documents.parse.nodes import Node, Scalar, error_at, is_null, node_to_show, shape_in_words, span
from reconciler.documents.parse.nodes import Sequence as Items
from reconciler.documents.parse.tree import decode
from reconciler.model.diagnostic import Diagnostic, SourceSpan

INCLUDE = "include"


def included_files(
    key: Scalar, node: Node, paths: Sequence[Path], above: Sequence[Path], tree: Tree
) -> Iterator[Path | Diagnostic]:
    """Yield each file, or what is wrong with it. `paths` are those of the command line, and `above` are the files on the way
    from there, the last one with this key."""
    for item in node.items if isinstance(node, Items) else [node]:
        if not isinstance(item, Scalar) or is_null(item):
            wrong = f"{INCLUDE} is {shape_in_words(item)}; write a path relative to this file, or a list of them"
            yield error_at("XX504", "wrong-shape", wrong, span(node_to_show(key, item)))
            continue
        if not item.text.isprintable() or not item.text:
            wrong = "is empty" if not item.text else "contains a character that nobody can see"
            yield error_at("XX526", "include", f"a path {wrong}", span(item))
            continue
        path = Path(os.path.normpath(above[-1].parent / item.text))
        root = _folder_of_topology(above[0], paths)
        if Path(item.text).is_absolute() or not _is_below(path, root):
            fix = (
                f"include files below `{root}` only, by paths relative to this file; what several accounts share is one "
                "topology with `environments`"
            )
            yield error_at("XX526", "include", f"`{item.text}` leads out of the topology's folder", span(item), fix=fix)
        elif any(os.path.realpath(path) == os.path.realpath(earlier) for earlier in above):
            chain = " → ".join(map(str, [*above, path]))
            yield error_at("XX526", "include", f"`{item.text}` includes this file again: {chain}", span(item))
        elif path.exists() and not (path.is_file() or path.is_dir()):
            yield error_at("XX526", "include", f"`{path}` is not a regular file", span(item))
        elif problems := tree.find([path])[1]:
            yield error_at("XX526", "include", problems[0].message, span(item))
        else:
            yield from tree.find([path])[0]


def _folder_of_topology(file: Path, paths: Sequence[Path]) -> Path:
    """The folder of a topology: the one that the command line names, or that of the file it names."""
    folders = [path for path in paths if path in file.parents]
    return max(folders, key=lambda folder: len(folder.parts), default=file.parent)


def _is_below(path: Path, root: Path) -> bool:
    return Path(os.path.realpath(root)) in Path(os.path.realpath(path)).parents


ENDINGS = (".yaml", ".yml")


class Tree(Protocol):
    """Where files are found and read: the disk, or a revision."""

    def find(self, paths: Sequence[Path]) -> tuple[list[Path], list[Diagnostic]]: ...

    def read(self, path: Path) -> tuple[str, list[Diagnostic]]: ...


class Disk:
    """The files as they are now."""

    def find(self, paths: Sequence[Path]) -> tuple[list[Path], list[Diagnostic]]:
        """Find the named files, and the YAML files below the named folders, as they are on disk now."""
        return find_files(paths)

    def read(self, path: Path) -> tuple[str, list[Diagnostic]]:
        """Return the text as it is on disk now, and its problems."""
        return read_text(path)


DISK = Disk()


def find_files(paths: Sequence[Path]) -> tuple[list[Path], list[Diagnostic]]:
    """Return files in a fixed order, each once even when two of the paths lead to it."""
    files: list[Path] = []
    problems: list[Diagnostic] = []
    for path in paths:
        for file in _files_at(path):
            problems.append(file) if isinstance(file, Diagnostic) else files.append(file)
    if not paths:
        problems.append(error_at("XX520", "no-files", "no file or folder was given", None))
    by_real_path = {os.path.realpath(path): path for path in reversed(files)}
    return sorted(by_real_path.values(), key=files.index), problems


def read_text(path: Path) -> tuple[str, list[Diagnostic]]:
    """Return the text of a file, and its problems; the text is empty where the file cannot be read."""
    try:
        data = path.read_bytes()
    except OSError as error:
        return "", [no_files_error(path, f"cannot be read: {_reason_of(error)}")]
    return decode(str(path), data)


def _files_at(path: Path) -> Iterator[Path | Diagnostic]:
    try:
        is_folder = stat.S_ISDIR(path.stat().st_mode)
    except OSError as error:
        missing = isinstance(error, FileNotFoundError)
        yield no_files_error(path, "does not exist" if missing else f"cannot be read: {_reason_of(error)}")
        return
    if not is_folder:
        yield path
        return
    files = list(_walk(path, (os.path.realpath(path),)))
    yield from files or [no_files_error(path, "holds no *.yaml or *.yml file")]


def _walk(folder: Path, above: tuple[str, ...]) -> Iterator[Path | Diagnostic]:
    """Walk a folder. `above` are the real folders around: a link back to one of them would never end."""
    try:
        children = sorted(folder.iterdir())
    except OSError as error:
        yield no_files_error(folder, f"cannot be read: {_reason_of(error)}")
        return
    for path in children:
        if path.name.startswith("."):
            continue
        real = os.path.realpath(path)
        if real in above:
            yield no_files_error(path, "leads back into a folder that contains it")
        elif path.is_dir():
            yield from _walk(path, (*above, real))
        elif path.name.endswith(ENDINGS):
            yield path if path.is_file() else no_files_error(path, "is not a regular file")


def no_files_error(path: Path, problem: str) -> Diagnostic:
    """Report a path that gives no file to read, and why."""
    return error_at("XX520", "no-files", f"`{path}` {problem}", SourceSpan(str(path), 1, 1, 1, 1))


def _reason_of(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()


KEYS: tuple[str, ...] = (
    "reconciler", "topology", "include", "parameters", "environments", "environment", "expect", "policies", "allow", "guards", "moved",
    "removed", "forget", "ignore_drift",
)  # fmt: skip

LISTS = ("allow", "guards", "moved", "removed", "forget", "ignore_drift")
"""Those of KEYS that hold entries."""
ANCHORS = "x-"
"""How keys begin that hold nothing of their own: anchors for the rest of the file."""
