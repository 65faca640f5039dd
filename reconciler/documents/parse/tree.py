"""Builds the nodes of a text from the C parser's events, which is ten times faster than composing node objects.

Anchors, aliases and merge keys are resolved here; the shared nodes keep the place where they are written.

Explains why a text is not YAML: bytes that are no text, and the parser's wrongs in plain words.
"""

from __future__ import annotations

import codecs
import re
from itertools import islice
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.cyaml import CParser  # type: ignore[attr-defined]
from ruamel.yaml.error import YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from reconciler.documents.parse.nodes import Mapping, Node, Scalar, Sequence, error_at, shape_in_words, span
from reconciler.model.diagnostic import Diagnostic, SourceSpan

MOST_EXPANDED = 500_000
"""How many nodes aliases may add to a file; more is an alias bomb, or a file that nobody can review."""
DEEPEST = 64
"""How many levels of nesting are allowed; no topology needs nearly as many."""

_TAG = re.compile(r"![^\s,\[\]{}]*")
_PROPERTIES = re.compile(r"(?:[&!]\S*[ \t]+)+")


class _Stop(Exception):
    """Stops the reading: more would only repeat the first problem."""


COLON_IN_FLOW = "found unexpected ':'"
"""The C parser takes no `[nats://a:4222]`; YAML 1.2 does, and so do most tools."""


def read_tree(file: str, text: str, *, is_foreign: bool = False) -> tuple[Node | None, list[Diagnostic]]:
    """Return the root node of a text, with every problem of its YAML; an empty document has no root. A foreign text is
    read as other tools read it: reconciler's own files keep to what every YAML reader takes alike."""
    builder, error = _built(file, text, CParser(text))
    if is_foreign and getattr(error, "problem", "") == COLON_IN_FLOW:
        builder, error = _built(file, text, YAML(typ="safe", pure=True).get_constructor_parser(text)[1])
    if error is not None:
        builder.problems.append(explain_syntax(file, text, error))
    return builder.root, builder.problems


def _built(file: str, text: str, parser: Any) -> tuple[_Builder, YAMLError | None]:
    """Read as far as the parser gets, and return what stopped it."""
    builder = _Builder(file, text)
    try:
        builder.build(parser)
    except YAMLError as error:
        return builder, error
    except _Stop:
        pass
    return builder, None


