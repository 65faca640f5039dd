"""Puts `${name}` into quotes within `[…]` and `{…}`, where other readers of YAML take its brace for a mapping."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ruamel.yaml.tokens import ScalarToken

from reconciler.documents.write.lines import WIDE
from reconciler.documents.write.one_line import ENDS, STARTS
from reconciler.documents.write.tokens import Token, comments_of, tokens_of

_ESCAPED_IN_DOUBLE_QUOTES = re.compile(r'["\\]')


class _Edit(NamedTuple):
    start: int
    end: int
    text: str


def quote_in_brackets(text: str, brace: str) -> str:
    """Put quotes around every value and key within brackets that holds this character, the masked brace of a mention. A
    comment stays in its column if it stands apart."""
    if brace not in text:
        return text
    tokens = tokens_of(text)
    edits, longer = list[_Edit](), Counter[int]()
    for token in _unquoted_in_brackets(tokens):
        if brace in token.value:
            start, end = token.start_mark.index, token.end_mark.index
            edits.append(_Edit(start, end, _quoted(text[start:end])))
            longer[token.end_mark.line] += len(edits[-1].text) - (end - start)
    edits += _shorter_gaps(text, tokens, longer)
    for edit in sorted(edits, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def _unquoted_in_brackets(tokens: Sequence[Token]) -> Iterator[Token]:
    depth = 0
    for token in tokens:
        depth += (type(token) in STARTS) - (type(token) in ENDS)
        if depth and type(token) is ScalarToken and token.plain:
            yield token


def _quoted(written: str) -> str:
    if _ESCAPED_IN_DOUBLE_QUOTES.search(written):
        return "'" + written.replace("'", "''") + "'"
    return f'"{written}"'


def _shorter_gaps(text: str, tokens: Sequence[Token], longer: Counter[int]) -> Iterator[_Edit]:
    """Take the blanks before a comment that its line became longer by."""
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    for comment in comments_of(text, tokens):
        end = starts[comment.line] + comment.column
        before = text[starts[comment.line] : end]
        gap = len(before) - len(before.rstrip())
        if longer[comment.line] and gap >= WIDE:
            yield _Edit(end - min(longer[comment.line], gap - 1), end, "")
