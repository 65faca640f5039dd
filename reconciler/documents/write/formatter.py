"""Puts the text of a topology's file into form, and never changes what it says.

Nothing is rewritten but quotes: lines change places and indentation, and take their comments along. The result is read again;
where it does not say the same, or a comment is gone, the text stays as it was.

Puts `${name}` into quotes within `[…]` and `{…}`, where other readers of YAML take its brace for a mapping.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from ruamel.yaml.tokens import DirectiveToken, DocumentEndToken, DocumentStartToken, ScalarToken

from reconciler.documents.fill.values import HIDDEN, Mask
from reconciler.documents.parse.nodes import Mapping, Node, Scalar, Sequence, error_at, span
from reconciler.documents.parse.shape import Shape
from reconciler.documents.parse.tree import read_tree
from reconciler.documents.read.other_files import errors_of_root, other_file_error
from reconciler.documents.write.lines import WIDE, Lines
from reconciler.documents.write.one_line import ENDS, STARTS
from reconciler.documents.write.tokens import Comment, Token, comments_of, tokens_of
from reconciler.documents.write.yaml_items import PieceReader
from reconciler.model.diagnostic import Diagnostic, SourceSpan

_STAYS = "the file stays as it is"


def in_form(file: str, text: str, order: Shape) -> tuple[str, list[Diagnostic]]:
    """The text in form, and nothing wrong with it; or the text as it is, and why it stays so.

    Lines end as the first one does. `order` is that of `document_order`.
    """
    line_break = "\r\n" if text.partition("\n")[0].endswith("\r") else "\n"
    mask = Mask.for_text(text)
    before = mask.hide_braces(text.replace("\r\n", "\n").replace("\r", "\n"))
    root, problems = read_tree(file, before)
    if other := other_file_error(file, root, order.properties):
        problems = [other]
    elif root is not None or not problems:
        problems += errors_of_root(file, root)
    if problems:
        return text, [replace(diagnostic, message=mask.show_braces(diagnostic.message)) for diagnostic in problems]
    after = _format_lines(quote_in_brackets(before, mask.start), order)
    if after != before and (problem := first_loss(file, before, after)):
        return text, [problem]
    return mask.show_braces(after).replace("\n", line_break), []


def _format_lines(text: str, order: Shape) -> str:
    tokens, lines = tokens_of(text), text.split("\n")
    start, begin = 1, 0  # behind the start of the stream
    while type(tokens[start]) in (DirectiveToken, DocumentStartToken):
        start, begin = start + 1, tokens[start].start_mark.line + 1
    end = next((token.start_mark.line for token in tokens if type(token) is DocumentEndToken), len(lines))
    root = PieceReader(text, lines, tokens, start).read_value(order)
    if root.level is None:
        return text if text.endswith("\n") else f"{text}\n"
    if not root.is_empty:  # an anchor of the whole
        begin = root.level.pieces[0].line
    formatted = Lines(lines, tokens, comments_of(text, tokens)).format_lines(root.level, begin, end)
    rest = "\n".join(lines[end:]).rstrip("\n")
    return "\n".join([*lines[:begin], *formatted, *([rest] if rest else [])]) + "\n"


def first_loss(file: str, before: str, after: str) -> Diagnostic | None:
    """Return what a text does not say any more that said it before: a value, or a comment."""
    was, _ = read_tree(file, before)
    now, problems = read_tree(file, after)
    assert was is not None
    if node := was if problems or now is None else _first_difference(was, now):
        fix = "write it in a simpler way" if before.endswith("\n") else "end the file with a line break"
        return error_at(
            "XX525", "stays-as-it-is", f"in form this would say something else; {_STAYS}", span(node), fix=fix
        )
    comments, left = _comments(before), Counter(each.text for each in _comments(after))
    left.subtract(each.text for each in comments)
    if comment := next((each for each in comments if left[each.text]), None):
        line, column = comment.line + 1, comment.column + 1
        place = SourceSpan(file, line, column, line, column + len(comment.text))
        fix = "move the comment to another line"
        return error_at("XX525", "stays-as-it-is", f"in form this comment would be lost; {_STAYS}", place, fix=fix)
    return None


def _comments(text: str) -> list[Comment]:
    return list(comments_of(text, tokens_of(text)))


def _first_difference(one: Node, other: Node) -> Node | None:
    """The first part of a value that is another one there; the order of keys is none of it."""
    if isinstance(one, Scalar) and isinstance(other, Scalar):
        return None if (one.text, _may_be_no_text(one)) == (other.text, _may_be_no_text(other)) else one
    pairs: Iterable[tuple[Node, Node]]
    if isinstance(one, Sequence) and isinstance(other, Sequence) and len(one.items) == len(other.items):
        pairs = zip(one.items, other.items, strict=True)
    elif isinstance(one, Mapping) and isinstance(other, Mapping) and one.entries.keys() == other.entries.keys():
        pairs = ((node, other.entries[key][at]) for key, pair in one.entries.items() for at, node in enumerate(pair))
    else:
        return one
    return next((difference for pair in pairs if (difference := _first_difference(*pair))), None)


def _may_be_no_text(scalar: Scalar) -> bool:
    """Is it for the text to tell whether this is a number, a flag or nothing? With a mention in it, quotes do not matter."""
    return scalar.plain and not HIDDEN.search(scalar.text)


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


def _unquoted_in_brackets(tokens: list[Token]) -> Iterator[Token]:
    depth = 0
    for token in tokens:
        depth += (type(token) in STARTS) - (type(token) in ENDS)
        if depth and type(token) is ScalarToken and token.plain:
            yield token


def _quoted(written: str) -> str:
    if _ESCAPED_IN_DOUBLE_QUOTES.search(written):
        return "'" + written.replace("'", "''") + "'"
    return f'"{written}"'


def _shorter_gaps(text: str, tokens: list[Token], longer: Counter[int]) -> Iterator[_Edit]:
    """Take the blanks before a comment that its line became longer by."""
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    for comment in comments_of(text, tokens):
        end = starts[comment.line] + comment.column
        before = text[starts[comment.line] : end]
        gap = len(before) - len(before.rstrip())
        if longer[comment.line] and gap >= WIDE:
            yield _Edit(end - min(longer[comment.line], gap - 1), end, "")
