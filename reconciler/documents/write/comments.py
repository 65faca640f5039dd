"""Comments and blank lines between pieces → the pieces that they go with.

What stands directly above a piece goes with it. What is indented deeper than the next piece belongs to what is nested above
it; what stands right below a piece, with a blank line behind it, to that piece; what is behind the last piece stays last.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from reconciler.documents.write.order import HEAD
from reconciler.documents.write.pieces import Level, Piece

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

    def place(self, root: Level, end: int) -> None:
        """Gives every comment before the line `end` to a piece, a level or the header."""
        self._within(root, ())
        last, _ = self._between(end, (root,))
        root.tail += last

    def _within(self, level: Level, above: tuple[Level, ...]) -> None:
        around = (*above, level)
        self._around = [*above]
        for number, piece in enumerate(level.pieces):
            here, is_apart = self._between(piece.line, around)
            if number:
                _beside(level.pieces[number - 1], piece, here, is_apart=is_apart)
            else:
                self._first(piece, here, is_apart=is_apart, is_top=not above)
            if piece.level:
                self._free = min(piece.line + 1, piece.level.pieces[0].line)
                self._within(piece.level, around)
            else:
                self._free, self._around = piece.last + 1, [*around]

    def _between(self, end: int, around: Sequence[Level]) -> tuple[list[str], bool]:
        """Comments for the next piece, which is within `around`, and whether a blank line stands behind them."""
        here: list[str] = []
        inner = self._around[len(around) :]
        is_apart = False
        for line in self._lines[self._free : end]:
            text = line.strip()
            if text:
                inner = _deep_enough(inner, len(line) - len(line.lstrip()), around[-1].column)
                target = inner[-1].tail if inner else here
                target += ["", text] if is_apart else [text]
            is_apart = not text
        return here, is_apart

    def _first(self, piece: Piece, here: list[str], *, is_apart: bool, is_top: bool) -> None:
        here = here[here[:1] == [""] :]
        piece.above = [*here, ""] if here and is_apart else here
        if is_top:
            end = _end_of_header(piece)
            self.header, piece.above = piece.above[:end], piece.above[end:]


def _end_of_header(first: Piece) -> int:
    """It ends with a blank line. What stands right above the name of the topology is about the file, too."""
    above = first.above
    if first.key in HEAD:
        return len(above)
    if "" in above:
        return len(above) - above[::-1].index("")
    return 1 if above and _FOR_TOOLS.match(above[0]) else 0


def _deep_enough(inner: list[Level], column: int, least: int) -> list[Level]:
    """The levels that a comment of this column may be in; of two in one column the outer one."""
    while inner and not (column > least and column >= inner[-1].column):
        inner = inner[:-1]
    while len(inner) > 1 and inner[-2].column == inner[-1].column:
        inner = inner[:-1]
    return inner


def _beside(before: Piece, piece: Piece, here: list[str], *, is_apart: bool) -> None:
    """Comments between two pieces of a level."""
    piece.apart = here[:1] == [""] or (is_apart and not here)
    here = here[here[:1] == [""] :]
    if here and not piece.apart and (is_apart or "" in here):
        end = here.index("") if "" in here else len(here)
        before.below, here, piece.apart = here[:end], here[end + 1 :], True
    piece.above = [*here, ""] if here and is_apart else here
