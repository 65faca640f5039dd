"""Finds the files that a file includes: fragments below the folder of its topology, and nowhere else."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from reconciler.documents.read.complain import complain
from reconciler.documents.read.files import Tree
from reconciler.documents.read.nodes import Node, Scalar, is_null, shape_of, shown, span
from reconciler.documents.read.nodes import Sequence as Items
from reconciler.model.diagnostic import Diagnostic

INCLUDE = "include"


def included(
    key: Scalar, node: Node, paths: Sequence[Path], above: Sequence[Path], tree: Tree
) -> Iterator[Path | Diagnostic]:
    """Yield each file, or what is wrong with it. `paths` are those of the command line, and `above` are the files on the way
    from there, the last one with this key."""
    for item in node.items if isinstance(node, Items) else [node]:
        if not isinstance(item, Scalar) or is_null(item):
            what = f"{INCLUDE} is {shape_of(item)}; write a path relative to this file, or a list of them"
            yield complain("XX504", "wrong-shape", what, span(shown(key, item)))
            continue
        if not item.text.isprintable() or not item.text:
            what = "is empty" if not item.text else "contains a character that nobody can see"
            yield complain("XX526", "include", f"a path {what}", span(item))
            continue
        path = Path(os.path.normpath(above[-1].parent / item.text))
        root = _root(above[0], paths)
        if Path(item.text).is_absolute() or not _is_below(path, root):
            fix = f"include files below `{root}` only, by paths relative to this file"
            yield complain("XX526", "include", f"`{item.text}` leads out of the topology's folder", span(item), fix=fix)
        elif any(os.path.realpath(path) == os.path.realpath(one) for one in above):
            way = " → ".join(map(str, [*above, path]))
            yield complain("XX526", "include", f"`{item.text}` includes this file again: {way}", span(item))
        elif path.exists() and not (path.is_file() or path.is_dir()):
            yield complain("XX526", "include", f"`{path}` is not a regular file", span(item))
        elif problems := tree.find([path])[1]:
            yield complain("XX526", "include", problems[0].message, span(item))
        else:
            yield from tree.find([path])[0]


def _root(file: Path, paths: Sequence[Path]) -> Path:
    """The folder of a topology: the one that the command line names, or that of the file it names."""
    around = [path for path in paths if path in file.parents]
    return max(around, key=lambda one: len(one.parts), default=file.parent)


def _is_below(path: Path, root: Path) -> bool:
    return Path(os.path.realpath(root)) in Path(os.path.realpath(path)).parents