class _Builder:
    """Feeds events into nodes. `open` is the stack of containers; `keys` holds the key that waits for its value."""

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.text = text
        self.root: Node | None = None
        self.problems: list[Diagnostic] = []
        self.open: list[Mapping | Sequence] = []
        self.keys: list[Scalar | None] = []
        self.merges: list[list[tuple[Scalar, Node]]] = []
        self.anchors: dict[str, Node] = {}
        self.sizes: dict[int, int] = {}
        self.starts: list[int] = []
        self.nodes = 0
        self.documents = 0

    def build(self, parser: Any) -> None:
        following = parser.get_event
        scalar, container_end = self._read_scalar, self._close_container
        while True:
            event = following()
            kind = type(event)
            if kind is ScalarEvent:
                scalar(event)
            elif kind is MappingStartEvent or kind is SequenceStartEvent:
                self._open_container(event)
            elif kind is MappingEndEvent or kind is SequenceEndEvent:
                container_end(event)
            elif kind is AliasEvent:
                self._read_alias(event)
            elif kind is DocumentStartEvent:
                self._start_document(event)
            elif kind is StreamEndEvent:
                return

    def _read_scalar(self, event: Any) -> None:
        node = Scalar(event.value, event.implicit[0], event.start_mark, event.end_mark, self.file)
        self.nodes += 1
        if event.anchor or event.tag:
            self._read_properties(event, node)
        if self.open:
            self._attach(node)
        else:
            self.root = node

    def _open_container(self, event: Any) -> None:
        start = event.start_mark
        kind = Mapping if type(event) is MappingStartEvent else Sequence
        node = kind(event.flow_style, start.line, start.column, self.file)
        if len(self.open) >= DEEPEST:
            self._add_error("510", "yaml-syntax", f"this is nested more than {DEEPEST} levels deep", node)
            raise _Stop
        if event.anchor or event.tag:
            self._read_properties(event, node)
        self.open.append(node)
        self.keys.append(None)
        self.merges.append([])
        self.starts.append(self.nodes)
        self.nodes += 1

    def _close_container(self, event: Any) -> None:
        node = self.open.pop()
        pending, merges = self.keys.pop(), self.merges.pop()
        assert pending is None
        self.sizes[id(node)] = self.nodes - self.starts.pop()
        if node.flow:
            node.end_line, node.end_column = event.end_mark.line, event.end_mark.column
        for key, value in merges:
            self._merge_into(node, key, value)
        if self.open:
            self._attach(node)
        else:
            self.root = node

    def _attach(self, node: Node) -> None:
        """Put a finished node into the container around it."""
        container = self.open[-1]
        if type(container) is Sequence:
            container.items.append(node)
            return
        key = self.keys[-1]
        if key is None:
            self.keys[-1] = self._as_key(node)
            return
        self.keys[-1] = None
        if key.plain and key.text == "<<":
            self.merges[-1].append((key, node))
        elif key.text in container.entries:  # type: ignore[union-attr]
            self._duplicate(key, container.entries[key.text][0])  # type: ignore[union-attr]
        else:
            container.entries[key.text] = (key, node)  # type: ignore[union-attr]

    def _as_key(self, node: Node) -> Scalar:
        if isinstance(node, Scalar):
            return node
        self._add_error("510", "yaml-syntax", f"a key must be a single value, but this is {shape_in_words(node)}", node)
        raise _Stop

    def _duplicate(self, key: Scalar, first: Scalar) -> None:
        place = f"{first.line + 1}:{first.column + 1}"
        self._add_error(
            "505", "duplicate", f"key `{key.text}` is written here and at {place} of the same mapping; keep one", key
        )

    def _merge_into(self, target: Mapping | Sequence, key: Scalar, value: Node) -> None:
        """Merge for `<<`: written keys win over merged ones, and earlier mappings over later ones."""
        sources = value.items if isinstance(value, Sequence) else [value]
        for source in sources:
            if isinstance(source, Mapping) and isinstance(target, Mapping):
                for name, entry in source.entries.items():
                    target.entries.setdefault(name, entry)
            else:
                self._add_error("513", "yaml-alias", f"`<<` merges mappings, but this is {shape_in_words(source)}", key)

    def _read_alias(self, event: Any) -> None:
        alias = Scalar(event.anchor, True, event.start_mark, event.end_mark, self.file)
        node = self.anchors.get(event.anchor)
        if node is None:
            message = f"`*{event.anchor}` needs an anchor `&{event.anchor}` above; if this is text, put it in quotes"
            self._add_error("513", "yaml-alias", message, alias)
            raise _Stop
        if any(node is container for container in self.open):
            message = f"`*{event.anchor}` stands inside `&{event.anchor}` itself, so it would never end"
            self._add_error("513", "yaml-alias", message, alias)
            raise _Stop
        self.nodes += self.sizes.get(id(node), 1)
        if self.nodes > MOST_EXPANDED:
            self._add_error(
                "513", "yaml-alias", f"aliases expand this file to more than {MOST_EXPANDED:_} values", alias
            )
            raise _Stop
        if self.open:
            self._attach(node)

    def _read_properties(self, event: Any, node: Node) -> None:
        """Read anchors and tags before a node; the node's place begins after them."""
        if event.tag and event.tag != "!":
            written = _TAG.search(self.text, event.start_mark.index)
            self._add_error(
                "514", "yaml-tag", f"tag `{written[0] if written else '!'}` has no meaning here; remove it", node
            )
        if event.anchor:
            self.anchors[event.anchor] = node
        skipped = _PROPERTIES.match(self.text, event.start_mark.index)
        if skipped and node.line == event.start_mark.line:
            node.column += skipped.end() - skipped.start()

    def _start_document(self, event: Any) -> None:
        self.documents += 1
        if self.documents > 1:
            marker = Scalar("---", True, event.start_mark, event.end_mark, self.file)
            self._add_error(
                "512", "yaml-documents", "a second document begins here; write one document per file", marker
            )
            raise _Stop

    def _add_error(self, number: str, name: str, message: str, node: Node) -> None:
        self.problems.append(error_at(f"XX{number}", name, message, span(node)))


_WIDE_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)
FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
_MOST_SHOWN = 20

