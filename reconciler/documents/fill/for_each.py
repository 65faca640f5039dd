"""Reads `for_each`, by which one entry of a file stands for many that are alike: one for each name of a list, or for each key of
a mapping."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from reconciler.documents.parse.nodes import Mapping as Table
from reconciler.documents.parse.nodes import (
    Node,
    Scalar,
    Sequence,
    did_you_mean,
    is_null,
    node_to_show,
    shape_in_words,
    span,
)
from reconciler.model.dataclass import dataclass

FOR_EACH = "for_each"
EACH = "each"
"""What the names of an element begin with: `${each.key}`, `${each.value.keep}`, `${each.outer.key}`."""
MOST = 5_000
"""How many entries one `for_each` may stand for."""
_UNFIT = re.compile(r"[\s./*>\\]")
"""What cannot be in a key, because names and subjects are made of it."""


class ElementScalar(Scalar):
    """A text that was made for one element."""

    __slots__ = ("note",)

    def __init__(self, origin: Scalar, text: str, plain: bool, note: str) -> None:
        super().__init__(text, plain, origin, origin, origin.file)
        self.end_line, self.end_column = origin.end_line, origin.end_column
        self.note = note
        """The element, and where it is written."""


@dataclass(frozen=True, slots=True)
class Each:
    """One element of a list or a mapping."""

    key: Scalar
    value: Node
    origin: str
    """The element in words, and where it is written."""
    outer: Each | None = None
    """The element of the `for_each` around it."""

    def value_of(self, name: str) -> ElementValue | str:
        """Return what `each.…` stands for; if it stands for nothing, why."""
        first, *rest = name.split(".")[1:] or [""]
        if first == "outer":
            return (
                self.outer.value_of(".".join([EACH, *rest])) if self.outer else "there is no `for_each` around this one"
            )
        if first == "key" and not rest:
            return ElementValue(self.key, True, self.origin)
        if first != "value":
            guess = did_you_mean(first, ("key", "value", "outer"))
            return f"an element has `key`, `value` and `outer`, and no `{first}`{guess}"
        node: Node | None = self.value
        for part in rest:
            entries = node.entries if isinstance(node, Table) else {}
            node = entries[part][1] if part in entries else None
            if node is None:
                return f"there is no `{part}`{did_you_mean(part, entries)}"
        if node is None or is_null(node):
            return "there is no value"
        return ElementValue(node, isinstance(node, Scalar) and not node.plain, self.origin)


class ElementValue(NamedTuple):
    """What something of an element is."""

    node: Node
    is_text: bool
    origin: str


class InvalidElement(NamedTuple):
    """Why something cannot be an element."""

    message: str
    node: Node


def elements(key: Scalar, node: Node, outer: Each | None) -> Iterator[Each | InvalidElement]:
    """Yield each element, and what is wrong with others. `key` is the one of `for_each`."""
    pairs: list[tuple[Node, Node]]
    if isinstance(node, Table):
        pairs = list(node.entries.values())
    elif isinstance(node, Sequence):
        pairs = [(item, item) for item in node.items]
    else:
        problem = "has no value" if is_null(node) else f"is {shape_in_words(node)}"
        yield InvalidElement(f"{FOR_EACH} {problem}; write a list of names, or a mapping", node_to_show(key, node))
        return
    if len(pairs) > MOST:
        yield InvalidElement(
            f"{FOR_EACH} stands for {len(pairs):_} entries, and {MOST:_} are the most; divide them",
            node_to_show(key, node),
        )
        return
    seen: dict[str, Node] = {}
    for name, value in pairs:
        if not isinstance(name, Scalar) or is_null(name):
            message = f"{FOR_EACH} lists {shape_in_words(name)}; to say more than names, write a mapping (`acme: {{keep: 7d}}`)"
            yield InvalidElement(message, node_to_show(None, name))
        elif wrong := _problem_with_key(name.text):
            yield InvalidElement(
                f"key `{name.text}` of {FOR_EACH} {wrong}, and cannot stand in a name or a subject", name
            )
        elif (first := seen.setdefault(name.text, name)) is not name:
            yield InvalidElement(f"key `{name.text}` of {FOR_EACH} is there twice, also at {span(first)}", name)
        else:
            yield Each(name, value, f"key `{name.text}` at {span(name)}", outer)


def _problem_with_key(key: str) -> str | None:
    if not key:
        return "is empty"
    if not key.isprintable():
        return "holds a character that nobody can see"
    match = _UNFIT.search(key)
    return f"holds `{match[0]}`" if match else None
