"""Writes what files say once values are in place and overlays are over them, with a comment where each value is from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from reconciler.documents.fill.for_each import ElementScalar
from reconciler.documents.parse.files import ANCHORS
from reconciler.documents.parse.nodes import Mapping as Table
from reconciler.documents.parse.nodes import Node, Scalar, mapping_at
from reconciler.documents.parse.nodes import Sequence as Items
from reconciler.documents.write.dump import WIDTH, scalar_text

Origins = Mapping[tuple[str, int, int], str]


def rendered_file(tops: Sequence[Table], origins: Origins | None) -> str:
    """Return one file in place of all of them; without origins, it has no comments."""
    merged, lists = Table(False, 0, 0), dict[str, Items]()
    for top in tops:
        for name, (key, node) in top.entries.items():
            if name.startswith(ANCHORS):
                continue
            earlier = merged.get(name)
            if isinstance(earlier, Table) and isinstance(node, Table):
                merged.entries[name] = (key, _merge(earlier, node))
            elif isinstance(node, Items):
                items = lists.setdefault(name, Items(False, node.line, node.column, node.file))
                items.items += node.items
                merged.entries[name] = (key, items)
            elif earlier is None:
                merged.entries[name] = (key, node)
    blocks = ["\n".join(_entry_lines(key, node, "", origins)) for key, node in merged.entries.values()]
    head = [block for block in blocks if "\n" not in block]
    return "\n\n".join(["\n".join(head), *(block for block in blocks if "\n" in block)]) + "\n"


def _merge(first: Table, second: Table) -> Table:
    merged = mapping_at(first)
    merged.entries = {**first.entries, **second.entries}
    return merged


def _entry_lines(key: Scalar, node: Node, indent: str, origins: Origins | None) -> Iterator[str]:
    head = f"{indent}{scalar_text(key.text)}:"
    if isinstance(node, Table) and node.entries:
        yield head + _comment([key], origins)
        for name, below in node.entries.values():
            yield from _entry_lines(name, below, indent + "  ", origins)
    elif isinstance(node, Items) and node.items and not _is_one_line_list(node, head):
        yield head + _comment([key], origins)
        for item in node.items:
            yield from _item_lines(item, indent + "  ", origins)
    else:
        yield f"{head} {_on_one_line(node)}".rstrip() + _comment(_nodes_with_origins(key, node), origins)


def _item_lines(node: Node, indent: str, origins: Origins | None) -> Iterator[str]:
    if not (isinstance(node, Table) and node.entries):
        yield f"{indent}- {_on_one_line(node)}" + _comment([node], origins)
        return
    lines = [line for key, below in node.entries.values() for line in _entry_lines(key, below, indent + "  ", origins)]
    yield f"{indent}- {lines[0][len(indent) + 2 :]}"
    yield from lines[1:]


def _is_one_line_list(node: Items, head: str) -> bool:
    return not any(isinstance(item, Table) for item in node.items) and len(head) + len(_on_one_line(node)) < WIDTH


def _on_one_line(node: Node) -> str:
    if isinstance(node, Scalar):
        return node.text if node.plain else scalar_text(node.text, in_flow=True)
    if isinstance(node, Items):
        return "[" + ", ".join(map(_on_one_line, node.items)) + "]"
    return (
        "{"
        + ", ".join(
            f"{scalar_text(key.text, in_flow=True)}: {_on_one_line(value)}" for key, value in node.entries.values()
        )
        + "}"
    )


def _nodes_with_origins(key: Scalar, node: Node) -> list[Node]:
    """Return what on this line has an origin of its own: the value, and the items of a list."""
    items = node.items if isinstance(node, Items) else []
    return [key if isinstance(node, Scalar) and node.is_empty else node, *items]


def _comment(nodes: Sequence[Node], origins: Origins | None) -> str:
    if origins is None:
        return ""
    first, *others = nodes
    places = [
        f"{node.file}:{node.line + 1}:{node.column + 1}"
        for node in [first, *(node for node in others if node.file != first.file)]
    ]
    notes = [origins.get((node.file, node.line + 1, node.column + 1)) for node in nodes]
    notes += [node.note for node in nodes if isinstance(node, ElementScalar)]
    return "  # " + "; ".join(dict.fromkeys(filter(None, [*places, *notes])))