_TABS = "a tab indents this line; YAML allows only spaces there"
_WORDS = {
    "mapping values are not allowed in this context":
        "`key:` cannot stand here; check the indentation of this line, or put a value that contains `: ` in quotes",
    "block sequence entries are not allowed in this context":
        "`- item` cannot stand here; begin the list on its own line under the key",
    "did not find expected key": "the indentation of this line matches nothing above it",
    "did not find expected '-' indicator": "a `- item` was expected here, as on the lines above",
    "did not find expected ',' or ']'": "the list opened with `[` at {context} is not closed, or a `,` is missing",
    "did not find expected ',' or '}'": "the mapping opened with `{{` at {context} is not closed, or a `,` is missing",
    "did not find expected node content": "a value was expected here",
    "did not find expected <document start>": "the document ended above; check the indentation of this line",
    "could not find expected ':'": "this is neither `key: value` nor `- item`",
    COLON_IN_FLOW: "inside `[…]` and `{{…}}` a value that contains `:` needs quotes",
    "found unexpected end of stream": "the quote opened here is never closed",
    "found unexpected document indicator": "the quote opened here is not closed before the document ends",
    "found unknown escape character": "`{text}` is not an escape in double quotes; write `\\\\`, or use single quotes",
}  # fmt: skip
_AT_CONTEXT = frozenset({
    "could not find expected ':'", "found unexpected end of stream", "found unexpected document indicator",
})  # fmt: skip
_RESERVED = {"@": "is reserved in YAML", "`": "is reserved in YAML", "%": "begins a directive in YAML",
             ">": "begins a folded text in YAML", "|": "begins a literal text in YAML"}  # fmt: skip


def decode(file: str, data: bytes) -> tuple[str, list[Diagnostic]]:
    """Return the text of a file; a UTF-8 byte order mark is accepted and dropped."""
    if data.startswith(_WIDE_MARKS) or b"\0" in data[:4]:
        message = "this is not UTF-8 (it looks like UTF-16 or UTF-32); save the file as UTF-8"
        return "", [error_at("XX511", "yaml-encoding", message, SourceSpan(file, 1, 1, 1, 1))]
    data = data.removeprefix(codecs.BOM_UTF8)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        before = data[: error.start].decode()
        message = f"byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8"
        return "", [error_at("XX511", "yaml-encoding", message, _position_in(file, before, len(before)))]
    return text, [_forbidden_character(file, text, match) for match in islice(FORBIDDEN.finditer(text), _MOST_SHOWN)]


def _forbidden_character(file: str, text: str, match: re.Match[str]) -> Diagnostic:
    character = ord(match[0])
    escape = f"\\x{character:02x}" if character < 0x100 else f"\\u{character:04x}"
    message = f'invisible character U+{character:04X}; remove it, or write "{escape}" in double quotes'
    return error_at("XX511", "yaml-encoding", message, _position_in(file, text, match.start()))


def _position_in(file: str, text: str, index: int) -> SourceSpan:
    lines = re.split(r"\r\n|\r|\n", text[:index])
    return SourceSpan(file, len(lines), len(lines[-1]) + 1, len(lines), len(lines[-1]) + 2)


def explain_syntax(file: str, text: str, error: YAMLError) -> Diagnostic:
    """Explain a wrong of the parser, where a person would look for it."""
    problem = getattr(error, "problem", None) or str(error).splitlines()[0]
    mark, context = getattr(error, "problem_mark", None), getattr(error, "context_mark", None)
    if problem in _AT_CONTEXT or "alphabetic or numeric" in problem:
        mark = context or mark
    message = _explain_problem(problem, text, mark, context)
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    position = SourceSpan(file, line, column, line, column + 1)
    return error_at("XX510", "yaml-syntax", message, position)


def _explain_problem(problem: str, text: str, mark: object, context: object) -> str:
    index = getattr(mark, "index", 0)
    character = text[index : index + 1]
    line_start = max(text.rfind("\n", 0, index), text.rfind("\r", 0, index)) + 1
    if (
        character == "\t"
        or " tab " in problem
        or ("\t" in text[line_start:index] and not text[line_start:index].strip())
    ):
        return _TABS
    if "cannot start any token" in problem and character in _RESERVED:
        return f"`{character}` {_RESERVED[character]}; put the value in quotes"
    if "alphabetic or numeric" in problem and character in ("*", "&"):
        role = "refers to an anchor" if character == "*" else "names an anchor"
        return f"`{character}` {role} in YAML; put the value in quotes"
    explanation = _WORDS.get(problem)
    if explanation is None:
        return f"this is not YAML: {problem}"
    opened = f"{getattr(context, 'line', 0) + 1}:{getattr(context, 'column', 0) + 1}"
    return explanation.format(context=opened, text=text[index : index + 2])
