"""Random valid documents of any registry, and every way to make one of their scalars wrong.

`every_wrong_scalar_is_shown` takes a registry, so that it holds for small kinds in tests and for the real ones alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from hypothesis import assume
from hypothesis import strategies as st

from reconciler.changes.kind import Kind, Registry
from reconciler.documents.parse.nodes import Mapping, Node, Scalar, Sequence
from reconciler.documents.parse.shape import ANYTHING, Shape, shape_of_spec
from reconciler.documents.parse.tree import read_tree
from reconciler.documents.write.dump import dump
from tests.documents.reading import Folder

NAMES = st.sampled_from(["A", "orders", "b-1", "on", "1", "x y"])
TEXTS = st.sampled_from(["orders", "a.b", "x", "true", "7", "it's: #1"])
MOST_REPAIRS = 40


class Place(NamedTuple):
    scalar: Scalar
    shape: Shape


@st.composite
def values(draw: st.DrawFn, shape: Shape, depth: int = 0) -> Any:
    """A value of a shape, as plain data."""
    if shape.choices:
        return draw(st.sampled_from([choice for choice in shape.choices if choice is not None]))
    if "object" in shape.types and shape.properties:
        return draw(mappings(shape, depth))
    if "object" in shape.types:
        below = values(shape.values or ANYTHING, depth + 1)
        return {draw(NAMES): draw(below)}
    if "array" in shape.types:
        return draw(st.lists(values(shape.items or ANYTHING, depth + 1), min_size=1, max_size=2))
    return draw(scalars(shape))


def scalars(shape: Shape) -> st.SearchStrategy[Any]:
    if "date-time" in shape.formats:
        return st.just("2026-03-01T08:00:00Z")
    if "date" in shape.formats:
        return st.just("2026-12-31")
    if "boolean" in shape.types:
        return st.booleans()
    if shape.types & {"integer", "number"}:
        return st.integers(1, 5)
    return TEXTS


@st.composite
def mappings(draw: st.DrawFn, shape: Shape, depth: int = 0) -> Any:
    keys = draw(st.lists(st.sampled_from(sorted(shape.properties)), unique=True, max_size=6 if depth < 3 else 1))
    return {key: draw(values(shape.properties[key], depth + 1)) for key in keys}


@st.composite
def resources(draw: st.DrawFn, registry: Registry, kind: Kind) -> dict[str, Any]:
    made = {
        **({kind.place.tag[0]: kind.place.tag[1]} if kind.place.tag else {}),
        **draw(mappings(shape_of_spec(kind.spec))),
    }
    made.update(draw(sections(registry, kind.name)))
    return made


@st.composite
def sections(draw: st.DrawFn, registry: Registry, parent: str | None) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for kind in registry.within(parent):
        if draw(st.booleans()):
            found.setdefault(kind.place.section, {})[draw(NAMES)] = draw(resources(registry, kind))
    return found


def valid_text(folder: Folder, registry: Registry, document: dict[str, Any]) -> str:
    """The document without what its own checks refuse: what is complained about goes, until nothing is."""
    for _ in range(MOST_REPAIRS):
        text = dump("orders", document)
        loaded = folder.load(text, registry)
        if loaded.topology is not None:
            return text
        problem = loaded.diagnostics[0]
        root, _problems = read_tree("", text)
        assert problem.span and isinstance(root, Mapping)
        assume(_prune(root, document, (problem.span.line - 1, problem.span.column - 1)))
    assume(False)
    raise AssertionError("unreachable")


def _prune(node: Node, document: Any, at: tuple[int, int]) -> bool:
    """Removes from the plain document what stands at a place in its text."""
    if isinstance(node, Mapping):
        for name, (key, value) in node.entries.items():
            if at in ((key.line, key.column), (value.line, value.column)):
                return isinstance(document, dict) and document.pop(name, None) is not None
            if isinstance(document, dict) and name in document and _prune(value, document[name], at):
                return True
    elif isinstance(node, Sequence):
        for index, item in enumerate(node.items):
            if (item.line, item.column) == at:
                document.pop(index)
                return True
            if _prune(item, document[index], at):
                return True
    return False


def places(registry: Registry, root: Node) -> Iterator[Place]:
    """Every scalar of a document with what is expected there."""
    assert isinstance(root, Mapping)
    for name, (_key, node) in root.entries.items():
        if name == "reconciler":
            yield Place(_scalar(node), Shape(types={"integer"}))
        elif name == "topology":
            yield Place(_scalar(node), Shape(types={"string"}))
        else:
            kinds = [kind for kind in registry.within(None) if kind.place.section == name]
            yield from _in_section(registry, kinds, node)


def _in_section(registry: Registry, kinds: list[Kind], node: Node) -> Iterator[Place]:
    assert isinstance(node, Mapping)
    for _name, resource in node.entries.values():
        tags = [kind.place.tag for kind in kinds if kind.place.tag]
        tag = resource.get(tags[0][0]) if tags and isinstance(resource, Mapping) else None
        kind = kinds[0] if tag is None else next(kind for kind in kinds if kind.place.tag[1] == _scalar(tag).text)  # type: ignore[index]
        if tag is not None:
            yield Place(_scalar(tag), Shape(types={"string"}, choices=[value for _key, value in tags]))
        if isinstance(resource, Mapping):
            yield from _in_resource(registry, kind, resource)


def _in_resource(registry: Registry, kind: Kind, resource: Mapping) -> Iterator[Place]:
    inner = {child.place.section for child in registry.within(kind.name)}
    shape = shape_of_spec(kind.spec)
    for name, (_key, node) in resource.entries.items():
        if name in inner:
            kinds = [child for child in registry.within(kind.name) if child.place.section == name]
            yield from _in_section(registry, kinds, node)
        elif not kind.place.tag or name != kind.place.tag[0]:
            yield from _below(node, shape.below(name) or ANYTHING)


def _below(node: Node, shape: Shape) -> Iterator[Place]:
    if isinstance(node, Scalar):
        yield Place(node, shape)
    elif isinstance(node, Mapping):
        for name, (_key, value) in node.entries.items():
            yield from _below(value, shape.below(name) or ANYTHING)
    else:
        for item in node.items:
            yield from _below(item, shape.items or ANYTHING)


def _scalar(node: Node) -> Scalar:
    assert isinstance(node, Scalar)
    return node


def wrong_for(shape: Shape) -> list[str]:
    """Scalars that are wrong there: some are traps everywhere, some only of the wrong type."""
    wrong = ["0x1F", "yes", ".nan", "1e999", "~" if not shape.is_anything else "010"]
    if shape.choices:
        return [*wrong, "nonsense", "17", '"nonsense"']
    if "boolean" in shape.types:
        return [*wrong, "maybe", "1", '"true"']
    if shape.types & {"integer", "number"}:
        # Whether a text such as `seven` will do where text is taken too (durations, percentages) is each kind's own matter.
        return [*wrong, "true", "010", *([] if "string" in shape.types else ["seven", '"7"'])]
    return wrong if shape.is_anything else [*wrong, "17", "true", "1.5"]


def every_wrong_scalar_is_shown(data: st.DataObject, folder: Folder, registry: Registry) -> int:
    """Replaces each scalar of a random valid document, one at a time: exactly that scalar must be complained about. How
    many there were."""
    text = valid_text(folder, registry, data.draw(sections(registry, None)))
    root, _problems = read_tree("", text)
    assert root is not None
    scalars = list(places(registry, root))
    for scalar, shape in scalars:
        wrong = data.draw(st.sampled_from(wrong_for(shape)))
        broken = replaced(text, scalar, wrong)
        loaded = folder.load(broken, registry)
        spans = {
            (one.span.line, one.span.column, one.span.end_line, one.span.end_column)
            for one in loaded.diagnostics
            if one.span
        }
        line, column = scalar.line + 1, scalar.column + 1
        assert (line, column, line, column + len(wrong)) in spans, (broken, wrong, folder.lines(loaded))
    return len(scalars)


def replaced(text: str, scalar: Scalar, wrong: str) -> str:
    lines = text.split("\n")
    line = lines[scalar.line]
    lines[scalar.line] = line[: scalar.column] + wrong + line[scalar.end_column :]
    return "\n".join(lines)
