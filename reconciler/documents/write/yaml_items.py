"""A text as pieces: each is a key with its value, or an item of a list, and has its lines and the comments that go with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import NamedTuple

from ruamel.yaml.tokens import (
    AliasToken,
    AnchorToken,
    BlockEntryToken,
    BlockMappingStartToken,
    BlockSequenceStartToken,
    KeyToken,
    ScalarToken,
    ValueToken,
)

from reconciler.documents.parse.shape import ANYTHING, Shape
from reconciler.documents.write.one_line import ENDS, STARTS, OneLine, closing_index, is_explicit
from reconciler.documents.write.tokens import Token, is_block_scalar, keeps_blank_lines, last_line
from reconciler.model.dataclass import dataclass


@dataclass(slots=True, eq=False)
class Piece:
    """Its place, and what its first line is in form."""

    line: int
    column: int
    key: str = ""
    """Of an item nothing."""
    last: int = 0
    """The last line of it and of everything in it."""
    is_open: bool = False
    """Blank lines behind that one would become part of a value."""
    head: str | None = None
    """What its first line says; None: its lines stay as they are, since they say it in a way that is seldom seen."""
    note: int = -1
    """The line whose comment stands behind that."""
    level: Level | None = None
    """What is nested in it."""
    is_compact: bool = False
    """An item whose first key may stand beside the dash."""
    tokens: tuple[int, int] = (0, 0)
    above: list[str] = field(default_factory=list)
    """Comments; an empty one is a blank line among them."""
    below: list[str] = field(default_factory=list)
    """Comments right below it, with a blank line before whatever comes next."""
    apart: bool = False
    """A blank line stands before it and its comments."""


@dataclass(slots=True, eq=False)
class Level:
    """A mapping or a list that has lines of its own."""

    column: int
    order: Shape
    """What is expected here, with the keys in their order."""
    pieces: list[Piece] = field(default_factory=list)
    tail: list[str] = field(default_factory=list)
    """Comments behind the last piece."""


class Value(NamedTuple):
    """What stands behind a key or a dash: its first and last token. Of what has lines of its own only its anchor."""

    first: int
    last: int
    text: str | None = None
    """What it says in form, if it is on one line."""
    level: Level | None = None

    @property
    def is_empty(self) -> bool:
        """Does nothing of it stand beside the key or the dash?"""
        return self.last < self.first


class PieceReader:
    """Goes through the tokens once."""

    def __init__(self, text: str, lines: Sequence[str], tokens: Sequence[Token], at: int) -> None:
        self._lines, self._tokens, self._at = lines, tokens, at
        self._one_line = OneLine(text, tokens)

    def read_value(self, order: Shape, *, may_be_flush: bool = False) -> Value:
        """Read what begins at the next token. `may_be_flush`: the dashes of a list may stand right below its key."""
        first = self._at
        while self._is_next(AnchorToken):
            self._at += 1
        if self._is_next(BlockMappingStartToken, BlockSequenceStartToken):
            return self._read_nested(first, order)
        if may_be_flush and self._is_next(BlockEntryToken):
            return Value(
                first, self._at - 1, self._text_on_one_line(first, self._at - 1, order), self._read_list(order)
            )
        if self._is_next(*STARTS):
            self._at = closing_index(self._tokens, self._at)
        self._at += self._is_next(*ENDS, ScalarToken, AliasToken)
        return Value(first, self._at - 1, self._text_on_one_line(first, self._at - 1, order))

    def _read_nested(self, first: int, order: Shape) -> Value:
        anchor = Value(first, self._at - 1, self._text_on_one_line(first, self._at - 1, order))
        is_mapping = self._is_next(BlockMappingStartToken)
        self._at += 1
        level = self._read_mapping(order) if is_mapping else self._read_list(order)
        self._at += 1  # its end
        return anchor._replace(level=level)

    def _read_mapping(self, order: Shape) -> Level:
        level = Level(self._next.start_mark.column, order)
        while self._is_next(KeyToken, ValueToken):
            level.pieces.append(self._read_pair(order))
        return level

    def _read_list(self, order: Shape) -> Level:
        level = Level(self._next.start_mark.column, ANYTHING)
        while self._is_next(BlockEntryToken):
            level.pieces.append(self._read_item(order.items or ANYTHING))
        return level

    def _read_pair(self, order: Shape) -> Piece:
        start, mark = self._at, self._next
        self._at += self._is_next(KeyToken)
        key, colon = self.read_value(ANYTHING), self._at
        token = self._tokens[key.first]
        is_usual = type(token) is ScalarToken and key.first == key.last and not is_explicit(mark)
        name = token.value if is_usual else ""
        self._at += self._is_next(ValueToken)
        value = self.read_value(order.below(name) or ANYTHING, may_be_flush=True)
        piece = Piece(mark.start_mark.line, mark.start_mark.column, name, tokens=(start, self._at))
        return self._complete(piece, value, f"{key.text}:" if is_usual else None, colon)

    def _read_item(self, order: Shape) -> Piece:
        start, dash = self._at, self._next.start_mark
        self._at += 1
        value = self.read_value(order)
        piece = Piece(dash.line, dash.column, tokens=(start, self._at))
        piece = self._complete(piece, value, "-", start)
        piece.is_compact = piece.level is not None and value.is_empty and piece.note < 0
        return piece

    def _complete(self, piece: Piece, value: Value, opening: str | None, mark: int) -> Piece:
        """Complete a piece with its first line, which begins with `opening`, up to the token `mark`; None: it stays as
        it is."""
        if value.level:
            piece.last, piece.is_open = value.level.pieces[-1].last, value.level.pieces[-1].is_open
        else:
            token = self._tokens[self._at - 1]
            piece.last, piece.is_open = last_line(token, self._lines), keeps_blank_lines(token, self._lines)
        if opening is None or not self._is_beside(piece, value):
            return piece
        piece.level = value.level
        if value.is_empty:
            piece.head = opening
        elif value.text is not None:
            piece.head = f"{opening} {value.text}"
        else:
            column = self._tokens[value.first].start_mark.column
            piece.head = f"{opening} {self._lines[piece.line][column:]}"
            return piece
        end = self._tokens[mark if value.is_empty else value.last].end_mark
        piece.note = piece.line if self._lines[piece.line][end.column :].lstrip().startswith("#") else -1
        return piece

    def _is_beside(self, piece: Piece, value: Value) -> bool:
        """Does it begin on the line of its key or dash? An anchor of what is nested stands there as a whole."""
        if value.is_empty:
            return True
        is_whole = value.level is None or value.text is not None
        return bool(is_whole and self._tokens[value.first].start_mark.line == piece.line)

    def _text_on_one_line(self, first: int, last: int, order: Shape) -> str | None:
        if last < first or is_block_scalar(self._tokens[last]):
            return None
        if self._tokens[first].start_mark.line != self._tokens[last].end_mark.line:
            return None
        return self._one_line.write(first, last, order)

    def _is_next(self, *kinds: type) -> bool:
        return type(self._next) in kinds

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]
