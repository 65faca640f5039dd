"""Edits values of a YAML file in place: everything else keeps its bytes, comments and layout included.

A round trip through a YAML library would rewrite the whole file. Here every value knows its place, so only its own
characters change. The result is read again, and must say what was wanted and nothing else.
"""

from __future__ import annotations

import codecs
from collections.abc import Collection, Mapping, Sequence

from reconciler.documents.fill.values import Mask, mentions
from reconciler.documents.parse import nodes
from reconciler.documents.parse.nodes import Node
from reconciler.documents.parse.tree import read_tree
from reconciler.documents.write.splices import (
    CannotEdit,
    Splicing,
    apply_splices,
    is_same_in_any_order,
    texts_of_node,
    texts_of_value,
)
from reconciler.model.resource import Json


def edit_values(
    file: str, text: str, path: Sequence[str], changes: Mapping[str, Json], ordered: Collection[str] = ()
) -> str:
    """Return the text with other values under these keys of the mapping at `path`; None removes a key.

    Lists keep the items they had, in place; items that are mappings are distinguished by their first key. Under
    `ordered` keys, a list whose order would change is rewritten.
    """
    mask = Mask.for_text(text)
    masked = mask.put_on(text)
    root, problems = read_tree(file, masked)
    if root is None or problems:
        raise CannotEdit(f"{file} cannot be read")
    within, inner = path, dict(changes)
    # the place holds nothing yet, or would hold nothing any more
    while within and _must_be_rewritten(root, within, inner, file):
        *within, name = within
        inner = {name: {key: value for key, value in inner.items() if value is not None}}
    edited = apply_splices(masked, Splicing(masked, ordered).change_mapping(_mapping_at(root, within, file), inner))
    _check_result(file, edited, root, path, changes)
    result = mask.take_off(edited)
    if lost := next((mentions(text) - mentions(result)).elements(), None):
        raise CannotEdit(f"`{lost}` stands for the value there, and every other place where it is mentioned has it too")
    return result


def edited_bytes(
    file: str, data: bytes, path: Sequence[str], changes: Mapping[str, Json], ordered: Collection[str] = ()
) -> bytes:
    """Return the bytes of a file with other values, as `edit_values` does; a byte order mark stays."""
    mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    return mark + edit_values(file, data[len(mark) :].decode(), path, changes, ordered).encode()


def _must_be_rewritten(root: Node, path: Sequence[str], changes: Mapping[str, Json], file: str) -> bool:
    """Must the value at `path` be written as a whole, because it has no keys of its own?"""
    above = _mapping_at(root, path[:-1], file)
    node = above.get(path[-1])
    if node is not None and nodes.is_null(node):
        return True
    if not isinstance(node, nodes.Mapping):
        return False
    return not any(value is not None for value in changes.values()) and not node.entries.keys() - changes.keys()


def _mapping_at(root: Node, path: Sequence[str], file: str) -> nodes.Mapping:
    node: Node | None = root
    for key in path:
        node = node.get(key) if isinstance(node, nodes.Mapping) else None
    if not isinstance(node, nodes.Mapping):
        raise CannotEdit(
            f"{file} has no {'.'.join(path)} by that name; a parameter in the name, or `for_each`, can be the reason"
        )
    return node


def _check_result(file: str, result: str, before: Node, path: Sequence[str], changes: Mapping[str, Json]) -> None:
    """Check the result: an anchor may carry an edit to other places, and then nothing is written."""
    after, problems = read_tree(file, result)
    wanted = texts_of_node(before)
    inner = wanted
    for key in path[:-1]:
        inner = inner[key]
    if path:
        inner[path[-1]] = inner = inner[path[-1]] if isinstance(inner[path[-1]], dict) else {}
    inner |= {key: texts_of_value(value) for key, value in changes.items() if value is not None}
    for key in (key for key, value in changes.items() if value is None):
        inner.pop(key, None)
    if problems or after is None or not is_same_in_any_order(texts_of_node(after), wanted):
        raise CannotEdit(
            "an anchor, alias or merge key shares these lines with another place, which would change as well"
        )
