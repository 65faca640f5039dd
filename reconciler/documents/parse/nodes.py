"""The contents of a file: scalars, lists and mappings with their places; a place becomes a span only when asked for.

How documents report that something is wrong.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Protocol

from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import Diagnostic, Severity, SourceSpan
from reconciler.model.spelling import meant_choice


@dataclass(frozen=True, slots=True)
class Place:
    """The `where` of one declared resource: `place("sources[1].name")`. A path that is not written gets the place
    around it."""

    key: Node
    """The place of the resource itself: the name under which it is declared."""
    node: Node

    @property
    def file(self) -> str:
        """Return the file of the key."""
        return self.key.file

    def __call__(self, path: str) -> SourceSpan:
        innermost = self.key
        for key, node in walk_path(path, self.node):
            innermost = node_to_show(key, node)
        return span(innermost)


NULLS = frozenset({"", "~", "null", "Null", "NULL"})


class Mark(Protocol):
    """A point in a text, as the parser reports it."""

    line: int
    column: int


class _Nowhere:
    line = column = 0


class Scalar:
    """One value as written. Lines and columns count from 0 here, as the parser gives them."""

    __slots__ = ("column", "end_column", "end_line", "file", "line", "plain", "text")

    def __init__(self, text: str, plain: bool, start: Mark, end: Mark, file: str = "") -> None:
        self.text = text
        self.plain = plain
        """Whether it has no quotes: then YAML readers guess a type from the text."""
        self.line: int = start.line
        self.column: int = start.column
        self.end_line: int = end.line
        self.end_column: int = end.column
        self.file = file

    @classmethod
    def of(cls, text: str, *, plain: bool) -> Scalar:
        """Return a value that stands in no file."""
        nowhere = _Nowhere()
        return cls(text, plain, nowhere, nowhere)

    def with_text(self, text: str, *, plain: bool) -> Scalar:
        """Return another value at the same place."""
        scalar = Scalar(text, plain, self, self, self.file)
        scalar.end_line, scalar.end_column = self.end_line, self.end_column
        return scalar

    @property
    def is_empty(self) -> bool:
        """Is nothing written after the key?"""
        return self.plain and not self.text


class Sequence:
    """A list. The end is known for `[…]`; a list with dashes ends where its items end."""

    __slots__ = ("column", "end_column", "end_line", "file", "flow", "items", "line")

    def __init__(self, flow: bool, line: int, column: int, file: str = "") -> None:
        self.items: list[Node] = []
        self.flow = flow
        self.line = self.end_line = line
        self.column = self.end_column = column
        self.file = file


class Mapping:
    """Keys with their values, in the order of the file; merged keys (`<<`) come last, with the places where they are
    written."""

    __slots__ = ("column", "end_column", "end_line", "entries", "file", "flow", "line")

    def __init__(self, flow: bool, line: int, column: int, file: str = "") -> None:
        self.entries: dict[str, tuple[Scalar, Node]] = {}
        self.flow = flow
        self.line = self.end_line = line
        self.column = self.end_column = column
        self.file = file

    def get(self, key: str) -> Node | None:
        """Return the value of this key; None where the mapping has no such key."""
        entry = self.entries.get(key)
        return entry[1] if entry else None


Node = Scalar | Sequence | Mapping


def mapping_at(node: Node) -> Mapping:
    """Return an empty mapping at the place of another node, with braces if it has some."""
    empty = Mapping(not isinstance(node, Scalar) and node.flow, node.line, node.column, node.file)
    empty.end_line, empty.end_column = node.end_line, node.end_column
    return empty


def list_at(node: Node) -> Sequence:
    """Return an empty list at the place of another node, with brackets if it has some."""
    empty = Sequence(not isinstance(node, Scalar) and node.flow, node.line, node.column, node.file)
    empty.end_line, empty.end_column = node.end_line, node.end_column
    return empty


def without(node: Node, keys: Collection[str]) -> Mapping:
    """Copy a mapping without some of its keys. Of anything else, return an empty one at its place."""
    copy = mapping_at(node)
    if isinstance(node, Mapping):
        copy.entries = {key: entry for key, entry in node.entries.items() if key not in keys}
    return copy


def span(node: Node) -> SourceSpan:
    """Return the place of a node as editors count."""
    return SourceSpan(node.file, node.line + 1, node.column + 1, node.end_line + 1, node.end_column + 1)


def items_below(node: Node) -> Iterator[Node]:
    """Yield the items of every list in it."""
    if isinstance(node, Mapping):
        for _, value in node.entries.values():
            yield from items_below(value)
    elif isinstance(node, Sequence):
        yield from node.items
        for item in node.items:
            yield from items_below(item)


def shape_in_words(node: Node) -> str:
    """Return what people call it."""
    if isinstance(node, Mapping):
        return "a mapping"
    if isinstance(node, Sequence):
        return "a list"
    return "empty" if node.is_empty else "a single value"


def node_to_show(key: Node | None, node: Node) -> Node:
    """Return the node to point at: single values, `[…]` and `{…}` themselves; for blocks and empty values, their
    key."""
    if isinstance(node, Scalar):
        return key if key and node.is_empty else node
    return node if node.flow else key or start_of_block(node)


def start_of_block(node: Node) -> Node:
    """Find the beginning of a block without a key of its own: an item that is a mapping is shown by its first key."""
    while not isinstance(node, Scalar) and not node.flow:
        if isinstance(node, Mapping):
            return next((key for key, _value in node.entries.values()), node)
        if not node.items:
            return node
        node = node.items[0]
    return node


def is_null(node: Node) -> bool:
    """Is it nothing, `~` or `null`?"""
    return isinstance(node, Scalar) and node.plain and node.text in NULLS


def walk_path(path: str, node: Node) -> Iterator[tuple[Scalar | None, Node]]:
    """Walk a dotted path (`sources[1].filter_subject`) as far as it goes, and yield each key with its value."""
    rest = path
    while rest:
        step = _step_to_item(rest, node) if rest[0] == "[" else _step_to_key(rest, node)
        if step is None:
            return
        key, node, rest = step
        yield key, node


def _step_to_item(rest: str, node: Node) -> tuple[Scalar | None, Node, str] | None:
    number, closed, after = rest[1:].partition("]")
    if not (closed and number.isdecimal() and isinstance(node, Sequence) and int(number) < len(node.items)):
        return None
    return None, node.items[int(number)], after.removeprefix(".")


def _step_to_key(rest: str, node: Node) -> tuple[Scalar | None, Node, str] | None:
    """Find the longest key that fits, because keys may contain dots themselves (`metadata.my.team`)."""
    if not isinstance(node, Mapping):
        return None
    fits = [key for key in node.entries if key and rest.startswith(key) and rest[len(key) :][:1] in ("", ".", "[")]
    if not fits:
        return None
    best = max(fits, key=len)
    key, value = node.entries[best]
    return key, value, rest[len(best) :].removeprefix(".")


def error_at(
    code: str, name: str, message: str, span: SourceSpan | None, *, address: str | None = None, fix: str | None = None
) -> Diagnostic:
    """Return an error about a place in a file; `span` is None where no single place is to blame."""
    severity = Severity.ERROR
    return Diagnostic(severity=severity, code=code, name=name, message=message, address=address, span=span, fix=fix)


def did_you_mean(word: str, choices: Iterable[str]) -> str:
    """Return `; did you mean `subjects`?`, or nothing."""
    guess = meant_choice(word, choices)
    return f"; did you mean `{guess}`?" if guess else ""


def listed(words: Iterable[str]) -> str:
    """Return `limits`, `interest` or `workqueue`."""
    quoted = [f"`{word}`" for word in words]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}" if quoted else "nothing"


def phrase(path: str, message: str) -> str:
    """Join `max_age` and "`7 fortnights` is not a duration" to one sentence; a message may begin with `:`."""
    return f"{path}{message if message[:1] == ':' else ' ' + message}" if path else message.removeprefix(":").lstrip()
