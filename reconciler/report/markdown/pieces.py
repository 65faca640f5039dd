"""The pieces of a report in a comment, the long ones folded; charts are drawn with blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from reconciler.report.document import pieces
from reconciler.report.document.piece_lines import piece_lines, sparkline
from reconciler.report.markdown.gfm import code, fenced, folded, page_link, prose
from reconciler.report.words.paper import Paper

_NARROW = Paper(width=100)
_NAMES = 20
"""How many names are shown."""


def part_blocks(part: pieces.ReportPart) -> Iterator[tuple[str, int]]:
    """Yield the lead of a part and each piece of it, with the number of entries in it; folds come one by one."""
    if part.lead:
        yield prose(part.lead), 1
    for piece in part.pieces:
        if isinstance(piece, pieces.Folds):
            yield from (("\n".join(_fold(fold)), 1) for fold in piece.folds)
            if piece.left_out:
                yield f"and {piece.left_out:_} more", piece.left_out
        else:
            yield "\n".join(_SHOWN[type(piece)](piece)), len(piece.rows) if isinstance(piece, pieces.Grid) else 1


def _pieces(shown: Sequence[pieces.Piece]) -> list[str]:
    return [line for piece in shown for line in (*_SHOWN[type(piece)](piece), "")]


def _prose(piece: pieces.Prose) -> list[str]:
    if piece.is_list:
        return [f"- {prose(paragraph)}" for paragraph in piece.lines]
    return [line for paragraph in piece.lines for line in (prose(paragraph), "")][:-1]


def _tiles(piece: pieces.Tiles) -> list[str]:
    return [
        f"- {prose(tile.label)}: **{prose(tile.value)}**{f' · {prose(tile.note)}' if tile.note else ''}"
        for tile in piece.tiles
    ]


def _grid(piece: pieces.Grid) -> list[str]:
    rule = ["---:" if column in piece.right else "---" for column in range(len(piece.head))]
    rows = [_row(map(prose, piece.head)), _row(rule), *(_row(map(_cell, row)) for row in piece.rows)]
    return [*rows, *(["", f"and {piece.left_out:_} more"] if piece.left_out else [])]


def _differences(piece: pieces.Differences) -> list[str]:
    rows = [[code(row.path), f"{code(row.before)} → {code(row.after)}", prose(row.words)] for row in piece.rows]
    return [*map(_row, (("field", "difference", "how it came about"), ("---",) * 3, *rows))]


def _ways_out(piece: pieces.WaysOut) -> list[str]:
    return [f"What to do: {prose(line)}." for line in piece.lines]


def _names(piece: pieces.Names) -> list[str]:
    more = f" and {len(piece.names) - _NAMES:_} more" if len(piece.names) > _NAMES else ""
    return [f"{prose(piece.word)} {', '.join(map(code, piece.names[:_NAMES]))}{more}"]


def _row(texts: Iterator[str] | Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in texts)} |"


def _cell(cell: pieces.Cell) -> str:
    wave = f"{sparkline(cell.trend)} " if len(cell.trend) > 1 else ""
    return wave + (code(cell.text) if cell.is_code and cell.text else prose(cell.text))


def _fenced_chart(piece: pieces.ColumnChart | pieces.HeatMap | pieces.BarChart) -> list[str]:
    return fenced(piece_lines([piece], _NARROW, 0))


def _folds(piece: pieces.Folds) -> list[str]:
    lines = [line for fold in piece.folds for line in (*_fold(fold), "")]
    return [*lines, *([f"and {piece.left_out:_} more"] if piece.left_out else [])]


def _fold(fold: pieces.Fold) -> list[str]:
    title = " ".join(filter(None, (fold.mark, fold.name, fold.word, fold.about)))
    foot = " ".join([*map(page_link, fold.codes), *([code(str(fold.place))] if fold.place else [])])
    inside = _pieces(fold.pieces)
    if not inside:
        return [f"- {prose(title)} {foot}".rstrip()]
    return folded(title, [*inside, *([foot] if foot else [])], is_open=fold.is_open)


_SHOWN: Mapping[type[Any], Callable[[Any], list[str]]] = {
    pieces.Prose: _prose, pieces.Tiles: _tiles, pieces.Grid: _grid, pieces.Differences: _differences, pieces.Names: _names,
    pieces.WaysOut: _ways_out,
    pieces.HeatMap: _fenced_chart, pieces.ColumnChart: _fenced_chart, pieces.BarChart: _fenced_chart, pieces.Folds: _folds,
}  # fmt: skip
