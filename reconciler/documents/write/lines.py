"""Pieces → lines: keys in their order, two spaces for each level, at most one blank line, and comments at the end of lines in
the column where they stood, if others stand there too.

A comment directly above a piece goes with it. What is indented deeper than the next piece belongs to what is nested above
it; what stands right below a piece, with a blank line behind it, to that piece; what is behind the last piece stays last."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from ruamel.yaml.tokens import ScalarToken

from reconciler.documents.write.one_line import arrange
from reconciler.documents.write.order import HEAD
from reconciler.documents.write.tokens import Comment, Token, is_block_scalar, last_line
from reconciler.documents.write.yaml_items import Level, Piece

_FOR_TOOLS = re.compile(r"#\s*yaml-language-server:")
"""Tools look for it in the first line."""


class Placing:
    """Goes through pieces and lines side by side."""

    def __init__(self, lines: Sequence[str], begin: int) -> None:
        self._lines = lines
        self._free = begin
        """The first line that belongs to nothing yet."""
        self._around: list[Level] = []
        """The levels around the last piece, outermost first."""
        self.header: list[str] = []
        """What stands at the top, whatever comes first; an empty one at its end is a blank line behind it."""

    def place_comments(self, root: Level, end: int) -> None:
        """Give every comment before the line `end` to a piece, a level or the header."""
        self._place_in_level(root, ())
        rest, _ = self._comments_between(end, (root,))
        root.tail += rest

    def _place_in_level(self, level: Level, above: tuple[Level, ...]) -> None:
        around = (*above, level)
        self._around = [*above]
        for number, piece in enumerate(level.pieces):
            comments, is_apart = self._comments_between(piece.line, around)
            if number:
                _divide_comments(level.pieces[number - 1], piece, comments, is_apart=is_apart)
            else:
                self._place_above_first(piece, comments, is_apart=is_apart, is_top=not above)
            if piece.level:
                self._free = min(piece.line + 1, piece.level.pieces[0].line)
                self._place_in_level(piece.level, around)
            else:
                self._free, self._around = piece.last + 1, [*around]

    def _comments_between(self, end: int, around: Sequence[Level]) -> tuple[list[str], bool]:
        """Comments for the next piece, which is within `around`, and whether a blank line stands behind them."""
        comments: list[str] = []
        inner = self._around[len(around) :]
        is_apart = False
        for line in self._lines[self._free : end]:
            text = line.strip()
            if text:
                inner = _levels_deep_enough(inner, len(line) - len(line.lstrip()), around[-1].column)
                target = inner[-1].tail if inner else comments
                target += ["", text] if is_apart else [text]
            is_apart = not text
        return comments, is_apart

    def _place_above_first(self, piece: Piece, comments: list[str], *, is_apart: bool, is_top: bool) -> None:
        comments = comments[comments[:1] == [""] :]
        piece.above = [*comments, ""] if comments and is_apart else comments
        if is_top:
            end = _end_of_header(piece)
            self.header, piece.above = piece.above[:end], piece.above[end:]


def _end_of_header(first: Piece) -> int:
    """Find the end of the header, which is a blank line. What stands right above the name of the topology is about the
    file, too."""
    above = first.above
    if first.key in HEAD:
        return len(above)
    if "" in above:
        return len(above) - above[::-1].index("")
    return 1 if above and _FOR_TOOLS.match(above[0]) else 0


def _levels_deep_enough(inner: list[Level], column: int, least: int) -> list[Level]:
    """The levels that a comment of this column may be in; of two in one column the outer one."""
    while inner and not (column > least and column >= inner[-1].column):
        inner = inner[:-1]
    while len(inner) > 1 and inner[-2].column == inner[-1].column:
        inner = inner[:-1]
    return inner


def _divide_comments(before: Piece, piece: Piece, comments: list[str], *, is_apart: bool) -> None:
    """Comments between two pieces of a level."""
    piece.apart = comments[:1] == [""] or (is_apart and not comments)
    comments = comments[comments[:1] == [""] :]
    if comments and not piece.apart and (is_apart or "" in comments):
        end = comments.index("") if "" in comments else len(comments)
        before.below, comments, piece.apart = comments[:end], comments[end + 1 :], True
    piece.above = [*comments, ""] if comments and is_apart else comments


STEP = "  "
WIDE = 3
"""So many blanks before a comment tell that it stands in a column."""


class FormLine(NamedTuple):
    """A line of the result."""

    text: str
    note: int = -1
    """The line whose comment ends it; -1: none."""
    is_open: bool = False
    """It ends a value that blank lines behind it would become part of."""


class Lines:
    """The lines of a text in form."""

    def __init__(self, lines: Sequence[str], tokens: Sequence[Token], comments: Iterable[Comment]) -> None:
        self._lines, self._tokens = lines, tokens
        self._inside = {line for token in tokens for line in _lines_broken_inside(token, lines)}
        """Those whose break is part of a value, and so are the blanks before it."""
        self._comments = {comment.line: comment for comment in comments}

    def format_lines(self, root: Level, begin: int, end: int) -> list[str]:
        """The lines for everything between these two."""
        placing = Placing(self._lines, begin)
        placing.place_comments(root, end)
        form_lines = self._level_lines(root)
        columns = self._comment_columns([line.note for line in form_lines if line.note >= 0])
        return [*placing.header, *(self._with_comment(line, columns) for line in _without_blanks_in_values(form_lines))]

    def _level_lines(self, level: Level) -> list[FormLine]:
        level.pieces = _arrange_pieces(level, self._tokens)
        form_lines: list[FormLine] = []
        for piece in level.pieces:
            if form_lines and piece.apart:
                form_lines.append(FormLine(""))
            form_lines += [*map(FormLine, piece.above), *self._piece_lines(piece), *map(FormLine, piece.below)]
        return [*form_lines, *map(FormLine, level.tail)]

    def _piece_lines(self, piece: Piece) -> list[FormLine]:
        if piece.head is None:
            return [*self._dedented_lines(piece.line, piece)]
        head = FormLine(self._without_end_blanks(piece.head, piece.line), piece.note)
        if piece.level is None:
            return [head, *self._dedented_lines(piece.line + 1, piece)]
        inner = self._level_lines(piece.level)
        if not piece.is_compact:
            return [head, *_indented_lines(inner)]
        first = len(piece.level.pieces[0].above)  # a comment has no place between a dash and its key
        first_line = FormLine(f"{piece.head} {inner[first].text}", inner[first].note)
        return [*inner[:first], first_line, *_indented_lines(inner[first + 1 :])]

    def _dedented_lines(self, first: int, piece: Piece) -> Iterator[FormLine]:
        """The lines of a piece from this number on, without the indentation of its column."""
        for number in range(first, piece.last + 1):
            line = self._lines[number]
            indent = piece.column if number == piece.line else min(piece.column, len(line) - len(line.lstrip(" ")))
            yield FormLine(self._without_end_blanks(line[indent:], number), is_open=piece.is_open)

    def _without_end_blanks(self, text: str, number: int) -> str:
        return text if number in self._inside else text.rstrip()

    def _comment_columns(self, notes: Sequence[int]) -> set[int]:
        """Return the columns where several comments stand below one another."""
        columns = Counter(self._comments[note].column for note in notes)
        wide = {self._comments[note].column for note in notes if self._gap_before(note) >= WIDE}
        return {column for column in wide if columns[column] > 1}

    def _gap_before(self, note: int) -> int:
        before = self._lines[note][: self._comments[note].column]
        return len(before) - len(before.rstrip())

    def _with_comment(self, line: FormLine, columns: set[int]) -> str:
        if line.note < 0:
            return line.text
        comment = self._comments[line.note]
        gap = comment.column - len(line.text) if comment.column in columns else self._gap_before(line.note)
        return f"{line.text}{' ' * max(1, gap)}{comment.text}"


def _lines_broken_inside(token: Token, lines: Sequence[str]) -> range:
    """The lines whose break is inside of a token."""
    if type(token) is not ScalarToken:
        return range(0)
    is_block = is_block_scalar(token)
    return range(token.start_mark.line + is_block, last_line(token, lines) + is_block)


def _indented_lines(form_lines: Iterable[FormLine]) -> Iterator[FormLine]:
    return (line._replace(text=STEP + line.text) if line.text else line for line in form_lines)


def _without_blanks_in_values(form_lines: Iterable[FormLine]) -> Iterator[FormLine]:
    """Leave out blank lines that would become part of the value before them."""
    is_open = False
    for line in form_lines:
        if line.text or line.is_open or not is_open:
            yield line
            is_open = line.is_open


def _arrange_pieces(level: Level, tokens: Sequence[Token]) -> list[Piece]:
    """Put pieces in their order. What takes several lines stays apart from its neighbours on the side where it was;
    what stood first or last was so on either side. Between two single lines the blank one belongs to the second."""
    before, pieces = level.pieces, arrange(level.pieces, level.order.properties, tokens)
    if pieces == before:
        return pieces
    gaps = [piece.apart for piece in before[1:]]
    above = {id(piece): gap for piece, gap in zip(before, [gaps[0], *gaps], strict=True) if _is_long(piece)}
    below = {id(piece): gap for piece, gap in zip(before, [*gaps, gaps[-1]], strict=True) if _is_long(piece)}
    above |= {id(other): other.apart for piece, other in pairwise(before) if not (_is_long(piece) or _is_long(other))}
    for piece, other in pairwise(pieces):
        other.apart = below.get(id(piece), False) or above.get(id(other), False)
    return pieces


def _is_long(piece: Piece) -> bool:
    return bool(piece.last > piece.line or piece.above or piece.below)
