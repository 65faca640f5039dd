"""The values that a run is given for the parameters of its files, and how files mention them: `${name}`, or `$${name}` for
the text `${name}` itself."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from reconciler.documents.parse.files import DISK, Tree
from reconciler.documents.parse.nodes import Mapping as Table
from reconciler.documents.parse.nodes import (
    Node,
    Scalar,
    did_you_mean,
    error_at,
    is_null,
    list_at,
    mapping_at,
    node_to_show,
    shape_in_words,
    span,
)
from reconciler.documents.parse.tree import read_tree
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import Diagnostic, SourceSpan

NAME = r"[A-Za-z_][A-Za-z0-9_.-]*"
MENTIONED = re.compile(rf"\$(?P<own>\$)?\{{(?P<name>{NAME})\}}")
IN_SCHEMAS = rf"\$\{{{NAME}\}}"
"""A mention, as a pattern of a JSON Schema."""
PRIVATE = range(0xE000, 0xF900)
"""Characters that mean nothing to anybody: two of them stand for the braces of `${name}` while a text is read as YAML."""
HIDDEN = re.compile(f"[{chr(PRIVATE.start)}-{chr(PRIVATE.stop - 1)}]")
_LITERAL = re.compile(rf"\$(?=\{{{NAME}\}})")


class Given(NamedTuple):
    """A value for a parameter: a node of a file, or text from the command line or a fleet file, whose type the parameter
    tells."""

    value: Node | str
    origin: str
    """Where it was given, in words: `prod.yaml:3:7` or `--value`."""
    span: SourceSpan | None = None


@dataclass(frozen=True, slots=True)
class Filled:
    """Files with the values given for their parameters."""

    tree: Tree = DISK
    values: Mapping[str, str] = field(default_factory=dict)
    """Values as text. They count before those of `files`."""
    needed: Collection[str] = ()
    """Names of values for which there must be a parameter: they were given for these files alone."""
    known: set[str] = field(default_factory=set)
    """Parameters of the files read so far. With several topologies, one that has the parameter is enough."""
    files: Sequence[Path] = ()
    """Files with a value for each name; a later one wins."""
    origin: str = "--value"
    """Where `values` are from, in words."""
    places: Mapping[str, SourceSpan] = field(default_factory=dict)
    """Where some of `values` stand."""
    environment: str | None = None
    """The environment whose overlay and values count."""
    reports_unused: bool = True
    """Whether loading one topology reports values without a parameter. In a review, only all topologies together can tell."""

    def find(self, paths: Sequence[Path]) -> tuple[list[Path], list[Diagnostic]]:
        """Find the files of the tree below. Files of values are no part of a topology, wherever they are."""
        files, problems = self.tree.find(paths)
        files_of_values = {os.path.realpath(path) for path in self.files}
        kept = [path for path in files if os.path.realpath(path) not in files_of_values] if files_of_values else files
        if files and not kept:
            message = f"`{files[0]}` is a file of values (--values), so no file of a topology is left to read"
            problems = [*problems, error_at("XX520", "no-files", message, SourceSpan(str(files[0]), 1, 1, 1, 1))]
        return kept, problems

    def read(self, path: Path) -> tuple[str, list[Diagnostic]]:
        """Return the text of a file as it is written."""
        return self.tree.read(path)

    def given_values(self) -> tuple[dict[str, Given], list[Diagnostic]]:
        """Return the value that counts for each name, and what is wrong with the files of values."""
        given, problems = dict[str, Given](), list[Diagnostic]()
        for path in self.files:
            text, unreadable = self.tree.read(path)
            root, errors = (None, []) if unreadable else read_tree(str(path), text)
            problems += unreadable + errors
            if isinstance(root, Table):
                given |= {name: _given_in_file(key, node) for name, (key, node) in root.entries.items()}
            elif root is not None and not is_null(root):
                message = f"a file of values is {shape_in_words(root)}; write a mapping (`region: eu`)"
                problems.append(error_at("XX504", "wrong-shape", message, span(root)))
        for name, text in self.values.items():
            place = self.places.get(name)
            given[name] = Given(text, str(place or self.origin), place)
        return given, problems

    def unused_value_problems(self, given: Mapping[str, Given]) -> Iterator[Diagnostic]:
        """Report values without a parameter, as far as files were read: a misspelt name must not pass for a value in
        place."""
        for name, given_value in given.items():
            is_needed = name in self.needed if name in self.values else given_value.span is not None
            if name not in self.known and is_needed:
                message = f"value `{name}` is given, but there is no parameter `{name}`{did_you_mean(name, self.known)}"
                fix = f"declare it under `parameters`, leave {name} out, or give the name that you meant"
                yield error_at("XX516", "unused-value", message, given_value.span, fix=fix)


def _given_in_file(key: Scalar, node: Node) -> Given:
    place = span(node_to_show(key, node))
    return Given(node, str(place), place)


class Mask(NamedTuple):
    """Two characters that a text does not hold. They stand for the braces of `${name}`, which YAML would read as a mapping
    inside `[…]` and `{…}`. Places stay what they are."""

    start: str
    end: str

    @classmethod
    def for_text(cls, text: str) -> Mask:
        """Return a mask for this text."""
        start, end, *_ = (*islice((chr(code) for code in PRIVATE if chr(code) not in text), 2), "{", "}")
        return cls(start, end) if "{" not in (start, end) else cls("{", "}")

    def hide_braces(self, text: str) -> str:
        """Hide the braces of every mention."""
        braces = str.maketrans({"{": self.start, "}": self.end})
        return MENTIONED.sub(lambda match: match[0].translate(braces), text)

    def show_braces(self, text: str) -> str:
        """Show them again."""
        if self.start not in text:
            return text
        return text.translate({ord(self.start): "{", ord(self.end): "}"})


def unmask(node: Node, mask: Mask | None) -> Node:
    """Return the same with its braces, where no parameter stands for anything. The node itself may be shared by an alias."""
    if mask is None:
        return node
    if isinstance(node, Scalar):
        return node.with_text(mask.show_braces(node.text), plain=node.plain)
    if isinstance(node, Table):
        table = mapping_at(node)
        for key, value in node.entries.values():
            shown_key = key.with_text(mask.show_braces(key.text), plain=key.plain)
            table.entries[shown_key.text] = (shown_key, unmask(value, mask))
        return table
    items = list_at(node)
    items.items = [unmask(item, mask) for item in node.items]
    return items


def mentions(text: str) -> Counter[str]:
    """Return how often a text mentions each parameter."""
    return Counter(match[0] for match in MENTIONED.finditer(text) if not match["own"])


def escape_mentions(text: str) -> str:
    """Escape a text for a file, where `${name}` would otherwise stand for a value."""
    return _LITERAL.sub("$$", text) if "${" in text else text
