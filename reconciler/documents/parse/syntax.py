"""Explains why a text is not YAML: bytes that are no text, and the parser's complaints in plain words."""

from __future__ import annotations

import codecs
import re
from itertools import islice

from ruamel.yaml.error import YAMLError

from reconciler.documents.parse.complain import complain
from reconciler.model.diagnostic import Diagnostic, SourceSpan

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
    "found unexpected ':'": "inside `[…]` and `{{…}}` a value that contains `:` needs quotes",
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
        return "", [complain("XX511", "yaml-encoding", message, SourceSpan(file, 1, 1, 1, 1))]
    data = data.removeprefix(codecs.BOM_UTF8)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        before = data[: error.start].decode()
        message = f"byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8"
        return "", [complain("XX511", "yaml-encoding", message, _position_in(file, before, len(before)))]
    return text, [_forbidden_character(file, text, match) for match in islice(FORBIDDEN.finditer(text), _MOST_SHOWN)]


def _forbidden_character(file: str, text: str, match: re.Match[str]) -> Diagnostic:
    character = ord(match[0])
    escape = f"\\x{character:02x}" if character < 0x100 else f"\\u{character:04x}"
    message = f'invisible character U+{character:04X}; remove it, or write "{escape}" in double quotes'
    return complain("XX511", "yaml-encoding", message, _position_in(file, text, match.start()))


def _position_in(file: str, text: str, index: int) -> SourceSpan:
    lines = re.split(r"\r\n|\r|\n", text[:index])
    return SourceSpan(file, len(lines), len(lines[-1]) + 1, len(lines), len(lines[-1]) + 2)


def explain_syntax(file: str, text: str, error: YAMLError) -> Diagnostic:
    """Explain a complaint of the parser, where a person would look for it."""
    problem = getattr(error, "problem", None) or str(error).splitlines()[0]
    mark, context = getattr(error, "problem_mark", None), getattr(error, "context_mark", None)
    if problem in _AT_CONTEXT or "alphabetic or numeric" in problem:
        mark = context or mark
    message = _explain_problem(problem, text, mark, context)
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    position = SourceSpan(file, line, column, line, column + 1)
    return complain("XX510", "yaml-syntax", message, position)


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
