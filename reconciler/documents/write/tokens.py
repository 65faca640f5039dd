"""The tokens of a text, each with its place: what is between them is blank space and comments, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ruamel.yaml.cyaml import CParser  # type: ignore[attr-defined]
from ruamel.yaml.tokens import ScalarToken, StreamEndToken

Token = Any
"""One of ruamel.yaml's, of the C parser."""

_COMMENT = re.compile(r"#[^\n]*")


class Comment(NamedTuple):
    """Where it begins, and its text without the blanks behind it."""

    line: int
    column: int
    text: str


def tokens_of(text: str) -> list[Token]:
    """All tokens of a text. Raises YAMLError where it cannot be read."""
    following = CParser(text).get_token
    tokens = [following()]
    while type(tokens[-1]) is not StreamEndToken:
        tokens.append(following())
    return tokens


def comments_of(text: str, tokens: Sequence[Token]) -> Iterator[Comment]:
    """Every comment of a text, in order."""
    end = line = line_start = 0
    for start, stop in _gaps(text, tokens):
        for match in _COMMENT.finditer(text, start, stop):
            line += text.count("\n", end, match.start())
            line_start = text.rfind("\n", 0, match.start()) + 1
            yield Comment(line, match.start() - line_start, match[0].rstrip())
            end = match.start()


def _gaps(text: str, tokens: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """Yield what is between the tokens; and behind `|`, where the first line of a block scalar is a part of its
    token."""
    end = 0
    for token in tokens:
        start = token.start_mark.index
        if start > end:
            yield end, start
        if is_block_scalar(token):
            yield start, line_end(text, start)
        end = max(end, token.end_mark.index)


def is_block_scalar(token: Token) -> bool:
    """Does it begin with `|` or `>`?"""
    return type(token) is ScalarToken and token.style in ("|", ">")


def keeps_blank_lines(token: Token, lines: Sequence[str]) -> bool:
    """Is it a block scalar that says `+`, so that all blank lines behind it are part of it?"""
    return is_block_scalar(token) and "+" in lines[token.start_mark.line][token.start_mark.column :].partition("#")[0]


def last_line(token: Token, lines: Sequence[str]) -> int:
    """Find the line where it ends."""
    line: int = token.end_mark.line
    if not is_block_scalar(token):
        return line
    if token.end_mark.column < len(lines[line]) or not token.end_mark.column:
        line -= 1
    if not keeps_blank_lines(token, lines):
        while line > token.start_mark.line and not lines[line].strip():
            line -= 1
    return line


def line_end(text: str, index: int) -> int:
    """Find where the line of this place ends, before its line break."""
    end = text.find("\n", index)
    return len(text) if end < 0 else end
