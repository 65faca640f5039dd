"""Edits values of a YAML file where they stand: what is not touched keeps its bytes, comments and layout included.

A round trip through a YAML library writes the whole file anew. Here every value knows its place, so that only its own
characters are exchanged; the result is read again, and must say what was wanted and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reconciler.core.resource import Json
from reconciler.documents import nodes
from reconciler.documents.nodes import Node
from reconciler.documents.splices import CannotEdit, Splicing, is_same, plain, spliced, texts
from reconciler.documents.tree import read_tree


def edited(file: str, text: str, path: Sequence[str], changes: Mapping[str, Json]) -> str:
    """The text with other values under these keys of the mapping at `path`; None removes a key.

    Lists keep the items they had, where they stood; items that are mappings are told apart by their first key.
    """
    root, problems = read_tree(file, text)
    if root is None or problems:
        raise CannotEdit(f"{file} cannot be read")
    result = spliced(text, Splicing(text).mapping(_at(root, path, file), changes))
    _check(file, result, root, path, changes)
    return result


def _at(root: Node, path: Sequence[str], file: str) -> nodes.Mapping:
    node: Node | None = root
    for key in path:
        node = node.get(key) if isinstance(node, nodes.Mapping) else None
    if not isinstance(node, nodes.Mapping):
        raise CannotEdit(f"{'.'.join(path)} does not stand in {file}")
    return node


def _check(file: str, result: str, before: Node, path: Sequence[str], changes: Mapping[str, Json]) -> None:
    """An anchor may carry an edit to other places; then nothing is written."""
    after, problems = read_tree(file, result)
    wanted = plain(before)
    inner = wanted
    for key in path:
        inner = inner[key]
    inner |= {key: texts(value) for key, value in changes.items() if value is not None}
    for key in (key for key, value in changes.items() if value is None):
        inner.pop(key, None)
    if problems or after is None or not is_same(plain(after), wanted):
        raise CannotEdit("an anchor, alias or merge key shares these lines with another place, which would change too")
