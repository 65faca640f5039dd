"""Edits values of a YAML file in place: everything else keeps its bytes, comments and layout included.

A round trip through a YAML library would rewrite the whole file. Here every value knows its place, so only its own
characters change. The result is read again, and must say what was wanted and nothing else.

Turns a change of values into a change of characters: lists and mappings, in lines and in brackets, keep their
layout.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from reconciler.documents.fill.values import Mask, escape_mentions, mentions
from reconciler.documents.parse import nodes
from reconciler.documents.parse.nodes import Node, Scalar
from reconciler.documents.parse.tree import read_tree
from reconciler.documents.write.dump import flow_text, is_list
from reconciler.model.resource import Json


def edit_values(
    file: str, text: str, path: Sequence[str], changes: Mapping[str, Json], ordered: Collection[str] = ()
) -> str:
    """Return the text with other values under these keys of the mapping at `path`; None removes a key.

    Lists keep the items they had, in place; items that are mappings are distinguished by their first key. Under
    `ordered` keys, a list whose order would change is rewritten.
    """
    mask = Mask.for_text(text)
    masked = mask.hide_braces(text)
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
    result = mask.show_braces(edited)
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


_LINE = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
_VALUE = re.compile(r"\s*:[ \t]*(?:\*[^\s,\[\]{}]+|~|null|Null|NULL)?")
"""What follows a key without a value of its own: nothing, null or an alias."""


class CannotEdit(Exception):
    """Why a person should edit the file."""


class Splice(NamedTuple):
    """A replacement of some characters of the text."""

    start: int
    end: int
    text: str


def apply_splices(text: str, splices: Iterable[Splice]) -> str:
    """Return the text after these splices. Their positions are those of the text before any of them, and none may
    overlap."""
    for start, end, new in sorted(splices, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def texts_of_node(node: Node) -> Json:
    """Return texts as written; each place gets a copy of what an alias shares."""
    if isinstance(node, Scalar):
        return node.text
    if isinstance(node, nodes.Sequence):
        return [texts_of_node(item) for item in node.items]
    return {key: texts_of_node(value) for key, (_, value) in node.entries.items()}


def texts_of_value(value: Json) -> Json:
    """Return every value as the text that `plain` reads for it in a file, so that the two can be compared."""
    if isinstance(value, Mapping):
        return {str(key): texts_of_value(below) for key, below in value.items()}
    if isinstance(value, bool):
        return str(value).lower()
    return [texts_of_value(item) for item in value] if is_list(value) else escape_mentions(str(value))


def is_same_in_any_order(value: Json, other: Json) -> bool:
    """Compare values, lists without regard to order: items that stay keep their places, so the order of an edited list
    may differ from the wanted one."""
    if isinstance(value, dict) and isinstance(other, dict):
        return value.keys() == other.keys() and all(is_same_in_any_order(value[key], other[key]) for key in value)
    if isinstance(value, list) and isinstance(other, list):
        left = list(other)
        return len(value) == len(other) and all(_take_equal(item, left) for item in value)
    return bool(value == other)


def _take_equal(item: Json, left: list[Json]) -> bool:
    """Take what is the same out of those that are left; False if nothing is."""
    match = next((index for index, candidate in enumerate(left) if is_same_in_any_order(item, candidate)), None)
    if match is not None:
        del left[match]
    return match is not None


class Splicing:
    """Turns changes of a text's nodes into splices."""

    def __init__(self, text: str, ordered: Collection[str] = ()) -> None:
        """Prepare a text. `ordered` names keys of lists whose order matters."""
        self._ordered = ordered
        self._text = text
        breaks = list(_LINE.finditer(text))
        self._starts = [0, *(line_break.end() for line_break in breaks)]
        self._break = breaks[0][0] if breaks else "\n"

    def _start(self, node: Node) -> int:
        return self._starts[node.line] + node.column

    def _end(self, node: Node) -> int:
        """The position after the last character; blocks end where their contents end."""
        if isinstance(node, Scalar) or node.flow:
            return self._starts[node.end_line] + node.end_column
        inside = (
            node.items
            if isinstance(node, nodes.Sequence)
            else [part for pair in node.entries.values() for part in pair]
        )
        return max((self._end(child) for child in inside), default=self._start(node))

    def _line_end(self, index: int) -> int:
        """The position where the next line begins."""
        return next((start for start in self._starts if start > index), len(self._text))

    def _line_start(self, index: int) -> int:
        return max(start for start in self._starts if start <= index)

    def _is_here(self, node: Node, container: Node) -> bool:
        """Is it written inside its container? What an alias or merge key brings is written where the anchor is."""
        return self._start(node) >= self._start(container)

    def change_mapping(self, node: nodes.Mapping, changes: Mapping[str, Json]) -> Iterator[Splice]:
        """Return the splices that make a mapping say `changes`; None removes a key. Raises CannotEdit where only a
        person can."""
        own = {name: pair for name, pair in node.entries.items() if self._is_here(pair[0], node)}
        removed = [name for name, value in changes.items() if value is None and name in own]
        added = {name: value for name, value in changes.items() if value is not None and name not in own}
        for name in own.keys() & changes.keys() - set(removed):
            yield from self._change_value(*own[name], changes[name])
        if removed and added:
            yield self._replace_entry(own[removed.pop(0)], node, added)
        elif added:
            yield self._add_entries(node, list(own.values()), added)
        if removed:
            yield from self._remove_entries(node, own, removed)

    def _change_value(self, key: Scalar, value: Node, wanted: Json) -> Iterator[Splice]:
        if self._is_here(value, key) and isinstance(value, nodes.Mapping):
            yield from self._change_nested_mapping(key, value, wanted)
        elif self._is_here(value, key) and isinstance(value, nodes.Sequence) and is_list(wanted):
            yield from self._change_items(value, wanted, strictly=key.text in self._ordered)
        else:
            yield Splice(self._end(key), self._value_end(key, value), f": {flow_text(wanted)}")

    def _change_nested_mapping(self, key: Scalar, value: nodes.Mapping, wanted: Json) -> Iterator[Splice]:
        """Edit key by key. A value that would become empty, or was of another type, is rewritten."""
        own = {name for name, pair in value.entries.items() if self._is_here(pair[0], value)}
        if not isinstance(wanted, Mapping) or not own & wanted.keys():
            yield Splice(self._end(key), self._value_end(key, value), f": {flow_text(wanted)}")
            return
        removed = dict.fromkeys(own - wanted.keys())
        yield from self.change_mapping(
            value, {**removed, **{n: v for n, v in wanted.items() if not self._has_value(value, n, v)}}
        )

    def _value_end(self, key: Scalar, value: Node) -> int:
        if self._is_here(value, key) and not nodes.is_null(value):
            return self._end(value)
        match = _VALUE.match(self._text, self._end(key))
        return match.end() if match else self._end(key)

    def _replace_entry(self, old: tuple[Scalar, Node], within: nodes.Mapping, new: Mapping[str, Json]) -> Splice:
        key, value = old
        return Splice(self._start(key), self._value_end(key, value), self._entries_text(new, within, key.column))

    def _add_entries(self, node: nodes.Mapping, own: list[tuple[Scalar, Node]], new: Mapping[str, Json]) -> Splice:
        if node.flow and not node.entries:
            return Splice(self._start(node) + 1, self._end(node) - 1, self._entries_text(new, node, node.column))
        if not own:
            raise CannotEdit("everything here comes from another place by an alias or a merge key")
        neighbours = [
            pair for pair in own if not _is_section(pair[1])
        ] or own  # above nested mappings, where people look
        end = max(self._value_end(*pair) for pair in neighbours)
        column = own[0][0].column
        if node.flow:
            return Splice(end, end, ", " + self._entries_text(new, node, column))
        return self._insert_lines(end, " " * column + self._entries_text(new, node, column))

    def _remove_entries(
        self, node: nodes.Mapping, own: Mapping[str, tuple[Scalar, Node]], gone: Collection[str]
    ) -> Iterator[Splice]:
        if len(own) < 2:
            raise CannotEdit("this would leave an empty mapping")
        if node.flow:
            spans = [(self._start(key), self._value_end(key, value)) for key, value in own.values()]
            yield from self._remove_spans(spans, [name not in gone for name in own])
            return
        for name in gone:
            key, value = own[name]
            yield Splice(self._line_start(self._start(key)), self._line_end(self._value_end(key, value) - 1), "")

    def _entries_text(self, values: Mapping[str, Json], within: nodes.Mapping, column: int) -> str:
        if within.flow:
            return ", ".join(f"{name}: {flow_text(value)}" for name, value in values.items())
        return f"{self._break}{' ' * column}".join(
            self._entry_text(name, value, column) for name, value in values.items()
        )

    def _entry_text(self, name: str, value: Json, column: int) -> str:
        """Write a key with its value. A list of mappings gets a line for each item; everything else stays on one."""
        if not (is_list(value) and value and isinstance(value[0], Mapping)):
            return f"{name}: {flow_text(value)}"
        return f"{name}:" + "".join(f"{self._break}{' ' * column}- {flow_text(item)}" for item in value)

    def _change_items(self, node: nodes.Sequence, wanted: Sequence[Json], *, strictly: bool) -> Iterator[Splice]:
        is_here = all(self._is_here(item, node) for item in node.items)
        if not is_here or (strictly and not _stays_in_order(node, wanted)):
            yield from self._rewrite_list(node, wanted, is_here=is_here)
            return
        left = list(wanted)
        kept = []
        for item in node.items:
            identity = _identity(texts_of_node(item))
            match = next((n for n, value in enumerate(left) if _identity(texts_of_value(value)) == identity), None)
            kept.append(match is not None)
            if match is not None:
                yield from self._change_item(item, left.pop(match))
        yield from (self._change_flow_items if node.flow else self._change_block_items)(node, kept, left)

    def _change_item(self, item: Node, wanted: Json) -> Iterator[Splice]:
        if isinstance(item, nodes.Mapping) and not is_same_in_any_order(texts_of_node(item), texts_of_value(wanted)):
            removed = dict.fromkeys(name for name in item.entries if name not in wanted)
            changes = {name: value for name, value in wanted.items() if not self._has_value(item, name, value)}
            yield from self.change_mapping(item, {**removed, **changes})

    def _has_value(self, item: nodes.Mapping, name: str, value: Json) -> bool:
        node = item.get(name)
        return node is not None and is_same_in_any_order(texts_of_node(node), texts_of_value(value))

    def _rewrite_list(self, node: nodes.Sequence, wanted: Sequence[Json], *, is_here: bool) -> Iterator[Splice]:
        if not (node.flow or is_here):
            raise CannotEdit("this list has items from elsewhere (aliases)")
        lines = f"{self._break}{' ' * node.column}".join(f"- {flow_text(item)}" for item in wanted)
        yield Splice(self._start(node), self._end(node), flow_text(list(wanted)) if node.flow or not wanted else lines)

    def _change_flow_items(self, node: nodes.Sequence, kept: list[bool], added: list[Json]) -> Iterator[Splice]:
        spans = [(self._start(item), self._end(item)) for item in node.items]
        new = ", ".join(flow_text(item) for item in added)
        stays = [span for span, stay in zip(spans, kept, strict=True) if stay]
        if not stays:
            yield Splice(
                spans[0][0] if spans else self._start(node) + 1, spans[-1][1] if spans else self._start(node) + 1, new
            )
            return
        yield from self._remove_spans(spans, kept)
        if new:
            yield Splice(stays[-1][1], stays[-1][1], f", {new}")

    def _remove_spans(self, spans: Sequence[tuple[int, int]], kept: Sequence[bool]) -> Iterator[Splice]:
        """Remove items with the separator before the next remaining one; at the end, with the one before them."""
        last = max(index for index, stay in enumerate(kept) if stay)
        for index, stay in enumerate(kept[: last + 1]):
            if not stay:
                yield Splice(spans[index][0], spans[index + 1][0], "")
        if last < len(spans) - 1:
            yield Splice(spans[last][1], spans[-1][1], "")

    def _change_block_items(self, node: nodes.Sequence, kept: list[bool], added: list[Json]) -> Iterator[Splice]:
        if not any(kept) and not added:
            raise CannotEdit("a list with dashes cannot be emptied in place")
        indent = " " * node.column
        for item, stay in zip(node.items, kept, strict=True):
            if not stay:
                yield Splice(self._line_start(self._start(item)), self._line_end(self._end(item) - 1), "")
        if added:
            last = [item for item, stay in zip(node.items, kept, strict=True) if stay] or node.items
            lines = self._break.join(f"{indent}- {flow_text(item)}" for item in added)
            yield self._insert_lines(self._end(last[-1]), lines)

    def _insert_lines(self, index: int, lines: str) -> Splice:
        """Write lines below the line that ends the value at `at`, with its comment."""
        end = self._line_end(index - 1)
        return Splice(end, end, lines + self._break if end in self._starts else self._break + lines)


def _is_section(value: Node) -> bool:
    return isinstance(value, nodes.Mapping) and not value.flow


def _stays_in_order(node: nodes.Sequence, wanted: Sequence[Json]) -> bool:
    """Are the remaining items, followed by the new ones, exactly the wanted list?"""
    names = [_identity(texts_of_value(value)) for value in wanted]
    stay = [name for item in node.items if (name := _identity(texts_of_node(item))) in names]
    return stay + [name for name in names if name not in stay] == names


def _identity(value: Json) -> Json:
    """Return what tells an item of a list from the others: a mapping's first value, otherwise the item itself."""
    return next(iter(value.values()), None) if isinstance(value, dict) else value
